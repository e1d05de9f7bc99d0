// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Classification of kernels, and verification, parsing and printing of `mx.kernel`.
#include "dialects/mx/Kernels.h"
#include "dialects/mx/Over.h"
#include "dialects/mx/Table.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace mx::ir {

bool isPointwise(Operation *op) {
  return op->hasTrait<Elementwise>() ||
         isa<BroadcastOp, FullOp, IotaOp, ConstantOp, TransposeOp, SizeOp, ReshapeOp, SliceOp,
             TakeOp, ToDeviceOp, WindowsOp, FoldOp>(op);
}

std::optional<KernelKind> kindOf(Operation *op) {
  if (isPointwise(op))
    return isa<TakeOp, ToDeviceOp, WindowsOp, FoldOp>(op) ? KernelKind::Gather
                                                          : KernelKind::Elementwise;
  if (op->hasTrait<Reduction>())
    return KernelKind::Reduce;
  if (isa<MatmulOp>(op))
    return KernelKind::Matmul;
  if (isa<ConvOp>(op))
    return KernelKind::Conv;
  if (isa<ScatterAddOp>(op))
    return KernelKind::Scatter;
  if (isa<ConcatOp, UpdateOp>(op))
    return KernelKind::Move;
  if (isa<RandomOp>(op))
    return KernelKind::Random;
  if (isa<RoutineOp>(op))
    return KernelKind::Routine;
  return std::nullopt;
}

ArrayRef<int64_t> axesOf(Operation *reduction) {
  return reduction->getAttrOfType<DenseI64ArrayAttr>("axes").asArrayRef();
}
static ArrayRef<SizeAttr> sizesOf(Value value) {
  return cast<TensorType>(value.getType()).getSizes();
}
ArrayRef<SizeAttr> spaceOf(Operation *reduction) { return sizesOf(reduction->getOperand(0)); }

OpCost costOf(Operation *op) {
  OpCost cost;
  auto over = [&](ArrayRef<SizeAttr> sizes) { cost.space.append(sizes.begin(), sizes.end()); };
  std::optional<KernelKind> kind = kindOf(op);
  if (kind && hasTiles(*kind)) {
    cost.each = 2; // a multiplication and an addition
    over(sizesOf(op->getResult(0)));
    // For each element of the result what it sums over: a row, or the filter of a channel.
    over(*kind == KernelKind::Matmul ? sizesOf(op->getOperand(0)).take_back(1)
                                     : sizesOf(op->getOperand(1)).drop_front());
  } else if (kind == KernelKind::Reduce || isa<FoldOp>(op)) {
    cost.each = 1;
    over(sizesOf(op->getOperand(0)));
  } else if (op->hasTrait<Elementwise>()) {
    cost.each = 1;
    over(sizesOf(op->getResult(0)));
  }
  return cost;
}

bool mayShareLoops(Operation *x, Operation *y) {
  if (x == y)
    return true;
  return x->hasTrait<Reduction>() && y->hasTrait<Reduction>() && spaceOf(x) == spaceOf(y) &&
         x->getAttr("axes") == y->getAttr("axes") && x->hasAttr("keep") == y->hasAttr("keep");
}

bool neverFails(KernelOp kernel) {
  auto isFloat = [](Type type) {
    auto tensor = dyn_cast<TensorType>(type);
    return tensor && isFloatElement(tensor.getElement());
  };
  return llvm::all_of(kernel.getBody().front().without_terminator(), [&](Operation &op) {
    return op.hasTrait<Elementwise>() || op.hasTrait<Reduction>()
               ? llvm::all_of(op.getOperandTypes(), isFloat)
               : isa<BroadcastOp, ConstantOp, ConvOp, FoldOp, FullOp, IotaOp, MatmulOp, ReshapeOp,
                     SizeOp, TransposeOp, WindowsOp>(op);
  });
}

// ------------------------------------------------------------------------------------------ kind

namespace {

/// The ops that are not pointwise and that a value is computed from.
struct Sources {
  Operation *first = nullptr;
  bool areReductions = true;
  bool shareLoops = true; ///< each with the first

