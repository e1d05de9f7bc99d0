// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Driver errors as diagnostics.

#include "device/cuda/Failures.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace mxrt::cuda {

void Failures::noteLaunch(const mxrt_launch_info &info, mxrt_location location) {
  Lock lock(mutex);
  Launch &launch = launches[launchCount++ % kept];
  snprintf(launch.entry, sizeof(launch.entry), "%s", info.entry);
  snprintf(launch.file, sizeof(launch.file), "%s", location.file ? location.file : "");
  launch.line = location.line;
  launch.column = location.column;
  std::copy_n(info.grid, 3, launch.grid);
  std::copy_n(info.block, 3, launch.block);
  launch.number = context.streams->compute.recorded() + 1;
}

void Failures::forgetLaunches() {
  Lock lock(mutex);
  launchCount = 0;
}

/// Under the lock.
Status Failures::describe(CUresult result) {
  char text[1400];
  int used = snprintf(text, sizeof(text), "%s failed: %s", name,
                      static_cast<const char *>(resultText(context.driver, result).text));
  uint64_t done = context.streams->compute.knownDone();
  uint64_t first = launchCount > kept ? launchCount - kept : 0, listed = 0;
  const Launch *only = nullptr;
  for (uint64_t i = first; i < launchCount; ++i) {
    const Launch &launch = launches[i % kept];
    if (launch.number <= done || used >= int(sizeof(text)) - 1)
      continue;
    used += snprintf(text + used, sizeof(text) - size_t(used),
                     "\nnote: in flight: kernel `%s`, grid %ux%ux%u, block %ux%ux%u", launch.entry,
                     launch.grid[0], launch.grid[1], launch.grid[2], launch.block[0],
                     launch.block[1], launch.block[2]);
    if (launch.file[0] && used < int(sizeof(text)) - 1)
      used += snprintf(text + used, sizeof(text) - size_t(used), ", launched at %s:%d:%d",
                       launch.file, launch.line, launch.column);
    only = listed++ == 0 ? &launch : nullptr;
  }
  // With one launch in flight, that is the one.
  mxrt_location location = noLocation;
  if (only && only->file[0])
    location = {only->file, only->line, only->column};
  if (listed > 1 && used < int(sizeof(text)) - 1)
    snprintf(text + used, sizeof(text) - size_t(used),
             "\nhelp: `--check=gpu` waits after each launch and so finds the kernel");
  return error(&context.alloc, MXRT_DEVICE_FAILURE, location, "%s", static_cast<char *>(text));
}

void Failures::end(CUresult result) {
  if (result == CUDA_SUCCESS)
    return;
  Lock lock(mutex);
  if (hasEnded())
    return;
  failure = describe(result);
  ended.store(true, std::memory_order_release);
}

Status Failures::of(CUresult result, const char *doing, mxrt_location location,
                    const char *detail) {
  if (result == CUDA_SUCCESS)
    return success();
  if (isSticky(result)) {
    end(result);
    return ending(location);
  }
  return error(&context.alloc,
               result == CUDA_ERROR_OUT_OF_MEMORY ? MXRT_OUT_OF_MEMORY : MXRT_DEVICE_FAILURE,
               location, "%s: %s: %s%s%s", name, doing,
               static_cast<const char *>(resultText(context.driver, result).text),
               detail[0] ? "\nnote: " : "", detail);
}

Status Failures::ending(mxrt_location location) {
  if (!hasEnded())
    return success();
  Lock lock(mutex);
  seen = true;
  return failure.share().issuedAt(location);
}

Status Failures::unseen() {
  if (!hasEnded())
    return success();
  Lock lock(mutex);
  if (seen)
    return success();
  seen = true;
  return failure.share();
}

} // namespace mxrt::cuda
