// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random ops: calls of the runtime's Philox generator (counter-based RNG), which gives the same
// numbers on every machine. An op reads the stream of its seed, from the position that the counter
// holds.
#include "Lowering/cpu/CpuKernel.h"

using namespace mlir;
using namespace mx::ir;

namespace mx::lowering {
namespace {

/// Numbers converted to another element type on the stack at a time. A multiple of the generator's
/// block, so that the stream is the same as in one call.
constexpr int64_t kChunk = 1024;

class Draw {
public:
  Draw(CpuKernel &e, RandomOp op, const Output &output)
      : e(e), evaluator(e), op(op), out(e.output(output.index)), type(op.getType()) {}
  LogicalResult emit();

private:
  CpuKernel &e;
  Evaluator evaluator;
  RandomOp op;
  const Buffer &out;
  TensorType type;
  Value stream;

  Value parameter(unsigned index, Type wanted) {
    Value from = op.getParameters()[index];
    return emitCast(e, evaluator.at(from, {}), cast<TensorType>(from.getType()).getElement(),
                    wanted);
  }
  LogicalResult refuse(const Twine &why) {
    return op.emitOpError() << op.getKind() << " " << why.str();
  }
  void makeStream();
  LogicalResult floats();
  LogicalResult categorical();
  /// Fills chunks on the stack, count elements in all, and converts them to the output's type.
  void inChunks(Type drawn, Value count,
                llvm::function_ref<Value(Value first, Value count, Value to)> fill);
};

void Draw::makeStream() {
  Type i64 = e.b.getI64Type();
  auto number = [&](Value from) {
    return emitCast(e, evaluator.at(from, {}), cast<TensorType>(from.getType()).getElement(), i64);
  };
  Value seed = number(op.getSeed()), counter = number(op.getCounter());
  Buffer words = e.scratch(i64, layout::mxrt_rng::kBytes / 8);
  e.call("mxrt_rng_seed", {words.address, seed});
  e.store(words, e.number(layout::mxrt_rng::position / 8), counter);
  stream = words.address;
}

void Draw::inChunks(Type drawn, Value count, llvm::function_ref<Value(Value, Value, Value)> fill) {
  Type pointer = e.pointer();
  Value null = LLVM::ZeroOp::create(e.b, pointer);
  Value status = e.variable(pointer, null);
  Buffer chunk = e.scratch(drawn, kChunk), flat = out;
  flat.strides = {e.number(1)};
  e.loop(e.number(0), count, kChunk, [&](Value first) {
    Value fine = LLVM::ICmpOp::create(e.b, LLVM::ICmpPredicate::eq, e.read(status, pointer), null);
    e.when(fine, [&] {
      Value left = e.min(e.number(kChunk), e.sub(count, first));
      e.write(status, fill(first, left, chunk.address));
      e.loop(e.number(0), left, 1, [&](Value i) {
        Value element = emitCast(e, e.load(chunk, i), drawn, type.getElement());
        e.store(flat, e.add(first, i), element);
      });
    });
  });
  e.failWith(e.read(status, pointer));
}

LogicalResult Draw::floats() {
  Type element = type.getElement();
  if (!isa<FloatType>(element))
    return refuse("generates floats");
  std::string name = "mxrt_random_" + op.getKind().str() + (element.isF64() ? "_f64" : "_f32");
  Type drawn = element.isF64() ? element : Type(e.b.getF32Type());
  Value first = parameter(0, drawn), second = parameter(1, drawn);
  Value count = e.elementCount(type);
  if (drawn == element) {
    e.failWith(e.call(name, {e.context, stream, first, second, count, out.address}));
    return success();
  }
  inChunks(drawn, count, [&](Value, Value part, Value to) {
    return e.call(name, {e.context, stream, first, second, part, to});
  });
  return success();
}

LogicalResult Draw::categorical() {
  Value logits = op.getParameters()[0];
  auto from = cast<TensorType>(logits.getType());
  auto argument = dyn_cast<BlockArgument>(logits);
  if (!argument || e.isStrided(argument) || !from.getElement().isF32())
    return refuse("needs dense f32 logits");
  if (!type.getElement().isInteger())
    return refuse("generates integers");
  Value classes = e.size(from.getSizes().back());
  Buffer rows = e.input(argument);
  rows.strides = {e.number(1)};
  inChunks(e.b.getI64Type(), e.elementCount(type), [&](Value first, Value part, Value to) {
    Value at = e.addressAt(rows, e.mul(first, classes));
    return e.call("mxrt_random_categorical_logits_f32", {e.context, stream, part, classes, at, to});
  });
  return success();
}

LogicalResult Draw::emit() {
  evaluator.prepare(op->getOperands());
  if (op.getKind() != "categorical" && !llvm::all_of(op.getParameters().getTypes(), isScalarTensor))
    return refuse("needs numbers");
  e.b.setLoc(op.getLoc());
  makeStream();
  StringRef kind = op.getKind();
  if (kind == "uniform" || kind == "normal")
    return floats();
  if (kind == "categorical")
    return categorical();
  Type element = type.getElement();
  Value count = e.elementCount(type);
  if (kind == "bernoulli") {
    if (!element.isInteger(1))
      return refuse("generates bools");
    e.failWith(e.call("mxrt_random_bernoulli",
                      {e.context, stream, parameter(0, e.b.getF64Type()), count, out.address}));
    return success();
  }
  bool isLong = element.isInteger(64);
  if (!isLong && !element.isInteger(32))
    return refuse("generates i32 or i64");
  std::string ending = isLong ? "_i64" : "_i32";
  if (kind == "randint") {
    e.failWith(e.call("mxrt_random_uniform" + ending, {e.context, stream, parameter(0, element),
                                                       parameter(1, element), count, out.address}));
    return success();
  }
  if (kind == "fork") {
    if (!isLong || type.rank() != 0)
      return refuse("returns one seed");
    // The number serves as the name; the seed is the first word of the child.
    Buffer name = e.scratch(element, 1), child = e.scratch(element, layout::mxrt_rng::kBytes / 8);
    e.store(name, e.number(0), parameter(0, element));
    e.call("mxrt_rng_fork", {stream, name.address, e.number(8), child.address});
    e.store(out, {}, e.load(child, e.number(0)));
    return success();
  }
  if (kind == "permutation") {
    e.failWith(e.call("mxrt_random_permutation" + ending, {e.context, stream, count, out.address}));
    return success();
  }
  return refuse("is not supported yet");
}

} // namespace

LogicalResult emitRandom(CpuKernel &e, const OutputGroup &group) {
  Operation *source = group.sources[0];
  for (const Output &output : group.outputs) {
    if (output.value.getDefiningOp() != source)
      return source->emitOpError() << "must be the last op of its kernel";
    if (failed(Draw(e, cast<RandomOp>(source), output).emit()))
      return failure();
  }
  return success();
}

} // namespace mx::lowering
