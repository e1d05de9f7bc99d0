// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Repl/Repl.h"
#include "Run/Terminal.h"
#include <exception>
#include <iostream>

int main(int argc, char **argv) {
  std::ios::sync_with_stdio(false);
  std::vector<std::string> args(argv + 1, argv + argc);
  mx::run::Terminal terminal = mx::run::Terminal::look();
  try {
    mx::driver::Streams streams{std::cout, std::cerr, terminal.colour, terminal.bars,
                                terminal.draws};
    bool isPrompt = args.empty() || args[0] == "-i" || args[0].rfind("-i=", 0) == 0;
    int code = isPrompt ? mx::repl::runRepl(args, streams) : mx::driver::runMxc(args, streams);
    std::cout.flush();
    return code;
  } catch (const std::exception &fault) {
    std::cerr
        << "mxc: a fault of mxc itself: " << fault.what()
        << "\nplease report it with the file and the command; what you wrote is not to blame\n";
    return mx::driver::kFaultOfMxc;
  }
}
