// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Persistent history of inputs.
#include "Repl/History.h"
#include "Support/Source.h"
#include "base/Replacement.h"
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace mx::repl {
namespace {

constexpr size_t kMaxEntries = 5000;
constexpr uint64_t kMaxBytes = 16 << 20;

std::string escaped(const std::string &input) {
  std::string line;
  for (char c : input)
    line += c == '\\' ? std::string("\\\\") : c == '\n' ? std::string("\\n") : std::string(1, c);
  return line;
}

std::string unescaped(std::string_view line) {
  std::string input;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size())
      input += line[++i] == 'n' ? '\n' : line[i];
    else
      input += line[i];
  }
  return input;
}

} // namespace

std::string History::defaultPath() {
  namespace fs = std::filesystem;
  if (const char *state = std::getenv("XDG_STATE_HOME"); state && *state)
    return fs::path(state) / "mx" / "history";
  if (const char *home = std::getenv("HOME"); home && *home)
    return fs::path(home) / ".local" / "state" / "mx" / "history";
  return "";
}

History::History(std::string file) : path(std::move(file)) {
  if (path.empty())
    return;
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  std::string error;
  std::optional<std::string> text = readFile(path, kMaxBytes, error);
  if (!text)
    return;
  for (size_t at = 0; at < text->size();) {
    size_t end = std::min(text->find('\n', at), text->size());
    if (end > at)
      list.push_back(unescaped(std::string_view(*text).substr(at, end - at)));
    at = end + 1;
  }
  if (list.size() <= 2 * kMaxEntries && text->size() < kMaxBytes)
    return;
  list.erase(list.begin(),
             list.end() - static_cast<ptrdiff_t>(std::min(list.size(), kMaxEntries)));
  std::string shorter;
  for (const std::string &entry : list)
    shorter += escaped(entry) + "\n";
  // After a failure the long file stays, for the next session to truncate.
  mxrt::os::replaceFile(path.c_str(), shorter.data(), shorter.size(), 0600);
}

void History::add(const std::string &given) {
  std::string input = given;
  while (!input.empty() && std::isspace(static_cast<unsigned char>(input.back())))
    input.pop_back();
  if (input.empty() || (!list.empty() && list.back() == input))
    return;
  list.push_back(input);
  if (path.empty())
    return;
  // Inputs may be private: only the user can read the file.
  int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0)
    return;
  std::string line = escaped(input) + "\n";
  ssize_t written = write(file, line.data(), line.size()); // one call: lines do not mix
  (void)written;
  close(file);
}

} // namespace mx::repl
