// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CUDA streams with tickets, which are backed by events. A ticket stands for the first `number`
// items recorded in a stream. Streams wait for each other's tickets on the GPU; the host waits only
// where it must.

#ifndef MXRT_DEVICE_CUDA_STREAM_H
#define MXRT_DEVICE_CUDA_STREAM_H

#include "base/Allocator.h"
#include "base/Sync.h"
#include "device/cuda/Driver.h"

namespace mxrt::cuda {

/// Makes a context current on this thread for the scope; the host program may have its own.
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
  /// Number of events. The event of a ticket that is older than the ring was recorded again, later
  /// in the same stream: waiting for it is conservative.
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