  void add(const Sources &other) {
    if (!other.first)
      return;
    if (!first)
      *this = other;
    areReductions &= other.areReductions;
    shareLoops &= other.shareLoops && mayShareLoops(first, other.first);
  }
};

/// Reductions whose results are read again over whole rows, or by other reductions, make a row
/// kernel.
bool hasRows(Block &body) {
  llvm::DenseMap<Value, Sources> sources;
  for (Operation &op : body.without_terminator()) {
    Sources own;
    for (Value operand : op.getOperands())
      own.add(sources.lookup(operand));
    bool afterReductions = own.first && own.areReductions;
    if (op.hasTrait<Reduction>()) {
      if (own.first)
        return true;
      own = {&op};
    } else if (!isPointwise(&op)) {
      own = {&op, /*areReductions=*/false};
    } else if (afterReductions && (sizesOf(op.getResult(0)) != sizesOf(own.first->getResult(0)) ||
                                   !own.shareLoops)) {
      return true;
    }
    if (own.first)
      for (Value result : op.getResults())
        sources[result] = own;
  }
  return false;
}

/// Whether rows of `space` may have results of the sizes `than`, so that `than` is not the row
/// space.
bool isLarger(ArrayRef<SizeAttr> space, ArrayRef<SizeAttr> than) {
  if (space.size() != than.size())
    return space.size() > than.size();
  auto fits = [](auto sizes) {
    auto [one, other] = sizes;
    return one == other || other.constant() == 1;
  };
  return space != than && llvm::all_of(llvm::zip_equal(space, than), fits);
}

void findKind(Block &body, KernelFacts &facts) {
  Operation *source = nullptr;
  for (Operation &op : body.without_terminator()) {
    std::optional<KernelKind> kind = kindOf(&op);
    if (!kind || *kind == KernelKind::Elementwise)
      continue;
    if (*kind == KernelKind::Gather) {
      if (!source)
        facts.kind = *kind;
    } else if (!source) {
      source = &op;
      facts.kind = *kind;
    } else if (*kind != facts.kind && !facts.mixed) {
      facts.mixed = &op;
    }
  }
  ArrayRef<SizeAttr> space;
  if (facts.kind == KernelKind::Reduce) {
    for (Operation &op : body)
      if (op.hasTrait<Reduction>() && (space.empty() || isLarger(spaceOf(&op), space)))
        space = spaceOf(&op);
    if (!facts.mixed && hasRows(body))
      facts.kind = KernelKind::Rows;
  } else if (source && source->getNumResults() > 0) {
    space = sizesOf(source->getResult(0));
  } else if (ValueRange outputs = body.getTerminator()->getOperands(); !outputs.empty()) {
    space = sizesOf(outputs.front());
  }
  facts.space.assign(space.begin(), space.end());
}

// -------------------------------------------------------------------------------------- in place

/// Whether all that is computed from the input at an index uses only its element there; with
/// `rows`, also reductions of its row.
bool isReadInPlace(BlockArgument input, bool rows) {
  llvm::SmallPtrSet<Operation *, 8> seen;
  SmallVector<Value> work{input};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    for (Operation *user : value.getUsers()) {
      if (user->hasTrait<OpTrait::IsTerminator>() || !seen.insert(user).second)
        continue;
      if (rows && user->hasTrait<Reduction>())
        continue;
      // The accumulator of a matmul starts with the element at the same index.
      auto matmul = dyn_cast<MatmulOp>(user);
      bool isInit = matmul && matmul.getX() != value && matmul.getY() != value;
      if (!(user->hasTrait<Elementwise>() || isInit) || user->getNumResults() != 1 ||
          sizesOf(user->getResult(0)) != sizesOf(input))
        return false;
      work.push_back(user->getResult(0));
    }
  }
  return true;
}

/// The input that the only output is an updated copy of, if everything else it reads is other
/// memory.
std::optional<unsigned> copiedInput(ValueRange outputs) {
  if (outputs.size() != 1)
    return std::nullopt;
  Operation *last = outputs[0].getDefiningOp();
  if (!isa_and_nonnull<UpdateOp, ScatterAddOp>(last))
    return std::nullopt;
  auto input = dyn_cast<BlockArgument>(last->getOperand(0));
  return input && input.hasOneUse() ? std::optional(input.getArgNumber()) : std::nullopt;
}

/// Whether the outputs of the kernel are stored where the promise by element holds: all of them in
/// the one nest over its space.
bool isOneNest(Block &body, const KernelFacts &facts) {
  if (facts.kind == KernelKind::Scatter && !tableOf(body))
    return false;
  auto isSource = [&](Operation &op) { return kindOf(&op) == facts.kind; };
  if (facts.kind != KernelKind::Elementwise && llvm::count_if(body.without_terminator(), isSource) != 1)
    return false;
  ValueRange outputs = body.getTerminator()->getOperands();
  return !outputs.empty() && llvm::all_of(outputs, [&](Value output) {
    return sizesOf(output) == ArrayRef<SizeAttr>(facts.space);
  });
}

