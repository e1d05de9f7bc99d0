// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// IR generation of one body, in SSA form: variables are SSA values, renamed at each assignment;
// control flow carries the variables that a block assigns. Its parts, each a file of this folder:
//   Emitter      types, sizes, conversions      EmitStmt     statements, patterns, lvalues
//   EmitExpr     expressions                    EmitControl  if, for, while, early exits, try
//   EmitCall     calls, constructors, closures  EmitPrimitive  builtins
//   EmitIndex    x[…]                           EmitGraph    graph { } and functions as a whole
//   EmitGrad     grad { }, gradients            EmitLeaves   loops over the leaves of models
//   EmitData     data sets, loaders, files  EmitDist     calls of a KVStore
//   EmitQueue    queues
#pragma once
#include "IRGen/Instance.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/SetVector.h"
#include <set>

namespace mx::irgen {

using llvm::StringRef;
using mlir::ArrayRef;
using mlir::SmallVector;
using mlir::SmallVectorImpl;
using sema::Kind;
using sema::Type;

/// A call of kv.step: the function that averages the gradients of a model and applies the
/// optimizer of the KVStore. It is emitted last, when all optimizers of the program are known.
struct StepFunction {
  Instance body;
  const Type *model = nullptr;
  std::string name;     ///< of the model in the program, the prefix of its keys
  bool asGraph = false; ///< updates are compiled
  Span span;
};

/// State shared by all bodies of a module.
struct Shared {
  Shared(mlir::MLIRContext &context, sema::CheckedProgram &sema, const Options &options)
      : context(context), sema(sema), options(options), instances(sema) {}
  mlir::MLIRContext &context;
  sema::CheckedProgram &sema;
  const Options &options;
  Instances instances;
  mlir::ModuleOp module;
  /// Top-level variables that functions use: they live in the VM's globals.
  llvm::DenseSet<const Symbol *> globals;
  /// A second variable that shadows the first of the same name gets a name of its own here.
  std::string globalName(const Symbol &symbol) {
    std::string name = irgen::globalName(symbol, options.keepNames);
    const Symbol *first = named.try_emplace(name, &symbol).first->second;
    return first == &symbol ? name : irgen::globalName(symbol, /*keepNames=*/true);
  }
  std::map<std::string, const Symbol *> named;
  std::set<uint64_t> notedGraphs; ///< file and offset of graphs that run op by op
  std::deque<StepFunction> steps; ///< requested; emitted ones are removed
  int graphBlocks = 0, stepCount = 0;
  bool failed = false;
};

/// Requests an instance of each graph that the module exports (Exports.cpp).
void queueExports(Shared &shared, const sema::ModuleInfo &module, std::vector<Exported> &out);

class Emitter {
  friend class Composer;
  friend class Comprehender;

public:
  /// Compile-time parameters select the generated code and are not passed.
  static bool isDropped(const sema::ParamInfo &param) { return isSettled(param); }
  Emitter(Shared &shared, Instance &instance);

