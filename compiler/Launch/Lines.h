// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Merges the output of all ranks into one stream: whole lines, each with its rank as prefix.
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

  /// Adds text of a rank: complete lines are written, the rest is buffered.
  void add(int rank, std::string_view text);
  /// End of the output of a rank. Its last line may lack a newline.
  void finish(int rank);
  /// Writes several lines without interleaving those of others.
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
