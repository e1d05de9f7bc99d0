// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any text gives a tree, with errors or without. The tree can be walked, its spans lie in the file,
// and the number of errors is bounded.
#include "Syntax/Parser.h"
#include "Support/Limits.h"
#include <cstdlib>

using namespace mx;

static void require(bool condition) {
  if (!condition)
    std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  SourceManager sources;
  Diagnostics diagnostics(sources);
  Arena arena;
  const SourceFile &file =
      sources.add("fuzz.mx", "", std::string(reinterpret_cast<const char *>(data), size));
  LexedSource lexed = lex(file, diagnostics);
  ast::Module *module = parseModule(file, lexed, arena, diagnostics);
  require(module != nullptr);
  require(diagnostics.errorCount() <= limits::kMaxErrors);
  bool error = false;
  ast::dumpLines(*module, false, [&](size_t, std::string_view line) {
    error |= line == "error" || line == "missing" || line == "type error" ||
             line == "type missing" || line == "block missing";
  });
  // A missing node of the tree is always explained.
  require(!error || diagnostics.hasErrors());
  int shown = 0;
  for (const Diagnostic *d : diagnostics.sorted()) {
    require(d->span.end <= size && d->span.begin <= d->span.end);
    for (const Label &label : d->labels)
      require(label.span.end <= size && label.span.begin <= label.span.end);
    if (++shown <= 2) // drawing is slow, and the lexer's target draws everything
      require(!render(*d, sources, {}).empty());
  }
  return 0;
}
