// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Benchmark harness for noisy machines: contenders run alternately, block by block. Reports the
// median over blocks, its quartiles, and the median of the ratios of neighbouring blocks.

#ifndef MX_TOOLS_MXCBENCH_MEASURE_H
#define MX_TOOLS_MXCBENCH_MEASURE_H

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace mx::bench {

/// Microseconds of a monotonic clock.
double now();

/// The command to measure: the first argument, or the `mxc` beside this executable.
std::string commandOf(int argc, char **argv);

/// FILE of `--json FILE`, which is removed from the arguments; null without it. `-` is the standard
/// output.
const char *takeJson(int &argc, char **argv);
/// Writes to that file. Returns whether it succeeded.
bool writeJson(const char *path, const std::function<void(std::FILE *)> &print);

/// One implementation of the work. run() executes one block and returns the microseconds per unit.
struct Contender {
  std::string name;
  std::function<double()> run;
};

struct Quartiles {
  double low = 0, median = 0, high = 0;
};
Quartiles quartilesOf(std::vector<double> values);

struct Row {
  std::string work;  // "independent op"
  std::string name;  // of the contender
  Quartiles time;    // microseconds per unit
  Quartiles ratio;   // this contender's time / the first one's; empty for the first
  double goal = 0;   // microseconds; 0: none
};

class Report {
public:
  explicit Report(int blocks) : blocks(blocks) {}

  /// Runs all contenders alternately after a warm-up block each. The first is ours.
  void compare(const std::string &work, double goal,
               const std::vector<Contender> &contenders);
  /// A line of text under the table.
  void note(const std::string &text) { notes.push_back(text); }

  void printTable(std::FILE *to) const;
  void printJson(std::FILE *to) const;
  /// Whether our median meets its goal in all rows.
  bool goalsMet() const;

private:
  const int blocks;
  std::vector<Row> rows;
  std::vector<std::string> notes;
};

/// Figures of mx alone, each with an upper or lower goal. Printed as they are measured.
class Figures {
public:
  void title(const std::string &text);
  /// A negative value was not measured. Without a goal it is only reported.
  void add(const std::string &what, double value, const char *unit, double goal = 0,
           bool atLeast = false);

  bool goalsMet() const;
  void printJson(std::FILE *to) const;

private:
  struct Figure {
    std::string what;
    double value;
    const char *unit;
    double goal;
    bool atLeast;
    bool met() const { return value >= 0 && (atLeast ? value >= goal : value <= goal); }
  };
  std::string group;
  std::vector<Figure> figures;
};

} // namespace mx::bench

#endif // MX_TOOLS_MXCBENCH_MEASURE_H
