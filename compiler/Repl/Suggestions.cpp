// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tab completion of commands, files and names.
#include "Repl/Suggestions.h"
#include "Repl/PromptCommands.h"
#include "Repl/Inputs.h"
#include <algorithm>
#include <filesystem>

namespace mx::repl {
namespace {

/// The position behind the quote of a string literal that is open at the end; npos if there is
/// none.
size_t openText(const std::string &before) {
  size_t open = std::string::npos;
  for (size_t i = 0; i < before.size(); ++i) {
    if (open != std::string::npos && before[i] == '\\')
      ++i;
    else if (before[i] == '"')
      open = open == std::string::npos ? i + 1 : std::string::npos;
    else if (before[i] == '\n')
      open = std::string::npos;
    else if (open == std::string::npos && before[i] == '#')
      i = std::min(before.find('\n', i), before.size()) - 1;
  }
  return open;
}

/// Files and folders whose path starts with the text behind `begin`.
sema::Completion files(const std::string &before, size_t begin) {
  namespace fs = std::filesystem;
  sema::Completion out;
  std::string typed = before.substr(begin);
  size_t slash = typed.rfind('/');
  std::string folder = slash == std::string::npos ? "" : typed.substr(0, slash + 1);
  std::string word = slash == std::string::npos ? typed : typed.substr(slash + 1);
  out.begin = begin + folder.size();
  std::error_code problem;
  for (fs::directory_iterator it(folder.empty() ? "." : folder, problem), end;
       !problem && it != end; it.increment(problem)) {
    std::string name = it->path().filename().string();
    if (!name.starts_with(word) || (name[0] == '.' && word.empty()))
      continue;
    std::error_code ignored;
    bool isFolder = it->is_directory(ignored);
    out.list.push_back({name + (isFolder ? "/" : ""), isFolder ? "folder" : ""});
  }
  std::sort(out.list.begin(), out.list.end(), [](auto &a, auto &b) { return a.text < b.text; });
  return out;
}

} // namespace

sema::Completion suggest(sema::Checker &checker, const std::string &before) {
  size_t first = before.find_first_not_of(" \t");
  if (!isCommand(before)) {
    if (size_t text = openText(before); text != std::string::npos)
      return files(before, text);
    return sema::complete(checker.sema(), before);
  }
  size_t space = before.find_first_of(" \t", first);
  if (before[first] == ':' && space == std::string::npos) {
    sema::Completion out;
    out.begin = first + 1;
    std::string word = before.substr(out.begin);
    for (const Command &command : commands())
      if (std::string_view(command.name).starts_with(word))
        out.list.push_back({command.name, std::string(command.arguments) +
                                              (*command.arguments ? "   " : "") + command.help});
    std::sort(out.list.begin(), out.list.end(), [](auto &a, auto &b) { return a.text < b.text; });
    return out;
  }
  size_t argument = before[first] == '?' ? before.find_first_not_of("?", first)
                                         : before.find_first_not_of(" \t", space);
  if (argument == std::string::npos)
    argument = before.size();
  std::string command = before.substr(first, std::min(space, before.size()) - first);
  if (command == ":load" || command == ":save" || command == ":save!")
    return files(before, argument);
  if (size_t text = openText(before); text != std::string::npos)
    return files(before, text);
  sema::Completion out = sema::complete(checker.sema(), before.substr(argument));
  out.begin += argument;
  return out;
}

} // namespace mx::repl