  /// Emits the whole function of the instance.
  void emitFunction();
  void emitConstructor();
  /// Emits a wrapper for calls from outside (EmitEntry.cpp); the instance wraps `target`.
  void emitEntry(Instance &target, const sema::CallInfo &call);
  /// Statements of the top level, or of a `test` block.
  void emitTopLevel(const List<ast::Stmt *> &items, StringRef name, std::string *resultGlobal);
  /// The function of a kv.step; the emitter's instance is its body.
  void emitStep(const StepFunction &step);

private:
  // ---- Emitter.cpp
  mlir::Location loc(Span span);
  template <class Op, class... Args> Op create(Args &&...args) {
    return Op::create(builder, std::forward<Args>(args)...);
  }
  void at(Span span) { builder.setLoc(loc(span)); }
  const Type *concrete(const Type *type) { return sema.types.substitute(type, instance.bindings); }
  sema::Elem concrete(sema::Elem elem);
  mlir::Type elementType(sema::Elem elem);
  /// Converts a type to the IR; `host`: scalars are computed eagerly on the host.
  mlir::Type convert(const Type *type, bool host = false);
  ir::AggregateType convertNominal(const Type *type);
  ir::SizeAttr size(Dim dim);
  Dim inTable(Dim dim);
  SmallVector<ir::SizeAttr> sizesOf(const Shape &shape);
  /// A size of the checker as a host scalar.
  mlir::Value sizeValue(Dim dim);
  std::optional<int64_t> number(Dim dim);
  void bindSize(AtomId atom, mlir::Value value);
  std::map<AtomId, std::string>::iterator giveName(AtomId atom);
  Symbol *variableOf(AtomId atom);
  /// Binds the names of sizes known only at run time to the sizes of the value.
  void adoptSizes(mlir::Value value, const Type *type);
  bool isBound(Dim dim);
  mlir::Value constantInt(int64_t value);
  mlir::Value constantBool(bool value);
  /// A constant of the element type, `whole` or `value`, converted as the running program converts.
  mlir::TypedAttr numberAttribute(mlir::Type element, double value, int64_t whole, bool isWhole);
  mlir::Value constantNumber(mlir::Type element, double value, int64_t whole, bool isWhole);
  mlir::Value text(StringRef value);
  mlir::Value cast(mlir::Value value, mlir::Type element);
  mlir::Value toHost(mlir::Value value);
  mlir::Value toDevice(mlir::Value value);
  /// Converts a value to a type: host to device or back, and nothing else.
  mlir::Value fit(mlir::Value value, mlir::Type type);
  mlir::Value undefined(mlir::Type type);
  mlir::Value unsupported(Span span, const std::string &what);
  static bool isHost(mlir::Value value);
  static mlir::Type elementOf(mlir::Value value);

  // ---- EmitExpr.cpp
  mlir::Value emit(const ast::Expr *e);
  /// Whether the expression is watched (S20).
  const sema::Tap *tapAt(const ast::Expr *e) const;
  mlir::Value emitKind(const ast::Expr *e);
  /// Emits an operand with these elements: literals and sizes adapt to them.
  mlir::Value emitAs(const ast::Expr *e, mlir::Type element);
  mlir::Value emitHostInt(const ast::Expr *e);
  std::optional<bool> staticCondition(const ast::Expr *e);
  mlir::Value emitCondition(const ast::Expr *e);
  mlir::Value emitConstant(const sema::Value &known, const Type *type);
  mlir::Value emitName(const ast::Name *e);
  mlir::Value emitSymbol(Symbol *symbol, const ast::Expr *e);
  mlir::Value emitUnary(const ast::Unary *e);
  mlir::Value emitBinary(const ast::Binary *e);
  mlir::Value arithmetic(Tok op, mlir::Value l, mlir::Value r, const Type *result);
  mlir::Value emitLogic(const ast::Binary *e);
  mlir::Value emitMember(const ast::Member *e);
  mlir::Value emitList(const ast::ListExpr *e);
  mlir::Value emitFString(const ast::FString *e);
  mlir::Value emitShape(const Type *type, const ast::Expr *e);
  mlir::Value emitTuple(const ast::Tuple *e);
  const sema::StaticValue *staticValue(const Symbol *symbol);
  mlir::Value elementwise(StringRef op, ArrayRef<mlir::Value> operands, mlir::Type element = {});

  // ---- EmitStmt.cpp
  /// The block's value, if `wanted` and it has one.
  mlir::Value emitBlock(const ast::Block *block, bool wanted);
  mlir::Value emitStmts(llvm::ArrayRef<ast::Stmt *> stmts, bool wanted);
  mlir::Value emitStmt(const ast::Stmt *stmt, bool wanted);
  void emitLet(const ast::Let *let);
  void emitAssign(const ast::Assign *assign);
  void bindPattern(const ast::Pattern *pattern, mlir::Value value);
  void define(Symbol *symbol, mlir::Value value);
  mlir::Type variableType(Symbol *symbol);
  mlir::Value read(Symbol *symbol);
  void write(Symbol *symbol, mlir::Value value);
  void assign(const ast::Expr *lvalue, mlir::Value value);
  mlir::Value self();
  void setSelf(mlir::Value value);
  size_t fieldIndex(const NominalInfo &nominal, StringRef name);
  void emitAssert(const ast::Assert *stmt);

