// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradient checking with central finite differences (`mxc test --grad`). Adds ordinary host code to
// the program: it moves each element of a differentiated argument a little both ways, calls the
// function, and asserts that the slope is close to the gradient.
#include "Graph/CheckGradients.h"
#include "dialects/mx/Marks.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace mx::graph {

void widenFloats(ModuleOp module) {
  Type wide = Float64Type::get(module.getContext());
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](FloatType type) -> std::optional<Type> { return wide; });
  auto widened = [](const APFloat &value) {
    APFloat out = value;
    bool loses = false;
    out.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
    return out;
  };
  replacer.addReplacement([&](FloatAttr number) -> std::optional<std::pair<Attribute, WalkResult>> {
    return std::pair<Attribute, WalkResult>(FloatAttr::get(wide, widened(number.getValue())),
                                            WalkResult::skip());
  });
  replacer.addReplacement(
      [&](DenseElementsAttr values) -> std::optional<std::pair<Attribute, WalkResult>> {
        if (!isa<FloatType>(values.getElementType()))
          return std::pair<Attribute, WalkResult>(values, WalkResult::skip());
        SmallVector<APFloat> numbers;
        for (const APFloat &value : values.getValues<APFloat>())
          numbers.push_back(widened(value));
        auto type = RankedTensorType::get(values.getType().getShape(), wide);
        return std::pair<Attribute, WalkResult>(DenseElementsAttr::get(type, numbers),
                                                WalkResult::skip());
      });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

namespace {

/// One step of a path into a value: a part of an aggregate or an element of an array.
struct Step {
  int64_t inValue, inGradient;
  bool isArray;
};

class Comparer {
public:
  Comparer(ir::GradOp grad, StringRef quiet, ArrayAttr names, int64_t maxElements)
      : grad(grad), quiet(quiet), names(names), maxElements(maxElements),
        b(grad.getLoc(), grad.getContext()) {
    b.setInsertionPointAfter(grad);
  }

  void run() {
    size_t own = grad.getNumResults() - grad.getWrt().size();
    for (auto [k, position] : llvm::enumerate(grad.getWrt())) {
      argument = static_cast<size_t>(position);
      SmallVector<Step> path;
      std::string name = "argument " + std::to_string(position);
      if (names && argument < names.size())
        if (auto found = cast<DictionaryAttr>(names[argument]).getAs<StringAttr>(ir::kName))
          name = found.getValue().str();
      leaves(grad.getArgs()[argument], grad.getResult(static_cast<unsigned>(own + k)), path, name);
    }
  }

private:
  ir::GradOp grad;
  StringRef quiet;
  ArrayAttr names;
  int64_t maxElements;
  ImplicitLocOpBuilder b;
  size_t argument = 0;

  Value whole(int64_t value) {
    return ir::ConstantOp::create(b, ir::TensorType::host(b.getI64Type()),
                                  b.getI64IntegerAttr(value));
  }
  Value real(double value) {
    return ir::ConstantOp::create(b, ir::TensorType::host(b.getF64Type()),
                                  b.getF64FloatAttr(value));
  }
  Value math(StringRef op, ArrayRef<Value> operands, Type element = {}) {
    return ir::makeElementwise(b, b.getLoc(), op, operands, element);
  }
  Value part(Value of, int64_t index, bool isArray) {
    if (isArray)
      return ir::AtOp::create(b, cast<ir::ArrayType>(of.getType()).getElement(), of, whole(index));
    auto type = cast<ir::AggregateType>(of.getType());
    return ir::GetOp::create(b, type.getParts()[static_cast<size_t>(index)], of,
                             b.getI64IntegerAttr(index));
  }
  Value with(Value of, ArrayRef<Step> path, Value leaf) {
    if (path.empty())
      return leaf;
    Step step = path.front();
    Value inner = with(part(of, step.inValue, step.isArray), path.drop_front(), leaf);
    if (step.isArray)
      return ir::SetAtOp::create(b, of.getType(), of, whole(step.inValue), inner);
    return ir::SetOp::create(b, of.getType(), of, inner, b.getI64IntegerAttr(step.inValue));
  }

  void leaves(Value value, Value gradient, SmallVector<Step> &path, const std::string &name) {
    auto deeper = [&](Step step, const std::string &word) {
      path.push_back(step);
      leaves(part(value, step.inValue, step.isArray), part(gradient, step.inGradient, step.isArray),
             path, name + "." + word);
      path.pop_back();
    };
    if (auto array = dyn_cast<ir::ArrayType>(value.getType())) {
      for (int64_t i = 0; i < array.getCount().constant().value_or(0); ++i)
        deeper({i, i, true}, std::to_string(i));
    } else if (auto aggregate = dyn_cast<ir::AggregateType>(value.getType())) {
      auto parts = cast<ir::AggregateType>(gradient.getType());
      for (auto [i, field] : llvm::enumerate(parts.getFields()))
        for (auto [k, other] : llvm::enumerate(aggregate.getFields()))
          if (field == other)
            deeper({static_cast<int64_t>(k), static_cast<int64_t>(i), false},
                   cast<StringAttr>(field).getValue().str());
    } else if (isa<ir::TensorType>(value.getType())) {
      compare(value, gradient, path, name);
    }
  }

