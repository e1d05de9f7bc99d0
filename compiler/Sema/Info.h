// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results of the type checker: values of expressions, symbols, functions, models, modules. Later
// stages read them through the `checked`, `info` and `symbol` slots of the syntax tree.
#pragma once
#include "Sema/Type.h"
#include "Support/Primitives.h"
#include <functional>
#include <set>
#include <string>
#include <unordered_map>

namespace mx::sema {

struct Symbol;

/// Compile-time knowledge about the value of an expression.
struct Value {
  const Type *type = nullptr;
  /// Computed synchronously on the host (literals, sizes, strings, handles); otherwise a device
  /// value.
  bool host = false;
  /// A literal, or arithmetic on literals alone: it adapts to the element type of the other
  /// operand.
  enum Literal : uint8_t { NotLiteral, IntLiteral, FloatLiteral } literal = NotLiteral;
  /// The value as a size, for host integers.
  Dim dim;
  /// A value known at compile time: bool, float, string, device.
  enum Constant : uint8_t {
    NoConstant,
    BoolConstant,
    FloatConstant,
    StringConstant,
    DeviceConstant
  } constant = NoConstant;
  bool flag = false;
  double number = 0;
  std::string_view text;
  Device device = nullptr; ///< DeviceConstant
  /// The variable that contains this value (`net` for `net.fc1.w`), if any.
  Symbol *root = nullptr;
  bool isLvalue = false; ///< an lvalue: it may be assigned or passed as `mut`

  /// Literals and sizes adapt to the element type of the other operand (S11).
  bool adapts() const { return literal != NotLiteral || (host && dim); }
};

enum class SymbolKind : uint8_t {
  Variable,
  DimParam,
  ElemParam,
  TypeParam,
  PackParam,
  Function,
  Nominal,
  Alias,
  Module,
  Field,
  Method,
};

struct Symbol {
  SymbolKind kind = SymbolKind::Variable;
  std::string_view name;
  Span span;
  // Variable, Field
  ast::BindKind bind = ast::BindKind::Let;
  const Type *type = nullptr;
  Value value; ///< the known value of a `let`, `const` or parameter; only the type of a `var`
  bool isParam = false, isMutParam = false, isStatic = false, isLoopVariable = false;
  bool isModuleLevel = false;
  bool used = false;
  bool usedByFunction = false; ///< a top-level variable that a function mentions
  FunctionInfo *function = nullptr; ///< the defining function; null at module level
  int scopeDepth = 0;
  Span typeSpan;                      ///< of the written type, if any
  const ast::Expr *initial = nullptr; ///< its initialiser, for "because …" notes
  std::string origin;                 ///< a note on the origin of its size (loaders)
  ast::FieldKind fieldKind = ast::FieldKind::Plain;
  Device device = nullptr;
  // DimParam, ElemParam, TypeParam, PackParam
  Dim dim;
  Elem elem;
  PackId pack = 0;
  // Function
  std::vector<FunctionInfo *> functions;
  NominalInfo *nominal = nullptr;
  ModuleInfo *module = nullptr;
  ast::TypeDef *alias = nullptr;
  ModuleInfo *home = nullptr; ///< the declaring module of an alias, const or function
  bool resolving = false;
};

struct Scope {
  Scope *parent = nullptr;
  std::unordered_map<std::string_view, Symbol *> names;
  int depth = 0;
};

/// The generic names of one signature.
struct Generics {
  std::vector<AtomId> dims;
  std::vector<PackId> packs;
  std::vector<uint32_t> elems, types, statics;
};

struct ParamInfo {
  std::string name;
  const Type *type = nullptr;
  bool isMut = false, isStatic = false;
  bool optional = false; ///< may be omitted: a default, or inferred from the context (`= _`)
  bool fromContext = false;
  ast::Expr *defaultValue = nullptr;
  Span span;
  Symbol *symbol = nullptr;
  /// The name of a static parameter as a size or open value, so that types can depend on it.
  StaticValue value;
};

/// A condition that must hold at each use of a type or function.
struct Requirement {
  DimCondition condition;
  std::string text;               ///< as written: `D % NH == 0`
  Span span;                      ///< of the clause
  std::string owner;              ///< the owner of the clause
  std::vector<TypeArg> ownerArgs; ///< the owner's arguments, in terms of the holder's names
  NominalInfo *ownerNominal = nullptr;
  std::vector<std::string> path; ///< `Gpt.blocks: [Block[D, NH]; depth]`, …
  bool inferred = false;
  bool isBound = false; ///< of `dyn N <= 8`
};

enum Effect : uint8_t { kRand = 1, kFile = 2, kNet = 4, kWait = 8, kPrint = 16, kExtern = 32 };

/// The origin of an effect of a function: the call that caused it, and the callee.
struct EffectCause {
  Span span;
  std::string callee;
  std::string verb; ///< "writes a file"
  FunctionInfo *next = nullptr;
};

/// In a watched variant of a function (S20): the result of an expression of its body is bound to
/// `own`. If the expression is a call, `callee` is called instead, which also returns the values
/// `inner`.
struct Tap {
  Symbol *own = nullptr;
  FunctionInfo *callee = nullptr;
  std::vector<Symbol *> inner;
};

struct FunctionInfo {
  std::string name;
  ast::Func *syntax = nullptr;
  ModuleInfo *module = nullptr;
  NominalInfo *owner = nullptr;
  Scope *scope = nullptr;      ///< the scope of its definition
  Scope *paramScope = nullptr; ///< its generic names and parameters
  FunctionInfo *enclosing = nullptr;
  const PrimitiveInfo *primitive = nullptr;
  Generics generics;
  std::vector<Symbol *> sizeNames;  ///< size parameters declared by their first use
  std::map<Symbol *, int> sizeUses; ///< number of uses of each in the signature
  std::vector<ParamInfo> params;
  const Type *result = nullptr;
  std::vector<Requirement> requirements;
  enum State : uint8_t {
    Declared,
    ResolvingSignature,
    SignatureDone,
    CheckingBody,
    BodyDone
  } state = Declared;
  uint8_t effects = 0;
  bool waits = false; ///< as host code: it reads a tensor's value, here or in a callee
  std::map<uint8_t, EffectCause> causes;
  Device resultDevice = nullptr; ///< device of the result, from an `on` in the body
  const Type *runSize = nullptr; ///< of a value with a run-time size, here or in calls
  Span runSizeSpan;
  std::string runSizeName;
  bool unboundedWhile = false;   ///< a `while` without `limit`, here or in a callee
  Span unboundedSpan;
  const PrimitiveInfo *withoutGradient =
      nullptr; ///< a builtin without a gradient, here or in a callee
  Span withoutGradientSpan;
  Symbol *outerVariable = nullptr; ///< a module variable used here or in a callee
  Span outerSpan;
  /// Functions that called it while it was being checked. They get its effects when the check is
  /// done.
  std::vector<std::pair<FunctionInfo *, EffectCause>> early;
  /// Of a watched variant of a graph (S20): inner values that are extra results (fetch) and extra
  /// arguments (feed).
  std::vector<Symbol *> fetched, fed;
  std::map<const ast::Expr *, Tap> taps;
  bool isGraph() const { return syntax && syntax->isGraph; }
  bool isMutMethod() const { return syntax && syntax->isMut; }
};

struct FieldInfo {
  std::string name;
  const ast::Field *syntax = nullptr;
  const Type *type = nullptr;
  ast::FieldKind kind = ast::FieldKind::Plain;
  Device device = nullptr;
  Symbol *symbol = nullptr;
  bool resolving = false;
};

struct GenericParam {
  enum Kind : uint8_t { Size, Pack, Element, Model } kind = Size; ///< Model: also `T: value`
  std::string name;
  AtomId dim = 0;
  PackId pack = 0;
  uint32_t variable = 0;
  ElemKind elemKind = ElemKind::Num;
};

struct NominalInfo {
  std::string name;
  ast::Nominal *syntax = nullptr;
  ModuleInfo *module = nullptr;
  bool isModel = false, isHandle = false;
  std::vector<GenericParam> generics;
  Scope *scope = nullptr;           ///< generic names, constructor parameters, fields, functions
  std::vector<ParamInfo> params;    ///< of the constructor
  std::vector<size_t> staticParams; ///< indices of the parameters that are part of the type
  std::vector<StaticValue> staticDefaults;
  std::vector<FieldInfo> fields;
  std::map<std::string, FunctionInfo *, std::less<>> methods;
  std::vector<Requirement> own; ///< its `where`
  std::vector<Requirement> all; ///< including those of its fields' types
  const Type *self = nullptr;
  enum State : uint8_t {
    Declared,
    ResolvingHeader,
    HeaderDone,
    ResolvingFields,
    FieldsDone
  } state = Declared;
  bool bodiesChecked = false;
  bool holdsNoCircle = false; ///< neither the type nor a part of it contains itself

