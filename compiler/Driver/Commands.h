// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The commands of `mxc`. Each takes its arguments and two streams and returns an exit code. None
// changes process state (no exit, no signal handlers), so tests and hosts can call them.
#pragma once
#include "Driver/CommandLine.h"
#include <ostream>
#include <string>
#include <vector>

namespace mx::driver {

struct Streams {
  std::ostream &out;
  std::ostream &err;
  bool colour = false;   ///< `err` is a terminal that supports colours
  bool terminal = false; ///< `err` is a terminal whose line can be redrawn
  bool drawsOut = false; ///< `out` is a terminal
};

/// Runs a command of `mxc`; `args` excludes the program's name. The prompt is Repl/Repl.h.
int runMxc(const std::vector<std::string> &args, Streams streams);

int runCheck(const std::vector<std::string> &args, Streams streams);
int runFormat(const std::vector<std::string> &args, Streams streams);
int runExplain(const std::vector<std::string> &args, Streams streams);
int runGrammar(const std::vector<std::string> &args, Streams streams);
int runProgram(const std::vector<std::string> &args, Streams streams);
/// Starts processes, and takes signals meanwhile: only for `mxc` itself.
int runLaunch(const std::vector<std::string> &args, Streams streams);
int runTests(const std::vector<std::string> &args, Streams streams);
int runDoc(const std::vector<std::string> &args, Streams streams);
int runReport(const std::vector<std::string> &args, Streams streams);
int runBuild(const std::vector<std::string> &args, Streams streams);
int runPlan(const std::vector<std::string> &args, Streams streams);

} // namespace mx::driver
