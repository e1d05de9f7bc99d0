// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The type checker and its parts, each in a file of this folder, which alone includes this header:
//   Modules, Names        files, imports, the prelude; symbol definition and lookup
//   Input, Assist         inputs of a session; completion and lookup for the REPL and editors
//   Renew                 rebuilds the checker of a long session to free memory
//   Declare, Nominals     signatures and bodies of functions; models and structs
//   ResolveType, -Size    written types and sizes
//   CheckStmt, Loops, Assignments          statements
//   CheckExpr, Literals, Members, Functions  expressions
//   Watch                 fetch and feed of graphs
//   RunSizes              sizes that are known only at run time
//   Operators, Broadcasting, Matmul        arithmetic, shapes and devices of two operands
//   Indexing              x[i, a:b, new]
//   Calls, Arguments, BindArguments, Unify, CallFunction, Construct   call resolution
//   PrimitiveCalls, ShapedCalls, DataCalls, Patterns   builtins with rules of their own
//   Matching              type compatibility
//   Rules                 calls of a KVStore; what the steps of optimizers look at
//   Effects, Mutation     effect inference, mutation analysis
//   Requirements          `where` clauses and inherited ones
//   Wording, Describe     fragments of messages; --emit=typed
#pragma once
#include "Sema/Sema.h"
#include "Support/Limits.h"
#include "Syntax/Parser.h"
#include <unordered_set>

namespace mx::sema {

using ast::Expr;
using ast::Stmt;

/// Checking context: one per function body, one for the top level of a module.
struct Context {
  FunctionInfo *function = nullptr;
  ModuleInfo *module = nullptr;
  Context *outer = nullptr; ///< of the enclosing function of a lambda or local function
  Scope *scope = nullptr;
  DimFacts *facts = nullptr;
  const Type *declaredResult = nullptr; ///< null: inferred (lambda, top level)
  Span resultSpan;
  std::vector<std::pair<const Type *, Span>> returned; ///< of a lambda
  bool inGraph = false;
  Span graphSpan;                  ///< location of the keyword `graph`
  const ast::Grad *grad = nullptr; ///< the innermost enclosing `grad`
  Device device = nullptr;         ///< of the innermost `on`
  int loopDepth = 0;
  std::vector<const Stmt *> loops;
  uint8_t allowed = 0;
};

/// One argument of a call: written, or the receiver of a method call or pipe.
struct Arg {
  Expr *expr = nullptr;
  std::string_view name;
  Span nameSpan;
  bool isMut = false;
  Span span;
  const Value *value = nullptr; ///< set once it is checked
};

/// The difference between two types, for messages.
struct Mismatch {
  bool differs = false;
  bool elements = false; ///< the element types differ
  bool rank = false;
  int axis = -1;
  Dim want, have;
  Answer answer;
};

class Sema final : public CheckedProgram {
public:
  /// `older`: a checker whose module texts are reused if they have not changed.
  Sema(SourceManager &sourceManager, Diagnostics &sink, CheckOptions opts, Sema *older = nullptr);

  CheckOptions options;
  Arena arena;
  std::deque<FunctionInfo> functions;
  std::deque<NominalInfo> nominals;
  std::deque<Scope> scopes;
  std::deque<CallInfo> calls;
  std::vector<std::unique_ptr<ModuleInfo>>
      replaced; ///< older modules of the same path, still in use
  ModuleInfo *primitives = nullptr;
  std::map<AtomId, std::string> symbolOwner; ///< the owner of a size parameter
  std::map<Symbol *, std::vector<const PrimitiveInfo *>>
      pendingPrimitives;                        ///< not yet looked up
  std::map<Symbol *, ast::Let *> pendingConsts; ///< `const`s that are not yet evaluated
  Context *context = nullptr;
  bool replacing = false; ///< a REPL input may redefine a name
  uint8_t topEffects = 0; ///< of statements outside of functions
  bool topWaits = false;
  int instantiationDepth = 0;
  std::string mainFolder;
  const char *stackBase = nullptr; ///< stack position at the start of the check

