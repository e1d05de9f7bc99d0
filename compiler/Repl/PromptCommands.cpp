// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of `:commands`, and their lookup by unique prefix.
#include "Repl/PromptCommands.h"
#include "Support/Suggest.h"
#include <algorithm>

namespace mx::repl {
namespace {

bool help(Prompt &prompt, const std::string &rest) {
  std::string wanted = rest.starts_with(":") ? rest.substr(1) : rest;
  bool found = false;
  for (const Command &command : commands()) {
    if (!wanted.empty() && wanted != command.name)
      continue;
    found = true;
    std::string left = std::string(":") + command.name + " " + command.arguments;
    left.resize(std::max<size_t>(left.size() + 1, 24), ' ');
    prompt.out << "  " << left << command.help << "\n";
  }
  if (!found) {
    prompt.err << "there is no command `:" << wanted << "`; `:help` lists them\n";
    return false;
  }
  if (wanted.empty())
    prompt.out
        << "  ?name  ??name           the same as :doc and :source\n"
           "An input continues on the next line while a bracket is open or the line ends in an\n"
           "operator; Alt-Enter begins a line in any case. `_` is the last value; `;` at the\n"
           "end shows none. Tab completes, Ctrl-R looks back, Ctrl-C stops, Ctrl-D leaves.\n";
  return true;
}

bool quit(Prompt &prompt, const std::string &) {
  prompt.leaves = true;
  return true;
}

bool undo(Prompt &prompt, const std::string &rest) {
  int steps = 1;
  if (!rest.empty()) {
    char *end = nullptr;
    steps = static_cast<int>(std::strtol(rest.c_str(), &end, 10));
    if (*end || steps < 1) {
      prompt.err << "`:undo " << rest << "`: how many inputs to take back, such as `:undo 2`\n";
      return false;
    }
  }
  for (int i = 0; i < steps; ++i)
    if (!prompt.undo.undo()) {
      prompt.err << (i == 0 ? "there is nothing to undo\n" : "there was nothing more to undo\n");
      return false;
    }
  return true;
}

bool setSnapshots(Prompt &prompt, const std::string &rest) {
  return readSwitch(prompt, "snapshots", rest, prompt.undo.keepsValues);
}

bool setEager(Prompt &prompt, const std::string &rest) {
  bool eager = prompt.session.settings().code.eager;
  if (!readSwitch(prompt, "eager", rest, eager))
    return false;
  prompt.session.setEager(eager);
  return true;
}

bool setNan(Prompt &prompt, const std::string &rest) {
  bool check = prompt.session.settings().checkNan;
  if (!readSwitch(prompt, "nan", rest, check))
    return false;
  prompt.session.setCheckNan(check);
  return true;
}

bool setWaits(Prompt &prompt, const std::string &rest) {
  return readSwitch(prompt, "waits", rest, prompt.showsWaits);
}

} // namespace

const std::vector<Command> &commands() {
  static const std::vector<Command> table = {
      {"help", "[COMMAND]", "this table", help},
      {"type", "EXPR", "its type, effects and whether it waits; nothing runs", showType},
      {"doc", "NAME", "what a function, model or module is; ?name does the same", showDoc},
      {"source", "NAME", "its text; ??name does the same", showSource},
      {"names", "[PREFIX]", "what this session defines", showNames},
      {"time", "EXPR", "how long it takes, compiling apart, and its peak of memory", timeInput},
      {"ir", "F [STAGE] [N=32 …]",
       "a stage of a function: source mx bytecode, of a graph also more", showStage},
      {"plan", "F [N=32 …]", "the memory that a call of a graph needs", showPlan},
      {"mem", "", "tensors of this session, and what the device holds", showMemory},
      {"graphs", "", "compiled graphs: sizes, time to compile, bytes, calls", showGraphs},
      {"eager", "[on|off]", "run graphs op by op", setEager},
      {"compare", "EXPR", "run graphs both ways and say where results differ", compareInput},
      {"step", "EXPR", "run it statement by statement, graphs op by op", stepThrough},
      {"nan", "[on|off]", "stop at the first op that makes a NaN; graphs run op by op", setNan},
      {"waits", "[on|off]", "say where an input waited for a tensor", setWaits},
      {"load", "FILE", "run a file as one input", loadFile},
      {"reload", "", "run what changed in the files that were loaded; other values stay",
       reloadFiles},
      {"undo", "[N]", "take the last input back", undo},
      {"snapshots", "[on|off]", "also keep old values of variables for :undo", setSnapshots},
      {"save", "FILE", "write the inputs that succeeded; :save! replaces a file", saveInputs},
      {"edit", "[NAME]", "the last input, or the text of a name, in $EDITOR", editInput},
      {"!", "COMMAND", "a command of the shell", runShell},
      {"quit", "", "leave; so does Ctrl-D", quit},
  };
  return table;
}

bool readSwitch(Prompt &prompt, const char *command, const std::string &word, bool &value) {
  if (word == "on" || word == "off") {
    value = word == "on";
  } else if (word.empty()) {
    value = !value;
  } else {
    prompt.err << "`:" << command << " " << word << "`: on or off?\n";
    return false;
  }
  if (prompt.isInteractive)
    prompt.out << command << " is " << (value ? "on" : "off") << "\n";
  return true;
}

bool runCommand(Prompt &prompt, const std::string &line) {
  auto trim = [](std::string text) {
    size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string::npos)
      return std::string();
    return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
  };
  std::string text = trim(line);
  if (text.starts_with("??"))
    return showSource(prompt, trim(text.substr(2)));
  if (text.starts_with("?"))
    return showDoc(prompt, trim(text.substr(1)));
  text.erase(0, 1); // the colon
  if (text.starts_with("!"))
    return runShell(prompt, trim(text.substr(1)));
  if (text.starts_with("save!"))
    return saveInputs(prompt, "! " + trim(text.substr(5)));
  size_t end = std::min(text.find_first_of(" \t"), text.size());
  std::string name = text.substr(0, end), rest = trim(text.substr(end));
  // An unambiguous prefix selects its command: `:q`, `:gr`.
  const Command *found = nullptr;
  int fitting = 0;
  for (const Command &command : commands()) {
    if (name == command.name) {
      found = &command;
      fitting = 1;
      break;
    }
    if (!name.empty() && std::string_view(command.name).starts_with(name)) {
      found = &command;
      ++fitting;
    }
  }
  if (fitting == 1)
    return found->run(prompt, rest);
  std::vector<std::string> known;
  std::string candidates;
  for (const Command &command : commands()) {
    known.push_back(command.name);
    if (fitting > 1 && std::string_view(command.name).starts_with(name))
      candidates += std::string(candidates.empty() ? "" : ", ") + ":" + command.name;
  }
  std::string near = nearest(name, known);
  prompt.err << "there is no command `:" << name << "`";
  if (!candidates.empty())
    prompt.err << "; it could be " << candidates;
  else if (!near.empty())
    prompt.err << "; did you mean `:" << near << "`?";
  else
    prompt.err << "; `:help` lists them";
  prompt.err << "\n";
  return false;
}

} // namespace mx::repl
