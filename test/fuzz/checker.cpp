// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any text is checked or refused, in bounded time. What it refuses has an error inside the file (or
// in the library's), what it accepts has a type for every line, and the same text as an input of a
// session never leaves names behind when it fails.
#include "Sema/Checker.h"
#include "Support/Limits.h"
#include <cstdlib>

using namespace mx;

static void require(bool condition) {
  if (!condition)
    std::abort();
}

static sema::CheckOptions checkOptions() {
  sema::CheckOptions options;
  const char *folder = std::getenv("MX_STDLIB");
  options.stdlib = folder ? folder : MX_SOURCE_DIR "/stdlib";
  return options;
}

static void requireGoodDiagnostics(const Diagnostics &diagnostics, const SourceManager &sources,
                                   const SourceFile &file, size_t size) {
  require(diagnostics.errorCount() <= limits::kMaxErrors);
  int shown = 0;
  for (const Diagnostic *d : diagnostics.sorted()) {
    require(!d->message.empty());
    require(d->span.valid());
    if (d->span.file == file.id())
      require(d->span.end <= size && d->span.begin <= d->span.end);
    if (++shown <= 2) // drawing is slow, and the lexer's target draws everything
      require(!render(*d, sources, {}).empty());
  }
}

static void checkAsProgram(const std::string &text) {
  SourceManager sources;
  Diagnostics diagnostics(sources);
  sema::Checker checker(sources, diagnostics, checkOptions());
  require(!diagnostics.hasErrors()); // the library is there
  const SourceFile &file = sources.add("fuzz.mx", "", text);
  const sema::ModuleInfo *module = checker.checkProgram(file);
  require(module != nullptr);
  requireGoodDiagnostics(diagnostics, sources, file, text.size());
  if (!diagnostics.hasErrors())
    checker.describe(*module);
}

/// The text in two halves, split at a line, as two inputs of a session.
static void checkAsSession(const std::string &text) {
  SourceManager sources;
  Diagnostics diagnostics(sources);
  sema::Checker checker(sources, diagnostics, checkOptions());
  size_t middle = text.find('\n', text.size() / 2);
  if (middle == std::string::npos)
    middle = text.size();
  for (const std::string &part : {text.substr(0, middle), text.substr(middle)}) {
    auto before = checker.names();
    const SourceFile &file = sources.add("<input>", "", part);
    bool complete = false;
    if (!checker.checkInput(file, complete) || !complete)
      require(checker.names() == before);
  }
  require(diagnostics.errorCount() <= limits::kMaxErrors);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  // Most inputs as programs; which are sessions depends on the text alone.
  if (size % 8 == 7)
    checkAsSession(text);
  else
    checkAsProgram(text);
  return 0;
}
