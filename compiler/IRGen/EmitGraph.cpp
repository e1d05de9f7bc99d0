// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole functions: of the program, of graphs, of constructors, and the top level.
#include "IRGen/Emitter.h"
#include "Sema/MaxBytes.h"
#include "dialects/mx/Marks.h"

namespace mx::irgen {
using namespace mlir;
using namespace ast;
using sema::ParamInfo;

void Emitter::beginFunction(FunctionType type, bool asGraph, StringRef name, Span span) {
  builder.setInsertionPointToEnd(shared.module.getBody());
  at(span);
  SmallVector<mlir::Attribute> sizes;
  for (const SizeParam &size : instance.sizes)
    sizes.push_back(builder.getStringAttr(size.name));
  OperationState state(builder.getLoc(),
                       asGraph ? ir::GraphOp::getOperationName() : ir::FuncOp::getOperationName());
  state.addAttribute("sym_name", builder.getStringAttr(name));
  state.addAttribute("function_type", TypeAttr::get(type));
  state.addAttribute("sizes", builder.getArrayAttr(sizes));
  Region *body = state.addRegion();
  auto *block = new mlir::Block;
  body->push_back(block);
  for (mlir::Type input : type.getInputs())
    block->addArgument(input, builder.getLoc());
  functionOp = builder.create(state);
  builder.setInsertionPointToEnd(block);
}

/// Ends the function: returns the changed `mut` parameters, then the result.
void Emitter::finishReturn(mlir::Value result) {
  SmallVector<mlir::Value> out;
  for (Symbol *symbol : mutParams)
    out.push_back(values.lookup(symbol));
  if (result)
    out.push_back(result);
  if (!llvm::is_contained(out, mlir::Value()))
    create<ir::ReturnOp>(out);
}

/// `@amp`: the element type of matmuls; the default is bf16, which has the range of f32.
static mlir::Type precisionOf(mlir::MLIRContext &context, const ast::Attribute &amp) {
  auto *name = amp.args.empty() ? nullptr : as<Name>(amp.args[0].value);
  return ir::elementToMlir(&context, name ? *elementNamed(name->text) : ElementType::BF16);
}

void Emitter::emitFunction() {
  FunctionInfo &f = *instance.function;
  sema.checkBody(f);
  if (sema.diags.hasErrors()) {
    shared.failed = true;
    return;
  }
  SmallVector<mlir::Type> inputs, results;
  SmallVector<bool> isMut;
  signatureOf(instance, inputs, results, isMut);
  inGraph = instance.isGraph;
  beginFunction(builder.getFunctionType(inputs, results), instance.isGraph, instance.symbol,
                f.syntax->name.valid() ? f.syntax->name.span : f.syntax->span);
  auto function = mlir::cast<FunctionOpInterface>(functionOp);
  mlir::Block &entry = function.getFunctionBody().front();
  unsigned next = 0;
  auto argument = [&](Symbol *symbol, StringRef name) {
    if (isMut[next]) {
      function.setArgAttr(next, ir::kMut, builder.getUnitAttr());
      mutParams.push_back(symbol);
    }
    function.setArgAttr(next, ir::kName, builder.getStringAttr(name));
    values[symbol] = entry.getArgument(next++);
  };
  if (f.owner)
    argument(&selfPlaceholder, "self");
  for (const ParamInfo &param : f.params)
    if (!isDropped(param))
      argument(param.symbol, param.name);
  if (instance.isGraph && shared.options.twins)
    functionOp->setAttr(ir::kEager,
                        builder.getStringAttr(shared.instances.eagerTwin(instance).symbol));
  if (instance.isGraph) {
    // Sizes that stay dynamic in a variant, with their bounds.
    SmallVector<NamedAttribute> open;
    auto bounds = sema.dynBounds.find(&f);
    if (bounds != sema.dynBounds.end())
      for (const DimCondition &condition : bounds->second)
        if (auto atom = sema.dims.asSymbol(condition.left); atom && condition.right)
          if (auto bound = number(condition.right); bound && sizeNames.count(*atom))
            open.push_back(
                builder.getNamedAttr(sizeNames[*atom], builder.getI64IntegerAttr(*bound)));
    if (!open.empty())
      functionOp->setAttr(ir::kDyn, builder.getDictionaryAttr(open));
  }
  // The results of the body; a watched variant has more (S20).
  bool hasResult = f.result && !f.result->is(Kind::Nothing);
  if (!f.fetched.empty())
    hasResult = f.result->is(Kind::Tuple) && f.result->parts.size() > f.fetched.size();
  mlir::Type wanted = hasResult ? results.back() : mlir::Type();
  resultType = hasResult ? concrete(f.result) : nullptr;
  if (!f.fetched.empty() && hasResult) {
    resultType = resultType->parts[0];
    wanted = mlir::cast<ir::AggregateType>(wanted).getParts()[0];
  }
  // A `return` before the end needs flags; one at the end does not.
  bool early = false;
  for (size_t i = 0; i < f.syntax->body->stmts.size(); ++i) {
    const Stmt *stmt = f.syntax->body->stmts[i];
    bool tail = i + 1 == f.syntax->body->stmts.size() && stmt->kind == StmtKind::Return;
    early |= !tail && (exitsOf(stmt) & Returns);
  }
  if (early) {
    values[&returnedFlag] = constantBool(false);
    if (hasResult)
      values[&returnValue] = undefined(wanted);
  }
  mlir::Value value = emitBlock(f.syntax->body, hasResult);
  if (shared.failed)
    return;
  at(f.syntax->body->span);
  if (hasResult) {
    mlir::Value returned = values.lookup(&returnValue);
    if (early) {
      // If the end was reached, its value is the result.
      if (value && value != returned) {
        Variables none;
        mlir::Value end = value;
        value = conditional(
            read(&returnedFlag), none, wanted, [&] { return values.lookup(&returnValue); },
            [&] { return end; });
      } else {
        value = returned;
      }
    } else if (!value) {
      value = returned;
    }
    if (!value) {
      unsupported(f.syntax->name.span, "a function that may end without a value");
      return;
    }
    auto tensorType = dyn_cast<ir::TensorType>(value.getType());
    if (tensorType && isa<ir::TensorType>(wanted))
      value = cast(value, mlir::cast<ir::TensorType>(wanted).getElement());
    value = fit(value, wanted);
  }
  if (!f.fetched.empty())
    value = withFetched(value, results.back(), early);
  finishReturn(value);
  // The function's own gradient rule, as a separate function.
  const Call *rule = nullptr;
  for (const ast::Attribute &attribute : f.syntax->attributes)
    if (attribute.name.text == "vjp" && !attribute.args.empty())
      rule = as<Call>(attribute.args[0].value);
    else if (attribute.name.text == "remat")
      functionOp->setAttr(ir::kRemat, builder.getUnitAttr());
    else if (attribute.name.text == "amp")
      functionOp->setAttr(ir::kAmp, mlir::TypeAttr::get(precisionOf(shared.context, attribute)));
    else if (attribute.name.text == "max_bytes" && instance.isGraph)
      functionOp->setAttr(ir::kMaxBytes, builder.getI64IntegerAttr(*sema::maxBytesOf(attribute)));
  if (!rule || shared.failed)
    return;
  std::string name = instance.symbol + "$vjp";
  functionOp->setAttr(ir::kVjp, FlatSymbolRefAttr::get(&shared.context, name));
  Emitter inside(shared, instance);
  inside.inGraph = inGraph;
  auto seed = mlir::cast<ir::TensorType>(results.back());
  inputs.push_back(seed.isHost() ? seed.onDevice("") : seed);
  mlir::Type gradients = convert(concrete(rule->checked->type));
  inside.beginFunction(builder.getFunctionType(inputs, gradients), false, name, rule->span);
  auto beside = mlir::cast<FunctionOpInterface>(inside.functionOp);
  next = 0;
  for (const ParamInfo &param : f.params)
    if (!isDropped(param))
      inside.values[param.symbol] = beside.getArgument(next++);
  inside.values[as<Name>(rule->args.back().value)->symbol] = beside.getArgument(next);
  inside.at(rule->span);
  if (mlir::Value value = inside.emit(rule))
    inside.create<ir::ReturnOp>(inside.fit(value, gradients));
}

/// The result of a watched variant: that of the graph, if it has one, and the fetched values.
mlir::Value Emitter::withFetched(mlir::Value result, mlir::Type type, bool early) {
  FunctionInfo &f = *instance.function;
  if (early)
    return unsupported(f.syntax->name.span, "`fetch` of a graph with an early `return`");
  SmallVector<mlir::Value> parts;
  if (result)
    parts.push_back(result);
  for (Symbol *symbol : f.fetched)
    parts.push_back(fetched(symbol));
  auto aggregate = dyn_cast<ir::AggregateType>(type);
  for (auto [i, part] : llvm::enumerate(parts))
    part = part ? fit(part, aggregate ? aggregate.getParts()[i] : type) : part;
  if (llvm::is_contained(parts, mlir::Value()))
    return {};
  return aggregate ? create<ir::MakeOp>(type, parts).getResult() : parts[0];
}

/// A value of the body itself: a value of a branch exists only if the branch was taken.
mlir::Value Emitter::fetched(Symbol *symbol) {
  auto found = values.find(symbol);
  mlir::Region &body = mlir::cast<FunctionOpInterface>(functionOp).getFunctionBody();
  if (found == values.end() || found->second.getParentRegion() != &body)
    return unsupported(symbol->span, "`fetch` of a value that only a branch computes");
  return read(symbol);
}

/// Initialisers in the order of the fields (S5). `sub` fields without one are constructed.
void Emitter::emitConstructor() {
  NominalInfo &nominal = *instance.construct;
  sema.checkNominalBodies(nominal); // imported modules: their initialisers are checked on use
  if (sema.diags.hasErrors()) {
    shared.failed = true;
    return;
  }
  SmallVector<mlir::Type> inputs, results;
  SmallVector<bool> isMut;
  signatureOf(instance, inputs, results, isMut);
  beginFunction(builder.getFunctionType(inputs, results), false, instance.symbol,
                nominal.syntax->name.span);
  auto function = mlir::cast<FunctionOpInterface>(functionOp);
  mlir::Block &entry = function.getFunctionBody().front();
  unsigned next = 0;
  if (nominal.isModel) {
    function.setArgAttr(0, ir::kMut, builder.getUnitAttr());
    values[&rngPlaceholder] = entry.getArgument(next++);
    mutParams.push_back(&rngPlaceholder);
  }
  auto type = mlir::cast<ir::AggregateType>(results.back());
  llvm::StringMap<mlir::Value> given;
  for (const ParamInfo &param : nominal.params)
    if (!isDropped(param)) {
      given[param.name] = entry.getArgument(next);
      values[param.symbol] = entry.getArgument(next++);
    }
  Bindings bindings = sema.bindingsOf(instance.self);
  SmallVector<mlir::Value> parts;
  for (auto [i, field] : llvm::enumerate(nominal.fields)) {
    mlir::Value value;
    const Type *fieldType = concrete(field.type);
    StringAttr outer = marker.device;
    if (field.device)
      marker.device = builder.getStringAttr(field.device->name);
    if (!nominal.syntax->hasParams && given.count(field.name))
      value = given[field.name];
    else if (field.syntax->value)
      value = fieldType->isTensor() && field.syntax->value->checked->type->isTensor()
                  ? emitAs(field.syntax->value, elementType(fieldType->elem))
                  : emit(field.syntax->value);
    else if (fieldType->is(Kind::Nominal))
      value = construct(fieldType, nullptr, nullptr, field.syntax->span);
    else if (fieldType->is(Kind::Array) && fieldType->element->is(Kind::Nominal)) {
      auto count = number(fieldType->count);
      if (!count)
        unsupported(field.syntax->span, "an array of models whose length is not a number");
      SmallVector<mlir::Value> elements;
      for (int64_t k = 0; count && k < *count && !shared.failed; ++k)
        elements.push_back(construct(fieldType->element, nullptr, nullptr, field.syntax->span));
      if (!shared.failed)
        value = create<ir::MakeOp>(type.getParts()[i], elements);
    }
    if (!value) {
      unsupported(field.syntax->span, "the field `" + field.name + "` without a value");
      return;
    }
    value = fit(value, type.getParts()[i]);
    marker.device = outer;
    if (field.symbol)
      values[field.symbol] = value;
    parts.push_back(value);
  }
  if (nominal.syntax->hasParams)
    for (const ParamInfo &param : nominal.params)
      if (!param.isStatic)
        parts.push_back(fit(isDropped(param) ? sizeValue(param.value.dim) : given[param.name],
                            type.getParts()[parts.size()]));
  if (shared.failed)
    return;
  finishReturn(create<ir::MakeOp>(type, parts));
}

void Emitter::emitTopLevel(const List<Stmt *> &items, StringRef name, std::string *resultGlobal) {
  Span span = items.empty() ? Span() : items[0]->span;
  topLevel = items;
  beginFunction(builder.getFunctionType({}, {}), false, name, span);
  std::vector<Stmt *> stmts(items.begin(), items.end());
  mlir::Value value = emitStmts(stmts, resultGlobal != nullptr);
  if (shared.failed)
    return;
  if (value && resultGlobal) {
    // Stored like `let _ = …`.
    auto *last = as<ExprStmt>(items.back());
    const sema::Value *known = last ? last->expr->checked : nullptr;
    if (known && known->type->isTensor() && isa<ir::TensorType>(value.getType()))
      value = cast(value, elementType(known->type->elem));
    Symbol result;
    result.name = "_";
    result.span = items.back()->span;
    *resultGlobal = globalName(result, /*keepNames=*/true);
    create<ir::GlobalStoreOp>(builder.getStringAttr(*resultGlobal), value);
  }
  create<ir::ReturnOp>(ValueRange());
}

Instance Emitter::outlined(const std::set<AtomId> *only) const {
  Instance block = instance;
  block.sizes.clear();
  for (auto &[atom, name] : sizeNames)
    if (!awaited.count(atom) && (!only || only->count(atom)))
      block.sizes.push_back({atom, name, 0, 0});
  return block;
}

ArrayAttr Emitter::sizesFor(const Instance &block) {
  SmallVector<mlir::Attribute> sizes;
  for (const SizeParam &param : block.sizes)
    sizes.push_back(size(sema.dims.symbol(param.atom)));
  return builder.getArrayAttr(sizes);
}

/// Results of a graph are on a device: it runs asynchronously.
static mlir::Type deviceType(mlir::Type type) {
  auto tensor = dyn_cast<ir::TensorType>(type);
  return tensor && tensor.isHost() ? tensor.onDevice("") : type;
}

/// Outlines a block as a graph: captured values are its arguments, and variables it assigns are its
/// results (S6).
mlir::Value Emitter::emitGraphBlock(const GraphBlock *e) {
  bool hasValue = !e->checked->type->is(Kind::Nothing);
  if (shared.options.eager || inGraph)
    return emitBlock(e->body, hasValue);
  if (printsIn(e->body)) {
    noteOpByOp({e->span.file, e->span.begin, e->span.begin + 5}, "a block");
    return emitBlock(e->body, hasValue);
  }
  Variables used, assigned;
  usedIn(e->body, used);
  assignedIn(e->body, assigned);
  std::set<AtomId> sizes;
  sizesIn(e->body, sizes);
  for (AtomId atom : sizes)
    if (!sizeNames.count(atom) && (variableOf(atom) || storeOfSize(atom)))
      size(sema.dims.symbol(atom)); // binds it: in a graph it is an argument
  auto isSize = [&](Dim dim) {
    std::vector<AtomId> atoms;
    sema.dims.symbols(sema.dims.substitute(dim, instance.bindings.dims), atoms);
    return isBound(dim) && llvm::all_of(atoms, [&](AtomId atom) { return sizes.count(atom); });
  };
  SmallVector<Symbol *> captured, changed;
  SmallVector<mlir::Value> args;
  auto isOutside = [&](Symbol *symbol) {
    return values.count(symbol) || shared.globals.count(symbol);
  };
  for (Symbol *symbol : used)
    if (isOutside(symbol) && !staticValue(symbol) &&
        !(symbol->value.host && symbol->value.constant != sema::Value::NoConstant)) {
      // A host integer used as a size is known by its name. Others are inputs: each size is a
      // variant of the graph.
      if (symbol->kind == sema::SymbolKind::Variable && symbol->value.host && symbol->value.dim &&
          isSize(symbol->value.dim))
        continue;
      std::vector<AtomId> own;
      const Type *type = symbol == &selfPlaceholder ? instance.self : symbol->type;
      shared.instances.symbolsIn(concrete(type), own);
      sizes.insert(own.begin(), own.end());
      captured.push_back(symbol);
      args.push_back(symbol == &selfPlaceholder ? self() : read(symbol));
    }
  for (Symbol *symbol : assigned)
    if (llvm::is_contained(captured, symbol))
      changed.push_back(symbol);
  SmallVector<mlir::Type> inputs, results;
  for (mlir::Value v : args)
    inputs.push_back(v.getType());
  for (Symbol *symbol : changed)
    results.push_back(deviceType(args[llvm::find(captured, symbol) - captured.begin()].getType()));
  mlir::Type resultType = hasValue ? convert(e->checked->type) : mlir::Type();
  if (hasValue)
    results.push_back(resultType);
  std::string name = (instance.symbol.empty() ? std::string("graph") : instance.symbol + ".graph") +
                     "$" + std::to_string(shared.graphBlocks++);

  // The inner body: same size names, isolated values.
  Instance block = outlined(&sizes);
  auto emitBody = [&](const std::string &symbol, bool asGraph) {
    block.symbol = symbol;
    block.isGraph = asGraph;
    Emitter inside(shared, block);
    inside.inGraph = true;
    inside.topLevel = topLevel;
    inside.sizesOfBody = sizesOfBody;
    inside.adopted = adopted;
    inside.beginFunction(builder.getFunctionType(inputs, results), asGraph, symbol, e->span);
    auto function = mlir::cast<FunctionOpInterface>(inside.functionOp);
    mlir::Block &entry = function.getFunctionBody().front();
    for (auto [i, symbol] : llvm::enumerate(captured)) {
      Symbol *own = symbol == &selfPlaceholder ? &inside.selfPlaceholder : symbol;
      inside.values[own] = entry.getArgument(static_cast<unsigned>(i));
      function.setArgAttr(static_cast<unsigned>(i), ir::kName,
                          builder.getStringAttr(symbol == &selfPlaceholder
                                                    ? StringRef("self")
                                                    : StringRef(symbol->name)));
    }
    mlir::Value value = inside.emitBlock(e->body, hasValue);
    if (shared.failed)
      return inside.functionOp;
    SmallVector<mlir::Value> out;
    for (auto [i, symbol] : llvm::enumerate(changed))
      out.push_back(inside.fit(
          inside.values.lookup(symbol == &selfPlaceholder ? &inside.selfPlaceholder : symbol),
          results[i]));
    if (hasValue)
      out.push_back(inside.fit(value, resultType));
    inside.at(e->body->span);
    inside.create<ir::ReturnOp>(out);
    return inside.functionOp;
  };
  Operation *op = emitBody(name, true);
  if (shared.options.twins && !shared.failed) {
    emitBody(name + "$eager", false);
    op->setAttr(ir::kEager, builder.getStringAttr(name + "$eager"));
  }
  if (shared.failed)
    return {};

  at(e->span);
  auto call = create<ir::CallOp>(results, name, args, sizesFor(block));
  for (auto [i, symbol] : llvm::enumerate(changed)) {
    if (symbol == &selfPlaceholder)
      setSelf(call.getResult(static_cast<unsigned>(i)));
    else
      write(symbol, call.getResult(static_cast<unsigned>(i)));
  }
  return hasValue ? call.getResults().back() : mlir::Value();
}

// ------------------------------------------------------------------------------------- whole
// programs

/// Top-level variables that function bodies refer to.
static void findGlobals(const List<Stmt *> &items, llvm::DenseSet<const Symbol *> &out, bool all) {
  for (const Stmt *stmt : items)
    if (auto *let = as<Let>(stmt)) {
      std::function<void(const Pattern *)> add = [&](const Pattern *p) {
        if (p->symbol && (all || p->symbol->usedByFunction))
          out.insert(p->symbol);
        for (const Pattern *part : p->parts)
          add(part);
      };
      if (let->bind != BindKind::Const)
        add(let->pattern);
    }
}

OwningOpRef<ModuleOp> beginModule(Shared &shared, const sema::ModuleInfo &module) {
  shared.context.getOrLoadDialect<ir::MxDialect>();
  const SourceFile &file = shared.sema.sources.file(module.syntax->file);
  OwningOpRef<ModuleOp> made =
      ModuleOp::create(FileLineColLoc::get(&shared.context, file.name(), 1, 1));
  shared.module = *made;
  const Options &options = shared.options;
  auto add = [&](const Symbol *symbol) {
    if (symbol->kind == sema::SymbolKind::Variable && symbol->bind != BindKind::Const)
      shared.globals.insert(symbol);
  };
  if (options.keepNames)
    for (auto &[name, symbol] : module.scope.names)
      add(symbol);
  // A newer variable may have taken a name: in `let a = a + 1`, or since a function was written.
  if (options.keepNames && &module == shared.sema.session)
    for (auto &[name, input] : shared.sema.definedBy)
      add(name.second);
  findGlobals(module.syntax->items, shared.globals, options.keepNames || options.tests);
  return made;
}

void emitPending(Shared &shared) {
  while ((!shared.instances.pending.empty() || !shared.steps.empty()) && !shared.failed) {
    if (shared.instances.pending.empty()) {
      StepFunction step = std::move(shared.steps.front());
      shared.steps.pop_front();
      Emitter(shared, step.body).emitStep(step);
      continue;
    }
    Instance *next = shared.instances.pending.front();
    shared.instances.pending.pop_front();
    Emitter emitter(shared, *next);
    if (next->construct)
      emitter.emitConstructor();
    else
      emitter.emitFunction();
  }
}

Generated generate(MLIRContext &context, sema::CheckedProgram &sema, const sema::ModuleInfo &module,
                   const Options &options) {
  Generated out;
  Shared shared(context, sema, options);
  out.module = beginModule(shared, module);
  Instance top;
  top.symbol = "main";
  out.entry = "main";
  if (options.exports)
    queueExports(shared, module, out.exports);
  else
    Emitter(shared, top)
        .emitTopLevel(module.syntax->items, "main", options.keepNames ? &out.result : nullptr);
  if (options.tests)
    for (const Stmt *stmt : module.syntax->items)
      if (auto *test = as<Test>(stmt)) {
        std::string symbol = "test$" + std::to_string(out.tests.size());
        out.tests.push_back({std::string(test->name->value), symbol, test->span});
        Instance body;
        body.symbol = symbol;
        Emitter(shared, body).emitTopLevel(test->body->stmts, symbol, nullptr);
      }
  for (sema::FunctionInfo *function : options.also)
    shared.instances.of(*function, {}, function->isGraph() && !options.eager);
  emitPending(shared);
  if (shared.failed)
    out.module = nullptr;
  return out;
}

} // namespace mx::irgen
