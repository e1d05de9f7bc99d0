// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Source files, line tables and file input.
#include "Support/Source.h"
#include "Support/LocationText.h"
#include "Support/Unicode.h"
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mx {

SourceFile::SourceFile(uint32_t id, std::string name, std::string path, std::string text)
    : fileId(id), shownName(std::move(name)), filePath(std::move(path)), contents(std::move(text)) {
  lineStarts.push_back(0);
  for (size_t i = 0; i < contents.size(); ++i)
    if (contents[i] == '\n')
      lineStarts.push_back(static_cast<uint32_t>(i + 1));
}

uint32_t SourceFile::lineNumber(uint32_t offset) const {
  auto it = std::upper_bound(lineStarts.begin(), lineStarts.end(), offset);
  return static_cast<uint32_t>(it - lineStarts.begin());
}

LineColumn SourceFile::lineColumn(uint32_t offset) const {
  offset = std::min<uint32_t>(offset, static_cast<uint32_t>(contents.size()));
  uint32_t line = lineNumber(offset);
  uint32_t start = lineStarts[line - 1];
  uint32_t column =
      1 + static_cast<uint32_t>(countCodePoints(text().substr(start, offset - start)));
  return {line, column};
}

std::string_view SourceFile::line(uint32_t number) const {
  if (number == 0 || number > lineStarts.size())
    return {};
  size_t start = lineStarts[number - 1];
  size_t end = number < lineStarts.size() ? lineStarts[number] - 1 : contents.size();
  if (end > start && contents[end - 1] == '\r')
    --end;
  return text().substr(start, end - start);
}

const SourceFile &SourceManager::add(std::string name, std::string path, std::string text) {
  files.emplace_back(static_cast<uint32_t>(files.size() + 1), std::move(name), std::move(path),
                     std::move(text));
  return files.back();
}

std::string_view SourceManager::text(Span span) const {
  if (!span.valid())
    return {};
  return file(span).text().substr(span.begin, span.end - span.begin);
}

Span SourceManager::find(std::string_view name, uint32_t line, uint32_t column) const {
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    if (file->name() != name)
      continue;
    if (line == 0 || line > file->lineCount())
      return {};
    std::string_view text = file->line(line);
    size_t at = 0;
    for (uint32_t i = 1; i < column && at < text.size(); ++i)
      at += std::max<size_t>(1, decodeUtf8(text, at).bytes);
    uint32_t begin = file->lineStart(line) + static_cast<uint32_t>(at);
    return {file->id(), begin, begin + 1};
  }
  return {};
}

std::string SourceManager::location(Span span) const {
  if (!span.valid())
    return "<builtin>";
  LineColumn at = file(span).lineColumn(span.begin);
  return locationText(file(span).name(), at.line, at.column);
}

std::string SourceManager::locationLine(Span span) const {
  if (!span.valid())
    return "<builtin>";
  return locationText(file(span).name(), file(span).lineColumn(span.begin).line);
}

/// Whether the path names a file descriptor that is already open: standard input, or the shell's
/// `<(command)`. Its writer exists, so reading terminates.
static bool isOpenFile(std::string_view path) {
  return path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

// Reads a regular file or an open descriptor. Never blocks on a pipe without a writer.
std::optional<std::string> readFile(const std::string &path, uint64_t maxBytes,
                                    std::string &error) {
  // Opens without waiting for the writer of a pipe. fstat on the descriptor avoids a race with the
  // path.
  int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat info;
  if (file < 0 || fstat(file, &info) != 0) {
    error = errno == ENXIO ? "it is not a regular file" : std::strerror(errno);
    if (file >= 0)
      close(file);
    return std::nullopt;
  }
  bool given = isOpenFile(path) && !S_ISDIR(info.st_mode);
  if (!S_ISREG(info.st_mode) && !given) {
    error = S_ISDIR(info.st_mode) ? "it is a directory" : "it is not a regular file";
    close(file);
    return std::nullopt;
  }
  if (given)
    fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK);
  FILE *in = fdopen(file, "rb");
  if (!in) {
    error = std::strerror(errno);
    close(file);
    return std::nullopt;
  }
  std::string text;
  char buffer[1 << 16];
  size_t got;
  while ((got = std::fread(buffer, 1, sizeof buffer, in)) > 0) {
    text.append(buffer, got);
    // Text past the limit is enough for the caller to detect that the file is too large.
    if (text.size() > maxBytes)
      break;
  }
  bool failed = std::ferror(in) != 0;
  std::fclose(in);
  if (failed) {
    error = "reading it failed";
    return std::nullopt;
  }
  return text;
}

} // namespace mx
