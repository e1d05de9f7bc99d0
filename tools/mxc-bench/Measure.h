// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Honest comparison on a noisy machine: contenders take turns, block by block,
// and what is reported is the median over blocks, its quartiles, and the median
// of the ratios of neighbouring blocks.

#ifndef MX_TOOLS_MXCBENCH_MEASURE_H
#define MX_TOOLS_MXCBENCH_MEASURE_H

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace mx::bench {

/// Microseconds of a steady clock.
double now();

/// The command to measure: the first argument, or `mxc` beside this program.
std::string commandOf(int argc, char **argv);

/// One way to do the work. run() does one block and returns the microseconds
/// that one unit of it took.
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
  Quartiles ratio;   // this contender's time / the first one's; empty for it
  double goal = 0;   // microseconds; 0: none
};

class Report {
public:
  explicit Report(int blocks) : blocks(blocks) {}

  /// Runs all contenders in turns after a warm-up block each; the first is
  /// ours.
  void compare(const std::string &work, double goal,
               const std::vector<Contender> &contenders);
  /// A line of text under the table.
  void note(const std::string &text) { notes.push_back(text); }

  void printTable(std::FILE *to) const;
  void printJson(std::FILE *to) const;
  /// Whether our median is within its goal everywhere.
  bool goalsMet() const;

private:
  const int blocks;
  std::vector<Row> rows;
  std::vector<std::string> notes;
};

} // namespace mx::bench

#endif // MX_TOOLS_MXCBENCH_MEASURE_H
