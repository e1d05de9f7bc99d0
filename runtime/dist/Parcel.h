// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors on their way from one instance of a program to another. Each instance has a
// runtime of its own, which may be gone before the other reads; so a parcel has memory
// of its own, and its errors too.
//
// An op of the sender's engine copies the tensors in when they are complete; the tensors
// of the receiver are that memory, and an op of its engine is their write: deferred until
// the parcel is complete. No worker waits. A tensor that the sender failed to compute
// poisons those of the receiver, with the location where it failed.
//
// The op of the receiver is completed by a worker of the sender. The receiver's runtime waits for
// these before its engine ends (Returns).

#ifndef MXRT_DIST_PARCEL_H
#define MXRT_DIST_PARCEL_H

#include "base/Sync.h"
#include "memory/Tensor.h"
#include "mxrt/engine.h"

#include <atomic>
#include <span>

namespace mxrt::dist {

/// Ops of an engine that threads of other runtimes complete.
class Returns {
public:
  /// Those of the runtime, which ends after them.
  static Result<Returns *> of(mxrt_runtime *runtime);
  void expect();
  void complete(mxrt_op_token *token, Status status);
  void waitForAll();

private:
  Mutex mutex;
  Condition changed;
  int64_t pending = 0;
};

class Parcel {
public:
  /// Issues the copies; `tensors` are those of `runtime`, dense. The caller owns a reference.
  static Result<Parcel *> send(mxrt_runtime *runtime, std::span<const TensorRef> tensors,
                               mxrt_location location);
  /// Once for each parcel: tensors of `runtime`, complete when the parcel is. They may be written.
  Status receive(mxrt_runtime *runtime, mxrt_location location, Vec<TensorRef> &out);
  /// Waits until it is complete, and gives tensors for reading.
  Status read(mxrt_runtime *runtime, mxrt_location location, Vec<TensorRef> &out);

  void retain() { references.fetch_add(1, std::memory_order_relaxed); }
  void release();

private:
  template <typename T, typename... Args>
  friend T *mxrt::newObject(const mxrt_allocator *alloc, Args &&...args);
  template <typename T> friend void mxrt::deleteObject(const mxrt_allocator *alloc, T *object);
  explicit Parcel(const mxrt_allocator *alloc) : alloc(alloc), parts(alloc) {}
  ~Parcel() { releaseBytes(alloc, memory, bytes, alignment); }

  struct Part {
    mxrt_dtype type = MXRT_F32;
    int32_t rank = 0;
    int64_t sizes[MXRT_MAX_RANK] = {};
    size_t offset = 0, bytes = 0;
    mxrt_buffer *source = nullptr; // until it is copied
    const char *from = nullptr;
  };
  Status borrow(mxrt_runtime *runtime, uint32_t flags, mxrt_location location,
                Vec<TensorRef> &out);
  Status layOut(std::span<const TensorRef> tensors, mxrt_location location);
  static mxrt_status runSend(mxrt_op_context *context, void *payload);
  static mxrt_status runReceive(mxrt_op_context *context, void *payload);
  void finish(Status status);

  static constexpr size_t alignment = 64;
  const mxrt_allocator *const alloc; // the system's: it outlives all runtimes
  std::atomic<uint32_t> references{1};
  Vec<Part> parts;
  char *memory = nullptr;
  size_t bytes = 0;
  mxrt_location location = noLocation; // of the put; the text of its file is `file`
  char file[256] = {};

  Mutex mutex; // guards what follows
  Condition finished;
  bool isFinished = false;
  Status failure;
  mxrt_op_token *waiting = nullptr; // the op of the receiver, one of `returns`
  Returns *returns = nullptr;
};

} // namespace mxrt::dist

#endif // MXRT_DIST_PARCEL_H
