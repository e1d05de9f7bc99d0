// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A text without errors is formatted; the result means the same (formatSource checks that itself),
// and formatting it again changes nothing. A text with errors is refused, never a crash.
#include "Syntax/Format.h"
#include "Support/Unicode.h"
#include "Syntax/Parser.h"
#include <cstdio>
#include <cstdlib>

using namespace mx;

namespace {
struct Result {
  bool good = false;
  std::optional<std::string> text;
};

Result format(const std::string &text) {
  SourceManager sources;
  Diagnostics diagnostics(sources);
  Arena arena;
  const SourceFile &file = sources.add("fuzz.mx", "", text);
  LexedSource lexed = lex(file, diagnostics);
  ast::Module *module = parseModule(file, lexed, arena, diagnostics);
  return {!diagnostics.hasErrors(), formatSource(file, lexed, *module)};
}

void require(bool condition, const char *what, const std::string &before,
             const std::string &after) {
  if (condition)
    return;
  std::fprintf(stderr, "%s\n---- before\n%s\n---- after\n%s\n----\n", what, before.c_str(),
               after.c_str());
  std::abort();
}
} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  Result first = format(text);
  if (!first.good) {
    require(!first.text, "a text with errors was formatted", text, first.text.value_or(""));
    return 0;
  }
  require(first.text.has_value(), "the formatter refused a text without errors", text, "");
  Result second = format(*first.text);
  require(second.text.has_value(), "the formatter refused its own text", *first.text, "");
  require(*second.text == *first.text, "formatting again changes the text", *first.text,
          *second.text);
  return 0;
}
