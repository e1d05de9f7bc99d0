// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared parts of the parser: tokens, errors, panic-mode recovery, doc comments.
#include "Syntax/Parser.h"
#include "Syntax/ParserImpl.h"

namespace mx {
using namespace ast;

ast::Module *parseModule(const SourceFile &file, const LexedSource &source, Arena &arena,
                         Diagnostics &diagnostics) {
  return Parser(file, source, arena, diagnostics).parseModule();
}

ast::Module *Parser::parseModule() {
  auto *module = arena.make<ast::Module>();
  module->file = file.id();
  std::vector<Stmt *> items;
  while (!at(Tok::EndOfFile) && !fatal && !diags.full()) {
    if (accept(Tok::Newline) || accept(Tok::Semicolon))
      continue;
    if (at(Tok::RBrace)) {
      if (Diagnostic *d = error(Code::E0107, here(), "`}` without `{`"))
        d->caret("nothing is open here");
      take();
      panic = false;
      continue;
    }
    items.push_back(parseStmt(Where::Module));
  }
  module->items = arena.list(items);
  return module;
}

std::string Parser::found() const {
  const Token &token = peek();
  switch (token.kind) {
  case Tok::Name: {
    std::string word(textOf(token));
    return "`" + (word.size() > 40 ? word.substr(0, 37) + "..." : word) + "`";
  }
  case Tok::Int:
  case Tok::Float:
    return "`" + std::string(textOf(token)) + "`";
  default:
    return describe(token.kind);
  }
}

Diagnostic *Parser::expected(const std::string &what) {
  // At the end of a line, the error location is after the last token.
  Span where = here();
  if ((at(Tok::Newline) || at(Tok::EndOfFile)) && index > 0)
    where = Span{file.id(), previousEnd(), previousEnd()};
  return error(Code::E0101, where, "expected " + what + ", found " + found());
}

bool Parser::expect(Tok kind) {
  if (accept(kind))
    return true;
  Diagnostic *d = expected(describe(kind));
  if (d && kind == Tok::Name && tokenInfo(peek().kind).keyword)
    d->note("`" + std::string(textOf(peek())) + "` is a reserved word");
  return false;
}

bool Parser::expectClose(Tok kind, Span open) {
  if (accept(kind))
    return true;
  if (Diagnostic *d = expected(describe(kind))) {
    // If a statement starts on the next line, the bracket above was not closed.
    d->label(open, "opened here");
    checkForeignWord(d);
  }
  return false;
}

void Parser::tooDeep(Span where) {
  if (!fatal) {
    // Reported even in panic mode: parsing stops after it.
    diags.report(Code::E0104, where, "the program is nested too deep here")
        .caret("the limit is " + std::to_string(limits::kMaxNesting) +
               " open brackets and blocks, " + std::to_string(limits::kMaxTreeHeight) +
               " links of one chain")
        .help("give parts of it names with `let`");
  }
  fatal = true;
  panic = true;
  index = tokens.size() - 1;
}

void Parser::skipToStatementEnd() {
  int open = 0;
  while (!at(Tok::EndOfFile)) {
    switch (peek().kind) {
    case Tok::LBrace:
      ++open;
      break;
    case Tok::RBrace:
      if (open == 0)
        return;
      --open;
      break;
    case Tok::Newline:
    case Tok::Semicolon:
      if (open == 0)
        return;
      break;
    default:
      break;
    }
    take();
  }
}

Identifier Parser::identifier(const char *what) {
  if (at(Tok::Name)) {
    const Token &token = take();
    return {textOf(token), spanOf(token)};
  }
  // `for in b` and `@ fn f()` lack a name; `let if = 1` uses a reserved one.
  bool forgotten = at(Tok::KwIn) || at(Tok::KwFn);
  if (tokenInfo(peek().kind).keyword && !forgotten) {
    std::string word(textOf(peek()));
    if (Diagnostic *d = error(Code::E0110, here(), "`" + word + "` is a reserved word"))
      d->caret(std::string("expected ") + what)
          .help("choose another name, for example `" + word + "_`");
    Span span = spanOf(take());
    panic = false; // treated as the name that was meant
    return {file.text().substr(span.begin, span.end - span.begin), span};
  }
  expected(what);
  return {};
}

std::string_view Parser::docBefore(uint32_t offset) const {
  const auto &comments = lexed.comments;
  auto last = std::lower_bound(comments.begin(), comments.end(), offset,
                               [](const Comment &c, uint32_t at) { return c.begin < at; });
  if (last == comments.begin() || !(last - 1)->doc)
    return {};
  // A comment may belong to a previous item on the same line: in `a; fn f() { }` it documents `a`,
  // not `f`.
  auto token = std::lower_bound(tokens.begin(), tokens.end(), offset,
                                [](const Token &t, uint32_t at) { return t.begin < at; });
  auto separates = [](Tok kind) {
    return kind == Tok::Newline || kind == Tok::Semicolon || kind == Tok::Comma;
  };
  while (token != tokens.begin() && separates((token - 1)->kind))
    --token;
  uint32_t previous = token == tokens.begin() ? 0 : (token - 1)->end;
  std::vector<const Comment *> found;
  uint32_t line = file.lineNumber(offset);
  while (last != comments.begin()) {
    --last;
    uint32_t commentLine = file.lineNumber(last->begin);
    if (!last->doc || !last->ownLine || commentLine + 1 != line || last->begin < previous)
      break;
    line = commentLine;
    found.push_back(&*last);
  }
  std::string text;
  for (size_t i = found.size(); i > 0; --i) {
    std::string_view body =
        file.text().substr(found[i - 1]->begin + 2, found[i - 1]->end - found[i - 1]->begin - 2);
    if (!body.empty() && body[0] == ' ')
      body.remove_prefix(1);
    text += std::string(text.empty() ? "" : "\n") + std::string(body);
  }
  return text.empty() ? std::string_view() : arena.copy(text);
}

} // namespace mx
