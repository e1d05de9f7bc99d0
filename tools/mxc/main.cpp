// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mxc: starts the REPL or runs a command of the compiler driver.
#include "Crash.h"
#include "Repl/Repl.h"
#include "Run/Terminal.h"
#include <exception>
#include <iostream>

/// Whether to start the REPL: no arguments, or only options that are not commands themselves.
static bool isPrompt(const std::vector<std::string> &args) {
  if (args.empty())
    return true;
  for (const char *other : {"-e", "--version", "--help", "-h", "--emit"})
    if (args[0] == other || args[0].starts_with(std::string(other) + "="))
      return false;
  return args[0].starts_with("-");
}

int main(int argc, char **argv) {
  mx::explainCrashes();
  mx::run::fillStandardStreams();
  std::ios::sync_with_stdio(false);
  std::vector<std::string> args(argv + 1, argv + argc);
  mx::run::Terminal terminal = mx::run::Terminal::look();
  try {
    mx::driver::Streams streams{std::cout, std::cerr, terminal.colour, terminal.bars,
                                terminal.isInteractive};
    int code = isPrompt(args) ? mx::repl::runRepl(args, streams) : mx::driver::runMxc(args, streams);
    if (code == mx::driver::kFine && !mx::run::finishOutput(std::cout, std::cerr))
      code = mx::driver::kProgramHasErrors;
    return code;
  } catch (const std::exception &fault) {
    std::cerr << mx::driver::faultText(std::string("of mxc itself: ") + fault.what());
    return mx::driver::kFaultOfMxc;
  }
}
