// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any bytes give tokens or diagnostics. Every token lies in the file, behind the one before it, and
// every diagnostic can be printed in every form.
#include "Syntax/Lexer.h"
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
  const SourceFile &file =
      sources.add("fuzz.mx", "", std::string(reinterpret_cast<const char *>(data), size));
  LexedSource lexed = lex(file, diagnostics);
  require(!lexed.tokens.empty() && lexed.tokens.back().kind == Tok::EndOfFile);
  uint32_t last = 0;
  for (const Token &token : lexed.tokens) {
    require(token.begin >= last && token.begin <= token.end && token.end <= size);
    last = token.end;
  }
  for (const Comment &comment : lexed.comments)
    require(comment.begin < comment.end && comment.end <= size && data[comment.begin] == '#');
  int shown = 0;
  for (const Diagnostic *d : diagnostics.sorted()) {
    if (++shown > 4) // drawing is slow
      break;
    for (ErrorFormat format : {ErrorFormat::Text, ErrorFormat::Short, ErrorFormat::Json}) {
      RenderOptions options;
      options.format = format;
      std::string text = render(*d, sources, options);
      require(!text.empty() && text.back() == '\n');
    }
  }
  return 0;
}
