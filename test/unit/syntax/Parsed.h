// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A text with its tokens, tree and diagnostics, for the tests of the syntax.
#pragma once
#include "Syntax/Format.h"
#include "Syntax/Parser.h"
#include <fstream>
#include <iterator>

namespace mx {

struct Parsed {
  SourceManager sources;
  Diagnostics diagnostics{sources};
  Arena arena;
  const SourceFile *file;
  LexedSource lexed;
  ast::Module *module;

  explicit Parsed(std::string text) {
    file = &sources.add("t.mx", "", std::move(text));
    lexed = lex(*file, diagnostics);
    module = parseModule(*file, lexed, arena, diagnostics);
  }
  bool good() const { return !diagnostics.hasErrors(); }
  std::string dump() const { return ast::dump(*module, false); }
  std::optional<std::string> format() const { return formatSource(*file, lexed, *module); }
  /// `E0101 E0102`, in the order of the text.
  std::string codes() const {
    std::string out;
    for (const Diagnostic *d : diagnostics.sorted())
      out += (out.empty() ? "" : " ") + std::string(codeInfo(d->code).id);
    return out;
  }
  /// The messages in their one-line form, without the file's name.
  std::string messages() const {
    std::string out;
    RenderOptions options;
    options.format = ErrorFormat::Short;
    for (const Diagnostic *d : diagnostics.sorted())
      out += render(*d, sources, options).substr(5);
    return out;
  }
  std::string rendered() const {
    std::string out;
    for (const Diagnostic *d : diagnostics.sorted())
      out += render(*d, sources, {});
    return out;
  }
};

inline std::string slurp(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

} // namespace mx