  // ---- EmitControl.cpp
  using Variables = llvm::SetVector<Symbol *>;
  /// The symbol of a method's receiver.
  Symbol *selfSymbol();
  void assignedIn(const ast::Block *block, Variables &out);
  void assignedIn(const ast::Stmt *stmt, Variables &out);
  void assignedIn(const ast::Expr *e, Variables &out);
  void usedIn(const ast::Block *block, Variables &out);
  void usedIn(const ast::Expr *e, Variables &out);
  void sizesIn(const ast::Block *block, std::set<AtomId> &out);
  void sizesIn(const ast::Stmt *stmt, std::set<AtomId> &out);
  void sizesIn(const ast::Expr *e, std::set<AtomId> &out);
  bool isUsedAsSize(AtomId atom);
  /// Whether the expression reads one of these.
  bool mentions(const ast::Expr *e, ArrayRef<Symbol *> symbols);
  Symbol *rootOf(const ast::Expr *lvalue);
  /// Those that are live outside of the code about to be generated.
  SmallVector<Symbol *> carriedBy(const Variables &assigned);
  mlir::Value emitIf(const ast::If *e, bool wanted);
  mlir::Value conditional(mlir::Value condition, const Variables &assigned, mlir::Type resultType,
                          llvm::function_ref<mlir::Value()> then,
                          llvm::function_ref<mlir::Value()> otherwise);
  struct Carried {
    struct {
      SmallVector<Symbol *> symbols;
      SmallVector<mlir::Value> initial;
      SmallVector<mlir::Type> types;
    } parts;
    mlir::Value outerBroken, outerContinued;
  };
  Carried beginLoop(uint8_t exits, Variables &assigned);
  void endLoop(const Carried &state, mlir::ResultRange results);
  void emitFor(const ast::For *loop);
  void emitLoopWhile(const ast::Block *body, Variables &assigned, mlir::Value limit,
                     llvm::function_ref<mlir::Value(mlir::Value)> condition,
                     llvm::function_ref<void()> bind);
  void emitForRange(const ast::For *loop, mlir::Value from, mlir::Value to,
                    llvm::function_ref<void(mlir::Value)> bind,
                    llvm::function_ref<void(mlir::Value)> after);
  void emitWhile(const ast::While *loop);
  void emitTry(const ast::Try *stmt);
  void emitReturn(const ast::Return *stmt);
  /// Whether control may leave the statement early, and how.
  enum Exit : uint8_t { NoExit = 0, Breaks = 1, Continues = 2, Returns = 4 };
  /// Whether it prints, itself or through its callees.
  bool printsIn(const ast::Block *block);
  /// Reported once per graph: compiled code cannot print yet.
  void noteOpByOp(Span span, const std::string &what);
  uint8_t exitsOf(const ast::Stmt *stmt);
  uint8_t exitsOf(const ast::Block *block);
  uint8_t exitsOf(const ast::Expr *e);
  /// The flag that skips the rest of a block, for the exits given.
  mlir::Value skipping(uint8_t exits);

