// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interface of the dependency engine, implemented by the threaded and the naive engine, and the
// context that a running op sees. C++ counterpart of mxrt/engine.h, whose rules on errors,
// threads and ownership apply here too.

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
  virtual mxrt::Status wait(mxrt_var var, mxrt_location location) = 0;
  virtual mxrt::Status waitAll(mxrt_location location) = 0;
  virtual mxrt::Status noticeFrom(uint64_t first, mxrt_location location) = 0;
  /// Waits until nothing is in flight. Errors stay for later waits. False if nothing was in
  /// flight, or if the caller runs inside an op.
  virtual bool settle() = 0;
  virtual mxrt::Result<bool> poll(mxrt_var var) = 0;
  virtual void cancelAll() = 0;
  virtual mxrt_engine_stats stats() = 0;
  /// Ends the engine and frees it.
  virtual void destroy() = 0;

  /// Failures of devices that no op has returned, for waits for everything. Null: none.
  mxrt::Status (*lateFailure)(void *user) = nullptr;
  void *lateUser = nullptr;

protected:
  ~mxrt_engine() = default;
};

/// An op on the stack of the thread that runs it.
struct mxrt_op_context {
  virtual bool cancelled() const = 0;
  virtual mxrt_status inputError() const = 0;
  virtual bool declares(mxrt_var var, bool write) const = 0;
  virtual mxrt_op_token *defer() = 0;
  virtual mxrt::Status release(mxrt_var var) = 0;

  const void *engine = nullptr;
  /// The enclosing op on this thread's stack: of another engine, or an op that runs inline.
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
struct EngineOptions : mxrt_engine_options {
  /// Upper bound to which the limit on bytes in flight may grow for large ops (Flow.h). Equal
  /// to max_bytes if the caller has set that.
  uint64_t growBytes;
};
/// `memoryLimit`: bytes that all tensors together may take; 0: the memory of the machine.
EngineOptions completeOptions(const mxrt_engine_options *given,
                              uint64_t memoryLimit = 0);

/// `options` as completeOptions returns them.
Result<Engine *> createThreaded(const EngineOptions &options);
Result<Engine *> createNaive(const EngineOptions &options);
/// The kind of engine that `options` select, or an error.
Result<Engine *> createEngine(const EngineOptions &options);

/// The lane of an op, or an error that names the invalid field.
Result<uint32_t> laneIndexOf(const mxrt_allocator *alloc, const mxrt_op &op);

/// Adds the source location that issued the failed op and the op's name to its status, before
/// the status poisons anything.
Status issuedBy(Status status, const char *name, mxrt_location location);
Status cancelledStatus(const mxrt_allocator *alloc, const char *name,
                       mxrt_location location);

// Usage errors (R0501); `what` names the call.
Status badHandle(const mxrt_allocator *alloc, const char *what,
                 mxrt_location location);
Status duplicateVar(const mxrt_allocator *alloc, const char *name, bool bothSets,
                    mxrt_location location);
Status insideOp(const mxrt_allocator *alloc, const char *what,
                mxrt_location location);
Status badOp(const mxrt_allocator *alloc, const char *why, mxrt_location location);
Status badRelease(const mxrt_allocator *alloc, const char *name, const char *why,
                  mxrt_location location);

} // namespace mxrt::engine

#endif // MXRT_ENGINE_ENGINE_H
