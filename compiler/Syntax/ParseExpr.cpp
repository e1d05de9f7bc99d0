// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recursive-descent parser of expressions.
#include "Syntax/ParserImpl.h"
#include <cstdlib>

namespace mx {
using namespace ast;

namespace {
bool isComparison(Tok kind) {
  switch (kind) {
  case Tok::EqualEqual:
  case Tok::NotEqual:
  case Tok::Less:
  case Tok::LessEqual:
  case Tok::Greater:
  case Tok::GreaterEqual:
    return true;
  default:
    return false;
  }
}
} // namespace

Expr *Parser::binary(Expr *left, Tok op, Span opSpan, Expr *right) {
  auto *node = make<Binary>(left->outerSpan.to(right->outerSpan));
  node->op = op;
  node->opSpan = opSpan;
  node->left = left;
  node->right = right;
  return grown(node, {left->height, right->height});
}

Expr *Parser::parseExpr() {
  Nested nested(*this);
  Expr *left = parseOr();
  while (at(Tok::Pipe) && !fatal) {
    Span op = spanOf(take());
    Expr *right = parseOr();
    auto *node = make<Pipe>(left->outerSpan.to(right->outerSpan));
    node->left = left;
    node->right = right;
    node->opSpan = op;
    left = grown(node, {left->height, right->height});
  }
  return left;
}

Expr *Parser::parseOr() {
  Expr *left = parseAnd();
  while (at(Tok::KwOr) && !fatal) {
    Span op = spanOf(take());
    left = binary(left, Tok::KwOr, op, parseAnd());
  }
  return left;
}

Expr *Parser::parseAnd() {
  Expr *left = parseNot();
  while (at(Tok::KwAnd) && !fatal) {
    Span op = spanOf(take());
    left = binary(left, Tok::KwAnd, op, parseNot());
  }
  return left;
}

Expr *Parser::parseNot() {
  if (at(Tok::KwNot)) {
    Nested nested(*this);
    if (fatal)
      return errorExpr();
    Span start = spanOf(take());
    Expr *operand = parseNot();
    auto *node = make<Unary>(start.to(operand->outerSpan));
    node->op = UnaryOp::Not;
    node->operand = operand;
    return grown(node, {operand->height});
  }
  Expr *left = parseRange();
  if (!isComparison(peek().kind))
    return left;
  const Token &op = take();
  Expr *node = binary(left, op.kind, spanOf(op), parseRange());
  if (isComparison(peek().kind)) {
    auto *first = as<Binary>(node);
    std::string middle = sourceText(first->right->span);
    Diagnostic *d = error(Code::E0111, here(), "comparisons do not chain");
    const Token &second = take();
    Expr *last = parseRange();
    if (d)
      d->caret("a second comparison")
          .help("join two: `" + sourceText(node->span) + " and " + middle + " " +
                std::string(textOf(second)) + " " + sourceText(last->span) + "`");
  }
  return node;
}

Expr *Parser::parseRange() {
  Expr *left = parseSum();
  if (!at(Tok::DotDot))
    return left;
  take();
  Expr *right = parseSum();
  auto *node = make<ast::Range>(left->outerSpan.to(right->outerSpan));
  node->from = left;
  node->to = right;
  return grown(node, {left->height, right->height});
}

Expr *Parser::parseSum() {
  Expr *left = parseMultiplicative();
  while ((at(Tok::Plus) || at(Tok::Minus)) && !fatal) {
    const Token &op = take();
    left = binary(left, op.kind, spanOf(op), parseMultiplicative());
  }
  return left;
}

Expr *Parser::parseMultiplicative() {
  Expr *left = parseUnary();
  while (
      (at(Tok::Star) || at(Tok::Slash) || at(Tok::SlashSlash) || at(Tok::Percent) || at(Tok::At)) &&
      !fatal) {
    const Token &op = take();
    left = binary(left, op.kind, spanOf(op), parseUnary());
  }
  return left;
}

Expr *Parser::parseUnary() {
  if (at(Tok::Minus)) {
    Nested nested(*this);
    if (fatal)
      return errorExpr();
    Span start = spanOf(take());
    Expr *operand = parseUnary();
    auto *node = make<Unary>(start.to(operand->outerSpan));
    node->op = UnaryOp::Negate;
    node->operand = operand;
    return grown(node, {operand->height});
  }
  Expr *base = parsePostfix();
  if (!at(Tok::StarStar))
    return base;
  Nested nested(*this);
  if (fatal)
    return base;
  Span op = spanOf(take());
  return binary(base, Tok::StarStar, op, parseUnary());
}

Expr *Parser::parsePostfix() {
  Expr *object = parsePrimary();
  while (!fatal) {
    if (at(Tok::Dot)) {
      take();
      auto *node = make<Member>(object->outerSpan);
      node->object = object;
      node->name = identifier("a name after `.`");
      node->span = since(object->outerSpan);
      node->outerSpan = node->span;
      object = grown(node, {object->height});
      if (!node->name.valid())
        return object;
    } else if (at(Tok::LParen)) {
      auto *node = make<Call>(object->outerSpan);
      node->callee = object;
      node->args = parseArgs(node->argsSpan);
      node->span = node->outerSpan = since(object->outerSpan);
      object = grown(node, {object->height, heightOf(node->args)});
    } else if (at(Tok::LBracket)) {
      Span open = spanOf(take());
      std::vector<IndexArg> args;
      int height = object->height;
      while (!at(Tok::RBracket) && !at(Tok::EndOfFile) && !panic && !fatal) {
        args.push_back(parseIndexArg());
        const IndexArg &arg = args.back();
        height = std::max({height, heightOf(arg.value), heightOf(arg.from), heightOf(arg.to),
                           heightOf(arg.step)});
        if (!accept(Tok::Comma))
          break;
      }
      if (args.empty() && at(Tok::RBracket))
        expected("an index");
      expectClose(Tok::RBracket, open);
      auto *node = make<Index>(since(object->outerSpan));
      node->object = object;
      node->args = arena.list(args);
      object = setHeight(node, height + 1);
    } else {
      return object;
    }
  }
  return object;
}

IndexArg Parser::parseIndexArg() {
  Nested nested(*this);
  IndexArg arg;
  Span start = here();
  auto ends = [&] { return at(Tok::Comma) || at(Tok::RBracket); };
  if (at(Tok::Ellipsis)) {
    take();
    arg.kind = IndexArg::Ellipsis;
    if (at(Tok::Name)) { // `...S` of a type in an expression
      arg.value = parsePrimary();
    }
  } else if (atWord("new") && (at(Tok::Comma, 1) || at(Tok::RBracket, 1))) {
    take();
    arg.kind = IndexArg::New;
  } else {
    Expr *first = at(Tok::Colon) ? nullptr : parseExpr();
    if (at(Tok::Colon)) {
      take();
      arg.kind = IndexArg::Slice;
      arg.from = first;
      if (!ends() && !at(Tok::Colon))
        arg.to = parseExpr();
      if (accept(Tok::Colon) && !ends())
        arg.step = parseExpr();
    } else {
      arg.value = first;
    }
  }
  arg.span = since(start);
  return arg;
}

List<Argument> Parser::parseArgs(Span &argsSpan) {
  Nested nested(*this);
  Span open = spanOf(take());
  std::vector<Argument> args;
  while (!at(Tok::RParen) && !at(Tok::EndOfFile) && !panic && !fatal) {
    Argument arg;
    Span start = here();
    // Contextual keywords (`param`, `new`) are plain names here.
    if (at(Tok::Name) && at(Tok::Equal, 1)) {
      arg.name = identifier("a name");
      take();
    }
    arg.isMut = accept(Tok::KwMut);
    if (at(Tok::Star) || at(Tok::StarStar)) {
      if (Diagnostic *d = error(Code::E0101, here(), "expected an argument, found " + found()))
        d->note("arguments are written one by one; there is no `*` or `**` to spread a list");
      break;
    }
    arg.value = parseExpr();
    arg.span = since(start);
    args.push_back(arg);
    if (!accept(Tok::Comma))
      break;
  }
  expectClose(Tok::RParen, open);
  if (args.size() > static_cast<size_t>(limits::kMaxParams))
    if (Diagnostic *d = error(Code::E0002, open, "a call has too many arguments"))
      d->caret("the limit is " + std::to_string(limits::kMaxParams));
  argsSpan = since(open);
  return arena.list(args);
}

Expr *Parser::parsePrimary() {
  if (fatal)
    return errorExpr();
  switch (peek().kind) {
  case Tok::Int:
  case Tok::Float:
    return parseNumber();
  case Tok::String:
    return parseString();
  case Tok::FStringBegin:
    return parseFString();
  case Tok::KwTrue:
  case Tok::KwFalse: {
    bool value = at(Tok::KwTrue);
    auto *node = make<Bool>(spanOf(take()));
    node->value = value;
    return node;
  }
  case Tok::Name: {
    if (atWord("lambda") && (at(Tok::Name, 1) || at(Tok::Colon, 1)))
      return parseLambdaHabit();
    const Token &token = take();
    auto *node = make<Name>(spanOf(token));
    node->text = textOf(token);
    return node;
  }
  case Tok::LParen:
    return parseParenthesised();
  case Tok::LBracket:
    return parseListOrComprehension();
  case Tok::KwIf:
    return parseIf();
  case Tok::KwGraph: {
    Nested nested(*this);
    Span start = spanOf(take());
    auto *node = make<GraphBlock>(start);
    node->body = parseBlock(start);
    node->span = node->outerSpan = since(start);
    return grown(node, {heightOf(node->body)});
  }
  case Tok::KwOn: {
    Nested nested(*this);
    Span start = spanOf(take());
    auto *node = make<OnBlock>(start);
    node->device = parseExpr();
    node->body = parseBlock(start);
    node->span = node->outerSpan = since(start);
    return grown(node, {heightOf(node->body), heightOf(node->device)});
  }
  case Tok::KwGrad:
    return parseGrad();
  case Tok::KwFn:
    return parseLambda();
  default:
    // `i++` of C: the second sign directly follows the first.
    if (at(Tok::Plus) && index > 0 && tokens[index - 1].kind == Tok::Plus &&
        tokens[index - 1].end == peek().begin) {
      if (Diagnostic *d =
              error(Code::E0108, spanOf(tokens[index - 1]).to(here()), "there is no `++`"))
        d->help("write `x += 1`");
      return errorExpr();
    }
    checkForeignWord(expected("an expression"));
    return errorExpr();
  }
}

Expr *Parser::parseNumber() {
  const Token &token = take();
  auto *node = make<Number>(spanOf(token));
  std::string digits;
  for (char c : textOf(token))
    if (c != '_')
      digits += c;
  node->isFloat = token.kind == Tok::Float;
  if (node->isFloat)
    node->floatValue = std::strtod(digits.c_str(), nullptr);
  else // the lexer has reported that it is out of range
    node->intValue = std::strtoll(digits.c_str(), nullptr,
                                  digits.size() > 1 && (digits[1] | 32) == 'x' ? 16 : 10);
  return node;
}

Expr *Parser::parseString() {
  const Token &token = take();
  std::string_view body = textOf(token);
  body.remove_prefix(1);
  if (!body.empty() && (body.back() == '"' || body.back() == '\''))
    body.remove_suffix(1);
  auto *node = make<String>(spanOf(token));
  node->value = arena.copy(unescape(body));
  return node;
}

Expr *Parser::parseFString() {
  Nested nested(*this);
  Span start = spanOf(take());
  auto *node = make<FString>(start);
  std::vector<FString::Part> parts;
  int height = 0;
  while (!at(Tok::FStringEnd) && !at(Tok::EndOfFile) && !panic && !fatal) {
    FString::Part part;
    if (at(Tok::FStringText)) {
      std::string text;
      std::string_view raw = textOf(take());
      for (size_t i = 0; i < raw.size(); ++i) {
        text += raw[i];
        bool doubled =
            (raw[i] == '{' || raw[i] == '}') && i + 1 < raw.size() && raw[i + 1] == raw[i];
        bool escaped = raw[i] == '\\' && i + 1 < raw.size();
        if (doubled)
          ++i;
        else if (escaped)
          text += raw[++i];
      }
      part.text = arena.copy(unescape(text));
    } else if (accept(Tok::FStringOpen)) {
      part.expr = parseExpr();
      height = std::max(height, heightOf(part.expr));
      if (at(Tok::FStringFormat)) {
        part.formatSpan = here();
        part.format = textOf(take());
      }
      if (!at(Tok::FStringClose))
        expected("`}`");
      else
        take();
    } else {
      expected("text or `{`");
      break;
    }
    parts.push_back(part);
  }
  if (panic) // skips the rest of the string to avoid follow-up errors
    while (!at(Tok::FStringEnd) && !at(Tok::Newline) && !at(Tok::EndOfFile))
      take();
  accept(Tok::FStringEnd);
  node->parts = arena.list(parts);
  node->span = node->outerSpan = since(start);
  return setHeight(node, height + 1);
}

Expr *Parser::parseParenthesised() {
  Nested nested(*this);
  Span open = spanOf(take());
  std::vector<Expr *> elements;
  bool comma = false;
  while (!at(Tok::RParen) && !at(Tok::EndOfFile) && !panic && !fatal) {
    elements.push_back(parseExpr());
    if (!at(Tok::Comma))
      break;
    take();
    comma = true;
  }
  expectClose(Tok::RParen, open);
  if (elements.size() == 1) {
    if (comma)
      if (Diagnostic *d = error(Code::E0101, since(open), "a tuple has two elements or more"))
        d->caret("leave out the `,`");
    Expr *inner = elements[0];
    if (inner->parens < 255)
      ++inner->parens;
    inner->outerSpan = since(open);
    return inner;
  }
  auto *node = make<Tuple>(since(open));
  node->elements = arena.list(elements);
  return setHeight(node, heightOf(node->elements) + 1);
}

Expr *Parser::parseListOrComprehension() {
  Nested nested(*this);
  Span open = spanOf(take());
  std::vector<Expr *> elements;
  while (!at(Tok::RBracket) && !at(Tok::EndOfFile) && !panic && !fatal) {
    elements.push_back(parseExpr());
    if (at(Tok::KwFor) && elements.size() == 1) {
      take();
      std::vector<Comprehension::Clause> clauses;
      int height = elements[0]->height;
      do {
        Pattern *pattern = parsePattern();
        expect(Tok::KwIn);
        clauses.push_back({pattern, parseExpr()});
        height = std::max(height, heightOf(clauses.back().range));
      } while (accept(Tok::Comma) && !panic && !fatal);
      if (at(Tok::KwIf))
        if (Diagnostic *d = error(Code::E0101, here(), "expected `]`, found `if`"))
          d->caret("a comprehension makes every element; it cannot leave some out")
              .help("choose values with `select(condition, a, b)`");
      expectClose(Tok::RBracket, open);
      auto *node = make<Comprehension>(since(open));
      node->element = elements[0];
      node->clauses = arena.list(clauses);
      return setHeight(node, height + 1);
    }
    if (!accept(Tok::Comma))
      break;
  }
  expectClose(Tok::RBracket, open);
  auto *node = make<ListExpr>(since(open));
  node->elements = arena.list(elements);
  return setHeight(node, heightOf(node->elements) + 1);
}

If *Parser::parseIf() {
  Nested nested(*this);
  Span start = spanOf(take());
  auto *node = make<If>(start);
  node->condition = fatal ? errorExpr() : parseExpr();
  node->thenBlock = parseBlock(start);
  // `else` belongs on the line of the `}`. On a line of its own it is accepted and reported.
  size_t ahead = at(Tok::Newline) ? 1 : 0;
  bool elif = (atWord("elif") || atWord("elsif") || atWord("elseif")) && ahead == 0;
  if (ahead == 1 && at(Tok::KwElse, 1) && !indented) {
    if (Diagnostic *d = error(Code::E0101, spanOf(peek(1)), "`else` belongs on the line of the `}`"))
      d->caret("move it up: `} else {`");
    panic = false;
    take();
  } else if (elif) {
    if (Diagnostic *d = error(Code::E0108, here(),
                              "`" + std::string(textOf(peek())) + "` is written `else if`"))
      d->caret("write `else if`");
    panic = false;
  }
  if (at(Tok::KwElse) || elif) {
    bool isElse = at(Tok::KwElse);
    take();
    if (!isElse || at(Tok::KwIf)) {
      // An `else if` chain nests in the tree but opens no bracket. It is parsed as a sibling `if`.
      if (!isElse)
        --index; // parseIf consumes the keyword itself
      node->elseIf = parseIf();
    } else {
      node->elseBlock = parseBlock(start);
    }
  }
  node->span = node->outerSpan = since(start);
  int elseHeight = node->elseIf ? node->elseIf->height : heightOf(node->elseBlock);
  return grown(node, {heightOf(node->condition), heightOf(node->thenBlock), elseHeight});
}

Expr *Parser::parseGrad() {
  Nested nested(*this);
  Span start = spanOf(take());
  auto *node = make<Grad>(start);
  node->keyword = start;
  Span open = here();
  std::vector<Expr *> targets;
  if (expect(Tok::LParen)) {
    while (!at(Tok::RParen) && !at(Tok::EndOfFile) && !panic && !fatal) {
      targets.push_back(parseExpr());
      if (!accept(Tok::Comma))
        break;
    }
    if (targets.empty())
      expected("what to differentiate by: `grad(x) { … }`");
    expectClose(Tok::RParen, open);
  }
  node->targets = arena.list(targets);
  node->body = parseBlock(start);
  node->span = node->outerSpan = since(start);
  return grown(node, {heightOf(node->targets), heightOf(node->body)});
}

Expr *Parser::parseLambda() {
  Nested nested(*this);
  Span start = spanOf(take());
  auto *func = make<Func>(start);
  if (!at(Tok::LParen)) {
    if (Diagnostic *d = expected("`(`"))
      if (at(Tok::Name))
        d->note("a named function is a statement of its own; a function value has no name: "
                "`fn(x) { x + 1 }`");
    return errorExpr();
  }
  func->params = parseParams(/*typesRequired=*/false);
  if (accept(Tok::Arrow))
    func->result = parseType();
  func->headerSpan = since(start);
  func->body = parseBlock(start);
  func->span = since(start);
  setHeight(func, heightOf(func->body) + 1);
  auto *node = make<Lambda>(func->span);
  node->func = func;
  return setHeight(node, func->height + 1);
}

} // namespace mx
