// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// State and helpers of the parser, shared by ParseStmt.cpp, ParseExpr.cpp, ParseType.cpp and
// ForeignHabits.cpp. No other file includes it.
#pragma once
#include "Support/Limits.h"
#include "Syntax/Parser.h"
#include <algorithm>
#include <initializer_list>

namespace mx {

class Parser {
public:
  Parser(const SourceFile &source, const LexedSource &lexedSource, Arena &nodes, Diagnostics &sink)
      : file(source), lexed(lexedSource), tokens(lexedSource.tokens), arena(nodes), diags(sink) {}

  ast::Module *parseModule();

private:
  const SourceFile &file;
  const LexedSource &lexed;
  const std::vector<Token> &tokens;
  Arena &arena;
  Diagnostics &diags;
  size_t index = 0;
  int depth = 0;
  /// Panic mode: set by the first error of a statement, cleared at the next statement. Errors in
  /// between are consequences and are not reported.
  bool panic = false;
  /// A limit was exceeded: parsing stops.
  bool fatal = false;
  /// The last block was written with indentation; `else` and `elif` on their own line belong to it.
  bool indented = false;
  uint32_t statementStart = 0;

  // ---- tokens
  const Token &peek(size_t ahead = 0) const {
    return tokens[std::min(index + ahead, tokens.size() - 1)];
  }
  bool at(Tok kind, size_t ahead = 0) const { return peek(ahead).kind == kind; }
  std::string_view textOf(const Token &token) const {
    return file.text().substr(token.begin, token.end - token.begin);
  }
  std::string sourceText(Span span) const {
    return std::string(file.text().substr(span.begin, span.end - span.begin));
  }
  bool atWord(std::string_view word, size_t ahead = 0) const {
    return at(Tok::Name, ahead) && textOf(peek(ahead)) == word;
  }
  Span spanOf(const Token &token) const { return {file.id(), token.begin, token.end}; }
  Span here() const { return spanOf(peek()); }
  uint32_t previousEnd() const { return index == 0 ? 0 : tokens[index - 1].end; }
  Span since(Span start) const {
    return {file.id(), start.begin, std::max(start.end, previousEnd())};
  }
  const Token &take() {
    const Token &token = peek();
    if (index + 1 < tokens.size())
      ++index;
    return token;
  }
  bool accept(Tok kind) {
    if (!at(kind))
      return false;
    take();
    return true;
  }
  uint32_t lineOf(const Token &token) const { return file.lineNumber(token.begin); }
  /// In bytes, from 0. Sufficient to compare indentation, and independent of the line's length.
  uint32_t columnOf(const Token &token) const {
    return token.begin - file.lineStart(lineOf(token));
  }

  // ---- errors
  /// Null in panic mode: the message would only repeat the first error.
  Diagnostic *error(Code code, Span where, std::string message) {
    if (panic || fatal)
      return nullptr;
    panic = true;
    return &diags.report(code, where, std::move(message));
  }
  std::string found() const;
  Diagnostic *expected(const std::string &what);
  bool expect(Tok kind);
  /// Closes a bracket opened at `open`. If it is missing, the message points at both locations.
  bool expectClose(Tok kind, Span open);
  void tooDeep(Span where);
  void skipToStatementEnd();
  void checkForeignWord(Diagnostic *error);
  bool reportForeignStatement();
  ast::Expr *parseLambdaHabit();
  ast::Block *parseIndentedBlock(Span header);
  std::string bracesInstead(std::string_view header, const ast::Block &body) const;

  class Nested {
  public:
    explicit Nested(Parser &owner) : parser(owner) {
      if (++parser.depth > limits::kMaxNesting)
        parser.tooDeep(parser.here());
    }
    ~Nested() { --parser.depth; }

  private:
    Parser &parser;
  };

  // ---- nodes
  template <class T> T *make(Span span) { return arena.make<T>(span); }
  ast::Expr *errorExpr() { return make<ast::ErrorExpr>(here().start()); }
  template <class T> T *grown(T *node, std::initializer_list<int> heights) {
    int height = 0;
    for (int h : heights)
      height = std::max(height, h);
    return setHeight(node, height + 1);
  }
  template <class T> T *setHeight(T *node, int height) {
    if (height > limits::kMaxTreeHeight)
      tooDeep(node->span);
    node->height = static_cast<uint16_t>(std::min(height, limits::kMaxTreeHeight + 1));
    return node;
  }
  static int heightOf(const ast::Expr *e) { return e ? e->height : 0; }
  static int heightOf(const ast::Block *b) { return b ? b->height : 0; }
  static int heightOf(const ast::TypeExpr *t) { return t ? t->height : 0; }
  static int heightOf(const List<ast::Argument> &args) {
    int height = 0;
    for (const ast::Argument &arg : args)
      height = std::max(height, heightOf(arg.value));
    return height;
  }
  static int heightOf(const List<ast::Expr *> &exprs) {
    int height = 0;
    for (const ast::Expr *e : exprs)
      height = std::max(height, heightOf(e));
    return height;
  }
  ast::Identifier identifier(const char *what);
  std::string_view docBefore(uint32_t offset) const;

  // ---- statements and declarations (ParseStmt.cpp)
  enum class Where { Module, Block };
  ast::Stmt *parseStmt(Where where);
  ast::Stmt *parseStmtBody(Where where, const std::vector<ast::Attribute> &attributes);
  void endStatement(bool &muted);
  std::vector<ast::Attribute> parseAttributes();
  bool startsFunc() const;
  ast::Stmt *parseImport();
  ast::Stmt *parseNominal();
  ast::Stmt *parseTypeDef();
  ast::Stmt *parseTest();
  ast::Func *parseFunc();
  ast::Func *parseFuncRest(ast::Func *func, Span start);
  ast::Stmt *parseLet();
  ast::Stmt *parseFor();
  ast::Stmt *parseWhile();
  ast::Stmt *parseTry();
  ast::Stmt *parseSimple();
  bool parseField(std::vector<ast::Field> &fields);
  List<ast::Generic> parseGenerics();
  List<ast::Param> parseParams(bool typesRequired);
  List<ast::Expr *> parseWhere();
  ast::Pattern *parsePattern();
  ast::Block *parseBlock(Span header);

  // ---- expressions (ParseExpr.cpp)
  ast::Expr *parseExpr();
  ast::Expr *parseOr();
  ast::Expr *parseAnd();
  ast::Expr *parseNot();
  ast::Expr *parseRange();
  ast::Expr *parseSum();
  ast::Expr *parseMultiplicative();
  ast::Expr *parseUnary();
  ast::Expr *parsePostfix();
  ast::Expr *parsePrimary();
  ast::Expr *parseNumber();
  ast::Expr *parseString();
  ast::Expr *parseFString();
  ast::Expr *parseParenthesised();
  ast::Expr *parseListOrComprehension();
  ast::If *parseIf();
  ast::Expr *parseGrad();
  ast::Expr *parseLambda();
  List<ast::Argument> parseArgs(Span &argsSpan);
  ast::IndexArg parseIndexArg();
  ast::Expr *binary(ast::Expr *left, Tok op, Span opSpan, ast::Expr *right);

  // ---- types (ParseType.cpp)
  ast::TypeExpr *parseType();
  ast::TypeExpr *parseNamedType();
  ast::TypeDim parseTypeDim();
  int heightOfDims(const std::vector<ast::TypeDim> &dims) const;
};

} // namespace mx
