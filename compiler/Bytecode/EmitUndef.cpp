// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code generation for undefined values, which are never read: registers must hold a value of their
// kind when a block ends.
#include "Bytecode/FunctionEmitter.h"

using namespace mlir;

namespace mx::bytecode {

void FunctionEmitter::emitUndef(ir::UndefOp op) {
  Type type = op.getType();
  if (auto tensor = dyn_cast<ir::TensorType>(type); tensor && !tensor.isHost()) {
    Reg made = makeTensor(constantInt(0), tensor.withElement(IntegerType::get(op.getContext(), 64)));
    emit(Opcode::Copy, define(op.getResult()), made);
    return;
  }
  Kind kind = kindOf(type);
  switch (kind) {
  case Kind::Bool:
  case Kind::Int:
  case Kind::F32:
  case Kind::F64:
    loadConstant(define(op.getResult()), kind, 0);
    return;
  case Kind::DType:
    emit(Opcode::DTypeImm, define(op.getResult()), 0);
    return;
  case Kind::Str:
    emitWide(Opcode::Const, define(op.getResult()),
             int32_t(tables.builder.constant(std::string_view())));
    return;
  case Kind::Tuple:
    emit(Opcode::MakeTuple, define(op.getResult()), list({}));
    return;
  case Kind::Array:
    emit(Opcode::MakeArray, define(op.getResult()), list({}));
    return;
  case Kind::Struct: {
    // Parts of any kind are fine.
    auto aggregate = cast<ir::AggregateType>(type);
    SmallVector<uint16_t> parts(aggregate.getFields().size(), constantInt(0));
    uint16_t row = list(parts);
    emit(Opcode::MakeStruct, define(op.getResult()), tables.structType(aggregate), row);
    return;
  }
  default:
    error(op) << "of this type has no bytecode";
  }
}

} // namespace mx::bytecode