  /// True (and reported) if the nesting of definitions is too deep for one more.
  bool tooDeep(Span at, std::string_view name);

  // ---- Modules.cpp
  ModuleInfo *loadModule(const std::string &name, Span where, const std::string &folder);
  ModuleInfo *addModule(const std::string &name, const SourceFile &file, bool isStd);
  void loadPrimitives();
  Symbol *withFunctions(Symbol *symbol);
  void importInto(ModuleInfo &module, ast::Import *import);
  void declareItems(ModuleInfo &module, const List<Stmt *> &items, bool program);
  void checkItems(ModuleInfo &module, const List<Stmt *> &items);
  void checkDeclarationsOnly(ModuleInfo &module);
  const ModuleInfo *checkProgram(const SourceFile &file);

  // ---- Input.cpp
  bool checkInput(const SourceFile &file, bool &complete, bool isWhole);
  void openSession();
  void keepResult();
  Sema *older = nullptr;
  std::map<uint32_t, std::set<SessionName>> inputMentions; ///< by the file of the input
  std::set<SessionName> mentioned;                         ///< by the input that is being checked
  void mention(const Scope &scope, std::string_view name, Symbol *symbol) {
    if (session && &scope == &session->scope)
      mentioned.insert({name, symbol});
  }

  // ---- Options.cpp
  std::vector<OptionInfo> declaredOptions;
  size_t wrongOptions = 0; ///< number of errors in given values
  Value optionValue(std::vector<Arg> &args, Expr *whole);

  // ---- OutsideCalls.cpp
  const ast::Call *checkOutsideCall(ModuleInfo &module, const SourceFile &file,
                                    const std::vector<OutsideValue> &values);
  OutsideCallee findOutside(ModuleInfo &module, std::string_view callee);

  // ---- names
  Symbol *newSymbol(SymbolKind kind, std::string_view name, Span span);
  void define(Scope &scope, Symbol *symbol, bool mayShadow);
  Symbol *lookup(std::string_view name);
  void resolveConst(Symbol *symbol, ast::Let *let);
  Symbol *lookupIn(ModuleInfo &module, std::string_view name);
  Symbol *lookupMember(ModuleInfo &module, const ast::Identifier &name);
  std::vector<std::string> visibleNames();
  void unknownName(std::string_view name, Span span, const Expr *whole);
  std::string folderOf(ModuleInfo *module) const;

  // ---- Declare.cpp
  FunctionInfo *declareFunction(ast::Func *func, ModuleInfo *module, NominalInfo *owner,
                                Scope *scope);
  void resolveSignature(FunctionInfo &f);
  void checkBody(FunctionInfo &f) override;
  NominalInfo *declareNominal(ast::Nominal *nominal, ModuleInfo *module);
  void resolveHeader(NominalInfo &n);
  void resolveFields(NominalInfo &n) override;
  void resolveField(NominalInfo &n, FieldInfo &f) override;
  void checkNominalBodies(NominalInfo &n) override;
  void declareGenerics(const List<ast::Generic> &list, std::vector<GenericParam> &out, Scope &scope,
                       Generics *generics, const std::string &owner);
  void resolveParams(const List<ast::Param> &list, std::vector<ParamInfo> &out, Scope &scope,
                     Generics *generics, FunctionInfo *function);
  template <class F> void inContext(Context &ctx, F body) {
    Context *saved = context;
    FunctionInfo *savedSignature = signature;
    bool savedField = inField, savedBinding = bindingSizes;
    context = &ctx;
    signature = nullptr;
    inField = bindingSizes = false;
    body();
    context = saved;
    signature = savedSignature;
    inField = savedField;
    bindingSizes = savedBinding;
  }
  Scope *newScope(Scope *parent) {
    scopes.emplace_back();
    scopes.back().parent = parent;
    scopes.back().depth = parent ? parent->depth + 1 : 0;
    return &scopes.back();
  }
  void warnLonelyDims(FunctionInfo &f);
  void checkAttributes(const List<ast::Attribute> &list, const char *on,
                       std::initializer_list<std::string_view> known);

