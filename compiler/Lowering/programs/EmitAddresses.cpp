// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Addresses of buffers, values of sizes, and the constants of a program's code.
#include "Lowering/programs/ProgramEmitter.h"
#include "mlir/IR/Matchers.h"
#include <mutex>

using namespace mlir;

namespace mx::lowering {

Value ProgramEmitter::number(int64_t value) {
  return LLVM::ConstantOp::create(b, b.getI64Type(), b.getI64IntegerAttr(value));
}
Value ProgramEmitter::offset(Value base, int64_t bytes) {
  if (bytes == 0)
    return base;
  // As an operand: the constant form of an index holds 32 bits.
  return LLVM::GEPOp::create(b, pointer, b.getI8Type(), base, ValueRange{number(bytes)});
}
Value ProgramEmitter::element(Value base, Type type, int64_t index) {
  if (index == 0)
    return base;
  return LLVM::GEPOp::create(b, pointer, type, base,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
}
/// Loads from the caller's arrays, which do not change during the call.
Value ProgramEmitter::loadElement(Value base, Type type, int64_t index) {
  auto load = LLVM::LoadOp::create(b, type, element(base, type, index));
  load.setInvariant(true);
  return load;
}

Value ProgramEmitter::address(Value buffer) {
  if (auto slice = buffer.getDefiningOp<rt::SliceOp>())
    return offset(arenas.lookup(slice.getType().getDevice()), slice.getOffset());
  if (Value slot = slots.lookup(buffer))
    return slot;
  return loadElement(function.getArgument(1), pointer, arguments.lookup(buffer));
}

/// A bool is a byte in memory, 0 or 1.
Value ProgramEmitter::loadNumber(Value from, Type type) {
  if (!type.isInteger(1))
    return LLVM::LoadOp::create(b, type, from);
  Value byte = LLVM::LoadOp::create(b, b.getI8Type(), from);
  Value zero = LLVM::ConstantOp::create(b, b.getI8Type(), b.getI8IntegerAttr(0));
  return LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::ne, byte, zero);
}

/// Stack memory for the whole call.
Value ProgramEmitter::stack(Type type, int64_t count) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(entry);
  return LLVM::AllocaOp::create(b, pointer, type, number(count), /*alignment=*/16);
}

// ------------------------------------------------------------------------------ sizes

Value ProgramEmitter::size(ir::SizeAttr size) {
  if (std::optional<int64_t> value = size.constant())
    return number(*value);
  ir::SizeTable &table = b.getContext()->getOrLoadDialect<ir::MxDialect>()->sizes();
  std::lock_guard guard(table.lock);
  return sizeOf(size.dim(), table.dims);
}
Value ProgramEmitter::sizeOf(Dim dim, const DimContext &dims) {
  Value sum;
  for (const DimTerm &term : dim->terms) {
    Value product;
    if (term.coefficient != 1 || term.atoms.empty())
      product = number(term.coefficient);
    for (AtomId atom : term.atoms) {
      Value factor = dims.isSymbol(atom) ? openSizes.lookup(dims.symbolInfo(atom).name)
                                         : floorDivide(sizeOf(dims.numerator(atom), dims),
                                                       sizeOf(dims.denominator(atom), dims));
      product = product ? Value(LLVM::MulOp::create(b, product, factor)) : factor;
    }
    sum = sum ? Value(LLVM::AddOp::create(b, sum, product)) : product;
  }
  return sum ? sum : number(0);
}
/// As floorDivide() of Support/CheckedMath.h, without a trap.
Value ProgramEmitter::floorDivide(Value x, Value y) {
  auto compare = [&](LLVM::ICmpPredicate predicate, Value a, Value c) -> Value {
    return LLVM::ICmpOp::create(b, predicate, a, c);
  };
  Value zero = number(0), one = number(1);
  APInt known;
  if (matchPattern(y, m_ConstantInt(&known)) && known.isStrictlyPositive()) {
    Value quotient = LLVM::SDivOp::create(b, x, y), rest = LLVM::SRemOp::create(b, x, y);
    Value less = LLVM::SubOp::create(b, quotient, one);
    return LLVM::SelectOp::create(b, compare(LLVM::ICmpPredicate::slt, rest, zero), less, quotient);
  }
  Value isZero = compare(LLVM::ICmpPredicate::eq, y, zero);
  Value isMinus = compare(LLVM::ICmpPredicate::eq, y, number(-1));
  Value safe = LLVM::SelectOp::create(b, LLVM::OrOp::create(b, isZero, isMinus), one, y);
  Value quotient = LLVM::SDivOp::create(b, x, safe), rest = LLVM::SRemOp::create(b, x, safe);
  Value differ = compare(LLVM::ICmpPredicate::slt, LLVM::XOrOp::create(b, rest, safe), zero);
  Value down = LLVM::AndOp::create(b, differ, compare(LLVM::ICmpPredicate::ne, rest, zero));
  Value less = LLVM::SubOp::create(b, quotient, one);
  Value floor = LLVM::SelectOp::create(b, down, less, quotient);
  floor = LLVM::SelectOp::create(b, isMinus, LLVM::SubOp::create(b, zero, x), floor);
  return LLVM::SelectOp::create(b, isZero, zero, floor);
}

