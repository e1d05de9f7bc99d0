// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Time per stage of a run, for `--timing`. A nested stage pauses the clock of the enclosing one, so
// the stages add up to the total.
#pragma once
#include <chrono>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace mx {

class Timing {
public:
  /// RAII timer of a stage: counts until its destruction. Does nothing without a `Timing`.
  class Span {
  public:
    Span(Timing *timing, std::string_view stage) : timing(timing) {
      if (timing)
        timing->begin(stage);
    }
    ~Span() {
      if (timing)
        timing->end();
    }
    Span(const Span &) = delete;
    Span &operator=(const Span &) = delete;

  private:
    Timing *timing;
  };

  /// A code unit that was compiled, on any thread.
  struct Piece {
    std::string name;
    double optimizeMs = 0, generateMs = 0;
  };
  void add(Piece piece) { pieces.push_back(std::move(piece)); }

  /// Prints a table of the stages in order of first use, and the slowest code units.
  void print(std::ostream &out) const;

private:
  using Clock = std::chrono::steady_clock;
  struct Stage {
    std::string name;
    double ms = 0;
    int64_t times = 0;
  };
  std::vector<Stage> stages;
  std::vector<size_t> open; ///< the innermost last
  Clock::time_point since;  ///< when the innermost started or resumed
  std::vector<Piece> pieces;

  void begin(std::string_view stage);
  void end();
  void settle();
};

} // namespace mx