  // ---- ResolveType.cpp
  /// While a signature is resolved, unknown names in types become size parameters of `signature`.
  FunctionInfo *signature = nullptr;
  bool inField = false;      ///< omitted static arguments take their defaults
  bool bindingSizes = false; ///< `let i: i32[K] = …` binds K
  const Type *resolveWrittenType(const ast::TypeExpr *t);
  void reportDeepType(Span at);
  const Type *resolveType(const ast::TypeExpr *t);
  const Type *resolveNamedType(const ast::TypeExpr *t);
  const Type *typeFromExpr(const Expr *e, bool quiet = false);
  const Type *applyType(Symbol *symbol, const std::vector<TypeArg> &args, bool hasArgs, Span span);
  const Type *nominalType(NominalInfo &n, const std::vector<TypeArg> &args, bool hasArgs,
                          const List<ast::Argument> *ctorArgs, Span span, bool implicitStatics);
  bool typeArg(const Expr *e, const GenericParam &want, TypeArg &out);
  Shape shapeFromDims(const List<ast::TypeDim> &list);
  const Type *tensorOf(Elem elem, const List<ast::TypeDim> &list);
  Dim dimFromExpr(const Expr *e);
  std::optional<StaticValue> staticFromExpr(Expr *e, const Type *want);
  Symbol *newSizeName(std::string_view name, Span span, SymbolRole role);
  /// Functions whose bodies are being checked, innermost last. Those before `openBodiesOutside` do
  /// not count as recursion: a gradient rule may call its function.
  std::vector<FunctionInfo *> openBodies;
  ptrdiff_t openBodiesOutside = 0;
  bool inferringField = false;
  bool sizesMayBind = false; ///< in a parameter's type: a new name is a size parameter
  struct AliasInfo {
    std::vector<GenericParam> generics;
    const Type *type = nullptr;
    bool resolving = false;
  };
  std::map<Symbol *, AliasInfo> aliases;
  bool aliasTakes(Symbol *symbol, size_t given, Span span);
  const Type *expandAlias(Symbol *symbol, const std::vector<TypeArg> &args, Span span);

  // ---- CheckStmt.cpp
  bool statementIf = false; ///< the next `if` is a statement and needs no value
  std::map<const Type *, Dim> loaderBounds; ///< batch of a loader that keeps the rest
  const Value *checkBlock(ast::Block *block, const Type *expected, bool wantValue);
  void checkStmt(Stmt *stmt);
  const Value *checkLastStmt(Stmt *stmt, const Type *expected, bool wantValue);
  void checkLet(ast::Let *let);
  /// Reports names of types and modules used as values: E0217.
  bool isAValue(const Value &found, const ast::Expr *e);
  void checkAssign(ast::Assign *assign);
  void checkFor(ast::For *loop);
  void checkWhile(ast::While *loop);
  void checkReturn(ast::Return *ret);
  void checkTry(ast::Try *stmt);
  void bindPattern(ast::Pattern *pattern, const Type *type, const Value *value, ast::BindKind bind,
                   const Expr *initial, Span typeSpan);
  void assignTo(Expr *target, const Value &value, Expr *valueExpr, const ast::Assign *whole);
  void checkResult(const Value &value, Span span, Expr *expr);
  void carryMismatch(Symbol *variable, const Type *have, Expr *value, const ast::Assign *whole);
  bool checkCondition(Expr *condition, const char *what);
  Symbol *defineVariable(const ast::Identifier &name, const Type *type, ast::BindKind bind);
  const Type *iterationType(const Value &iterable, Expr *expr, ast::For *loop, Value &element);

  // ---- Rules.cpp
  size_t ruleNumber(NominalInfo &rule) override;
  RuleForm ruleForm(NominalInfo &rule) override;
  void checkDistCall(const CallInfo &info, Span calleeSpan);
  const Type *gatheredType(const FunctionInfo &f, const Value &store, const Type *given,
                           const Type *result);
  void checkRule(const CallInfo &info, const Expr *given, Span calleeSpan);

