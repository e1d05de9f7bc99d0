// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that a kernel has a form that can be emitted, and passes each group of outputs to its
// emitter.
#include "Lowering/kernels/EmitKernel.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mx::ir;

namespace mx::lowering {
namespace {

/// Checks that the kernel gets a value for every name in a size.
LogicalResult checkSizes(KernelOp kernel) {
  SizeTable &table = kernel.getContext()->getOrLoadDialect<MxDialect>()->sizes();
  std::lock_guard guard(table.lock);
  auto check = [&](Operation *op, SizeAttr size) -> LogicalResult {
    Dim dim = size.dim();
    if (!dim)
      return op->emitOpError() << "has an invalid size: " << size;
    std::vector<AtomId> symbols;
    table.dims.symbols(dim, symbols);
    for (AtomId id : symbols) {
      const std::string &name = table.dims.symbolInfo(id).name;
      if (!llvm::is_contained(kernel.getSizes().getAsValueRange<StringAttr>(), name))
        return op->emitOpError() << "uses the size " << name << ", which the kernel does not have";
    }
    return success();
  };
  auto checkType = [&](Operation *op, Type type) -> LogicalResult {
    if (auto tensor = dyn_cast<TensorType>(type))
      for (SizeAttr size : tensor.getSizes())
        if (failed(check(op, size)))
          return failure();
    return success();
  };
  for (Type type : kernel.getBody().getArgumentTypes())
    if (failed(checkType(kernel, type)))
      return failure();
  for (Operation &op : kernel.getBody().front()) {
    for (Type type : op.getResultTypes())
      if (failed(checkType(&op, type)))
        return failure();
    bool isFine = true;
    op.getAttrDictionary().walk([&](SizeAttr size) { isFine &= succeeded(check(&op, size)); });
    if (!isFine)
      return failure();
  }
  return success();
}

/// The ops without scalar code of their own that a value is computed from.
using Sources = llvm::SmallSetVector<Operation *, 2>;

/// Finds the sources of all values.
LogicalResult findSources(KernelOp kernel, llvm::DenseMap<Value, Sources> &sources) {
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (StringRef why = whyNot(&op); !why.empty())
      return op.emitOpError() << why << ", not for " << op.getOperand(0).getType();
    Sources own;
    for (Value operand : op.getOperands())
      own.insert_range(sources[operand]);
    if (!kindOf(&op))
      return op.emitOpError() << "cannot be in a kernel";
    if (!isPointwise(&op)) {
      if (!own.empty() && kernel.kind() != KernelKind::Rows)
        return op.emitOpError() << "cannot be in one kernel with the " << own[0]->getName()
                                << " it is computed from";
      own.insert(&op);
    }
    for (Value result : op.getResults())
      sources[result] = own;
  }
  return success();
}

} // namespace

LogicalResult emitKernel(KernelEmitter &e) {
  if (failed(checkSizes(e.kernel)))
    return failure();
  Block &body = e.kernel.getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  llvm::DenseMap<Value, Sources> sources;
  if (failed(findSources(e.kernel, sources)))
    return failure();
  if (e.kernel.kind() == KernelKind::Rows) {
    OutputGroup all;
    for (Operation &op : body)
      if (op.hasTrait<Reduction>())
        all.sources.push_back(&op);
    for (auto [i, value] : llvm::enumerate(yield.getValues()))
      all.outputs.push_back({value, static_cast<unsigned>(i)});
    if (failed(e.emitGroup(all)))
      return failure();
    e.finish();
    return success();
  }
  // Outputs with the same source and shape share their loops, and pointwise outputs of that shape
  // join them: an in-place write then follows all reads at its index.
  SmallVector<OutputGroup> groups;
  SmallVector<Output> outputs;
  for (bool pointwise : {false, true})
    for (auto [i, value] : llvm::enumerate(yield.getValues()))
      if (sources[value].empty() == pointwise)
        outputs.push_back({value, static_cast<unsigned>(i)});
  for (const Output &output : outputs) {
    Value value = output.value;
    const Sources &own = sources[value];
    SizesRef sizes = cast<TensorType>(value.getType()).getSizes();
    auto group = llvm::find_if(groups, [&](OutputGroup &g) {
      auto shape = cast<TensorType>(g.outputs[0].value.getType()).getSizes();
      if (shape != sizes || (!own.empty() && g.sources.empty()))
        return false;
      if (own.empty())
        return g.sources.empty() || hasEpilogue(e.kernel.kind());
      return mayShareLoops(own[0], g.sources[0]);
    });
    if (group == groups.end())
      group = groups.insert(groups.end(), OutputGroup());
    group->outputs.push_back(output);
    for (Operation *op : own)
      if (!llvm::is_contained(group->sources, op))
        group->sources.push_back(op);
  }
  for (const OutputGroup &group : groups)
    if (failed(group.sources.empty() ? emitPointwise(e, group) : e.emitGroup(group)))
      return failure();
  e.finish();
  return success();
}

LogicalResult hasShapeOf(const OutputGroup &group) {
  Operation *source = group.sources[0];
  SizesRef sizes = cast<TensorType>(source->getResult(0).getType()).getSizes();
  for (const Output &output : group.outputs)
    if (cast<TensorType>(output.value.getType()).getSizes() != sizes)
      return source->emitOpError()
             << "is followed by an op of another shape, which must be in another kernel";
  return success();
}

LogicalResult isAlone(const OutputGroup &group) {
  if (group.sources.size() == 1)
    return success();
  return group.sources[1]->emitOpError()
         << "is in one kernel with a " << group.sources[0]->getName().stripDialect();
}

LogicalResult emitPointwise(KernelEmitter &e, const OutputGroup &group) {
  if (emitTiledTranspose(e, group))
    return success();
  Evaluator evaluator(e);
  SmallVector<Value> roots = group.values();
  evaluator.prepare(roots);
  auto type = cast<TensorType>(roots[0].getType());
  e.parallelFor(e.sizesOf(type), e.number(e.workOfElement()), [&](Indices indices) {
    Evaluator::Scope scope(evaluator);
    SmallVector<Value> elements = evaluator.all(roots, indices);
    for (auto [output, element] : llvm::zip_equal(group.outputs, elements))
      e.store(e.output(output.index), indices, element);
  });
  return success();
}

} // namespace mx::lowering
