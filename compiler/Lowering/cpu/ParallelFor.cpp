// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// parallel_for lowering (loop outlining). A loop whose iterations may run in parallel becomes a
// function of its own, for a range of iterations, which the runtime's parallel_for calls:
//
//   status k(context, buffers, sizes) {            status k.part0(user, begin, end, …, context) {
//     user = {what the iterations use}                … = *user
//     parallel_for(context, count, grain,             for (i = begin; i < end; ++i)
//                  k.part0, user)                        the iteration
//   }                                              }
//
// The split of a loop depends on its sizes alone, and each element is computed as without a split:
// the number of threads does not change any bit. Loops known to be short are not outlined.
#include "Lowering/cpu/CpuKernel.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace mx::lowering {

void CpuKernel::parallelFor(ArrayRef<Value> sizes, Value work,
                            llvm::function_ref<void(Indices)> body, size_t front) {
  front = std::min(front, sizes.size());
  auto iterationsOf = [&](ArrayRef<Value> axes) {
    Value iterations = number(1);
    for (Value size : axes)
      iterations = mul(iterations, size);
    return iterations;
  };
  // Axes are merged until there are enough iterations to share them evenly.
  // The innermost axis stays whole if there are others: it is the one that is vectorised.
  Value count = iterationsOf(sizes.take_front(front));
  while (front < sizes.size() && known(count) && *known(count) < target.parallelIterations &&
         (front + 1 < sizes.size() || known(count) == 1))
    count = iterationsOf(sizes.take_front(++front));
  Value iteration = mul(iterationsOf(sizes.drop_front(front)), work);
  auto op = scf::ForOp::create(b, number(0), count, number(1));
  parallelLoops.push_back({op, iteration});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.getBody());
  SmallVector<Value> at(front, number(0));
  Value rest = op.getInductionVar();
  size_t axis = front;
  while (axis-- > 0) {
    if (known(sizes[axis]) == 1)
      continue;
    bool isLast = llvm::all_of(sizes.take_front(axis), [](Value s) { return known(s) == 1; });
    if (isLast) {
      at[axis] = rest;
      break;
    }
    Value whole = arith::DivUIOp::create(b, rest, sizes[axis]); // an iteration exists: size > 0
    at[axis] = sub(rest, mul(whole, sizes[axis]));
    rest = whole;
  }
  nest(sizes.drop_front(front), [&](Indices inner) {
    SmallVector<Value> indices(at);
    llvm::append_range(indices, inner);
    body(indices);
  });
}

namespace {

/// Outlines the iterations of a loop into a function.
class Outliner {
public:
  Outliner(LLVM::LLVMFuncOp from, ArrayRef<scf::ForOp> loops, scf::ForOp loop, Value context)
      : from(from), loops(loops), loop(loop), context(context), b(loop.getLoc(), from) {}

  /// Whether each variable that the iterations use is private to them, or a flag.
  bool analyse(ArrayRef<Value> flags);
  LLVM::LLVMFuncOp make(StringRef name);
  SmallVector<Value> shared; ///< captured values, in the order of the struct

private:
  LLVM::LLVMFuncOp from;
  ArrayRef<scf::ForOp> loops;
  scf::ForOp loop;
  Value context;
  ImplicitLocOpBuilder b;
  SmallVector<Value> variables, flagged;
  SmallVector<Operation *> recomputed; ///< ops outside of the loop that are cheaper to clone
  llvm::SmallPtrSet<Operation *, 16> seen;
  bool isFine = true;