  // ---- RunSizes.cpp
  /// Sizes that are not constants when a graph is compiled, with the location of the keyword
  /// `graph` of the graph that creates them, if any.
  std::map<AtomId, Span> runSizeGraphs;
  Dim newRunSize(DimSymbol info);
  Dim sizeOfRun(const Expr *e, bool isNatural = true);
  Dim knownOfRun(const Expr *e);
  bool isNumberInGraph(Dim size);
  void noteRunSizes(const Type *type, const Expr *e);
  void noteRunSizesOf(const FunctionInfo &f, Span span);
  void reportRunSize(const Type *type, AtomId atom, const Expr *e);

  // ---- CheckExpr.cpp
  std::map<const Type *, uint32_t> partCounts; ///< of types, nested parts included
  uint32_t countParts(const Type *type);
  const Value *check(Expr *e, const Type *expected = nullptr);
  Value checkKind(Expr *e, const Type *expected);
  Value checkName(ast::Name *e);
  Value checkList(ast::ListExpr *e, const Type *expected);
  bool rowsAgree(const ast::Comprehension *e, const Value &row, const Shape &lead);
  Value checkComprehension(ast::Comprehension *e, const Type *expected);
  Value checkIf(ast::If *e, const Type *expected);
  Value checkGrad(ast::Grad *e);
  Value checkLambda(ast::Lambda *e, const Type *expected);
  Value checkMember(ast::Member *e);
  Value memberOf(const Value &object, ast::Member *e);
  Value checkFString(ast::FString *e);
  Value fieldValue(const Type *object, FieldInfo &f, const Value *base);
  Value symbolValue(Symbol *symbol, Span span);
  void checkFormat(const ast::FString::Part &part, const Value &value);

  // ---- Operators.cpp
  Value checkUnary(ast::Unary *e, const Type *expected);
  Value checkBinary(ast::Binary *e, const Type *expected);
  Value arithmetic(Tok op, Expr *left, Expr *right, Span opSpan, Span whole);
  Value arithmeticOn(Tok op, const Value &l, const Value &r, Expr *left, Expr *right, Span opSpan);
  static std::optional<double> constantNumber(const Value &v);
  static void foldFloat(Tok op, const Value &l, const Value &r, bool literal, bool dividesIntegers,
                        Value &v);
  Value compare(Tok op, const Value &l, const Value &r, Expr *left, Expr *right, Span opSpan);
  Value logic(Tok op, const Value &l, const Value &r, Expr *left, Expr *right, Span opSpan);
  Value matmul(const Value &l, const Value &r, Expr *left, Expr *right, Span opSpan);
  Value gradArithmetic(Tok op, const Value &l, const Value &r, Expr *left, Expr *right,
                       Span opSpan);
  /// The common element type of two operands; reports and returns an invalid one if there is none.
  Elem commonElem(const std::string &op, const Value &l, const Value &r, Expr *left, Expr *right,
                  Span opSpan);
  std::optional<Shape> broadcast(const std::string &op, const Value &l, const Value &r, Expr *left,
                                 Expr *right, Span opSpan);
  Device commonDevice(const std::string &op, const Value &l, const Value &r, Expr *left,
                      Expr *right, Span opSpan);
  Value notDefined(const std::string &op, const Value &l, const Value &r, Expr *left, Expr *right,
                   Span opSpan);
  bool literalFits(const Value &literal, Elem elem, Span span);
  void addConditions(const std::vector<DimCondition> &conditions, Span span);
  std::string keepHelp(Expr *low, const Shape &high);

  // ---- Indexing.cpp
  Value checkIndex(ast::Index *e);
  Value indexTensor(const Value &object, ast::Index *e);
  Value indexSequence(const Value &object, ast::Index *e);
  bool checkBounds(Dim index, Dim size, Expr *at, const Type *object,
                   const char *sliceEnd = nullptr);
  std::optional<Dim> sliceLength(const ast::IndexArg &arg, Dim size, const Type *object);

