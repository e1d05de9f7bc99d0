// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Abstract syntax tree. Nodes live in an Arena. The parser creates them, and they are immutable
// afterwards, except for the `checked` slots, in which Sema stores its results.
//
// A node keeps what a formatter needs (spans of names, parentheses as written). Comments stay in
// LexedSource and are matched by position.
#pragma once
#include "Support/Arena.h"
#include "Support/Source.h"
#include "Syntax/Token.h"
#include <functional>
#include <string_view>

namespace mx {
namespace sema {
struct Value;
struct CallInfo;
struct Symbol;
class Type;
struct FunctionInfo;
struct NominalInfo;
} // namespace sema

namespace ast {

struct Block;
struct TypeExpr;
struct Func;
struct Stmt;

struct Identifier {
  std::string_view text;
  Span span;
  bool valid() const { return !text.empty(); }
};

// ---------------------------------------------------------------------------------- expressions

enum class ExprKind : uint8_t {
  Number,
  String,
  FString,
  Bool,
  Name,
  Tuple,
  List,
  Comprehension,
  Unary,
  Binary,
  Range,
  Pipe,
  Member,
  Call,
  Index,
  If,
  GraphBlock,
  OnBlock,
  Grad,
  Lambda,
  Error,
};

struct Expr {
  ExprKind kind;
  uint8_t parens = 0; ///< number of enclosing pairs of parentheses
  uint16_t height = 1;
  Span span;      ///< without the parentheses
  Span outerSpan; ///< with them
  const sema::Value *checked = nullptr;

protected:
  Expr(ExprKind k, Span s) : kind(k), span(s), outerSpan(s) {}
};

/// Casts by kind: `as<Call>(e)` is null if `e` is something else.
template <class T> T *as(Expr *e) {
  return e && e->kind == T::Kind ? static_cast<T *>(e) : nullptr;
}
template <class T> const T *as(const Expr *e) {
  return e && e->kind == T::Kind ? static_cast<const T *>(e) : nullptr;
}

#define MX_EXPR(NAME)                                                                              \
  static constexpr ExprKind Kind = ExprKind::NAME;                                                 \
  explicit NAME(Span s) : Expr(Kind, s) {}

struct Number : Expr {
  static constexpr ExprKind Kind = ExprKind::Number;
  explicit Number(Span s) : Expr(Kind, s) {}
  bool isFloat = false;
  int64_t intValue = 0;
  double floatValue = 0;
};
struct String : Expr {
  MX_EXPR(String)
  std::string_view value; ///< escapes decoded
};
struct FString : Expr {
  MX_EXPR(FString)
  struct Part {
    std::string_view text; ///< escapes decoded; used if `expr` is null
    Expr *expr = nullptr;
    std::string_view format;
    Span formatSpan;
  };
  List<Part> parts;
};
struct Bool : Expr {
  MX_EXPR(Bool)
  bool value = false;
};
struct Name : Expr {
  MX_EXPR(Name)
  std::string_view text;
  sema::Symbol *symbol = nullptr;
};
struct Tuple : Expr {
  MX_EXPR(Tuple)
  List<Expr *> elements; ///< never exactly one
};
struct ListExpr : Expr {
  static constexpr ExprKind Kind = ExprKind::List;
  explicit ListExpr(Span s) : Expr(Kind, s) {}
  List<Expr *> elements;
};

struct Pattern {
  Identifier name; ///< empty for a tuple pattern
  List<Pattern *> parts;
  Span span;
  sema::Symbol *symbol = nullptr;
};

struct Comprehension : Expr {
  MX_EXPR(Comprehension)
  Expr *element = nullptr;
  struct Clause {
    Pattern *pattern;
    Expr *range;
  };
  List<Clause> clauses;
};
enum class UnaryOp : uint8_t { Negate, Not };
struct Unary : Expr {
  MX_EXPR(Unary)
  UnaryOp op = UnaryOp::Negate;
  Expr *operand = nullptr;
};
struct Binary : Expr {
  MX_EXPR(Binary)
  Tok op = Tok::Plus; ///< + - * / // % @ ** == != < <= > >= and or
  Span opSpan;
  Expr *left = nullptr, *right = nullptr;
};
struct Range : Expr {
  MX_EXPR(Range)
  Expr *from = nullptr, *to = nullptr;
};
struct Argument {
  Identifier name; ///< empty for a positional argument
  bool isMut = false;
  Expr *value = nullptr;
  Span span;
};
struct Member : Expr {
  MX_EXPR(Member)
  Expr *object = nullptr;
  Identifier name;
  sema::Symbol *symbol = nullptr; ///< for a name of a module
};
struct Call : Expr {
  MX_EXPR(Call)
  Expr *callee = nullptr;
  List<Argument> args;
  Span argsSpan; ///< from `(` to `)`
  const sema::CallInfo *info = nullptr;
};
/// `x |> f` and `x |> f(a)`. Kept as written. The meaning is a call with `left` as first argument.
struct Pipe : Expr {
  MX_EXPR(Pipe)
  Expr *left = nullptr, *right = nullptr;
  Span opSpan;
  const sema::CallInfo *info = nullptr;
};
struct IndexArg {
  enum Kind : uint8_t { Value, Slice, Ellipsis, New } kind = Value;
  Expr *value = nullptr;                                ///< Value
  Expr *from = nullptr, *to = nullptr, *step = nullptr; ///< Slice, each may be absent
  Span span;
};
/// `x[i, a:b]`, and also `Mlp[784, 10]`: the checker distinguishes them.
struct Index : Expr {
  MX_EXPR(Index)
  Expr *object = nullptr;
  List<IndexArg> args;
};
struct If : Expr {
  MX_EXPR(If)
  Expr *condition = nullptr;
  Block *thenBlock = nullptr;
  Block *elseBlock = nullptr; ///< null if absent
  If *elseIf = nullptr;       ///< `else if`
};
struct GraphBlock : Expr {
  MX_EXPR(GraphBlock)
  Block *body = nullptr;
};
struct OnBlock : Expr {
  MX_EXPR(OnBlock)
  Expr *device = nullptr;
  Block *body = nullptr;
};
struct Grad : Expr {
  MX_EXPR(Grad)
  List<Expr *> targets;
  Block *body = nullptr;
  Span keyword;
};
struct Lambda : Expr {
  MX_EXPR(Lambda)
  Func *func = nullptr;
};
struct ErrorExpr : Expr {
  static constexpr ExprKind Kind = ExprKind::Error;
  explicit ErrorExpr(Span s) : Expr(Kind, s) {}
};
#undef MX_EXPR

// --------------------------------------------------------------------------------------- types

struct TypeDim {
  enum Kind : uint8_t { Size, Pack, Dyn, Unknown } kind = Size; ///< n, ...S, dyn N <= b, ?
  Expr *size = nullptr;                                         ///< Size; may also be a type
  Identifier name;                                              ///< Pack, Dyn
  Expr *bound = nullptr;                                        ///< Dyn, may be absent
  Span span;
};
enum class TypeKind : uint8_t { Named, Tuple, Array, Fn, Error };
struct TypeExpr {
  TypeKind kind = TypeKind::Error;
  Span span;
  uint16_t height = 1;
  // Named
  List<Identifier> path;
  bool hasDims = false;
  List<TypeDim> dims;
  bool hasArgs = false;
  List<Argument> args;
  // Tuple, Fn (parameters)
  List<TypeExpr *> elements;
  // Array, Fn (result)
  TypeExpr *element = nullptr;
  Expr *count = nullptr;
};

// --------------------------------------------------------------------------- declarations, stmts

struct Attribute {
  Identifier name;
  List<Argument> args;
  Span span;
};
struct Generic {
  bool pack = false;
  Identifier name;
  Identifier kind; ///< empty: dim
};
struct Param {
  bool isMut = false, isStatic = false;
  Identifier name;
  TypeExpr *type = nullptr;
  Expr *defaultValue = nullptr;
  Span span;
  sema::Symbol *symbol = nullptr;
};

enum class StmtKind : uint8_t {
  Expr,
  Let,
  Assign,
  For,
  While,
  Return,
  Break,
  Continue,
  Raise,
  Assert,
  Try,
  Import,
  Nominal,
  TypeDef,
  Test,
  Func,
  Error,
};
struct Stmt {
  StmtKind kind;
  uint16_t height = 1;
  Span span;
  List<Attribute> attributes;

protected:
  Stmt(StmtKind k, Span s) : kind(k), span(s) {}
};
template <class T> T *as(Stmt *s) {
  return s && s->kind == T::Kind ? static_cast<T *>(s) : nullptr;
}
template <class T> const T *as(const Stmt *s) {
  return s && s->kind == T::Kind ? static_cast<const T *>(s) : nullptr;
}
#define MX_STMT(NAME, KIND)                                                                        \
  static constexpr StmtKind Kind = StmtKind::KIND;                                                 \
  explicit NAME(Span s) : Stmt(Kind, s) {}

struct Block {
  List<Stmt *> stmts;
  Span span; ///< including the braces
  uint16_t height = 1;
};
struct ExprStmt : Stmt {
  MX_STMT(ExprStmt, Expr)
  Expr *expr = nullptr;
  bool muted = false; ///< ends in `;`: the REPL shows no result
};
enum class BindKind : uint8_t { Let, Var, Const };
struct Let : Stmt {
  MX_STMT(Let, Let)
  BindKind bind = BindKind::Let;
  Pattern *pattern = nullptr;
  TypeExpr *type = nullptr;
  Expr *value = nullptr;
  bool muted = false;
};
struct Assign : Stmt {
  MX_STMT(Assign, Assign)
  Tok op = Tok::Equal;
  Span opSpan;
  Expr *target = nullptr, *value = nullptr;
};
struct For : Stmt {
  MX_STMT(For, For)
  bool isMut = false;
  Pattern *pattern = nullptr;
  Expr *iterable = nullptr;
  Block *body = nullptr;
};
struct While : Stmt {
  MX_STMT(While, While)
  Expr *condition = nullptr;
  Expr *limit = nullptr;
  Block *body = nullptr;
  Span keyword;
};
struct Return : Stmt {
  MX_STMT(Return, Return)
  Expr *value = nullptr;
};
struct Break : Stmt {
  MX_STMT(Break, Break)
};
struct Continue : Stmt {
  MX_STMT(Continue, Continue)
};
struct Raise : Stmt {
  MX_STMT(Raise, Raise)
  Expr *value = nullptr;
};
struct Assert : Stmt {
  MX_STMT(Assert, Assert)
  Expr *condition = nullptr, *message = nullptr;
};
struct Try : Stmt {
  MX_STMT(Try, Try)
  Block *body = nullptr;
  Identifier name;
  Block *handler = nullptr;
  sema::Symbol *symbol = nullptr;
};
struct Import : Stmt {
  MX_STMT(Import, Import)
  struct Module {
    List<Identifier> path;
    Identifier alias;
  };
  bool isFrom = false;
  List<Module> modules;   ///< exactly one for `from … import`
  List<Identifier> names; ///< `from m import a, b`
};
struct TypeDef : Stmt {
  MX_STMT(TypeDef, TypeDef)
  Identifier name;
  List<Generic> generics;
  TypeExpr *type = nullptr;
  std::string_view doc;
};
struct Test : Stmt {
  MX_STMT(Test, Test)
  String *name = nullptr;
  Block *body = nullptr;
};
struct Func : Stmt {
  MX_STMT(Func, Func)
  bool isExport = false, isExtern = false, isMut = false, isGraph = false;
  Span graphSpan, mutSpan; ///< of the keywords, if present
  Identifier name;         ///< empty for a lambda
  List<Generic> generics;
  List<Param> params;
  TypeExpr *result = nullptr;
  List<Expr *> where;
  Block *body = nullptr; ///< null for a declaration without a body
  std::string_view doc;
  Span headerSpan; ///< up to the body
  sema::FunctionInfo *info = nullptr;
};
enum class FieldKind : uint8_t { Plain, Param, State, Sub };
struct Field {
  FieldKind kind = FieldKind::Plain;
  Identifier name;
  TypeExpr *type = nullptr;
  Expr *value = nullptr;
  Expr *device = nullptr;
  Span span;
  std::string_view doc;
};
/// A `model` or a `struct`.
struct Nominal : Stmt {
  MX_STMT(Nominal, Nominal)
  bool isModel = false;
  Identifier name;
  List<Generic> generics;
  bool hasParams = false;
  List<Param> params;
  List<Expr *> where;
  List<Field> fields;
  List<Func *> funcs;
  Span bodySpan;
  std::string_view doc;
  sema::NominalInfo *info = nullptr;
};
struct ErrorStmt : Stmt {
  MX_STMT(ErrorStmt, Error)
};
#undef MX_STMT

struct Module {
  uint32_t file = 0;
  List<Stmt *> items;
  std::string_view doc;
};

/// The tree as indented text, for `--emit=ast` and for comparing trees in tests. Without positions,
/// two spellings of one tree compare equal.
std::string dump(const Module &module, bool withSpans);
/// The same, line by line: the dump of a large tree is much larger than the program.
void dumpLines(const Module &module, bool withSpans,
               const std::function<void(size_t depth, std::string_view line)> &sink);

} // namespace ast
} // namespace mx
