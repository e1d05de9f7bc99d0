// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The problem of recomputation by itself: tasks in an order, the values they read and write, and a
// budget of bytes. Values are dropped and made again, by running their tasks again, so that no more
// than the budget is in use at once.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace mx::memory {

struct Task {
  std::vector<uint32_t> reads, writes; ///< values, each once
  /// An output that may be written over an input which is not needed any more: both are positions
  /// of values.
  std::vector<std::pair<uint32_t, uint32_t>> over; ///< written, read
  double cost = 0;
  int64_t extra = 0;      ///< bytes in use only while it runs
  bool canRepeat = false; ///< run again later, it writes the same
};

struct Schedulable {
  std::vector<Task> tasks;
  std::vector<int64_t> bytes; ///< of each value
  /// Values that are in use from the begin on, or to the end: never dropped.
  std::vector<bool> isHeld;
};

struct Rerun {
  std::vector<uint32_t> order; ///< tasks; all but the first run of each are again
  double cost = 0;             ///< of those again
  int64_t peak = 0;            ///< the most bytes in use
};

/// Work that is done again is at most so many times the work of all tasks.
inline constexpr double kMostAgain = 4;

/// Null if it finds no way. A value with several writers, or one that is read before it is written,
/// is never dropped, and no task that reads it may be one that can repeat.
std::optional<Rerun> dropToFit(const Schedulable &problem, int64_t budget);

/// The most bytes in use when each task runs once.
int64_t peakOf(const Schedulable &problem);

} // namespace mx::memory