  // ---- WatchFind.cpp
  /// A request of `fetch`: a path of names or a line number.
  struct Wanted {
    std::vector<std::string> path;
    uint32_t line = 0; ///< if not 0
    std::string text;  ///< as it is written
    Span span;
  };
  /// The location of an inner value: the binding of a `let`, the result of an expression, or, with
  /// `info`, a value inside of the expression's callee, where it is requested as `rest`.
  struct Inner {
    Symbol *let = nullptr;
    const Expr *expr = nullptr;
    const CallInfo *info = nullptr;
    Wanted rest;
    bool isInLoop = false; ///< in a loop
    Span span;
  };
  std::optional<Wanted> wantedIn(Expr *written) const;
  std::string keyOf(const Wanted &wanted) const;
  std::vector<Inner> findInner(FunctionInfo &f, const Wanted &wanted,
                               std::vector<FunctionInfo *> outer = {});
  std::optional<Inner> innerValue(FunctionInfo &f, const Wanted &wanted);
  std::string innerNames(FunctionInfo &f);

  // ---- Watch.cpp
  /// `step.fetch(h).feed(x=v)`: the graph and its watched values.
  struct Watch {
    FunctionInfo *graph = nullptr;
    std::vector<Wanted> fetched;
    std::vector<Arg> fed;
  };
  /// Whether the callee has this form. Reports its errors; `graph` is null then.
  bool isWatched(Expr *callee, Watch &watch);
  FunctionInfo *watchedVariant(FunctionInfo &f, const std::vector<Wanted> &wanted,
                               const std::vector<Arg> &given);
  bool tapInner(const std::vector<Inner> &inner, FunctionInfo &variant);
  Value callWatched(Watch &watch, std::vector<Arg> args, Expr *callee, Expr *whole, Span argsSpan,
                    const CallInfo **slot, const Type *expected);
  std::map<std::pair<const FunctionInfo *, std::string>, FunctionInfo *> watchedVariants;

  // ---- Calls.cpp
  Value checkCall(ast::Call *e, const Type *expected);
  Value checkPipe(ast::Pipe *e, const Type *expected);
  Value callExpr(Expr *callee, std::vector<Arg> args, Expr *whole, Span argsSpan,
                 const sema::CallInfo **slot, const Type *expected);
  Value callFunction(FunctionInfo &f, Expr *receiver, const Value *receiverValue,
                     std::vector<Arg> args, Expr *callee, Expr *whole, Span argsSpan,
                     const CallInfo **slot, const Type *expected);
  Value callOverloads(const std::vector<FunctionInfo *> &set, std::vector<Arg> args, Expr *callee,
                      Expr *whole, Span argsSpan, const CallInfo **slot, const Type *expected);
  Value callValue(const Value &v, Expr *callee, std::vector<Arg> args, Expr *whole, Span argsSpan,
                  const CallInfo **slot, const Type *expected);
  Value construct(NominalInfo &n, const Type *type, std::vector<Arg> args, Expr *callee,
                  Expr *whole, Span argsSpan, const CallInfo **slot, const Type *expected);
  /// Whether the checker is in a field of a model, where `where` clauses are inherited, not
  /// demanded.
  bool insideNominal() const;
  Value convertElement(Elem elem, std::vector<Arg> &args, Expr *whole);
  Value callFnValue(const Value &f, std::vector<Arg> &args, Expr *callee, Expr *whole,
                    Span argsSpan);
  bool matchArguments(const std::string &name, std::vector<ParamInfo> &params,
                      std::vector<Arg> &args, std::vector<int> &slots, Span calleeSpan,
                      Span argsSpan, Span declared, bool quiet);
  struct BoundBy {
    int arg = -1;
    Dim value;
  };
  struct CallState {
    Bindings bindings;
    std::set<AtomId> openDims;
    std::set<PackId> openPacks;
    std::set<uint32_t> openElems, openTypes, openStatics;
    std::map<AtomId, BoundBy> boundBy;
    std::map<PackId, int> packBy; ///< the argument that bound a pack
    std::vector<std::pair<Dim, Dim>> deferred;
    std::string name;
    std::vector<ParamInfo> *params = nullptr;
    std::vector<Arg> *args = nullptr;
    std::vector<int> *slots = nullptr;
    Span declared, whole;
    FunctionInfo *function = nullptr;
    size_t current = 0; ///< the parameter that is being matched
  };
  /// A model, known or not.
  bool isModel(const Type *type) const;
  /// What `T: value` stands for: a tensor or a tuple of tensors, with sizes that are not `?`.
  bool isElement(const Type *type) const;
  /// What the type variable stands for: a model, or a value.
  bool suits(uint32_t variable, const Type *type) const {
    return types.takesValues(variable) ? isElement(type) : isModel(type);
  }
  enum class Fit { Yes, No, Reported };
  Fit unify(const Type *want, const Type *have, CallState &state);
  Fit unifyDim(Dim want, Dim have, CallState &state);
  Fit unifyShape(const Shape &want, const Shape &have, CallState &state);
  Fit unifyArg(const TypeArg &want, const TypeArg &have, CallState &state);
  Fit unifyStatic(const StaticValue &want, const StaticValue &have, CallState &state);
  void argumentMismatch(CallState &state, const ParamInfo &param, const Arg &arg, const Type *want);
  void disagree(CallState &state, AtomId symbol, const BoundBy &before, Dim have);
  bool checkMutArgument(const ParamInfo &param, Arg &arg, const std::string &callee, Span declared);
  void checkOverlap(const std::vector<ParamInfo> &params, const std::vector<Arg> &args,
                    const std::vector<int> &slots);
  std::string pathOf(const Expr *e) const override;
  bool bindStatic(const ParamInfo &p, const Value &v, Expr *e, CallState &state);
  const Value *checkDefault(const ParamInfo &p, Scope *scope, ModuleInfo *module) override;
  void bindDefault(const ParamInfo &p, Scope *scope, ModuleInfo *module, CallState &state);
  bool bindArguments(std::vector<ParamInfo> &params, std::vector<Arg> &args,
                     const std::vector<int> &slots, CallState &state);
  bool isClosed(const Type *type, const CallState &state);
  bool isClosedResult(const Type *result, const CallState &state, const FunctionInfo &f);
  void openGenerics(const Generics &g, CallState &state);
  bool staticsFollow =
      false; ///< a type is about to be called; the call supplies its static arguments
  Symbol *lookupFunction(std::string_view name);
  FunctionInfo *findFreeFunction(std::string_view name, const Type *first);

