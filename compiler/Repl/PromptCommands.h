// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `:commands` of the prompt: one table, which is also the source of `:help` and of Tab completion.
#pragma once
#include "Driver/Commands.h"
#include "Repl/LineReader.h"
#include "Repl/Undo.h"
#include <map>

namespace mx::repl {

/// State that commands work on: the prompt.
struct Prompt {
  Prompt(driver::InputSession &session, Undo &undo, LineReader &reader, driver::Streams &streams,
         bool isInteractive)
      : session(session), undo(undo), reader(reader), out(streams.out), err(streams.err),
        isInteractive(isInteractive) {}
  driver::InputSession &session;
  Undo &undo;
  LineReader &reader;
  std::ostream &out, &err;
  bool isInteractive; ///< a person reads the output
  bool showsWaits = false;
  bool leaves = false; ///< `:quit`
  int inputs = 0;      ///< number so far
  /// Loaded files with their text, oldest first.
  std::vector<std::pair<std::string, std::string>> files;
  std::set<std::string> saved; ///< files that `:save` wrote

  /// `<repl:3>`
  std::string nextName() { return "<repl:" + std::to_string(++inputs) + ">"; }
  /// Runs an input as if it had been typed; `path` is that of a file it came from.
  bool run(const std::string &name, const std::string &path, const std::string &text);
};

struct Command {
  const char *name;      ///< `time`
  const char *arguments; ///< `EXPR`
  const char *help;
  /// `rest` has no surrounding white space. Reports its own errors; false then.
  bool (*run)(Prompt &prompt, const std::string &rest);
};

const std::vector<Command> &commands();

/// Runs `:name …`, `?name` or `??name`.
bool runCommand(Prompt &prompt, const std::string &line);

/// Parses `on` or `off`; empty toggles. Reports anything else and returns false.
bool readSwitch(Prompt &prompt, const char *command, const std::string &word, bool &value);

// LookCommands.cpp
bool showType(Prompt &prompt, const std::string &rest);
bool showDoc(Prompt &prompt, const std::string &rest);
bool showSource(Prompt &prompt, const std::string &rest);
bool showStage(Prompt &prompt, const std::string &rest);
bool showPlan(Prompt &prompt, const std::string &rest);
bool showMemory(Prompt &prompt, const std::string &rest);
bool showGraphs(Prompt &prompt, const std::string &rest);
bool showNames(Prompt &prompt, const std::string &rest);
// RunCommands.cpp
bool timeInput(Prompt &prompt, const std::string &rest);
bool compareInput(Prompt &prompt, const std::string &rest);
bool stepThrough(Prompt &prompt, const std::string &rest);
// FileCommands.cpp
bool loadFile(Prompt &prompt, const std::string &rest);
bool reloadFiles(Prompt &prompt, const std::string &rest);
bool saveInputs(Prompt &prompt, const std::string &rest);
bool editInput(Prompt &prompt, const std::string &rest);
bool runShell(Prompt &prompt, const std::string &rest);

} // namespace mx::repl
