// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code generation for calls of functions, graphs, function values and natives. Sizes come before
// the arguments. A `mut` argument is passed in a register, which holds its new value, the result,
// afterwards.
#include "Bytecode/FunctionEmitter.h"

using namespace mlir;

namespace mx::bytecode {

bool FunctionEmitter::emitCallOp(Operation *op) {
  if (auto call = dyn_cast<ir::CallOp>(op))
    emitCall(call);
  else if (auto closure = dyn_cast<ir::ClosureOp>(op))
    emitClosure(closure);
  else if (auto call = dyn_cast<ir::CallValueOp>(op))
    emitCallValue(call);
  else if (auto native = dyn_cast<ir::NativeOp>(op))
    emitNative(native);
  else
    return false;
  return true;
}

void FunctionEmitter::callWithResults(Opcode opcode, uint16_t callee, uint16_t arguments,
                                      ValueRange results) {
  if (results.empty()) {
    releaseOperands();
    emit(opcode, host::noRegister, callee, arguments);
    return;
  }
  if (results.size() == 1) {
    releaseOperands();
    emit(opcode, defineIfUsed(results[0]), callee, arguments);
    return;
  }
  // Several results come as a tuple. Its parts are moved out, so that each has one owner.
  Reg tuple = temp(Kind::Tuple);
  releaseOperands();
  emit(opcode, tuple, callee, arguments);
  for (auto [i, result] : llvm::enumerate(results))
    if (!live.isUnused(result))
      emit(Opcode::Take, define(result), tuple, uint16_t(i));
}

void FunctionEmitter::emitCall(ir::CallOp op) {
  const Callee *callee = tables.callee(op.getCallee());
  if (!callee) {
    error(op) << "calls `" << op.getCallee() << "`, which is not there";
    return;
  }
  if (callee->sizeCount != op.getSizes().size() ||
      callee->params.size() != op.getSizes().size() + op.getArgs().size() ||
      callee->mutArguments.size() + callee->results.size() != op->getNumResults()) {
    error(op) << "does not fit the sizes, arguments and results of `" << op.getCallee() << "`";
    return;
  }
  SmallVector<uint16_t> operands;
  for (Attribute each : op.getSizes())
    operands.push_back(size(cast<ir::SizeAttr>(each)));
  for (auto [i, argument] : llvm::enumerate(op.getArgs()))
    operands.push_back(callee->params[callee->sizeCount + i].isMut ? 0 : use(argument));
  for (auto [i, which] : llvm::enumerate(callee->mutArguments)) {
    Reg reg = defineFrom(op.getArgs()[which], op->getResult(unsigned(i)));
    operands[callee->sizeCount + which] = uint16_t(reg | host::mutBit);
  }
  for (auto [i, param] : llvm::enumerate(callee->params))
    if (registers.kind(operands[i] & ~host::mutBit) != param.kind) {
      error(op) << "operand " << i << " is not of the type that `" << op.getCallee() << "` takes";
      return;
    }
  uint16_t row = callee->isGraph ? tables.graphImport(op.getCallee(), *callee) : callee->row;
  callWithResults(callee->isGraph ? Opcode::CallGraph : Opcode::Call, row, list(operands),
                  op->getResults().drop_front(callee->mutArguments.size()));
}

void FunctionEmitter::emitClosure(ir::ClosureOp op) {
  const Callee *callee = tables.callee(op.getCallee());
  if (!callee || callee->sizeCount != op.getSizes().size() ||
      callee->params.size() < op.getSizes().size() + op.getCaptured().size()) {
    error(op) << "does not fit `" << op.getCallee() << "`";
    return;
  }
  if (!callee->mutArguments.empty()) {
    error(op) << "`" << op.getCallee() << "` has mut parameters, so it cannot be a value";
    return;
  }
  SmallVector<uint16_t> captured;
  for (Attribute each : op.getSizes())
    captured.push_back(size(cast<ir::SizeAttr>(each)));
  for (Value value : op.getCaptured())
    captured.push_back(use(value));
  uint16_t row = callee->isGraph ? tables.graphAsFunction(op.getCallee(), *callee) : callee->row;
  uint16_t arguments = list(captured);
  releaseOperands();
  emit(Opcode::Closure, define(op.getResult()), row, arguments);
}

void FunctionEmitter::emitCallValue(ir::CallValueOp op) {
  Reg callee = use(op.getCallee());
  SmallVector<uint16_t> operands;
  for (Value argument : op.getArgs())
    operands.push_back(use(argument));
  callWithResults(Opcode::CallValue, callee, list(operands), op->getResults());
}

void FunctionEmitter::emitNative(ir::NativeOp op) {
  SmallVector<uint16_t> operands;
  std::vector<ParamData> params;
  for (Value argument : op.getArgs()) {
    operands.push_back(use(argument));
    params.push_back({kindOf(argument.getType()), false});
  }
  Kind result = op.getResult() ? kindOf(op.getResult().getType()) : Kind::Unit;
  uint16_t row = tables.import(ImportKind::Native, op.getName(), std::move(params), result);
  callWithResults(Opcode::CallNative, row, list(operands), op->getResults());
}

} // namespace mx::bytecode