/// Whether some output of a row kernel is a whole row, computed from the row's reductions. False
/// if a reduction has the size of the space (rows of one element), since its result is stored
/// before other sweeps.
bool storesWholeRows(Block &body, ArrayRef<SizeAttr> space) {
  llvm::SmallPtrSet<Operation *, 8> after;
  for (Operation &op : body.without_terminator()) {
    bool isReduction = op.hasTrait<Reduction>();
    if (isReduction && sizesOf(op.getResult(0)) == space)
      return false;
    if (isReduction ||
        llvm::any_of(op.getOperands(), [&](Value v) { return after.contains(v.getDefiningOp()); }))
      after.insert(&op);
  }
  return llvm::any_of(body.getTerminator()->getOperands(), [&](Value value) {
    return sizesOf(value) == space && after.contains(value.getDefiningOp());
  });
}

void findOverwrites(Block &body, KernelFacts &facts) {
  InPlacePromise promise = promiseOf(facts.kind);
  ValueRange outputs = body.getTerminator()->getOperands();
  if (promise.ofCopy)
    if (std::optional<unsigned> copied = copiedInput(outputs)) {
      facts.overwrites[0].push_back(*copied);
      return;
    }
  if (!(promise.byElement && isOneNest(body, facts)) &&
      !(promise.byRow && storesWholeRows(body, facts.space)))
    return;
  for (BlockArgument input : body.getArguments()) {
    if (!llvm::is_contained(outputs.getTypes(), input.getType()) ||
        (facts.kind != KernelKind::Elementwise && sizesOf(input) != ArrayRef<SizeAttr>(facts.space)) ||
        !isReadInPlace(input, promise.byRow))
      continue;
    for (auto [index, type] : llvm::enumerate(outputs.getTypes()))
      if (type == input.getType())
        facts.overwrites[index].push_back(input.getArgNumber());
  }
}

} // namespace

KernelFacts factsOf(Block &body, bool strided) {
  KernelFacts facts;
  facts.overwrites.resize(body.getTerminator()->getNumOperands());
  findKind(body, facts);
  if (!strided && !facts.mixed)
    findOverwrites(body, facts);
  return facts;
}

// ------------------------------------------------------------------------------------- the op

void KernelOp::build(OpBuilder &, OperationState &state, TypeRange outputs, ValueRange inputs) {
  state.addOperands(inputs);
  state.addTypes(outputs);
  state.addRegion();
}

bool KernelOp::hasStrides() { return getStrided() && llvm::is_contained(*getStrided(), true); }

SmallVector<SizeAttr> KernelOp::spaceSizes() {
  return llvm::to_vector(getSpaceAttr().getAsRange<SizeAttr>());
}
ArrayRef<int64_t> KernelOp::mayOverwrite(unsigned output) {
  return cast<DenseI64ArrayAttr>((*getOverwrites())[output]).asArrayRef();
}

static void setFacts(const KernelFacts &facts, Builder b, KernelOp::Properties &properties) {
  SmallVector<Attribute> space(facts.space.begin(), facts.space.end()), lists;
  for (ArrayRef<int64_t> inputs : facts.overwrites)
    lists.push_back(b.getDenseI64ArrayAttr(inputs));
  properties.setKind(KernelKindAttr::get(b.getContext(), facts.kind));
  properties.setSpace(b.getArrayAttr(space));
  properties.setOverwrites(b.getArrayAttr(lists));
}
void KernelOp::classify() {
  setFacts(factsOf(getBody().front(), hasStrides()), Builder(getContext()), getProperties());
}

/// Compares the facts with the body. `overwrites` may list fewer inputs than the body allows.
LogicalResult KernelOp::verifyRegions() {
  if (!getKind() || !getSpaceAttr() || !getOverwrites())
    return emitOpError() << "is not classified";
  KernelFacts facts = factsOf(getBody().front(), hasStrides());
  if (facts.mixed)
    return facts.mixed->emitOpError()
           << "is in one kernel with ops of the kind " << stringifyKernelKind(facts.kind);
  if (kind() != facts.kind)
    return emitOpError() << "is of the kind " << stringifyKernelKind(kind())
                         << ", but its body is of the kind " << stringifyKernelKind(facts.kind);
  if (ArrayRef(spaceSizes()) != ArrayRef<SizeAttr>(facts.space))
    return emitOpError() << "does not have the iteration space of its body";
  if (getOverwrites()->size() != getNumResults())
    return emitOpError() << "has " << getNumResults() << " outputs, but `overwrites` lists "
                         << getOverwrites()->size();
  for (unsigned output = 0; output < getNumResults(); ++output)
    for (int64_t input : mayOverwrite(output))
      if (!llvm::is_contained(facts.overwrites[output], input))
        return emitOpError() << "reads input " << input << " after it stored output " << output
                             << ", which must not overwrite it";
  ArrayRef<int64_t> over = writesOver(*this);
  if (!over.empty() && over.size() != getNumResults())
    return emitOpError() << "has " << getNumResults() << " outputs, but " << kOver << " is of "
                         << over.size();
  for (auto [output, input] : llvm::enumerate(over)) {
    if (input == -1)
      continue;
    if (!llvm::is_contained(mayOverwrite(static_cast<unsigned>(output)), input))
      return emitOpError() << "stores output " << output << " over input " << input
                           << ", which `overwrites` does not list";
    if (llvm::is_contained(over.take_front(output), input))
      return emitOpError() << "stores two outputs over input " << input;
  }
  return success();
}