  // ---- PrimitiveCalls.cpp
  Value callPrimitive(FunctionInfo &f, std::vector<Arg> &args, Expr *callee, Expr *whole,
                      Span argsSpan, const Type *expected, bool &handled);
  Value finishPrimitive(FunctionInfo &f, CallState &state, std::vector<Arg> &args,
                        std::vector<int> &slots, Expr *callee, Expr *whole, const Type *result);
  std::optional<std::vector<int64_t>> axesOf(Expr *e);
  std::optional<int64_t> staticInt(Expr *e, const char *what);
  std::optional<std::vector<Dim>> sizesOf(Expr *e, const Value &x, const char *what);
  const Type *batched(const Type *item, Dim batch);
  std::string constBeingMade() const;
  Value leavesValue(std::vector<Arg> &args, Expr *whole);
  Value rowsValue(std::vector<Arg> &args, Span argsSpan);
  Value summaryValue(std::vector<Arg> &args, Expr *whole, Span argsSpan);
  Value sequencesValue(std::vector<Arg> &args, Expr *whole, Span argsSpan);
  Value loaderValue(std::vector<Arg> &args, Expr *whole);
  Value changedPictures(const FunctionInfo &f, const Arg &set, const Arg *height, const Arg *width);

  // ---- Patterns.cpp
  Value checkEinsum(std::vector<Arg> &args, Expr *callee, Expr *whole);
  Value checkRearrange(std::vector<Arg> &args, Expr *callee, Expr *whole);

  // ---- Matching.cpp
  /// Whether a value fits a type. Literals adapt. Sizes are compared under the known facts.
  bool fits(const Value &value, const Type *want, Mismatch *mismatch = nullptr);
  bool equalTypes(const Type *want, const Type *have, Mismatch *mismatch = nullptr);
  /// Reports E0202 unless it fits.
  bool require(const Value &value, const Type *want, Span span, const std::string &what,
               Span wantedAt = {});
  Value adapted(const Value &value, const Type *want);