  bool isInLoops(Operation *op) {
    return llvm::any_of(loops, [&](scf::ForOp each) { return each->isProperAncestor(op); });
  }
  void need(Value value, ArrayRef<Value> flags);
};

void Outliner::need(Value value, ArrayRef<Value> flags) {
  if (value == context)
    return;
  Operation *op = value.getDefiningOp();
  if (!op) {
    if (!llvm::is_contained(shared, value))
      shared.push_back(value);
    return;
  }
  if (!seen.insert(op).second)
    return;
  if (isa<LLVM::AllocaOp>(op)) {
    if (llvm::is_contained(flags, value)) {
      flagged.push_back(value);
      shared.push_back(value);
      return;
    }
    isFine &= llvm::all_of(op->getUsers(), [&](Operation *user) { return isInLoops(user); });
    variables.push_back(value);
  } else if (!isPure(op)) {
    shared.push_back(value);
    return;
  }
  for (Value operand : op->getOperands())
    need(operand, flags);
  recomputed.push_back(op);
}

bool Outliner::analyse(ArrayRef<Value> flags) {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(loop.getRegion(), used);
  for (Value value : used)
    need(value, flags);
  return isFine;
}

LLVM::LLVMFuncOp Outliner::make(StringRef name) {
  Type pointer = context.getType(), number = b.getI64Type(), bit = b.getI1Type();
  auto type = LLVM::LLVMFunctionType::get(pointer, {pointer, number, number, number, pointer});
  b.setInsertionPointAfter(from);
  auto made = LLVM::LLVMFuncOp::create(b, name, type, LLVM::Linkage::Internal);
  Block *entry = made.addEntryBlock(b);
  b.setInsertionPointToEnd(entry);
  IRMapping map;
  map.map(context, entry->getArgument(4));
  SmallVector<Type> fields(ValueRange(shared).getTypes());
  auto record = LLVM::LLVMStructType::getLiteral(b.getContext(), fields);
  for (auto [i, value] : llvm::enumerate(shared)) {
    Value field = LLVM::GEPOp::create(b, pointer, record, entry->getArgument(0),
                                      ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(i)});
    auto load = LLVM::LoadOp::create(b, value.getType(), field);
    load.setInvariant(true);
    map.map(value, load.getResult());
  }
  SmallVector<Value> outside;
  Value one = arith::ConstantOp::create(b, b.getI64IntegerAttr(1));
  Value no = arith::ConstantOp::create(b, b.getBoolAttr(false));
  for (Value flag : flagged) {
    outside.push_back(map.lookup(flag));
    Value own = LLVM::AllocaOp::create(b, pointer, bit, one);
    LLVM::StoreOp::create(b, no, own);
    map.map(flag, own);
  }
  for (Operation *op : recomputed)
    b.clone(*op, map);
  auto iterations = cast<scf::ForOp>(b.clone(*loop, map));
  iterations.setLowerBound(entry->getArgument(1));
  iterations.setUpperBound(entry->getArgument(2));
  iterations.setStep(one);
  for (auto [flag, to] : llvm::zip_equal(flagged, outside)) {
    auto noted = scf::IfOp::create(b, LLVM::LoadOp::create(b, bit, map.lookup(flag)), false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&noted.getThenRegion().front());
    Value yes = arith::ConstantOp::create(b, b.getIntegerAttr(b.getI8Type(), 1));
    // Other threads may set the same flag.
    LLVM::StoreOp::create(b, yes, to, /*alignment=*/1, /*isVolatile=*/false,
                          /*isNonTemporal=*/false,
                          /*isInvariantGroup=*/false, LLVM::AtomicOrdering::monotonic);
  }
  LLVM::ReturnOp::create(b, Value(LLVM::ZeroOp::create(b, pointer)));
  return made;
}

} // namespace

/// Replaces the loop with a call of parallel_for.
void CpuKernel::outline(ParallelLoop &parallel, Value grain) {
  scf::ForOp loop = parallel.loop;
  SmallVector<scf::ForOp> loops;
  for (ParallelLoop &each : parallelLoops)
    if (each.loop)
      loops.push_back(each.loop);
  SmallVector<Value> flags;
  for (Fault &fault : faults)
    flags.push_back(fault.flag);
  Outliner outliner(function, loops, loop, context);
  if (!outliner.analyse(flags))
    return;
  std::string name =
      function.getName().str() + ".part" + std::to_string(&parallel - parallelLoops.data());
  LLVM::LLVMFuncOp part = outliner.make(name);

  OpBuilder::InsertionGuard guard(b);
  b.setLoc(loop.getLoc());
  Type pointer = context.getType();
  SmallVector<Type> fields(ValueRange(outliner.shared).getTypes());
  auto record = LLVM::LLVMStructType::getLiteral(b.getContext(), fields);
  Value user = inEntry([&] { return LLVM::AllocaOp::create(b, pointer, record, number(1)); });
  b.setInsertionPoint(loop);
  for (auto [i, value] : llvm::enumerate(outliner.shared)) {
    Value field = LLVM::GEPOp::create(b, pointer, record, user,
                                      ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(i)});
    LLVM::StoreOp::create(b, value, field);
  }
  Value body = LLVM::AddressOfOp::create(b, part);
  Value status = call("mxrt_parallel_for", {context, loop.getUpperBound(), grain, body, user});
  Block *before = loop->getBlock(), *after = before->splitBlock(loop);
  loop.erase();
  parallel.loop = {};
  b.setInsertionPointToEnd(before);
  failWith(status);
  // failWith() left an empty block to continue in.
  Block *onward = b.getInsertionBlock();
  onward->getOperations().splice(onward->end(), after->getOperations());
  after->erase();
}

void CpuKernel::outlineParallelLoops() {
  for (ParallelLoop &loop : parallelLoops) {
    // Inside another loop or a branch, the function cannot return.
    if (!isa<LLVM::LLVMFuncOp>(loop.loop->getParentOp()))
      continue;
    b.setInsertionPoint(loop.loop);
    std::optional<int64_t> count = known(loop.loop.getUpperBound()), work = known(loop.work);
    Value grain;
    if (work) {
      int64_t iterations = std::max<int64_t>(1, options.chunkWork / std::max<int64_t>(1, *work));
      if (count && *count <= iterations)
        continue;
      grain = number(iterations);
    } else {
      Value one = number(1);
      Value iterations = arith::DivUIOp::create(b, number(options.chunkWork),
                                                arith::MaxSIOp::create(b, loop.work, one));
      grain = arith::MaxSIOp::create(b, iterations, one);
    }
    outline(loop, grain);
  }
}

} // namespace mx::lowering