  // ---- EmitCall.cpp
  mlir::Value emitCall(const ast::Expr *whole, const ast::Expr *callee,
                       const List<ast::Argument> *args, const ast::Expr *piped,
                       const sema::CallInfo *info);
  mlir::Value callFunction(const ast::Expr *whole, const ast::Expr *callee,
                           const sema::CallInfo &info);
  mlir::Value takeInner(const sema::Tap &tap, mlir::Value all, const Type *type,
                        const sema::CallInfo &info);
  mlir::Value emitConvert(const ast::Expr *whole, const ast::Expr *argument);
  ir::AggregateType convertRule(NominalInfo &nominal);
  mlir::Value makeRule(const sema::CallInfo &info, Span span);
  /// `rule`: an optimizer without a model, whose numbers are taken; or null.
  mlir::Value construct(const Type *type, const sema::CallInfo *info, const ast::Expr *rng,
                        Span span, mlir::Value rule = {});
  mlir::Value emitComprehension(const ast::Comprehension *e);
  mlir::Value emitLambda(const ast::Lambda *e);
  mlir::Value functionValue(FunctionInfo &function, const Type *type, Span span);
  Bindings bindingsAt(const sema::CallInfo &info);
  mlir::Value endlessCall(const ast::Expr *whole, const Instance &target);
  /// The default of a parameter, checked.
  const ast::Expr *defaultOf(const sema::ParamInfo &param, FunctionInfo &f);
  SmallVector<mlir::Value> callSymbol(Instance &callee, ArrayRef<mlir::Value> args,
                                      ArrayRef<mlir::Type> results, const Bindings &bindings);
  static bool isAmbient(const sema::ParamInfo &param);
  const Type *rngType();
  mlir::Value ambientRng();
  void setAmbientRng(mlir::Value value);
  void signatureOf(Instance &callee, SmallVectorImpl<mlir::Type> &args,
                   SmallVectorImpl<mlir::Type> &results, SmallVectorImpl<bool> &isMut);

  // ---- EmitPrimitive.cpp
  struct PrimitiveCall {
    const ast::Expr *whole;
    StringRef name;
    const sema::CallInfo *info;
    ArrayRef<const ast::Argument *> given; ///< as written, for variadic primitives
  };
  mlir::Value emitPrimitive(const PrimitiveCall &call);
  mlir::Value emitReduction(const PrimitiveCall &call);
  mlir::Value emitShaped(const PrimitiveCall &call, bool &handled);
  bool arrayParts(const ast::Expr *e, SmallVectorImpl<mlir::Value> &parts);
  mlir::Value emitMaking(const PrimitiveCall &call, bool &handled);
  mlir::Value emitRandom(const PrimitiveCall &call);
  /// Samples from the call's generator, which advances; the parameters are given.
  mlir::Value draw(const PrimitiveCall &call, StringRef kind, ir::TensorType result,
                   ArrayRef<mlir::Value> parameters);
  mlir::Value forkRng(mlir::Value generator, mlir::Value name);
  mlir::Value deriveRng(const ast::Expr *whole, const sema::CallInfo &info);
  mlir::Value splitAtRun(const ast::Expr *count, const sema::CallInfo &info, mlir::Value generator);
  mlir::Value emitHostCall(const PrimitiveCall &call, bool &handled);
  const ast::Expr *argument(const PrimitiveCall &call, StringRef name);
  mlir::Value emitOperand(const PrimitiveCall &call, StringRef name);
  std::optional<bool> staticBool(const PrimitiveCall &call, StringRef name);
  std::optional<int64_t> staticInt(const ast::Expr *e);
  std::optional<SmallVector<int64_t>> staticInts(const ast::Expr *e);
  mlir::Value reduce(StringRef op, mlir::Value x, ArrayRef<int64_t> axes, bool keep);
  mlir::Value mean(mlir::Value x, ArrayRef<int64_t> axes, bool keep);
  mlir::Value largest(mlir::Value x, ArrayRef<int64_t> axes);
  mlir::Value rootOrZero(mlir::Value x);
  mlir::Value narrowBelow(mlir::Value x, mlir::Value high, mlir::Type element);
  mlir::Value norm(mlir::Value x, ArrayRef<int64_t> axes, bool keep);
  ir::TensorType tensor(mlir::Value value) { return mlir::cast<ir::TensorType>(value.getType()); }
  mlir::Value scalarLike(mlir::Value like, double value);
  mlir::Value scalarSize(Dim count, mlir::Type element);

