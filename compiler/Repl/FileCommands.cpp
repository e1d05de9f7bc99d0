// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Commands about files and other programs.
#include "Repl/PromptCommands.h"
#include "Repl/Inputs.h"
#include "Repl/Reload.h"
#include "Support/Limits.h"
#include "base/Files.h"
#include "base/Replacement.h"
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

namespace mx::repl {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> readText(Prompt &prompt, const std::string &path) {
  std::string error;
  std::optional<std::string> text = readFile(path, limits::kMaxSourceBytes + 1, error);
  if (!text)
    prompt.err << "cannot read `" << path << "`: " << error << "\n";
  return text;
}

/// Runs a command in the shell, on this terminal; Ctrl-C goes to that program meanwhile. Returns
/// its exit code.
int runProgram(const std::string &command) {
  int status = std::system(command.c_str());
  return status == -1 ? 127 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string shellWord(const std::string &word) {
  std::string out = "'";
  for (char c : word)
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

} // namespace

bool loadFile(Prompt &prompt, const std::string &rest) {
  if (rest.empty()) {
    prompt.err << "which file? `:load model.mx`\n";
    return false;
  }
  std::optional<std::string> text = readText(prompt, rest);
  if (!text)
    return false;
  bool fine = prompt.run(rest, rest, *text);
  if (!fine)
    return false;
  std::erase_if(prompt.files, [&](auto &file) { return file.first == rest; });
  prompt.files.push_back({rest, std::move(*text)});
  return true;
}

bool reloadFiles(Prompt &prompt, const std::string &rest) {
  if (!rest.empty() || prompt.files.empty()) {
    prompt.err << (rest.empty() ? "no file was loaded yet: `:load FILE`\n"
                                : "`:reload` takes no argument: it is for all files loaded\n");
    return false;
  }
  bool fine = true;
  for (auto &[path, before] : prompt.files) {
    std::optional<std::string> now = readText(prompt, path);
    if (!now) {
      fine = false;
      continue;
    }
    if (*now == before)
      continue;
    if (prompt.run(path, path, changedPart(before, *now)))
      before = std::move(*now);
    else
      fine = false;
  }
  return fine;
}

bool saveInputs(Prompt &prompt, const std::string &rest) {
  bool replaces = rest.starts_with("! ") || rest == "!";
  std::string path = replaces ? rest.substr(std::min<size_t>(2, rest.size())) : rest;
  if (path.empty()) {
    prompt.err << "into which file? `:save session.mx`\n";
    return false;
  }
  std::error_code ignored;
  if (!replaces && !prompt.saved.count(path) && fs::exists(path, ignored)) {
    prompt.err << "`" << path << "` exists; `:save! " << path << "` replaces it\n";
    return false;
  }
  std::string text;
  for (const std::string &input : prompt.undo.inputs())
    text += markOfOne(input) + input + (input.ends_with('\n') ? "" : "\n");
  if (int failure = mxrt::os::replaceFile(path.c_str(), text.data(), text.size(), 0666)) {
    char words[128];
    prompt.err << "cannot write `" << path
               << "`: " << mxrt::os::errorText(failure, words, sizeof words) << "\n";
    return false;
  }
  prompt.saved.insert(path);
  size_t count = prompt.undo.inputs().size();
  prompt.out << count << (count == 1 ? " input" : " inputs") << " in `" << path << "`\n";
  return true;
}

bool editInput(Prompt &prompt, const std::string &rest) {
  std::string text = prompt.undo.inputs().empty() ? "" : prompt.undo.inputs().back();
  if (!rest.empty()) {
    std::vector<sema::Meaning> meanings = sema::meaningsOf(prompt.session.checker().sema(), rest);
    if (meanings.empty() || meanings[0].source.empty()) {
      prompt.err << "`" << rest << "` has no text to edit\n";
      return false;
    }
    text = meanings[0].source + "\n";
  }
  const char *editor = std::getenv("VISUAL");
  if (!editor || !*editor)
    editor = std::getenv("EDITOR");
  if (!editor || !*editor) {
    prompt.err << "no editor is set: `EDITOR=vi mxc`\n";
    return false;
  }
  std::string folder = (fs::temp_directory_path() / "mx-edit-XXXXXX").string();
  if (!mkdtemp(folder.data())) {
    prompt.err << "cannot make a file in `" << fs::temp_directory_path().string() << "`\n";
    return false;
  }
  std::string path = folder + "/input.mx";
  std::ofstream(path, std::ios::binary) << text;
  prompt.out << std::flush;
  int code = runProgram(std::string(editor) + " " + shellWord(path));
  std::optional<std::string> edited = code == 0 ? readText(prompt, path) : std::nullopt;
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  if (code != 0)
    prompt.err << "`" << editor << "` ended with " << code << "; nothing was run\n";
  if (!edited)
    return false;
  if (*edited == text || edited->find_first_not_of(" \t\r\n") == std::string::npos) {
    prompt.out << "nothing was changed\n";
    return true;
  }
  return prompt.run(prompt.nextName(), "", *edited);
}

bool runShell(Prompt &prompt, const std::string &rest) {
  if (rest.empty()) {
    prompt.err << "which command? `:! ls`\n";
    return false;
  }
  prompt.out << std::flush;
  int code = runProgram(rest);
  if (code != 0)
    prompt.err << "`" << rest << "` ended with " << code << "\n";
  return code == 0;
}

} // namespace mx::repl
