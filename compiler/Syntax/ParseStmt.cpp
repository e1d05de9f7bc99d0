// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recursive-descent parser of statements and declarations.
#include "Syntax/ParserImpl.h"

namespace mx {
using namespace ast;

Stmt *Parser::parseStmt(Where where) {
  Nested nested(*this);
  size_t before = index;
  Span start = here();
  uint32_t outer = statementStart;
  statementStart = start.begin;
  if (!at(Tok::KwElse) && !atWord("elif"))
    indented = false;
  std::vector<Attribute> attributes = parseAttributes();
  Stmt *stmt = panic || fatal ? make<ErrorStmt>(start) : parseStmtBody(where, attributes);
  stmt->attributes = arena.list(attributes);
  bool muted = false;
  if (!fatal)
    endStatement(muted);
  if (auto *expr = as<ExprStmt>(stmt))
    expr->muted = muted;
  if (auto *let = as<Let>(stmt))
    let->muted = muted;
  panic = false;
  statementStart = outer;
  if (index == before)
    take(); // always consumes a token, to guarantee progress
  return stmt;
}

void Parser::endStatement(bool &muted) {
  if (panic) {
    skipToStatementEnd();
  } else if (!at(Tok::Newline) && !at(Tok::Semicolon) && !at(Tok::RBrace) && !at(Tok::EndOfFile)) {
    if (at(Tok::RParen) || at(Tok::RBracket)) {
      bool round = at(Tok::RParen);
      if (Diagnostic *d = error(Code::E0107, here(), round ? "`)` without `(`" : "`]` without `[`"))
        d->caret("nothing is open here");
    } else if (!reportForeignStatement()) {
      expected("the end of the statement");
    }
    skipToStatementEnd();
  }
  muted = accept(Tok::Semicolon);
  accept(Tok::Newline);
}

std::vector<Attribute> Parser::parseAttributes() {
  std::vector<Attribute> attributes;
  while (at(Tok::At) && !panic && !fatal) {
    Attribute attribute;
    Span start = spanOf(take());
    attribute.name = identifier("the name of an attribute");
    if (at(Tok::LParen)) {
      Span argsSpan;
      attribute.args = parseArgs(argsSpan);
    }
    attribute.span = since(start);
    attributes.push_back(attribute);
    accept(Tok::Newline);
  }
  return attributes;
}

bool Parser::startsFunc() const {
  switch (peek().kind) {
  case Tok::KwExport:
  case Tok::KwExtern:
    return true;
  case Tok::KwMut:
    return at(Tok::KwFn, 1) || at(Tok::KwGraph, 1);
  case Tok::KwGraph:
    return at(Tok::KwFn, 1) || at(Tok::KwMut, 1);
  case Tok::KwFn:
    return !at(Tok::LParen, 1);
  default:
    return false;
  }
}

Stmt *Parser::parseStmtBody(Where where, const std::vector<Attribute> &attributes) {
  Span start = here();
  if (startsFunc())
    return parseFunc();
  switch (peek().kind) {
  case Tok::KwImport:
  case Tok::KwFrom:
  case Tok::KwModel:
  case Tok::KwStruct:
  case Tok::KwType: {
    if (where == Where::Block) {
      std::string word(textOf(peek()));
      if (Diagnostic *d = error(Code::E0112, start, "`" + word + "` belongs at the top of a file"))
        d->caret("not inside a block");
      panic = false; // parsed nevertheless
    }
    switch (peek().kind) {
    case Tok::KwModel:
    case Tok::KwStruct:
      return parseNominal();
    case Tok::KwType:
      return parseTypeDef();
    default:
      return parseImport();
    }
  }
  case Tok::KwLet:
  case Tok::KwVar:
  case Tok::KwConst:
    return parseLet();
  case Tok::KwFor:
    return parseFor();
  case Tok::KwWhile:
    return parseWhile();
  case Tok::KwTry:
    return parseTry();
  case Tok::KwReturn: {
    take();
    auto *node = make<Return>(start);
    if (!at(Tok::Newline) && !at(Tok::Semicolon) && !at(Tok::RBrace) && !at(Tok::EndOfFile))
      node->value = parseExpr();
    node->span = since(start);
    return grown(node, {heightOf(node->value)});
  }
  case Tok::KwBreak:
    return make<Break>(spanOf(take()));
  case Tok::KwContinue:
    return make<Continue>(spanOf(take()));
  case Tok::KwRaise: {
    take();
    auto *node = make<Raise>(start);
    node->value = parseExpr();
    node->span = since(start);
    return grown(node, {heightOf(node->value)});
  }
  case Tok::KwAssert: {
    take();
    auto *node = make<Assert>(start);
    node->condition = parseExpr();
    if (accept(Tok::Comma))
      node->message = parseExpr();
    node->span = since(start);
    return grown(node, {heightOf(node->condition), heightOf(node->message)});
  }
  case Tok::KwElse:
    if (indented) { // belongs to an `if` written by indentation, reported there
      take();
      auto *node = make<ErrorStmt>(start);
      parseBlock(start);
      return node;
    }
    if (Diagnostic *d = error(Code::E0101, start, "`else` without `if`"))
      d->note("`else` belongs on the line of the `}` that ends the `if`: `} else {`");
    return make<ErrorStmt>(start);
  case Tok::KwCatch:
    if (Diagnostic *d = error(Code::E0101, start, "`catch` without `try`"))
      d->note("`catch` belongs on the line of the `}` that ends the `try`: `} catch e {`");
    return make<ErrorStmt>(start);
  default:
    break;
  }
  if (atWord("test") && at(Tok::String, 1))
    return parseTest();
  if (reportForeignStatement())
    return make<ErrorStmt>(start);
  (void)attributes;
  return parseSimple();
}

Stmt *Parser::parseSimple() {
  Span start = here();
  Expr *expr = parseExpr();
  switch (peek().kind) {
  case Tok::Equal:
  case Tok::PlusEqual:
  case Tok::MinusEqual:
  case Tok::StarEqual:
  case Tok::SlashEqual: {
    const Token &op = take();
    auto *node = make<Assign>(start);
    node->op = op.kind;
    node->opSpan = spanOf(op);
    node->target = expr;
    node->value = parseExpr();
    node->span = since(start);
    return grown(node, {heightOf(expr), heightOf(node->value)});
  }
  case Tok::Colon:
    if (as<Name>(expr) && at(Tok::Name, 1)) {
      std::string name(as<Name>(expr)->text);
      if (Diagnostic *d =
              error(Code::E0101, here(), "expected the end of the statement, found `:`"))
        d->help("a new name is made with `let` or `var`: `let " + name + ": …`");
    }
    break;
  default:
    break;
  }
  auto *node = make<ExprStmt>(since(start));
  node->expr = expr;
  return grown(node, {heightOf(expr)});
}

Stmt *Parser::parseImport() {
  Span start = here();
  auto *node = make<Import>(start);
  auto path = [&] {
    std::vector<Identifier> parts;
    parts.push_back(identifier("the name of a module"));
    while (accept(Tok::Dot) && !panic)
      parts.push_back(identifier("a name after `.`"));
    return arena.list(parts);
  };
  std::vector<Import::Module> modules;
  node->isFrom = take().kind == Tok::KwFrom;
  if (node->isFrom) {
    modules.push_back({path(), {}});
    std::vector<Identifier> names;
    if (expect(Tok::KwImport)) {
      if (at(Tok::Star)) {
        std::string module(modules[0].path.empty() ? "" : modules[0].path[0].text);
        if (Diagnostic *d = error(Code::E0101, here(), "expected a name, found `*`"))
          d->help("name what you use, or write `import " + module + "` and `" + module + ".name`");
      }
      do
        names.push_back(identifier("a name to import"));
      while (accept(Tok::Comma) && !panic);
    }
    node->names = arena.list(names);
  } else {
    do {
      Import::Module module{path(), {}};
      if (accept(Tok::KwAs))
        module.alias = identifier("a name after `as`");
      modules.push_back(module);
    } while (accept(Tok::Comma) && !panic);
  }
  node->modules = arena.list(modules);
  node->span = since(start);
  return node;
}

Stmt *Parser::parseTypeDef() {
  Span start = spanOf(take());
  auto *node = make<TypeDef>(start);
  node->doc = docBefore(start.begin);
  node->name = identifier("the name of the type");
  node->generics = parseGenerics();
  if (expect(Tok::Equal))
    node->type = parseType();
  node->span = since(start);
  return grown(node, {heightOf(node->type)});
}

Stmt *Parser::parseTest() {
  Span start = spanOf(take());
  auto *node = make<Test>(start);
  node->name = as<String>(parseString());
  node->body = parseBlock(start);
  node->span = since(start);
  return grown(node, {heightOf(node->body)});
}

Stmt *Parser::parseNominal() {
  Span start = here();
  auto *node = make<Nominal>(start);
  node->doc = docBefore(statementStart);
  node->isModel = take().kind == Tok::KwModel;
  node->name = identifier(node->isModel ? "the name of the model" : "the name of the struct");
  node->generics = parseGenerics();
  if (at(Tok::LParen)) {
    node->hasParams = true;
    node->params = parseParams(/*typesRequired=*/true);
  }
  node->where = parseWhere();
  Span open = here();
  std::vector<Field> fields;
  std::vector<Func *> funcs;
  int height = 0;
  if (at(Tok::Colon)) {
    expected("`{`");
    panic = false;
    Block *body = parseIndentedBlock(start);
    height = heightOf(body);
  } else if (expect(Tok::LBrace)) {
    while (!at(Tok::RBrace) && !at(Tok::EndOfFile) && !fatal) {
      if (accept(Tok::Newline) || accept(Tok::Semicolon) || accept(Tok::Comma))
        continue;
      size_t before = index;
      uint32_t outer = statementStart;
      statementStart = here().begin;
      std::vector<Attribute> attributes = parseAttributes();
      if (startsFunc()) {
        Func *func = parseFunc();
        func->attributes = arena.list(attributes);
        funcs.push_back(func);
        height = std::max<int>(height, func->height);
      } else if (!reportForeignStatement()) {
        if (parseField(fields))
          height = std::max({height, heightOf(fields.back().type), heightOf(fields.back().value)});
      }
      bool muted;
      if (!at(Tok::Comma))
        endStatement(muted);
      panic = false;
      statementStart = outer;
      if (index == before)
        take();
    }
    expectClose(Tok::RBrace, open);
  }
  node->fields = arena.list(fields);
  node->funcs = arena.list(funcs);
  node->bodySpan = since(open);
  node->span = since(start);
  return setHeight(node, height + 1);
}

bool Parser::parseField(std::vector<Field> &fields) {
  Field field;
  Span start = here();
  field.doc = docBefore(start.begin);
  // `sub model: …` is a field too, with a reserved name.
  bool reserved = tokenInfo(peek(1).kind).keyword && (at(Tok::Colon, 2) || at(Tok::Equal, 2));
  if (at(Tok::Name, 1) || reserved) {
    if (atWord("param"))
      field.kind = FieldKind::Param;
    else if (atWord("state"))
      field.kind = FieldKind::State;
    else if (atWord("sub"))
      field.kind = FieldKind::Sub;
    if (field.kind != FieldKind::Plain)
      take();
  }
  if (at(Tok::KwLet) || at(Tok::KwVar)) {
    if (Diagnostic *d = error(Code::E0101, here(), "expected a field, found " + found()))
      d->help("a field is written `param w: f32[D] = zeros()`, `state n: i64 = 0`, `sub fc: "
              "Dense[D, H]` "
              "or, in a struct, `lr: f32 = 0.1`");
    return false;
  }
  field.name = identifier("a field or `fn`");
  if (!field.name.valid())
    return false;
  if (accept(Tok::Colon))
    field.type = parseType();
  if (accept(Tok::Equal))
    field.value = parseExpr();
  if (accept(Tok::KwOn))
    field.device = parseExpr();
  if (!field.type && !field.value)
    expected("`:` and a type, or `=` and a value");
  field.span = since(start);
  fields.push_back(field);
  return true;
}

Func *Parser::parseFunc() {
  Span start = here();
  auto *func = make<Func>(start);
  func->doc = docBefore(statementStart);
  for (bool more = true; more;) {
    Span word = here();
    switch (peek().kind) {
    case Tok::KwExport:
      func->isExport = true;
      break;
    case Tok::KwExtern:
      func->isExtern = true;
      break;
    case Tok::KwMut:
      func->isMut = true;
      func->mutSpan = word;
      break;
    case Tok::KwGraph:
      func->isGraph = true;
      func->graphSpan = word;
      break;
    default:
      more = false;
      continue;
    }
    take();
  }
  if (!expect(Tok::KwFn))
    return func;
  func->name = identifier("the name of the function");
  return parseFuncRest(func, start);
}

Func *Parser::parseFuncRest(Func *func, Span start) {
  func->generics = parseGenerics();
  if (at(Tok::LParen))
    func->params = parseParams(/*typesRequired=*/true);
  else
    expected("`(`");
  if (accept(Tok::Arrow))
    func->result = parseType();
  func->where = parseWhere();
  func->headerSpan = since(start);
  if (at(Tok::LBrace) || at(Tok::Colon))
    func->body = parseBlock(start);
  func->span = since(start);
  return grown(func, {heightOf(func->body), heightOf(func->result), heightOf(func->where)});
}

List<Generic> Parser::parseGenerics() {
  std::vector<Generic> generics;
  if (!at(Tok::LBracket))
    return {};
  Span open = spanOf(take());
  while (!at(Tok::RBracket) && !at(Tok::EndOfFile) && !panic && !fatal) {
    Generic generic;
    generic.pack = accept(Tok::Ellipsis);
    generic.name = identifier("the name of a size or element type");
    if (accept(Tok::Colon)) {
      // `model` is a keyword, but here it names a kind.
      if (at(Tok::KwModel) || at(Tok::KwType)) {
        const Token &token = take();
        generic.kind = {textOf(token), spanOf(token)};
      } else {
        generic.kind = identifier("a kind: dim, float, int, num, model or value");
      }
    }
    generics.push_back(generic);
    if (!accept(Tok::Comma))
      break;
  }
  expectClose(Tok::RBracket, open);
  return arena.list(generics);
}

List<Param> Parser::parseParams(bool typesRequired) {
  Nested nested(*this);
  Span open = spanOf(take());
  std::vector<Param> params;
  while (!at(Tok::RParen) && !at(Tok::EndOfFile) && !panic && !fatal) {
    Param param;
    Span start = here();
    while (at(Tok::KwMut) || at(Tok::KwStatic)) {
      (at(Tok::KwMut) ? param.isMut : param.isStatic) = true;
      take();
    }
    if (atWord("self") && (at(Tok::Comma, 1) || at(Tok::RParen, 1))) {
      if (Diagnostic *d = error(Code::E0108, here(), "a function of a model has no `self`"))
        d->caret("leave it out").note("fields are used by their names alone: `w`, not `self.w`");
      panic = false;
      take();
      accept(Tok::Comma);
      continue;
    }
    param.name = identifier("a parameter");
    if (accept(Tok::Colon))
      param.type = parseType();
    else if (typesRequired && param.name.valid() && !panic)
      if (Diagnostic *d =
              error(Code::E0101, param.name.span,
                    "the parameter `" + std::string(param.name.text) + "` needs a type"))
        d->help("for example `" + std::string(param.name.text) + ": f32[N, D]`");
    if (accept(Tok::Equal))
      param.defaultValue = parseExpr();
    param.span = since(start);
    params.push_back(param);
    if (!accept(Tok::Comma))
      break;
  }
  expectClose(Tok::RParen, open);
  if (params.size() > static_cast<size_t>(limits::kMaxParams))
    if (Diagnostic *d = error(Code::E0002, open, "a function has too many parameters"))
      d->caret("the limit is " + std::to_string(limits::kMaxParams));
  return arena.list(params);
}

List<Expr *> Parser::parseWhere() {
  std::vector<Expr *> conditions;
  if (!accept(Tok::KwWhere))
    return {};
  do
    conditions.push_back(parseOr());
  while (accept(Tok::Comma) && !panic && !fatal);
  return arena.list(conditions);
}

Pattern *Parser::parsePattern() {
  Nested nested(*this);
  auto *pattern = arena.make<Pattern>();
  Span start = here();
  pattern->span = start;
  if (fatal)
    return pattern;
  if (accept(Tok::LParen)) {
    std::vector<Pattern *> parts;
    while (!at(Tok::RParen) && !at(Tok::EndOfFile) && !panic && !fatal) {
      parts.push_back(parsePattern());
      if (!accept(Tok::Comma))
        break;
    }
    expectClose(Tok::RParen, start);
    if (parts.size() == 1)
      return parts[0];
    pattern->parts = arena.list(parts);
    if (parts.empty())
      expected("a name");
  } else {
    pattern->name = identifier("a name");
  }
  pattern->span = since(start);
  return pattern;
}

Stmt *Parser::parseLet() {
  Span start = here();
  auto *node = make<Let>(start);
  Tok keyword = take().kind;
  node->bind = keyword == Tok::KwLet   ? BindKind::Let
               : keyword == Tok::KwVar ? BindKind::Var
                                       : BindKind::Const;
  if (at(Tok::KwMut)) {
    if (Diagnostic *d = error(Code::E0108, here(), "a name that changes is made with `var`"))
      d->caret("write `var` instead of `let mut`");
    panic = false;
    take();
  }
  node->pattern = parsePattern();
  if (at(Tok::Comma))
    if (Diagnostic *d = error(Code::E0101, here(), "expected `=`, found `,`"))
      d->help("several names are bound in parentheses: `let (a, b) = …`");
  if (accept(Tok::Colon))
    node->type = parseType();
  if (expect(Tok::Equal))
    node->value = parseExpr();
  else
    node->value = errorExpr();
  node->span = since(start);
  return grown(node, {heightOf(node->value), heightOf(node->type)});
}

Stmt *Parser::parseFor() {
  Span start = spanOf(take());
  auto *node = make<For>(start);
  node->isMut = accept(Tok::KwMut);
  if (at(Tok::LParen) && at(Tok::KwLet, 1)) {
    if (Diagnostic *d = expected("a name"))
      d->help("loops run over a range: `for i in 0..n { … }`");
  }
  node->pattern = parsePattern();
  if (at(Tok::Comma))
    if (Diagnostic *d = error(Code::E0101, here(), "expected `in`, found `,`"))
      d->help("several names are bound in parentheses: `for (a, b) in …`");
  expect(Tok::KwIn);
  node->iterable = panic ? errorExpr() : parseExpr();
  node->body = parseBlock(start);
  node->span = since(start);
  return grown(node, {heightOf(node->iterable), heightOf(node->body)});
}

Stmt *Parser::parseWhile() {
  Span start = spanOf(take());
  auto *node = make<While>(start);
  node->keyword = start;
  node->condition = parseExpr();
  if (atWord("limit")) {
    take();
    node->limit = parseExpr();
  }
  node->body = parseBlock(start);
  node->span = since(start);
  return grown(node, {heightOf(node->condition), heightOf(node->limit), heightOf(node->body)});
}

Stmt *Parser::parseTry() {
  Span start = spanOf(take());
  auto *node = make<Try>(start);
  node->body = parseBlock(start);
  if (at(Tok::Newline) && at(Tok::KwCatch, 1)) {
    if (Diagnostic *d =
            error(Code::E0101, spanOf(peek(1)), "`catch` belongs on the line of the `}`"))
      d->caret("move it up: `} catch e {`");
    panic = false;
    take();
  }
  if (expect(Tok::KwCatch)) {
    node->name = identifier("a name for the error");
    node->handler = parseBlock(start);
  }
  node->span = since(start);
  return grown(node, {heightOf(node->body), heightOf(node->handler)});
}

Block *Parser::parseBlock(Span header) {
  Nested nested(*this);
  auto *block = arena.make<Block>();
  Span open = here();
  block->span = open;
  if (panic && !at(Tok::LBrace)) { // continues after the block if there is one on this line
    while (!at(Tok::LBrace) && !at(Tok::Newline) && !at(Tok::RBrace) && !at(Tok::EndOfFile))
      take();
    if (!at(Tok::LBrace))
      return block;
    panic = false;
    open = here();
  }
  if (at(Tok::Colon) || (indented && at(Tok::Newline)))
    return parseIndentedBlock(header);
  if (!at(Tok::LBrace)) {
    if (Diagnostic *d = expected("`{`"))
      if (at(Tok::Newline))
        d->note("the `{` belongs on the same line");
    return block;
  }
  take();
  std::vector<Stmt *> stmts;
  int height = 0;
  while (!at(Tok::RBrace) && !at(Tok::EndOfFile) && !fatal && !diags.full()) {
    if (accept(Tok::Newline) || accept(Tok::Semicolon))
      continue;
    stmts.push_back(parseStmt(Where::Block));
    height = std::max<int>(height, stmts.back()->height);
  }
  expectClose(Tok::RBrace, open);
  block->stmts = arena.list(stmts);
  block->span = since(open);
  return setHeight(block, height + 1);
}

} // namespace mx