  std::string staticName(size_t i) const { return params[staticParams[i]].name; }
  bool isDefaultStatic(size_t i, const StaticValue &value) const {
    return i < staticDefaults.size() && staticDefaults[i] == value;
  }
  FieldInfo *field(std::string_view fieldName) {
    for (FieldInfo &f : fields)
      if (f.name == fieldName)
        return &f;
    return nullptr;
  }
};

struct ModuleInfo {
  std::string name; ///< `nn`
  std::string path;
  bool isStd = false;
  ast::Module *syntax = nullptr;
  Scope scope;
  enum State : uint8_t { Loading, Ready, Broken } state = Loading;
  std::unique_ptr<DimFacts> facts;
};

/// Resolution of a call, for later stages.
struct CallInfo {
  enum Target : uint8_t { Function, Primitive, Construct, Convert, FnValue } target = Function;
  FunctionInfo *function = nullptr;
  NominalInfo *nominal = nullptr;
  ast::Expr *receiver = nullptr;            ///< of `x.f(a)` and `net(x)`
  std::vector<const ast::Expr *> arguments; ///< one per parameter; null: default or ambient
  Bindings bindings;
  const Type *result = nullptr;
};

/// A value that a host passes: its name in the text of the call, and its type.
struct OutsideValue {
  std::string name;
  const Type *type = nullptr;
  bool isHost = false;
};

/// The callee of a host's call: a function, or the constructor of a type. If both are null, the
/// name is unknown.
struct OutsideCallee {
  FunctionInfo *function = nullptr;
  NominalInfo *nominal = nullptr;
  const std::vector<ParamInfo> *params() const {
    return function ? &function->params : nominal ? &nominal->params : nullptr;
  }
};

} // namespace mx::sema
