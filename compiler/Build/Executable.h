// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The object of a whole program: code of its graphs, and everything in Run/Program.h as constants.
#pragma once
#include "Build/Artefact.h"
#include "Build/CallSizes.h"

namespace mx::build {

struct ExecutableParts {
  std::string name;    ///< of the program's file
  std::string command; ///< that rebuilds it
  std::vector<std::vector<uint8_t>> modules;
  struct Kernel {
    std::string key;
    std::string symbol; ///< of its function, in another object
    int level = 0;
  };
  std::vector<Kernel> kernels;
  std::vector<std::pair<std::string, std::string>> sources; ///< names and texts
  std::vector<std::string> natives;                         ///< symbols of groups
  bool uncheckedDivision = false;
  std::string options; ///< and their values, one per line
};

/// Reported figures of a graph's code.
struct GraphFigures {
  std::string name;
  std::vector<std::pair<std::string, int64_t>> sizes;
  int64_t workspace = 0;
};

class ExecutableMaker {
public:
  ExecutableMaker(const std::vector<Cpu> &cpus, const pipeline::Options &options,
                  Diagnostics &diags);
  ~ExecutableMaker();

  /// Compiles a graph for its sizes. False after an error, which has been reported at `span`.
  bool add(const CalledGraph &graph, Span span);
  const std::vector<GraphFigures> &figures() const;
  /// The object, after all graphs. Nothing after an error.
  std::optional<std::string> finish(const ExecutableParts &parts, Span program);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace mx::build
