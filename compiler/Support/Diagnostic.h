// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Diagnostics of the compiler. A diagnostic has a code, a location, labels, notes (the reason) and
// helps (the text to type). It is plain data. DiagnosticRenderer formats it as text.
#pragma once
#include "Support/Source.h"
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace mx {

enum class Severity { Error, Warning, Note };

/// All codes, generated from the table in Codes.def.
enum class Code {
#define MX_CODE(ID, TITLE, TEXT, WRONG, RIGHT) ID,
#include "Support/Codes.def"
};

struct CodeInfo {
  Code code;
  std::string_view id;    ///< "E0301"
  std::string_view title; ///< one line
  std::string_view text;  ///< the reason, and the remedy
  std::string_view wrong; ///< a program with this error
  std::string_view right; ///< the same program, fixed
};

/// All codes in the order of the table.
const std::vector<CodeInfo> &allCodes();
const CodeInfo &codeInfo(Code code);
/// Finds `E0301` (or `e0301`); null if the code does not exist.
const CodeInfo *findCode(std::string_view id);
Severity severityOf(Code code);

struct Label {
  Span span;
  std::string text; ///< empty: the line is context only
  bool primary = false;
};

struct Diagnostic {
  Code code;
  /// Printed instead of the code: run-time errors have numbers of their own (R0302).
  std::string runCode;
  Severity severity;
  std::string message;
  Span span;
  std::vector<Label> labels;
  struct Remark {
    bool help;
    std::string text;
  };
  std::vector<Remark> remarks;

  /// The text beside the caret.
  Diagnostic &caret(std::string text) {
    labels[0].text = std::move(text);
    return *this;
  }
  Diagnostic &label(Span at, std::string text) {
    if (at.valid())
      labels.push_back({at, std::move(text), false});
    return *this;
  }
  /// Shows a line without a label text.
  Diagnostic &show(Span at) { return label(at, ""); }
  Diagnostic &note(std::string text) {
    for (const Remark &r : remarks) // both operands of `a @ a` have the same location
      if (!r.help && r.text == text)
        return *this;
    remarks.push_back({false, std::move(text)});
    return *this;
  }
  Diagnostic &help(std::string text) {
    remarks.push_back({true, std::move(text)});
    return *this;
  }
};

/// Collects diagnostics. Warnings can be silenced by code. A repeated code at the same location is
/// kept once. Not thread-safe: one sink belongs to one compilation.
class Diagnostics {
public:
  explicit Diagnostics(const SourceManager &sources) : sourceManager(&sources) {}

  /// The returned reference stays valid until clear() or truncate(). Silenced and repeated
  /// diagnostics go to a scratch object that is never printed.
  Diagnostic &report(Code code, Span at, std::string message);

  void silence(Code code) { silenced.insert(code); }
  const SourceManager &sources() const { return *sourceManager; }
  const std::deque<Diagnostic> &all() const { return list; }
  size_t errorCount() const { return errors; }
  bool hasErrors() const { return errors != 0; }
  /// True once the number of errors has reached the limit.
  bool full() const;
  void clear();
  /// Drops all diagnostics after the first `count`. Used when speculative checking fails.
  void truncate(size_t count);
  /// Sorted by file, then by location.
  std::vector<const Diagnostic *> sorted() const;

private:
  const SourceManager *sourceManager;
  std::deque<Diagnostic> list;
  std::set<Code> silenced;
  std::set<std::tuple<Code, uint32_t, uint32_t>> seen;
  size_t errors = 0;
  std::optional<Diagnostic> scratch;
};

enum class ErrorFormat { Text, Short, Json };

struct RenderOptions {
  ErrorFormat format = ErrorFormat::Text;
  bool colour = false;
};

std::string render(const Diagnostic &diagnostic, const SourceManager &sources,
                   const RenderOptions &options);

/// Escapes a string for JSON, including the quotes. Invalid UTF-8 becomes U+FFFD.
std::string jsonString(std::string_view text);

} // namespace mx