  // ---- Effects.cpp
  void addEffect(uint8_t effect, Span span, const std::string &callee, const std::string &verb,
                 FunctionInfo *next);
  void addCallEffects(FunctionInfo &f, Span span, const std::string &spelled);
  void forbidEffect(uint8_t effect, Span span, const std::string &callee, const EffectCause &cause);
  void noteUnboundedWhile(const ast::While *loop);
  static uint8_t effectBit(std::string_view name);
  static const char *effectName(uint8_t effect);

  // ---- Mutation.cpp
  /// Whether a method mutates its receiver once static arguments are known.
  bool changesReceiver(FunctionInfo &f, const std::map<std::string, bool> &statics, int depth = 0);
  std::set<std::pair<FunctionInfo *, std::map<std::string, bool>>>
      mutationSeen; ///< of the current query
  bool blockChanges(const ast::Block *block, FunctionInfo &f,
                    const std::map<std::string, bool> &statics, int depth);
  bool callChanges(const CallInfo &call, FunctionInfo &f,
                   const std::map<std::string, bool> &statics, int depth);
  bool exprChanges(const Expr *e, FunctionInfo &f, const std::map<std::string, bool> &statics,
                   int depth);
  std::optional<bool> staticBool(const Expr *e, const std::map<std::string, bool> &statics);
  void checkReceiver(FunctionInfo &f, Expr *receiver, const Value &value,
                     const std::vector<ParamInfo> &params, const std::vector<Arg> &args,
                     const std::vector<int> &slots, Span at);

  // ---- Requirements.cpp
  std::optional<DimCondition> conditionFromExpr(const Expr *e);
  std::optional<DimCondition>
  quietCondition(const Expr *e); ///< of a checked expression; no reports
  void collectRequirements(const List<Expr *> &where, const std::string &owner,
                           NominalInfo *nominal, const std::vector<TypeArg> &ownerArgs,
                           std::vector<Requirement> &out);
  void inheritRequirements(const Type *type, std::vector<Requirement> &out, const std::string &path,
                           int depth = 0);
  Requirement substitute(const Requirement &r, const Bindings &b);
  void demand(const Requirement &r, const Bindings &b, Span span, const std::string &user);
  void demandType(const Type *type, Span span);
  Bindings bindingsOf(const Type *nominal) override;
  std::string valuesThatWork(const Requirement &r, const Bindings &b);

  // ---- Wording.cpp
  /// The text of an operand next to an operator: sums are parenthesised.
  std::string operandText(const Expr *e) const;
  std::string example(const Answer &answer) const; ///< "N = 2, D = 3"
  std::string mayDiffer(Dim a, Dim b, const Answer &answer) const;
  std::string ownersNote(Dim a, Dim b) const;
  std::string declaredNote(const FunctionInfo &f, const std::string &tail) const;
  std::string signatureText(const FunctionInfo &f) const; ///< (x: f32[N]) -> f32[N]
  void noteWait(const Value &value); ///< host code reads it
  void noteOperand(Diagnostic &d, Expr *e, const Value &v, bool mayLabel);
  std::string why(const Symbol *symbol) const; ///< "because lenet.mx:12 pools …"
  bool isBuiltin(Span span) const;

  // ---- small helpers
  Value errorValue() {
    Value v;
    v.type = types.error();
    return v;
  }
  Value valueOf(const Type *type) {
    Value v;
    v.type = type;
    return v;
  }
  Value hostValue(const Type *type) {
    Value v;
    v.type = type;
    v.host = true;
    return v;
  }
  Value hostInt(Dim dim, bool literal = false) {
    Value v = hostValue(types.scalar(ElementType::I64));
    v.dim = dim;
    v.literal = literal ? Value::IntLiteral : Value::NotLiteral;
    return v;
  }
  DimFacts &facts() { return *context->facts; }
  Value sizeProblem(Span span);
};

/// `--emit=typed` of a module.
std::string describeTyped(Sema &sema, const ModuleInfo &module);

} // namespace mx::sema
