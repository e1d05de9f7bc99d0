// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the compiler says to people. A diagnostic has a code, a place, labels on both sides, notes
// (why) and helps (the text to type). It is plain data; DiagnosticRenderer turns it into text.
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

/// Every code, from the one table in Codes.def.
enum class Code {
#define MX_CODE(ID, TITLE, TEXT, WRONG, RIGHT) ID,
#include "Support/Codes.def"
};

struct CodeInfo {
  Code code;
  std::string_view id;    ///< "E0301"
  std::string_view title; ///< one line
  std::string_view text;  ///< why, and what to do
  std::string_view wrong; ///< a program that gets this code
  std::string_view right; ///< the same program, mended
};

/// All codes in the order of the table.
const std::vector<CodeInfo> &allCodes();
const CodeInfo &codeInfo(Code code);
/// Finds `E0301` (or `e0301`); null if there is no such code.
const CodeInfo *findCode(std::string_view id);
Severity severityOf(Code code);

struct Label {
  Span span;
  std::string text; ///< empty: the line is shown for context only
  bool primary = false;
};

struct Diagnostic {
  Code code;
  /// Shown instead of the code: errors of a run have numbers of their own (R0302).
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
  /// Shows a line without saying anything about it.
  Diagnostic &show(Span at) { return label(at, ""); }
  Diagnostic &note(std::string text) {
    for (const Remark &r : remarks) // both sides of `a @ a` come from one place
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

/// Collects diagnostics. Warnings can be silenced by code; the same code at the same place is kept
/// once. Not thread-safe: one sink belongs to one compilation.
class Diagnostics {
public:
  explicit Diagnostics(const SourceManager &sources) : sourceManager(&sources) {}

  /// The returned reference stays valid until clear() or truncate(). Silenced and repeated
  /// diagnostics go to a scratch object that nobody prints.
  Diagnostic &report(Code code, Span at, std::string message);

  void silence(Code code) { silenced.insert(code); }
  const SourceManager &sources() const { return *sourceManager; }
  const std::deque<Diagnostic> &all() const { return list; }
  size_t errorCount() const { return errors; }
  bool hasErrors() const { return errors != 0; }
  /// True once so many errors were reported that more would not help anybody.
  bool full() const;
  void clear();
  /// Forgets what was reported after the first `count`; used when a guess did not work out.
  void truncate(size_t count);
  /// By file, then by place, as a reader goes through a file.
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

/// Escapes a string for JSON, quotes included. Bad UTF-8 becomes U+FFFD.
std::string jsonString(std::string_view text);

} // namespace mx