// ------------------------------------------------------------------------------ constants

Value ProgramEmitter::text(StringRef value) {
  LLVM::GlobalOp &global = texts[value];
  if (!global) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    std::string terminated = value.str() + '\0';
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), terminated.size());
    global = LLVM::GlobalOp::create(b, type, /*isConstant=*/true, LLVM::Linkage::Internal,
                                    "mx.text." + std::to_string(texts.size() - 1),
                                    b.getStringAttr(terminated));
  }
  return LLVM::AddressOfOp::create(b, global);
}

FileLineColRange sourceOf(Location loc) {
  FileLineColRange found;
  loc->walk([&](Location part) {
    if (auto file = dyn_cast<FileLineColRange>(part)) {
      found = file;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return found;
}

/// The address of an mxrt_location; null if the location is not known.
Value ProgramEmitter::location(Location loc) {
  FileLineColRange source = sourceOf(loc);
  if (!source)
    return LLVM::ZeroOp::create(b, pointer);
  LLVM::GlobalOp &global = locations[source];
  if (!global) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    auto type =
        LLVM::LLVMStructType::getLiteral(b.getContext(), {pointer, b.getI32Type(), b.getI32Type()});
    global =
        LLVM::GlobalOp::create(b, type, /*isConstant=*/true, LLVM::Linkage::Internal,
                               "mx.location." + std::to_string(locations.size() - 1), Attribute());
    b.createBlock(&global.getInitializer());
    Value value = LLVM::UndefOp::create(b, type);
    auto set = [&](Value part, int64_t at) {
      value = LLVM::InsertValueOp::create(b, value, part, ArrayRef<int64_t>{at});
    };
    auto number = [&](unsigned n) -> Value {
      return LLVM::ConstantOp::create(b, b.getI32Type(), b.getI32IntegerAttr(n));
    };
    set(text(source.getFilename()), 0);
    set(number(source.getStartLine()), 1);
    set(number(source.getStartColumn()), 2);
    LLVM::ReturnOp::create(b, value);
  }
  return LLVM::AddressOfOp::create(b, global);
}

LLVM::LLVMFuncOp ProgramEmitter::kernel(StringRef name) {
  LLVM::LLVMFuncOp &declared = kernelFunctions[name];
  if (!declared) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(module.getBody());
    declared = LLVM::LLVMFuncOp::create(
        b, name, LLVM::LLVMFunctionType::get(pointer, {pointer, pointer, pointer}));
  }
  return declared;
}

} // namespace mx::lowering
