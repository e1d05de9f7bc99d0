// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions, kernels, control flow and aggregates: verifiers, folders, and parsing and printing of
// functions.
#include "dialects/mx/Mx.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;

namespace mx::ir {
namespace {

/// `@name(%x: type) -> type sizes ["N"] attributes {…} { … }`
template <class Op> ParseResult parseFunction(OpAsmParser &parser, OperationState &state) {
  auto functionType = [](Builder &b, ArrayRef<Type> in, ArrayRef<Type> out,
                         function_interface_impl::VariadicFlag,
                         std::string &) { return b.getFunctionType(in, out); };
  if (function_interface_impl::parseFunctionOp(
          parser, state, /*allowVariadic=*/false, Op::getFunctionTypeAttrName(state.name),
          functionType, Op::getArgAttrsAttrName(state.name), Op::getResAttrsAttrName(state.name)))
    return failure();
  if (!state.attributes.get(Op::getSizesAttrName(state.name)))
    state.addAttribute(Op::getSizesAttrName(state.name), parser.getBuilder().getArrayAttr({}));
  return success();
}
template <class Op> void printFunction(Op op, OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, op, /*isVariadic=*/false,
                                           op.getFunctionTypeAttrName(), op.getArgAttrsAttrName(),
                                           op.getResAttrsAttrName());
}
LogicalResult verifyFunction(FunctionOpInterface op, ArrayAttr sizes) {
  llvm::SmallDenseSet<Attribute> seen;
  for (Attribute name : sizes)
    if (!seen.insert(name).second)
      return op->emitOpError() << "declares the size " << name << " twice";
  if (op.isExternal())
    return success();
  if (!op.getFunctionBody().hasOneBlock())
    return op->emitOpError() << "has more than one block";
  auto terminator = dyn_cast<ReturnOp>(op.getFunctionBody().front().getTerminator());
  if (!terminator || terminator.getValues().getTypes() != op.getResultTypes())
    return op->emitOpError() << "does not return its result types";
  return success();
}
LogicalResult verifyYield(Operation *op, Region &region, TypeRange types) {
  auto yield = dyn_cast<YieldOp>(region.front().getTerminator());
  if (!yield || yield.getValues().getTypes() != types)
    return op->emitOpError() << "a block does not yield the types of the results";
  return success();
}
LogicalResult verifyArguments(Operation *op, Region &region, TypeRange types) {
  if (region.getArgumentTypes() != types)
    return op->emitOpError() << "a block does not have the arguments it is given";
  return success();
}

} // namespace

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &state) {
  return parseFunction<FuncOp>(parser, state);
}
void FuncOp::print(OpAsmPrinter &printer) { printFunction(*this, printer); }
LogicalResult FuncOp::verify() { return verifyFunction(*this, getSizes()); }
ParseResult GraphOp::parse(OpAsmParser &parser, OperationState &state) {
  return parseFunction<GraphOp>(parser, state);
}
void GraphOp::print(OpAsmPrinter &printer) { printFunction(*this, printer); }
LogicalResult GraphOp::verify() { return verifyFunction(*this, getSizes()); }

LogicalResult KernelOp::verify() {
  if (failed(verifyArguments(*this, getBody(), getInputs().getTypes())))
    return failure();
  return verifyYield(*this, getBody(), getOutputs().getTypes());
}
LogicalResult IfOp::verify() {
  if (!isBoolElement(cast<TensorType>(getCondition().getType()).getElement()))
    return emitOpError() << "the condition is not bool";
  for (Region *region : {&getThenRegion(), &getElseRegion()})
    if (failed(verifyArguments(*this, *region, {})) ||
        failed(verifyYield(*this, *region, getResultTypes())))
      return failure();
  return success();
}
LogicalResult ForOp::verify() {
  SmallVector<Type> arguments{getFrom().getType()};
  llvm::append_range(arguments, getCarried().getTypes());
  if (getFrom().getType() != getTo().getType())
    return emitOpError() << "counts between numbers of two types";
  if (getCarried().getTypes() != getResultTypes())
    return emitOpError() << "carried values and results differ in type";
  if (failed(verifyArguments(*this, getBody(), arguments)))
    return failure();
  return verifyYield(*this, getBody(), getResultTypes());
}
LogicalResult WhileOp::verify() {
  if (getCarried().getTypes() != getResultTypes())
    return emitOpError() << "carried values and results differ in type";
  for (Region *region : {&getCondition(), &getBody()})
    if (failed(verifyArguments(*this, *region, getCarried().getTypes())))
      return failure();
  auto yield = dyn_cast<YieldOp>(getCondition().front().getTerminator());
  if (!yield || yield.getValues().size() != 1 || !isScalarTensor(yield.getValues()[0].getType()))
    return emitOpError() << "the first block does not yield a condition";
  return verifyYield(*this, getBody(), getResultTypes());
}
LogicalResult TryOp::verify() {
  if (failed(verifyArguments(*this, getBody(), {})) ||
      failed(verifyArguments(*this, getHandler(), {Type(ErrorType::get(getContext()))})))
    return failure();
  if (failed(verifyYield(*this, getBody(), getResultTypes())))
    return failure();
  return verifyYield(*this, getHandler(), getResultTypes());
}

