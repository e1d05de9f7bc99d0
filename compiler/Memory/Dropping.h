// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rematerialisation as an abstract problem: ordered tasks, the values they read and write, and a
// budget of bytes. Values are dropped and recomputed, by rerunning their tasks, so that peak memory
// stays within the budget.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace mx::memory {

struct Task {
  std::vector<uint32_t> reads, writes; ///< values, each once
  /// An output that may be written over an input which is not needed any more. Both are indices of
  /// values.
  std::vector<std::pair<uint32_t, uint32_t>> over; ///< written, read
  double cost = 0;
  int64_t extra = 0;      ///< bytes in use only while it runs
  bool canRepeat = false; ///< rerunning it later writes the same bytes
};

struct Schedulable {
  std::vector<Task> tasks;
  std::vector<int64_t> bytes; ///< of each value
  /// Values that are live at the start or at the end: never dropped.
  std::vector<bool> isHeld;
};

struct Rerun {
  std::vector<uint32_t> order; ///< tasks; every run of a task but its first is a rerun
  double cost = 0;             ///< of the reruns
  int64_t peak = 0;            ///< max bytes in use
};

/// Upper limit of rerun work, as a multiple of the work of all tasks.
inline constexpr double kMaxRecomputations = 4;

/// Null if it finds no schedule. A value with several writers, or one that is read before it is
/// written, is never dropped, and a task that reads it must not be marked repeatable.
std::optional<Rerun> dropToFit(const Schedulable &problem, int64_t budget);

/// Peak bytes when each task runs once.
int64_t peakOf(const Schedulable &problem);

} // namespace mx::memory
