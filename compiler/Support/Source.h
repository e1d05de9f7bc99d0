// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Source texts and locations. A location is a file number and a byte offset. Lines and columns (in
// code points, from 1) are computed on demand.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mx {

/// A half-open range of bytes in one source file. File 0 is "unknown".
struct Span {
  uint32_t file = 0;
  uint32_t begin = 0;
  uint32_t end = 0;

  bool valid() const { return file != 0; }
  /// The smallest span that covers both. Both must be in the same file.
  Span to(Span other) const {
    if (!valid() || other.file != file)
      return valid() ? *this : other;
    return {file, begin < other.begin ? begin : other.begin, end > other.end ? end : other.end};
  }
  Span start() const { return {file, begin, begin}; }
  bool operator==(const Span &) const = default;
};

struct LineColumn {
  uint32_t line = 0;   ///< from 1
  uint32_t column = 0; ///< from 1, in code points
};

class SourceFile {
public:
  SourceFile(uint32_t id, std::string name, std::string path, std::string text);

  uint32_t id() const { return fileId; }
  /// The display name: the file's base name, or `<repl:3>`, `<command>`.
  const std::string &name() const { return shownName; }
  /// The path of the file; empty for text without a file.
  const std::string &path() const { return filePath; }
  std::string_view text() const { return contents; }

  LineColumn lineColumn(uint32_t offset) const;
  /// The line only (from 1). A column takes time linear in the length of the line, a line does not.
  uint32_t lineNumber(uint32_t offset) const;
  /// The text of a line (from 1) without its line end.
  std::string_view line(uint32_t number) const;
  uint32_t lineStart(uint32_t number) const { return lineStarts[number - 1]; }
  uint32_t lineCount() const { return static_cast<uint32_t>(lineStarts.size()); }

private:
  uint32_t fileId;
  std::string shownName, filePath, contents;
  std::vector<uint32_t> lineStarts;
};

/// Owns all texts of a compilation or session. Files are never removed, so spans stay valid.
class SourceManager {
public:
  const SourceFile &add(std::string name, std::string path, std::string text);
  const SourceFile &file(uint32_t id) const { return files[id - 1]; }
  const SourceFile &file(Span span) const { return file(span.file); }
  std::string_view text(Span span) const;
  /// The span of the character at a line and column (from 1) of the newest file displayed as
  /// `name`; the unknown span if there is none.
  Span find(std::string_view name, uint32_t line, uint32_t column) const;
  /// `mlp.mx:7:11`
  std::string location(Span span) const;
  /// `mlp.mx:7`
  std::string locationLine(Span span) const;

private:
  std::deque<SourceFile> files;
};

/// Reads a whole file. On failure returns nullopt and sets `error`.
std::optional<std::string> readFile(const std::string &path, uint64_t maxBytes, std::string &error);

} // namespace mx
