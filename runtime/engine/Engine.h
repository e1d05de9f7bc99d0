// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What both engines offer, and what a running op sees; the C++ side of
// mxrt/engine.h, whose words on errors, threads and ownership hold here too.

#ifndef MXRT_ENGINE_ENGINE_H
#define MXRT_ENGINE_ENGINE_H

#include "base/Allocator.h"
#include "base/Status.h"
#include "engine/LaneNames.h"
#include "mxrt/engine.h"

#include <atomic>

struct mxrt_engine {
  virtual mxrt::Result<mxrt_var> newVar() = 0;
  virtual mxrt::Status deleteVar(mxrt_var var, void (*drop)(void *),
                                 void *payload) = 0;
  virtual mxrt::Result<uint64_t> version(mxrt_var var) = 0;
  virtual mxrt::Status push(const mxrt_op &op) = 0;
  virtual mxrt::Status pushMany(const mxrt_op *ops, size_t count,
                                size_t *pushed) = 0;
  virtual mxrt::Status wait(mxrt_var var, mxrt_place place) = 0;
  virtual mxrt::Status waitAll(mxrt_place place) = 0;
  virtual mxrt::Result<bool> poll(mxrt_var var) = 0;
  virtual void cancelAll() = 0;
  virtual mxrt_engine_stats stats() = 0;
  /// Ends the engine and frees it.
  virtual void destroy() = 0;

protected:
  ~mxrt_engine() = default;
};

/// An op on the stack of the thread that runs it.
struct mxrt_op_context {
  virtual bool cancelled() const = 0;
  virtual mxrt_status inputError() const = 0;
  virtual bool declares(mxrt_var var, bool write) const = 0;
  virtual mxrt_op_token *defer() = 0;

  const void *engine = nullptr;
  /// The op below on this thread's stack: of another engine, or one that runs
  /// inline.
  mxrt_op_context *parent = nullptr;

protected:
  ~mxrt_op_context() = default;
};

struct mxrt_cancel {
  explicit mxrt_cancel(const mxrt_allocator *alloc) : alloc(alloc) {}
  std::atomic<uint32_t> references{1};
  std::atomic<uint32_t> requested{0};
  const mxrt_allocator *const alloc;
};

namespace mxrt::engine {

using Engine = ::mxrt_engine;

/// Options with every default filled in.
mxrt_engine_options completeOptions(const mxrt_engine_options *given);

/// `options` as completeOptions returns them.
Result<Engine *> createThreaded(const mxrt_engine_options &options);
Result<Engine *> createNaive(const mxrt_engine_options &options);

/// The lane an op belongs to, or an error that names what is wrong.
Result<uint32_t> laneIndexOf(const mxrt_allocator *alloc, const mxrt_op &op);

/// What a failed op's status says before it poisons anything: the place that
/// issued it and its name.
Status issuedBy(Status status, const char *name, mxrt_place place);
Status cancelledStatus(const mxrt_allocator *alloc, const char *name,
                       mxrt_place place);

// Errors of use (R0501); `what` names the call.
Status badHandle(const mxrt_allocator *alloc, const char *what,
                 mxrt_place place);
Status duplicateVar(const mxrt_allocator *alloc, const char *name, bool bothSets,
                    mxrt_place place);
Status insideOp(const mxrt_allocator *alloc, const char *what,
                mxrt_place place);
Status badOp(const mxrt_allocator *alloc, const char *why, mxrt_place place);

} // namespace mxrt::engine

#endif // MXRT_ENGINE_ENGINE_H