static ParseResult parseFacts(OpAsmParser &parser, StringRef word, KernelOp::Properties &properties) {
  Builder &b = parser.getBuilder();
  properties.setKind(KernelKindAttr::get(b.getContext(), *symbolizeKernelKind(word)));
  SmallVector<Attribute> space, lists;
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, [&] {
        FailureOr<SizeAttr> size = parseSize(parser);
        if (succeeded(size))
          space.push_back(*size);
        return ParseResult(size);
      }))
    return failure();
  properties.setSpace(b.getArrayAttr(space));
  if (parser.parseKeyword("overwrites") ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, [&] {
        SmallVector<int64_t> inputs;
        ParseResult result =
            parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, [&] {
              return parser.parseInteger(inputs.emplace_back());
            });
        lists.push_back(b.getDenseI64ArrayAttr(inputs));
        return result;
      }))
    return failure();
  properties.setOverwrites(b.getArrayAttr(lists));
  return success();
}

/// A body whose ops have not been verified yet can be classified if it has tensors only.
static bool isOfTensors(Block &body) {
  auto areTensors = [](TypeRange types) {
    return llvm::all_of(types, [](Type type) { return isa<TensorType>(type); });
  };
  return body.mightHaveTerminator() && areTensors(body.getArgumentTypes()) &&
         llvm::all_of(body, [&](Operation &op) {
           return areTensors(op.getOperandTypes()) && areTensors(op.getResultTypes()) &&
                  (!op.hasTrait<Reduction>() || op.getAttrOfType<DenseI64ArrayAttr>("axes"));
         });
}

static ArrayRef<StringRef> kindNames() {
  static const auto names = [] {
    std::array<StringRef, getMaxEnumValForKernelKind() + 1> out;
    for (uint32_t i = 0; i < out.size(); ++i)
      out[i] = stringifyKernelKind(static_cast<KernelKind>(i));
    return out;
  }();
  return names;
}

/// `(%x) rows [8, 64] overwrites [[0]] attributes {…} : (…) -> … { … }`
ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &state) {
  Properties &properties = state.getOrAddProperties<Properties>();
  SmallVector<OpAsmParser::UnresolvedOperand> inputs;
  StringRef word;
  if (parser.parseOperandList(inputs, OpAsmParser::Delimiter::Paren))
    return failure();
  bool isClassified = succeeded(parser.parseOptionalKeyword(&word, kindNames()));
  FunctionType type;
  if ((isClassified && parseFacts(parser, word, properties)) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
      parser.parseColonType(type) ||
      parser.resolveOperands(inputs, type.getInputs(), parser.getNameLoc(), state.operands))
    return failure();
  state.addTypes(type.getResults());
  Region *body = state.addRegion();
  if (parser.parseRegion(*body))
    return failure();
  ensureTerminator(*body, parser.getBuilder(), state.location);
  if (isClassified || body->empty() || !isOfTensors(body->front()))
    return success();
  auto strided = dyn_cast_or_null<DenseBoolArrayAttr>(state.attributes.get("strided"));
  bool hasStrides = strided && llvm::is_contained(strided.asArrayRef(), true);
  setFacts(factsOf(body->front(), hasStrides), parser.getBuilder(), properties);
  return success();
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << "(" << getInputs() << ")";
  if (getKind() && getSpaceAttr() && getOverwrites()) {
    printer << " " << stringifyKernelKind(kind()) << " [";
    llvm::interleaveComma(spaceSizes(), printer, [&](SizeAttr size) { printSize(printer, size); });
    printer << "] overwrites [";
    llvm::interleaveComma(getOverwrites()->getAsRange<DenseI64ArrayAttr>(), printer,
                          [&](DenseI64ArrayAttr inputs) {
                            printer << "[";
                            llvm::interleaveComma(inputs.asArrayRef(), printer);
                            printer << "]";
                          });
    printer << "]";
  }
  SmallVector<StringRef> elided{"kind", "space", "overwrites"};
  if (getWorkspace() == 0)
    elided.push_back("workspace");
  if (getSizes().empty())
    elided.push_back("sizes");
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), elided);
  printer << " : ";
  printer.printFunctionalType(getOperation());
  printer << " ";
  printer.printRegion(getBody());
}

} // namespace mx::ir