/// Replaces an `if` with a constant condition by its taken block.
struct FoldKnownIf : OpRewritePattern<IfOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(IfOp op, PatternRewriter &rewriter) const override {
    auto constant = op.getCondition().getDefiningOp<ConstantOp>();
    auto value = constant ? dyn_cast<BoolAttr>(constant.getValue()) : BoolAttr();
    if (!value)
      return failure();
    Block &block = value.getValue() ? op.getThenRegion().front() : op.getElseRegion().front();
    auto yield = cast<YieldOp>(block.getTerminator());
    SmallVector<Value> results(yield.getValues());
    rewriter.eraseOp(yield);
    rewriter.inlineBlockBefore(&block, op);
    rewriter.replaceOp(op, results);
    return success();
  }
};
void IfOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<FoldKnownIf>(context);
}

OpFoldResult SizeOp::fold(FoldAdaptor) {
  if (std::optional<int64_t> value = getSize().constant())
    return IntegerAttr::get(IntegerType::get(getContext(), 64), *value);
  return {};
}

OpFoldResult LengthOp::fold(FoldAdaptor) {
  if (auto array = dyn_cast<ArrayType>(getValue().getType()))
    if (std::optional<int64_t> count = array.getCount().constant())
      return IntegerAttr::get(IntegerType::get(getContext(), 64), *count);
  return {};
}

LogicalResult MakeOp::verify() {
  if (auto array = dyn_cast<ArrayType>(getType())) {
    for (Type type : getParts().getTypes())
      if (type != array.getElement())
        return emitOpError() << "an element is a " << type;
    if (array.getCount().constant() &&
        *array.getCount().constant() != static_cast<int64_t>(getParts().size()))
      return emitOpError() << "has " << getParts().size() << " elements";
    return success();
  }
  auto aggregate = cast<AggregateType>(getType());
  if (getParts().getTypes() != TypeRange(aggregate.getParts()))
    return emitOpError() << "its parts are not those of " << aggregate;
  return success();
}
static LogicalResult verifyPart(Operation *op, AggregateType aggregate, uint64_t part, Type type) {
  if (part >= aggregate.getParts().size() || aggregate.getParts()[part] != type)
    return op->emitOpError() << "part " << part << " of " << aggregate << " is not a " << type;
  return success();
}
LogicalResult GetOp::verify() {
  return verifyPart(*this, getAggregate().getType(), getPart(), getType());
}
LogicalResult SetOp::verify() {
  if (getAggregate().getType() != getType())
    return emitOpError() << "changes its type";
  return verifyPart(*this, getType(), getPart(), getValue().getType());
}
OpFoldResult GetOp::fold(FoldAdaptor) {
  Value from = getAggregate();
  // Looks through replacements of other parts.
  while (true) {
    if (auto make = from.getDefiningOp<MakeOp>())
      return make.getParts()[getPart()];
    auto set = from.getDefiningOp<SetOp>();
    if (!set)
      break;
    if (set.getPart() == getPart())
      return set.getValue();
    from = set.getAggregate();
  }
  if (from == getAggregate())
    return {};
  getAggregateMutable().assign(from);
  return getResult();
}

} // namespace mx::ir

#define GET_OP_CLASSES
#include "dialects/mx/MxOps.cpp.inc"
