// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors of one GPU. Most concern one call. Sticky errors end the context: then all later work on
// the GPU fails with the same error, which names the launches that were in flight.

#ifndef MXRT_DEVICE_CUDA_FAILURES_H
#define MXRT_DEVICE_CUDA_FAILURES_H

#include "device/cuda/Memory.h"
#include "mxrt/launch.h"

namespace mxrt::cuda {

/// Thread-safe.
class Failures {
public:
  Failures(Context &context, const char *name) : context(context), name(name) {}

  /// Remembers a launch for error messages.
  void noteLaunch(const mxrt_launch_info &info, mxrt_location location);
  /// All launches are complete.
  void forgetLaunches();

  /// The status of a driver call that failed while `doing` something. `detail` may be empty.
  Status of(CUresult result, const char *doing, mxrt_location location, const char *detail = "");
  /// Ends the context: after this error the state of work in flight is unknown.
  void end(CUresult result);
  /// The error that ended the context; success while there is none.
  Status ending(mxrt_location location);
  bool hasEnded() const { return ended.load(std::memory_order_acquire); }
  /// The error that ended the context, unless a function returned it already.
  Status unseen();

private:
  struct Launch {
    char entry[64];
    char file[120];
    int32_t line, column;
    uint32_t grid[3], block[3];
    uint64_t number; // of the compute stream's ticket, at least
  };
  static constexpr uint64_t kept = 8;
  Status describe(CUresult result);

  Context &context;
  const char *name;
  Mutex mutex;
  Launch launches[kept] = {};
  uint64_t launchCount = 0;
  Status failure;
  bool seen = false;
  std::atomic<bool> ended{false};
};

} // namespace mxrt::cuda

#endif // MXRT_DEVICE_CUDA_FAILURES_H
