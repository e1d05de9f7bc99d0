// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `mxc` command line: dispatch of commands, help, version.
#include "Driver/Commands.h"
#include "Support/Suggest.h"
#include <algorithm>

namespace mx::driver {
namespace {

constexpr const char *kHelp = R"(mxc - the mx compiler

usage: mxc COMMAND [OPTIONS] FILE…
       mxc [-i FILE]             a prompt: type statements, see results; first those of FILE

commands
  check FILE…      all errors of a program; nothing runs
  fmt FILE…        put files into the one style (--check: only say which are not)
  explain CODE     what a message means, with a wrong and a right example
  grammar          editor grammars from the token table (--vscode, --tree-sitter)
  run FILE         check a program and run it
  launch FILE      run a program as several processes, which `dist.sync` connects
  build FILE -o F  code for other programs, made ahead of time
  plan FILE GRAPH  the memory that a graph needs, before it runs
  doc [FILE…]      the reference of the library or of your modules, as HTML
  report FOLDER    one page with the curves of a run and what else its folder holds
  -e 'CODE'        run a program given here
  test FILE…       run the `test` blocks of programs, and the examples in their comments
  help [COMMAND]   this page, or a command's own

options of every command that reads programs
  --error-format=text|short|json   how messages are printed
  --emit=tokens|ast|typed          print a stage of the compiler instead
  --silence=CODE[,CODE]            leave out warnings
  -D name=value                    a value for `option(name, default)`
  --colour=auto|always|never       colours in messages

  --version        the version of mxc
  --help           this page

exit codes: 0 fine, 1 the program has errors, 2 wrong use of mxc, 3 a fault of mxc itself

Without a COMMAND, `mxc FILE.mx` with --emit works as `mxc check`.
)";

struct Command {
  const char *name;
  int (*run)(const std::vector<std::string> &, Streams);
  bool takesValues = false; ///< accepts values of options behind `--`
};
constexpr Command kCommands[] = {
    {"check", runCheck, true}, {"fmt", runFormat},      {"explain", runExplain},
    {"grammar", runGrammar},   {"run", runProgram, true}, {"test", runTests, true},
    {"build", runBuild, true}, {"plan", runPlan, true}, {"report", runReport},
    {"doc", runDoc},     {"launch", runLaunch, true},
};

} // namespace

int runMxc(const std::vector<std::string> &args, Streams streams) {
  if (args.empty()) {
    streams.err << kHelp;
    return kWrongUse;
  }
  std::string first = args[0];
  std::vector<std::string> rest(args.begin() + 1, args.end());
  if (first == "-e" || first.rfind("-e=", 0) == 0)
    return runProgram(args, streams);
  if (first == "--version" || first == "version") {
    streams.out << "mxc " MX_VERSION "\n";
    return kFine;
  }
  if (first == "--help" || first == "-h" || (first == "help" && rest.empty())) {
    streams.out << kHelp;
    return kFine;
  }
  if (first == "help") {
    first = rest[0];
    rest = {"--help"};
  }
  std::vector<std::string> known;
  for (const Command &command : kCommands) {
    known.push_back(command.name);
    if (first != command.name)
      continue;
    if (!command.takesValues && std::find(rest.begin(), rest.end(), "--") != rest.end()) {
      streams.err << "mxc " << first << ": no arguments are allowed after `--` here\n";
      return kWrongUse;
    }
    return command.run(rest, streams);
  }
  // `mxc --emit=ast file.mx`
  bool emits = std::any_of(args.begin(), args.end(),
                           [](const std::string &a) { return a.rfind("--emit", 0) == 0; });
  if (emits)
    return runCheck(args, streams);
  std::string near = nearest(first, known);
  streams.err << "mxc: there is no command `" << first << "`";
  if (!near.empty())
    streams.err << "; did you mean `" << near << "`?";
  else if (first.size() > 3 && first.substr(first.size() - 3) == ".mx")
    streams.err << "; to check the file write `mxc check " << first << "`";
  streams.err << "\n`mxc --help` lists the commands\n";
  return kWrongUse;
}

} // namespace mx::driver
