// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C API of the engine. Thin wrappers: mxrt/engine.h defines the semantics, the two engines
// implement them.

#include "engine/Engine.h"
#include "engine/Op.h"

using namespace mxrt;
using namespace mxrt::engine;

/// Stores a result in a C out parameter.
template <typename T, typename Out>
static mxrt_status deliver(Result<T> result, Out *out) {
  if (result.failed())
    return result.takeStatus().release();
  *out = static_cast<Out>(*result);
  return nullptr;
}

mxrt_status mxrt_engine_create(const mxrt_engine_options *options,
                               mxrt_engine **engine) {
  *engine = nullptr;
  return deliver(createEngine(completeOptions(options)), engine);
}

void mxrt_engine_destroy(mxrt_engine *engine) {
  if (engine)
    engine->destroy();
}

mxrt_status mxrt_engine_new_var(mxrt_engine *engine, mxrt_var *var) {
  return deliver(engine->newVar(), var);
}

mxrt_status mxrt_engine_delete_var(mxrt_engine *engine, mxrt_var var,
                                   void (*drop)(void *), void *payload) {
  return engine->deleteVar(var, drop, payload).release();
}

mxrt_status mxrt_engine_version(mxrt_engine *engine, mxrt_var var,
                                uint64_t *version) {
  return deliver(engine->version(var), version);
}

mxrt_status mxrt_engine_push(mxrt_engine *engine, const mxrt_op *op) {
  return engine->push(*op).release();
}

mxrt_status mxrt_engine_push_many(mxrt_engine *engine, const mxrt_op *ops,
                                  size_t count, size_t *pushed) {
  return engine->pushMany(ops, count, pushed).release();
}

mxrt_status mxrt_engine_wait(mxrt_engine *engine, mxrt_var var,
                             mxrt_location location) {
  return engine->wait(var, location).release();
}

mxrt_status mxrt_engine_wait_all(mxrt_engine *engine, mxrt_location location) {
  Status status = engine->waitAll(location);
  if (status.ok() && engine->lateFailure)
    status = engine->lateFailure(engine->lateUser).noticedAt(location);
  return status.release();
}

mxrt_status mxrt_engine_notice_from(mxrt_engine *engine, uint64_t first,
                                    mxrt_location location) {
  return engine->noticeFrom(first, location).release();
}

mxrt_status mxrt_engine_poll(mxrt_engine *engine, mxrt_var var,
                             int32_t *ready) {
  return deliver(engine->poll(var), ready);
}

void mxrt_engine_cancel_all(mxrt_engine *engine) { engine->cancelAll(); }

void mxrt_engine_get_stats(mxrt_engine *engine, mxrt_engine_stats *stats) {
  *stats = engine->stats();
}

// -- cancellation ------------------------------------------------------------

mxrt_status mxrt_cancel_create(const mxrt_allocator *allocator,
                               mxrt_cancel **cancel) {
  const mxrt_allocator *alloc = allocator ? allocator : mxrt_system_allocator();
  *cancel = newObject<mxrt_cancel>(alloc, alloc);
  return *cancel ? nullptr : outOfMemory(alloc).release();
}

mxrt_cancel *mxrt_cancel_retain(mxrt_cancel *cancel) {
  if (cancel)
    cancel->references.fetch_add(1, std::memory_order_relaxed);
  return cancel;
}

void mxrt_cancel_release(mxrt_cancel *cancel) {
  if (cancel &&
      cancel->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    deleteObject(cancel->alloc, cancel);
}

void mxrt_cancel_request(mxrt_cancel *cancel) {
  cancel->requested.store(1, std::memory_order_release);
}

int32_t mxrt_cancel_requested(const mxrt_cancel *cancel) {
  return cancel->requested.load(std::memory_order_acquire) != 0;
}

const uint32_t *mxrt_cancel_word(const mxrt_cancel *cancel) {
  static_assert(sizeof(cancel->requested) == sizeof(uint32_t));
  return reinterpret_cast<const uint32_t *>(&cancel->requested);
}

// -- inside an op ------------------------------------------------------------

int32_t mxrt_op_cancelled(const mxrt_op_context *context) {
  return context->cancelled();
}

mxrt_status mxrt_op_input_error(const mxrt_op_context *context) {
  return context->inputError();
}

int32_t mxrt_op_declares(const mxrt_op_context *context, mxrt_var var,
                         int32_t write) {
  return context->declares(var, write != 0);
}

mxrt_op_token *mxrt_op_defer(mxrt_op_context *context) {
  return context->defer();
}

mxrt_status mxrt_op_release(mxrt_op_context *context, mxrt_var var) {
  return context->release(var).release();
}

void mxrt_op_complete(mxrt_op_token *token, mxrt_status status) {
  token->complete(token, status);
}