  /// The function's value with one element of the leaf changed.
  Value moved(Value flat, Value index, Value number, ir::TensorType leaf, ArrayRef<Step> path) {
    auto one = ir::TensorType::get(b.getContext(), b.getF64Type(), ArrayRef<ir::SizeAttr>());
    Value changed =
        ir::UpdateOp::create(b, flat.getType(), flat, ir::ToDeviceOp::create(b, one, number),
                             ValueRange{index}, b.getStrArrayAttr({"i"}));
    changed = ir::ReshapeOp::create(b, leaf, changed);
    SmallVector<Value> args(grad.getArgs());
    args[argument] = with(args[argument], path, changed);
    size_t own = grad.getNumResults() - grad.getWrt().size();
    SmallVector<Type> types(TypeRange(grad.getResultTypes()).take_front(own));
    Value out = ir::CallOp::create(b, types, quiet, args, grad.getSizes()).getResult(0);
    return asHost(out);
  }
  Value asHost(Value number) {
    auto type = cast<ir::TensorType>(number.getType());
    if (type.isHost())
      return number;
    return ir::ReadOp::create(b, ir::TensorType::host(type.getElement()), number);
  }
  Value text(StringRef value) {
    return ir::TextOp::create(b, ir::StrType::get(b.getContext()), b.getStringAttr(value));
  }
  Value shown(Value number) {
    return ir::FormatOp::create(b, ir::StrType::get(b.getContext()), number, b.getStringAttr(""));
  }

  void compare(Value value, Value gradient, ArrayRef<Step> path, const std::string &name) {
    auto leaf = cast<ir::TensorType>(value.getType());
    if (!isa<FloatType>(leaf.getElement()) || leaf.isHost())
      return;
    ir::SizeTable &table = b.getContext()->getOrLoadDialect<ir::MxDialect>()->sizes();
    ir::SizeAttr count;
    {
      std::lock_guard guard(table.lock);
      Dim all = table.dims.constant(1);
      for (ir::SizeAttr size : leaf.getSizes())
        all = all ? table.dims.mul(all, size.dim()) : all;
      count = ir::SizeAttr::get(b.getContext(), all ? all : table.dims.constant(0));
    }
    ir::TensorType line = leaf.withSizes({count});
    Value flat = ir::ReshapeOp::create(b, line, value);
    Value slopes = ir::ReshapeOp::create(b, line, gradient);
    Value n = ir::SizeOp::create(b, ir::TensorType::host(b.getI64Type()), count);
    // Samples large tensors at evenly spaced elements.
    Value looks = math("minimum", {n, whole(maxElements)});
    auto loop = ir::ForOp::create(b, TypeRange(), whole(0), looks, ValueRange());
    OpBuilder::InsertionGuard guard(b);
    Block *block = b.createBlock(&loop.getBody());
    Value iteration = block->addArgument(n.getType(), b.getLoc());
    Value index = math("floordiv", {math("mul", {iteration, n}), looks});
    auto one = leaf.withSizes({});
    auto at = [&](Value from) {
      return asHost(ir::SliceOp::create(b, one, from, ValueRange{index}, b.getStrArrayAttr({"i"})));
    };
    Value x = at(flat), slope = at(slopes);
    Value step = math("mul", {real(1e-5), math("maximum", {math("abs", {x}), real(1e-2)})});
    Value up = moved(flat, index, math("add", {x, step}), leaf, path);
    Value down = moved(flat, index, math("sub", {x, step}), leaf, path);
    Value difference =
        math("div", {math("sub", {up, down}), math("mul", {real(2), step})}, b.getF64Type());
    Value apart = math("abs", {math("sub", {difference, slope})});
    Value size = math("maximum", {math("abs", {difference}), math("abs", {slope})});
    // The rounding error of the value itself grows with its magnitude.
    Value noise =
        math("div", {math("mul", {real(1e-14), math("abs", {up})}), step}, b.getF64Type());
    Value limit = math("add", {math("add", {math("mul", {real(1e-4), size}), real(1e-7)}), noise});
    Value fine = math("le", {apart, limit}, b.getI1Type());
    Value message = ir::JoinOp::create(b, ir::StrType::get(b.getContext()),
                                       ValueRange{text("the gradient by `" + name + "` at number "),
                                                  shown(index), text(" is "), shown(slope),
                                                  text(", differences say "), shown(difference)});
    ir::AssertOp::create(b, fine, message, b.getStringAttr("gradients agree with differences"));
    ir::YieldOp::create(b, ValueRange());
  }
};

} // namespace

int compareGradients(ModuleOp module, int64_t maxElements) {
  SymbolTable symbols(module);
  SmallVector<ir::GradOp> grads;
  module.walk([&](ir::GradOp grad) {
    if (grad->getParentOfType<ir::FuncOp>() && !grad->hasAttr(ir::kForward))
      grads.push_back(grad);
  });
  for (ir::GradOp grad : grads) {
    auto body = symbols.lookup<FunctionOpInterface>(grad.getCallee());
    if (!body || body.isExternal())
      continue;
    // Finite differences call the function many times; the clone has no prints and no stores to
    // variables, so that these happen only once.
    Operation *quiet = body->clone();
    SymbolTable::setSymbolName(quiet, (grad.getCallee() + "$quiet").str());
    symbols.insert(quiet, std::next(body->getIterator()));
    SmallVector<Operation *> loud;
    quiet->walk([&](Operation *op) {
      if (isa<ir::PrintOp, ir::GlobalStoreOp>(op))
        loud.push_back(op);
    });
    for (Operation *op : loud)
      op->erase();
    Comparer(grad, SymbolTable::getSymbolName(quiet).getValue(), body.getAllArgAttrs(), maxElements)
        .run();
  }
  return static_cast<int>(grads.size());
}

} // namespace mx::graph
