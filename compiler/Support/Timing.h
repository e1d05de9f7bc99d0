// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the time of a run went, for `--timing`. A stage that begins inside of another one stops that
// one's clock, so the stages add up to the whole.
#pragma once
#include <chrono>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace mx {

class Timing {
public:
  /// The time until it goes is that of the stage. Without a `Timing` it does nothing.
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

  /// A piece of code that was compiled, on whatever thread.
  struct Piece {
    std::string name;
    double optimizeMs = 0, generateMs = 0;
  };
  void add(Piece piece) { pieces.push_back(std::move(piece)); }

  /// A table of the stages in the order they were first met, and the pieces that took longest.
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
  Clock::time_point since;  ///< when the innermost began or went on
  std::vector<Piece> pieces;

  void begin(std::string_view stage);
  void end();
  void settle();
};

} // namespace mx
