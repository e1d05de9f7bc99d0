// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the checker knows about a program: values of expressions, names, functions, models, modules.
// Later stages read it through the `checked`, `info` and `symbol` slots of the syntax tree.
#pragma once
#include "Sema/Type.h"
#include "Support/Primitives.h"
#include <functional>
#include <set>
#include <string>
#include <unordered_map>

namespace mx::sema {

struct Symbol;

/// What is known about the value of an expression before anything runs.
struct Value {
  const Type *type = nullptr;
  /// Computed at once on the host (literals, sizes, strings, handles); otherwise a device value.
  bool host = false;
  /// A literal, or arithmetic on literals alone: it adapts to the element type it meets.
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
  /// The variable this is a part of (`net.fc1.w` is a part of `net`), if any.
  Symbol *root = nullptr;
  bool mutablePlace = false; ///< it may be assigned or passed as `mut`

  /// Literals and sizes take the element type of what they meet (S11).
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
  Value value; ///< what is known of a `let`, `const` or parameter; of a `var` only its type
  bool isParam = false, isMutParam = false, isStatic = false, isLoopVariable = false;
  bool isModuleLevel = false;
  bool used = false;
  bool usedByFunction = false; ///< a variable of the top level that a function mentions
  FunctionInfo *function = nullptr; ///< where it was made; null at module level
  int scopeDepth = 0;
  Span typeSpan;                      ///< of the written type, if any
  const ast::Expr *initial = nullptr; ///< what it was bound to, for "because …" notes
  std::string origin;                 ///< a note on where its size comes from (loaders)
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
  ModuleInfo *home = nullptr; ///< the module an alias, const or function was declared in
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
  bool optional = false; ///< may be left out: a default, or worked out from the context (`= _`)
  bool fromContext = false;
  ast::Expr *defaultValue = nullptr;
  Span span;
  Symbol *symbol = nullptr;
  /// A static parameter's own name as a size or open value, so that types can depend on it.
  StaticValue value;
};

/// A condition that must hold where a type or function is used.
struct Requirement {
  DimCondition condition;
  std::string text;               ///< as written: `D % NH == 0`
  Span span;                      ///< of the clause
  std::string owner;              ///< whose clause it is
  std::vector<TypeArg> ownerArgs; ///< the owner's arguments, in terms of the holder's names
  NominalInfo *ownerNominal = nullptr;
  std::vector<std::string> path; ///< `Gpt.blocks: [Block[D, NH]; depth]`, …
  bool inferred = false;
  bool isBound = false; ///< of `dyn N <= 8`
};

enum Effect : uint8_t { kRand = 1, kFile = 2, kNet = 4, kWait = 8, kPrint = 16, kExtern = 32 };

/// How an effect got into a function: the call that brought it, and what was called.
struct EffectCause {
  Span span;
  std::string callee;
  std::string verb; ///< "writes a file"
  FunctionInfo *next = nullptr;
};

/// In a watched variant of a function (S20): what an expression of its body gives has the name
/// `own`; and if it is a call, `callee` is called instead, which gives the values `inner` besides.
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
  Scope *scope = nullptr;      ///< where it is defined
  Scope *paramScope = nullptr; ///< its generic names and parameters
  FunctionInfo *enclosing = nullptr;
  const PrimitiveInfo *primitive = nullptr;
  Generics generics;
  std::vector<Symbol *> sizeNames;  ///< size parameters made by their first use
  std::map<Symbol *, int> sizeUses; ///< how often each stands in the signature
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
  bool waits = false; ///< as host code: it looks at a tensor's value, here or in what it calls
  std::map<uint8_t, EffectCause> causes;
  Device resultDevice = nullptr; ///< where an `on` in the body puts the result
  bool unboundedWhile = false;   ///< a `while` without `limit`, here or in what it calls
  Span unboundedSpan;
  const PrimitiveInfo *withoutGradient =
      nullptr; ///< a builtin without a gradient, here or in what it calls
  Span withoutGradientSpan;
  Symbol *outerVariable = nullptr; ///< a module's variable it uses, or what it calls does
  Span outerSpan;
  /// Functions that called it while it was being checked; they get its effects when it is done.
  std::vector<std::pair<FunctionInfo *, EffectCause>> early;
  /// Of a watched variant of a graph (S20): inner values it also gives, and that it is given.
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
  enum Kind : uint8_t { Size, Pack, Element, Model } kind = Size;
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
  std::vector<size_t> staticParams; ///< indices of those that are part of the type
  std::vector<StaticValue> staticDefaults;
  std::vector<FieldInfo> fields;
  std::map<std::string, FunctionInfo *, std::less<>> methods;
  std::vector<Requirement> own; ///< its `where`
  std::vector<Requirement> all; ///< with those of its fields' types
  const Type *self = nullptr;
  enum State : uint8_t {
    Declared,
    ResolvingHeader,
    HeaderDone,
    ResolvingFields,
    FieldsDone
  } state = Declared;
  bool bodiesChecked = false;
  bool holdsNoCircle = false; ///< neither it nor a part of it holds itself

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

/// What a call means, for later stages.
struct CallInfo {
  enum Target : uint8_t { Function, Primitive, Construct, Convert, FnValue } target = Function;
  FunctionInfo *function = nullptr;
  NominalInfo *nominal = nullptr;
  ast::Expr *receiver = nullptr;            ///< of `x.f(a)` and `net(x)`
  std::vector<const ast::Expr *> arguments; ///< one a parameter; null: default or ambient
  Bindings bindings;
  const Type *result = nullptr;
};

/// A value that a host hands over: how the text of its call names it, and its type.
struct OutsideValue {
  std::string name;
  const Type *type = nullptr;
  bool isHost = false;
};

/// What a host calls: a function, or the constructor of a type; neither: there is no such name.
struct OutsideCallee {
  FunctionInfo *function = nullptr;
  NominalInfo *nominal = nullptr;
  const std::vector<ParamInfo> *params() const {
    return function ? &function->params : nominal ? &nominal->params : nullptr;
  }
};

} // namespace mx::sema
