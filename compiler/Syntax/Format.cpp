// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Driver of the source formatter: runs its stages in order and verifies the result.
#include "Syntax/Format.h"
#include "Syntax/FormatTokens.h"
#include "Syntax/Parser.h"

namespace mx {
namespace {

bool sameComments(const SourceFile &a, const LexedSource &before, const SourceFile &b,
                  const LexedSource &after) {
  if (before.comments.size() != after.comments.size())
    return false;
  for (size_t i = 0; i < before.comments.size(); ++i) {
    const Comment &x = before.comments[i], &y = after.comments[i];
    if (a.text().substr(x.begin, x.end - x.begin) != b.text().substr(y.begin, y.end - y.begin))
      return false;
  }
  return true;
}

/// A 64-bit FNV-1a hash of a tree. Different trees collide with probability 2^-64.
uint64_t fingerprint(const ast::Module &module) {
  uint64_t hash = 0xcbf29ce484222325;
  auto add = [&](uint64_t byte) { hash = (hash ^ byte) * 0x100000001b3; };
  ast::dumpLines(module, false, [&](size_t depth, std::string_view line) {
    add(depth);
    for (unsigned char c : line)
      add(c);
    add('\n');
  });
  return hash;
}

} // namespace

std::optional<std::string> formatSource(const SourceFile &file, const LexedSource &source,
                                        const ast::Module &module) {
  // The layout relies on properties of the grammar. Only the parser knows whether there were
  // errors.
  SourceManager sources;
  Diagnostics diagnostics(sources);
  {
    Arena arena;
    const SourceFile &copy = sources.add(file.name(), "", std::string(file.text()));
    parseModule(copy, lex(copy, diagnostics), arena, diagnostics);
    if (diagnostics.hasErrors())
      return std::nullopt;
  }
  format::FormatTokens program = format::collect(file, source, module);
  std::vector<int> commentIndent;
  std::vector<format::FormatLine> lines = format::breakLines(program, commentIndent);
  std::string text = format::writeLines(program, lines, commentIndent);

  // The formatter must not change the program, so the result is always parsed again.
  Arena arena;
  const SourceFile &again = sources.add(file.name(), "", text);
  LexedSource lexed = lex(again, diagnostics);
  const ast::Module *reread = parseModule(again, lexed, arena, diagnostics);
  if (diagnostics.hasErrors() || !sameComments(file, source, again, lexed) ||
      fingerprint(module) != fingerprint(*reread))
    return std::nullopt;
  return text;
}

} // namespace mx
