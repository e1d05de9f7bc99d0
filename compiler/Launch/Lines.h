// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The output of ranks in one stream: whole lines, each with the number of its rank.
#pragma once
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace mx::launch {

class Lines {
public:
  /// `colour`: prefixes are coloured.
  Lines(std::ostream &out, int ranks, bool colour)
      : out(out), started(static_cast<size_t>(ranks)), colour(colour) {}

  /// Text of a rank: its complete lines are written, the rest is kept.
  void add(int rank, std::string_view text);
  /// The output of a rank is over: its last line may have no end.
  void finish(int rank);
  /// Several lines at once.
  void write(int rank, std::string_view text);
  std::ostream &stream() { return out; }

private:
  /// A longer line is written in parts, so that memory is bounded.
  static constexpr size_t kMaxLine = 1 << 20;
  std::string prefix(int rank) const;

  std::ostream &out;
  std::vector<std::string> started; ///< lines without an end, by rank
  const bool colour;
};

} // namespace mx::launch
