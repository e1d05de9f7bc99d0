// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recognises syntax of other languages, such as Python and C, and suggests the mx spelling. Nothing
// here accepts a wrong program. It only improves the message.
#include "Syntax/ParserImpl.h"
#include <cctype>

namespace mx {
using namespace ast;

namespace {
struct Habit {
  std::string_view word;
  std::string_view message;
  std::string_view help;
};
// Keywords that start a statement in other languages. They are ordinary names in mx, so they are
// considered only if the tokens after them cannot form a statement.
constexpr Habit kHabits[] = {
    {"def", "a function is written `fn`", "fn name(x: f32[N]) -> f32[N] { x + 1.0 }"},
    {"func", "a function is written `fn`", "fn name(x: f32[N]) -> f32[N] { x + 1.0 }"},
    {"function", "a function is written `fn`", "fn name(x: f32[N]) -> f32[N] { x + 1.0 }"},
    {"fun", "a function is written `fn`", "fn name(x: f32[N]) -> f32[N] { x + 1.0 }"},
    {"class", "a class is written `model` (it has parameters) or `struct`",
     "model Net[D, H] { sub fc: nn.Dense[D, H] }"},
    {"elif", "`elif` is written `else if`, on the line of the `}`", "} else if condition {"},
    {"elsif", "`elsif` is written `else if`, on the line of the `}`", "} else if condition {"},
    {"except", "`except` is written `catch`, on the line of the `}`", "try { … } catch e { … }"},
    {"finally", "there is no `finally`; code after the `try` statement always follows it",
     "try { … } catch e { … }"},
    {"with", "there is no `with`; handles close when their name goes out of scope",
     "let f = open(path)"},
    {"pass", "an empty block is written `{ }`", "{ }"},
    {"del", "there is no `del`; a value is freed after its last use", ""},
    {"global", "a module's `var` can be used without saying so", ""},
    {"nonlocal", "an outer `var` can be used without saying so", ""},
    {"yield", "there are no generators; return a tensor or an array", ""},
    {"async", "every tensor statement is asynchronous already", "let y = f(x)"},
    {"await", "every tensor statement is asynchronous already; `wait(x)` waits", "wait(x)"},
    {"switch", "there is no `switch`", "if a { … } else if b { … } else { … }"},
    {"match", "there is no `match`", "if a { … } else if b { … } else { … }"},
    {"do", "there is no `do`; a loop is `while` or `for`", "while condition { … }"},
    {"local", "a name is made with `let` or `var`", "let x = 1.0"},
    {"auto", "a name is made with `let` or `var`", "let x = 1.0"},
    {"int", "a name is made with `let`; the integer type is `i64`", "let n: i64 = 1"},
    {"float", "a name is made with `let`; the float type is `f32`", "let x: f32 = 1.0"},
    {"double", "a name is made with `let`; the type is `f64`", "let x: f64 = 1.0"},
    {"print", "`print` is a function", "print(x)"},
    {"use", "a module is brought in with `import`", "import nn"},
    {"include", "a module is brought in with `import`", "import nn"},
    {"using", "a module is brought in with `import`", "import nn"},
};

const Habit *habitOf(std::string_view word) {
  for (const Habit &habit : kHabits)
    if (habit.word == word)
      return &habit;
  return nullptr;
}
} // namespace

/// Adds the mx spelling to an error at a word of another language.
void Parser::checkForeignWord(Diagnostic *d) {
  if (!d || !at(Tok::Name))
    return;
  if (const Habit *habit = habitOf(textOf(peek()))) {
    d->note(std::string(habit->message));
    if (!habit->help.empty())
      d->help(std::string(habit->help));
  }
}

/// At the start of a statement (or where one should have ended): recognises and reports `def
/// f(x):`, `class Net:`, `print x`, `x if c else y`. False if it is none of these.
bool Parser::reportForeignStatement() {
  size_t first = index;
  while (first > 0 && tokens[first - 1].begin >= statementStart)
    --first;
  const Token &word = tokens[first];
  if (word.kind != Tok::Name)
    goto conditional;
  if (const Habit *habit = habitOf(textOf(word))) {
    // `print(x)`, `match = 3` and `with.x` are valid: the word is a name there.
    const Token &next = tokens[std::min(first + 1, tokens.size() - 1)];
    bool aName = next.kind != Tok::Name && next.kind != Tok::String && next.kind != Tok::Int &&
                 next.kind != Tok::Float && next.kind != Tok::FStringBegin &&
                 next.kind != Tok::Colon && next.kind != Tok::KwFn && next.kind != Tok::KwIf &&
                 !(next.kind == Tok::Newline && (habit->word == "pass")) &&
                 !(next.kind == Tok::LParen && (habit->word == "elif"));
    if (aName)
      goto conditional;
    if (Diagnostic *d = error(Code::E0108, spanOf(word), std::string(habit->message))) {
      if (habit->word == "print") {
        std::string_view line = file.line(lineOf(word));
        std::string_view rest = line.substr(std::min<size_t>(line.size(), columnOf(word) + 5));
        while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t'))
          rest.remove_prefix(1);
        d->help("print(" + std::string(rest) + ")");
      } else if (!habit->help.empty()) {
        d->help(std::string(habit->help));
      }
    }
    // The body of a foreign statement is skipped: it would only repeat the error.
    uint32_t column = columnOf(word);
    skipToStatementEnd();
    while (at(Tok::Newline) && peek(1).kind != Tok::EndOfFile && columnOf(peek(1)) > column) {
      take();
      skipToStatementEnd();
    }
    return true;
  }
conditional:
  if (at(Tok::KwIf) && index > first) {
    if (Diagnostic *d = error(Code::E0108, here(),
                              "a choice between two values is written `if c { a } else { b }`"))
      d->help("if condition { a } else { b }");
    return true;
  }
  return false;
}

/// `lambda x: x + 1`
Expr *Parser::parseLambdaHabit() {
  Nested nested(*this); // the body may be another lambda
  if (fatal)
    return errorExpr();
  Span start = spanOf(take());
  std::string params;
  while (!at(Tok::Colon) && !at(Tok::Newline) && !at(Tok::EndOfFile))
    params += textOf(take());
  uint32_t bodyStart = at(Tok::Colon) ? peek().end : previousEnd();
  bool wasPanic = panic;
  Diagnostic *d = error(Code::E0108, start, "a function value is written `fn(x) { … }`");
  if (accept(Tok::Colon)) {
    panic = true; // the body is parsed only to find its end, without reports
    parseOr();
    panic = wasPanic;
  }
  std::string body(
      file.text().substr(bodyStart, previousEnd() - std::min(bodyStart, previousEnd())));
  while (!body.empty() && body.front() == ' ')
    body.erase(body.begin());
  if (d)
    d->help("fn(" + params + ") { " + body + " }");
  return make<ErrorExpr>(since(start));
}

/// A block written with `:` and indentation. It is reported once. Its statements are parsed, so
/// that other errors in them are still found.
Block *Parser::parseIndentedBlock(Span header) {
  auto *block = arena.make<Block>();
  Span colon = here();
  block->span = colon;
  Diagnostic *d = at(Tok::Colon) ? error(Code::E0101, colon, "expected `{`, found `:`") : nullptr;
  uint32_t headerColumn = header.begin - file.lineStart(file.lineNumber(header.begin));
  uint32_t headerLine = file.lineNumber(colon.begin);
  accept(Tok::Colon);
  bool sameLine = !at(Tok::Newline);
  accept(Tok::Newline);
  panic = false;
  bool outerIndented = indented;
  indented = true;
  std::vector<Stmt *> stmts;
  int height = 0;
  while (!at(Tok::EndOfFile) && !at(Tok::RBrace) && !fatal && !diags.full()) {
    if (accept(Tok::Newline) || accept(Tok::Semicolon))
      continue;
    bool inside = sameLine ? lineOf(peek()) == headerLine : columnOf(peek()) > headerColumn;
    if (!inside)
      break;
    stmts.push_back(parseStmt(Where::Block));
    height = std::max<int>(height, stmts.back()->height);
  }
  // parseStmt consumed the newline, but the enclosing statement expects one.
  if (index > 0 && tokens[index - 1].kind == Tok::Newline)
    --index;
  indented = outerIndented || !at(Tok::EndOfFile);
  block->stmts = arena.list(stmts);
  block->span = since(colon);
  setHeight(block, height + 1);
  if (d) {
    d->caret("blocks are written in braces");
    if (!stmts.empty())
      d->show(stmts[0]->span);
    d->help(bracesInstead(file.text().substr(header.begin, colon.begin - header.begin), *block));
  }
  return block;
}

/// `for i in range(10)` and its block in mx syntax, on one line if the block has one line.
std::string Parser::bracesInstead(std::string_view header, const Block &body) const {
  std::string text(header);
  if (text.rfind("def ", 0) == 0)
    text = "fn " + text.substr(4);
  size_t at = text.find("range(");
  size_t close = text.rfind(')');
  if (at != std::string::npos && close != std::string::npos && close > at) {
    std::string inside = text.substr(at + 6, close - at - 6);
    size_t comma = inside.find(',');
    std::string range =
        comma == std::string::npos
            ? "0.." + inside
            : inside.substr(0, comma) + ".." +
                  inside.substr(inside.find_first_not_of(' ', comma + 1) == std::string::npos
                                    ? comma + 1
                                    : inside.find_first_not_of(' ', comma + 1));
    text = text.substr(0, at) + range + text.substr(close + 1);
  }
  while (!text.empty() && text.back() == ' ')
    text.pop_back();
  std::string_view inside;
  if (body.stmts.size() == 1) {
    Span span = body.stmts[0]->span;
    inside = file.text().substr(span.begin, span.end - span.begin);
  }
  bool oneLine =
      !inside.empty() && inside.size() < 60 && inside.find('\n') == std::string_view::npos;
  return text + " { " + (oneLine ? std::string(inside) : std::string("…")) + " }";
}

} // namespace mx
