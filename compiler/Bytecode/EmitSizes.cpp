// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code generation for constants and sizes, with common subexpression elimination: each is computed
// once in a block and kept in its register until the block ends; nested blocks reuse it.
#include "Bytecode/FunctionEmitter.h"
#include <bit>

using namespace mlir;

namespace mx::bytecode {

Reg FunctionEmitter::ownedByScope(Kind kind) {
  Reg reg = registers.take(kind);
  scopes.back().owned.push_back(reg);
  return reg;
}

Reg FunctionEmitter::constant(Kind kind, uint64_t bits) {
  for (Scope &scope : llvm::reverse(scopes))
    if (auto found = scope.constants.find({kind, bits}); found != scope.constants.end())
      return found->second;
  Reg reg = ownedByScope(kind);
  scopes.back().constants[{kind, bits}] = reg;
  loadConstant(reg, kind, bits);
  return reg;
}

void FunctionEmitter::loadConstant(Reg reg, Kind kind, uint64_t bits) {
  if (kind == Kind::Bool) {
    emit(Opcode::BoolImm, reg, uint16_t(bits));
    return;
  }
  if (kind == Kind::Int && int64_t(bits) == int32_t(bits)) {
    emitWide(Opcode::IntImm, reg, int32_t(bits));
    return;
  }
  host::ModuleBuilder &builder = tables.builder;
  uint32_t row = kind == Kind::Int   ? builder.constant(int64_t(bits))
                 : kind == Kind::F32 ? builder.constantF32(std::bit_cast<float>(uint32_t(bits)))
                                     : builder.constantF64(std::bit_cast<double>(bits));
  emitWide(Opcode::Const, reg, int32_t(row));
}

Reg FunctionEmitter::size(ir::SizeAttr size) {
  if (std::optional<int64_t> value = size.constant())
    return constantInt(*value);
  ir::SizeTable &table = size.getContext()->getOrLoadDialect<ir::MxDialect>()->sizes();
  std::lock_guard guard(table.lock);
  Dim dim = size.dim();
  if (!dim) {
    error(current.op) << "the size " << size << " is too large";
    return 0;
  }
  return evaluate(dim, table);
}

Reg FunctionEmitter::evaluate(Dim dim, ir::SizeTable &table) {
  if (std::optional<int64_t> value = dim.constant())
    return constantInt(*value);
  const DimTerm &first = dim->terms.front();
  if (dim->terms.size() == 1 && first.coefficient == 1 && first.atoms.size() == 1)
    return evaluateAtom(first.atoms.front(), table);
  if (std::optional<Reg> known = knownSize(dim))
    return *known;
  Reg sum = ownedByScope(Kind::Int), part = registers.take(Kind::Int), before = 0;
  // The constant term comes first in normal form and is cheapest at the end.
  for (auto [i, term] : llvm::enumerate(llvm::reverse(dim->terms))) {
    if (i == 0) {
      before = evaluateTerm(term, sum, table);
      continue;
    }
    if (term.atoms.empty() && term.coefficient == int16_t(term.coefficient))
      emit(Opcode::AddImm, sum, before, uint16_t(term.coefficient));
    else
      emit(Opcode::AddInt, sum, before, evaluateTerm(term, part, table));
    before = sum;
  }
  registers.free(part);
  scopes.back().sizes[dim.get()] = sum;
  return sum;
}

/// The result is in `scratch`, or in the register that already holds it.
Reg FunctionEmitter::evaluateTerm(const DimTerm &term, Reg scratch, ir::SizeTable &table) {
  if (term.atoms.empty())
    return constantInt(term.coefficient);
  Reg product = evaluateAtom(term.atoms.front(), table);
  for (AtomId atom : llvm::drop_begin(term.atoms)) {
    emit(Opcode::MulInt, scratch, product, evaluateAtom(atom, table));
    product = scratch;
  }
  if (term.coefficient == 1)
    return product;
  emit(Opcode::MulInt, scratch, product, constantInt(term.coefficient));
  return scratch;
}

Reg FunctionEmitter::evaluateAtom(AtomId atom, ir::SizeTable &table) {
  if (table.dims.isSymbol(atom)) {
    const std::string &name = table.dims.symbolInfo(atom).name;
    for (Scope &scope : llvm::reverse(scopes))
      if (auto found = scope.names.find(name); found != scope.names.end())
        return found->second;
    error(current.op) << "uses the size " << name << ", which has no value here";
    return 0;
  }
  Dim whole = table.dims.term(1, {atom});
  if (std::optional<Reg> known = knownSize(whole))
    return *known;
  Reg numerator = evaluate(table.dims.numerator(atom), table);
  Reg denominator = evaluate(table.dims.denominator(atom), table);
  Reg quotient = ownedByScope(Kind::Int);
  emit(Opcode::FloorDivInt, quotient, numerator, denominator);
  scopes.back().sizes[whole.get()] = quotient;
  return quotient;
}

std::optional<Reg> FunctionEmitter::knownSize(Dim dim) {
  for (Scope &scope : llvm::reverse(scopes)) {
    if (auto found = scope.sizes.find(dim.get()); found != scope.sizes.end())
      return found->second;
    if (scope.hidesSizes)
      break;
  }
  return std::nullopt;
}

void FunctionEmitter::bindSize(ir::BindSizeOp op) {
  Reg from = use(op.getValue());
  Reg reg = from;
  if (!isPinned(op.getValue())) {
    reg = ownedByScope(Kind::Int);
    emit(Opcode::Mov, reg, from);
  }
  Scope &scope = scopes.back();
  for (Scope &outer : scopes)
    if (outer.names.contains(op.getName())) {
      scope.hidesSizes = true;
      scope.sizes.clear();
    }
  scope.names[op.getName()] = reg;
}

void FunctionEmitter::appendSizes(SmallVector<uint16_t> &operands, ir::TensorType type) {
  for (ir::SizeAttr each : type.getSizes())
    operands.push_back(size(each));
}

} // namespace mx::bytecode
