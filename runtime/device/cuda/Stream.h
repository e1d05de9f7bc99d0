// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CUDA streams with tickets. A ticket says which work of which stream must be complete: the first
// `number` items that were recorded. Streams wait for each other's tickets on the GPU; the host
// waits where it has to.

#ifndef MXRT_DEVICE_CUDA_STREAM_H
#define MXRT_DEVICE_CUDA_STREAM_H

#include "base/Allocator.h"
#include "base/Sync.h"
#include "device/cuda/Driver.h"

namespace mxrt::cuda {

/// Makes a context current on this thread until the end of the scope; the host program may have
/// one of its own.
class Current {
public:
  Current(const Driver &driver, CUcontext context) : driver(driver) {
    pushed = driver.cuCtxPushCurrent_v2(context) == CUDA_SUCCESS;
  }
  ~Current() {
    CUcontext old = nullptr;
    if (pushed)
      driver.cuCtxPopCurrent_v2(&old);
  }
  Current(const Current &) = delete;
  Current &operator=(const Current &) = delete;

private:
  const Driver &driver;
  bool pushed;
};

class Stream;

/// Complete if `stream` is null.
struct Ticket {
  Stream *stream = nullptr;
  uint64_t number = 0;
};

/// Thread-safe. Items are recorded in the order in which events enter the stream, so a later
/// ticket covers all that was enqueued before it, by any thread.
class Stream {
public:
  Stream(const Driver &driver, CUcontext context) : driver(driver), context(context) {}
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;
  ~Stream() { close(); }
  CUresult open();
  void close();

  CUstream handle() const { return stream; }
  /// The following work of this stream waits for the ticket.
  CUresult follow(Ticket ticket);
  /// The ticket for everything enqueued so far.
  CUresult record(Ticket &out);
  /// The host waits for the first `number` items.
  CUresult wait(uint64_t number);
  /// What the host knows, without asking the driver.
  bool isKnownDone(uint64_t number) const {
    return number <= done.load(std::memory_order_acquire);
  }
  uint64_t recorded() const { return issued.load(std::memory_order_seq_cst); }
  uint64_t knownDone() const { return done.load(std::memory_order_acquire); }

private:
  /// Number of events. A ticket that is older than the ring uses an event that was recorded
  /// again: later in the same stream, so that waiting for it is still right.
  static constexpr uint64_t ringSize = 64;
  void noteDone(uint64_t number);

  const Driver &driver;
  const CUcontext context;
  CUstream stream = nullptr;
  CUevent events[ringSize] = {};
  Mutex mutex; // orders records
  std::atomic<uint64_t> issued{0}, done{0};
};

} // namespace mxrt::cuda

#endif // MXRT_DEVICE_CUDA_STREAM_H
