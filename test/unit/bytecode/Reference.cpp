// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Reference.h"

using namespace mlir;

namespace mx::bytecode {

std::string show(const Plain &value, Type type) {
  if (auto aggregate = dyn_cast<ir::AggregateType>(type)) {
    std::string out = "(";
    for (auto [i, part] : llvm::enumerate(aggregate.getParts()))
      out += (i ? ", " : "") + show(value.parts[i], part);
    return out + ")";
  }
  if (cast<ir::TensorType>(type).isHost())
    return std::to_string(value.number);
  std::string out = "[";
  for (double number : value.tensor)
    out += " " + std::to_string(int64_t(number));
  return out + " ]";
}

std::vector<Plain> Reference::call(StringRef name, std::vector<Plain> args) {
  auto function = module.lookupSymbol<ir::FuncOp>(name);
  Values values;
  for (auto [argument, value] : llvm::zip(function.getBody().getArguments(), args))
    values[argument.getAsOpaquePointer()] = value;
  return block(function.getBody().front(), values);
}

std::vector<Plain> Reference::operands(Operation &op, Values &values) {
  std::vector<Plain> out;
  for (Value operand : op.getOperands())
    out.push_back(values[operand.getAsOpaquePointer()]);
  return out;
}

std::vector<Plain> Reference::block(Block &block, Values &values) {
  for (Operation &inner : block.without_terminator())
    op(inner, values);
  return operands(*block.getTerminator(), values);
}

void Reference::control(Operation &op, Values &values) {
  auto set = [&](ValueRange to, const std::vector<Plain> &from) {
    for (auto [i, value] : llvm::enumerate(to))
      values[value.getAsOpaquePointer()] = from[i];
  };
  std::vector<Plain> in = operands(op, values);
  if (auto branch = dyn_cast<ir::IfOp>(op)) {
    set(op.getResults(), block(op.getRegion(in[0].number ? 0 : 1).front(), values));
  } else if (auto loop = dyn_cast<ir::ForOp>(op)) {
    std::vector<Plain> carried(in.begin() + 2, in.end());
    Block &body = loop.getBody().front();
    for (int64_t i = in[0].number; i < in[1].number; ++i) {
      values[body.getArgument(0).getAsOpaquePointer()] = Plain{i, {}, {}, {}};
      set(body.getArguments().drop_front(), carried);
      carried = block(body, values);
    }
    set(op.getResults(), carried);
  } else if (auto loop = dyn_cast<ir::WhileOp>(op)) {
    std::vector<Plain> carried(in.begin(), in.begin() + long(loop.getCarried().size()));
    for (int64_t turn = 0;; ++turn) {
      set(loop.getCondition().getArguments(), carried);
      if (!block(loop.getCondition().front(), values)[0].number)
        break;
      if (loop.getLimit() && turn >= in.back().number)
        throw Raised{"loop limit reached"};
      set(loop.getBody().getArguments(), carried);
      carried = block(loop.getBody().front(), values);
    }
    set(op.getResults(), carried);
  } else {
    auto guarded = cast<ir::TryOp>(op);
    std::vector<Plain> out;
    try {
      out = block(guarded.getBody().front(), values);
    } catch (const Raised &) {
      out = block(guarded.getHandler().front(), values);
    }
    set(op.getResults(), out);
  }
}

void Reference::op(Operation &op, Values &values) {
  if (op.getNumRegions())
    return control(op, values);
  std::vector<Plain> in = operands(op, values);
  Plain out;
  auto isHost = [](Value value) { return cast<ir::TensorType>(value.getType()).isHost(); };
  auto arithmetic = [&](auto compute) {
    if (isHost(op.getResult(0))) {
      out.number = int64_t(compute(uint64_t(in[0].number), uint64_t(in[1].number)));
      return;
    }
    for (size_t i = 0; i < in[0].tensor.size(); ++i)
      out.tensor.push_back(compute(in[0].tensor[i], in[1].tensor[i]));
  };
  auto location = [&](const Plain &index, size_t count) {
    if (index.number < 0 || index.number >= int64_t(count))
      throw Raised{"index " + std::to_string(index.number) + " is outside"};
    return size_t(index.number);
  };
  if (auto constant = dyn_cast<ir::ConstantOp>(op)) {
    if (auto number = dyn_cast<IntegerAttr>(constant.getValue()))
      out.number =
          number.getType().isInteger(1) ? number.getValue().getZExtValue() : number.getInt();
    else
      out.number = int64_t(cast<FloatAttr>(constant.getValue()).getValueAsDouble());
  } else if (isa<ir::AddOp>(op)) {
    arithmetic([](auto x, auto y) { return x + y; });
  } else if (isa<ir::SubOp>(op)) {
    arithmetic([](auto x, auto y) { return x - y; });
  } else if (isa<ir::MulOp>(op)) {
    arithmetic([](auto x, auto y) { return x * y; });
  } else if (isa<ir::LtOp>(op)) {
    out.number = in[0].number < in[1].number;
  } else if (isa<ir::EqOp>(op)) {
    out.number = in[0].number == in[1].number;
  } else if (isa<ir::AndOp>(op)) {
    out.number = in[0].number && in[1].number;
  } else if (isa<ir::OrOp>(op)) {
    out.number = in[0].number || in[1].number;
  } else if (isa<ir::NotOp>(op)) {
    out.number = !in[0].number;
  } else if (isa<ir::SelectOp>(op)) {
    out = in[0].number ? in[1] : in[2];
  } else if (isa<ir::CastOp>(op)) {
    out = in[0];
  } else if (isa<ir::FullOp>(op)) {
    out.tensor.assign(4, double(in[0].number));
  } else if (isa<ir::UpdateOp>(op)) {
    size_t at = location(in[2], in[0].tensor.size());
    out = in[0];
    out.tensor[at] = double(in[1].number);
  } else if (isa<ir::MakeOp>(op)) {
    out.parts = in;
  } else if (auto get = dyn_cast<ir::GetOp>(op)) {
    out = in[0].parts[get.getPart()];
  } else if (auto set = dyn_cast<ir::SetOp>(op)) {
    out = in[0];
    out.parts[set.getPart()] = in[1];
  } else if (isa<ir::CellOp>(op)) {
    out.cell = std::make_shared<Plain>(in[0]);
  } else if (isa<ir::LoadOp>(op)) {
    out = *in[0].cell;
  } else if (isa<ir::StoreOp>(op)) {
    *in[1].cell = in[0];
    return;
  } else if (auto text = dyn_cast<ir::AssertOp>(op)) {
    if (!in[0].number)
      throw Raised{"assertion failed: " + text.getText().str()};
    return;
  } else if (isa<ir::PrintOp>(op)) {
    for (auto [i, value] : llvm::enumerate(in))
      output += (i ? " " : "") + show(value, op.getOperand(unsigned(i)).getType());
    output += "\n";
    return;
  } else if (auto callOp = dyn_cast<ir::CallOp>(op)) {
    std::vector<Plain> results = call(callOp.getCallee(), in);
    for (auto [i, result] : llvm::enumerate(op.getResults()))
      values[result.getAsOpaquePointer()] = results[i];
    return;
  } else {
    op.emitError() << "is not known to the reference";
    std::abort();
  }
  values[op.getResult(0).getAsOpaquePointer()] = out;
}

} // namespace mx::bytecode