  // ---- EmitData.cpp
  mlir::Type convertLoader();
  mlir::Type convertProgress(const Type *type);
  /// Calls a runtime function; without a result type it returns nothing.
  mlir::Value native(StringRef name, mlir::Type result, ArrayRef<mlir::Value> args);
  mlir::Value part(mlir::Value aggregate, int64_t index);
  mlir::Value withPart(mlir::Value aggregate, int64_t index, mlir::Value value);
  void adoptAllSizes(mlir::Value value, const Type *type);
  mlir::Value emitLoader(const PrimitiveCall &call);
  mlir::Value emitNativeArgument(const ast::Expr *given, const Type *wanted);
  mlir::Value emitFileCall(const PrimitiveCall &call, StringRef name);
  mlir::Value emitSave(const PrimitiveCall &call, bool restores);
  mlir::Value emitDataCall(const PrimitiveCall &call, bool &handled);
  mlir::Value emitShow(const ast::Member *callee, const List<ast::Argument> *args);
  mlir::Value dataLength(mlir::Value value, const Type *type);
  mlir::Value loaderMember(mlir::Value loader, StringRef name);
  void emitForData(const ast::For *loop, const Type *over);

  // ---- EmitQueue.cpp
  mlir::Value emitQueueCall(const ast::Expr *whole, const sema::CallInfo &info);
  mlir::Value makeQueue(StringRef name, const sema::CallInfo &info,
                        SmallVector<mlir::Value> operands);
  mlir::Value takeFromQueue(mlir::Value queue, const Type *type);
  mlir::Value onDevice(mlir::Value value);
  void emitForQueue(const ast::For *loop, const Type *over);

  // ---- EmitDist.cpp
  mlir::Type convertStore();
  mlir::Value emitDist(const ast::Expr *whole, const sema::CallInfo &info);
  const ast::Expr *givenTo(const sema::CallInfo &info, StringRef parameter);
  mlir::Value emitRule(const sema::CallInfo &info);
  mlir::Value emitConnection(const sema::CallInfo &info);
  mlir::Value emitStoreCall(const ast::Expr *whole, const sema::CallInfo &info);
  mlir::Value emitExchange(StringRef action, mlir::Value connection, mlir::Value weight,
                           StringRef name, mlir::Value value, mlir::Type result);
  mlir::Value emitWeight(const sema::CallInfo &info);
  mlir::Value emitStats(mlir::Value connection, const Type *type);
  mlir::Value callStep(const ast::Expr *whole, const sema::CallInfo &info, mlir::Value store);
  mlir::Value storeMember(const ast::Member *e);
  mlir::Value storeNumber(mlir::Value store, StringRef name);
  std::optional<std::pair<Symbol *, std::string>> storeOfSize(AtomId atom);
  void bindStoreSize(mlir::Value connection, const Type *type);
  /// One parameter, or a whole model, with the state of its optimizer.
  struct UpdateUnit {
    std::string key;
    const Type *model = nullptr;
    SmallVector<mlir::Value> sizes; ///< of the parameters, on the host
  };
  mlir::Value applyRule(const StepFunction &step, size_t number, mlir::Value optimizer,
                        mlir::Value net, mlir::Value gradient);
  mlir::Value updateUnit(const StepFunction &step, NominalInfo &rule, const UpdateUnit &unit,
                         mlir::Value optimizer, mlir::Value numbers, mlir::Value model,
                         mlir::Value gradient);
  const Type *leafModel(const Shape &shape);

  // ---- EmitIndex.cpp
  struct Indexing {
    SmallVector<std::string> spec;
    SmallVector<mlir::Value> at;
    const ast::Expr *gather = nullptr; ///< an index that is a tensor
    int64_t gatherAxis = 0;            ///< in x after the other entries were applied
  };
  std::optional<Indexing> indexing(const ast::Index *e, ir::TensorType x);
  mlir::Value emitIndex(const ast::Index *e);
  mlir::Value emitUpdate(const ast::Index *lvalue, mlir::Value x, mlir::Value value);
  size_t gatherSource(const Indexing &plan);
  mlir::ArrayAttr specAttr(ArrayRef<std::string> spec);

  // ---- EmitGrad.cpp
  mlir::Type convertGrad(const Type *type);
  mlir::Value emitGrad(const ast::Grad *e);
  mlir::Value emitGradMember(const ast::Member *e);
  /// The part of a gradient that belongs to a field; nullopt if the field has none.
  static std::optional<size_t> partOfGradient(ir::AggregateType gradient, llvm::StringRef field);
  mlir::Value emitGradArithmetic(Tok op, const ast::Expr *left, const ast::Expr *right);
  void emitGradUpdate(const ast::Assign *stmt, Tok op);
  mlir::Value withParams(mlir::Value model, mlir::Value params);
  mlir::Value zeroGradient(mlir::Type type);
  mlir::Value overLeaves(mlir::Type type, ArrayRef<mlir::Value> operands,
                         llvm::function_ref<mlir::Value(ArrayRef<mlir::Value>)> leaf);
  mlir::Value overLeavesOf(mlir::Type type, llvm::function_ref<mlir::Value(ir::TensorType)> leaf);

  // ---- EmitLeaves.cpp
  struct LeafPath {
    std::string name;                ///< `blocks.3.w`
    SmallVector<std::string> fields; ///< per step; a number indexes an array
    const Type *type = nullptr;
  };
  bool isLeaves(const ast::Expr *iterable);
  void emitLeaves(const ast::For *loop);
  bool leafPaths(const Type *type, const LeafPath &prefix, SmallVectorImpl<LeafPath> &out,
                 Span span);
  mlir::Value leafAt(mlir::Value whole, ArrayRef<std::string> fields);
  mlir::Value updateLeaf(mlir::Value whole, ArrayRef<std::string> fields,
                         llvm::function_ref<mlir::Value(mlir::Value)> update);
  mlir::Value withLeaf(mlir::Value whole, ArrayRef<std::string> fields, mlir::Value leaf);

  // ---- EmitSummary.cpp
  void emitSummary(const PrimitiveCall &call);
  void summaryRows(const Type *type, mlir::Value value, const std::string &path, bool isTrained,
                   SmallVectorImpl<mlir::Value> &rows);

  // ---- EmitGraph.cpp
  mlir::Value emitGraphBlock(const ast::GraphBlock *e);
  /// This body's instance for a block that is outlined: it gets all sizes with a name here;
  /// sizesFor returns their values at the call.
  Instance outlined(const std::set<AtomId> *only = nullptr) const;
  mlir::ArrayAttr sizesFor(const Instance &block);
  mlir::Value withFetched(mlir::Value result, mlir::Type type, bool early);
  mlir::Value fetched(Symbol *symbol);
  void finishReturn(mlir::Value result);
  void beginFunction(mlir::FunctionType type, bool asGraph, StringRef name, Span span);

  Shared &shared;
  sema::CheckedProgram &sema;
  Instance &instance;
  mlir::ImplicitLocOpBuilder builder;
  mlir::Operation *functionOp = nullptr;

  llvm::DenseMap<Symbol *, mlir::Value> values; ///< current values; cells hold their cell
  std::map<AtomId, std::string> sizeNames;      ///< sizes that have a name here
  std::set<AtomId> awaited; ///< named by a type before their value exists
  std::map<std::string, int> nameCounts;
  std::set<AtomId> adopted; ///< run-time sizes that have their value
  Symbol selfPlaceholder;   ///< stands for the receiver among variables
  Symbol rngPlaceholder, returnedFlag, returnValue, brokenFlag, continuedFlag;
  const Type *resultType = nullptr; ///< declared; null if there is none
  SmallVector<Symbol *> mutParams;
  List<ast::Stmt *> topLevel; ///< the statements, if this is not a function
  std::shared_ptr<std::set<AtomId>> sizesOfBody; ///< null until first queried
  bool inGraph = false;
  /// Marks ops created inside of an `on`; the pass AssignDevices assigns devices to types (S16).
  struct Marker : mlir::OpBuilder::Listener {
    mlir::StringAttr device; ///< of the innermost `on`, or null
    void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint) override {
      if (device)
        op->setAttr(ir::kOn, device);
    }
  } marker;
  std::string leafPath; ///< of the current iteration of the innermost loop over leaves
};

/// Creates a module for the program in `module`; its variables are known.
mlir::OwningOpRef<mlir::ModuleOp> beginModule(Shared &shared, const sema::ModuleInfo &module);
/// Generates all requested instances, transitively.
void emitPending(Shared &shared);

} // namespace mx::irgen
