// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values, buffers and sizes of a kernel, memory accesses, loops.
#include "Lowering/kernels/KernelEmitter.h"
#include "dialects/mx/Over.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"

using namespace mlir;
using namespace mx::ir;

namespace mx::lowering {

void KernelEmitter::begin(LLVM::LLVMFuncOp made) {
  function = made;
  entry = function.addEntryBlock(b);
  Block *body = b.createBlock(&function.getBody(), function.getBody().end());
  b.setInsertionPointToEnd(entry);
  cf::BranchOp::create(b, body);
  makeBuffers();
  b.setInsertionPointToEnd(body);
}

// ---------------------------------------------------------------------------------------- values

Value KernelEmitter::number(int64_t value) {
  Value &known = numbers[value];
  if (!known)
    known = inEntry([&] { return constant(b.getI64Type(), b.getI64IntegerAttr(value)); });
  return known;
}
std::optional<int64_t> KernelEmitter::known(Value number) {
  auto op = number.getDefiningOp<arith::ConstantOp>();
  if (!op || !op.getType().isInteger(64))
    return std::nullopt;
  return cast<IntegerAttr>(op.getValue()).getInt();
}
Value KernelEmitter::add(Value x, Value y) {
  std::optional<int64_t> a = known(x), c = known(y);
  int64_t sum = 0;
  if (a && c && !__builtin_add_overflow(*a, *c, &sum))
    return number(sum);
  if (a == 0 || c == 0)
    return a == 0 ? y : x;
  return arith::AddIOp::create(b, x, y);
}
Value KernelEmitter::mul(Value x, Value y) {
  std::optional<int64_t> a = known(x), c = known(y);
  int64_t product = 0;
  if (a && c && !__builtin_mul_overflow(*a, *c, &product))
    return number(product);
  if (a == 1 || c == 1)
    return a == 1 ? y : x;
  return arith::MulIOp::create(b, x, y);
}
Value KernelEmitter::sub(Value x, Value y) {
  std::optional<int64_t> a = known(x), c = known(y);
  int64_t rest = 0;
  if (a && c && !__builtin_sub_overflow(*a, *c, &rest))
    return number(rest);
  return c == 0 ? x : Value(arith::SubIOp::create(b, x, y));
}
Value KernelEmitter::min(Value x, Value y) {
  if (std::optional<int64_t> a = known(x), c = known(y); a && c)
    return number(std::min(*a, *c));
  return arith::MinSIOp::create(b, x, y);
}
Value KernelEmitter::constant(Type type, Attribute value) {
  return arith::ConstantOp::create(b, type, cast<TypedAttr>(value));
}
Value KernelEmitter::constantOf(Type type, double value) {
  if (isa<FloatType>(type))
    return constant(type, b.getFloatAttr(type, value));
  return constant(type, b.getIntegerAttr(type, static_cast<int64_t>(value)));
}
arith::FastMathFlags KernelEmitter::fast() const {
  return options.fastMath ? arith::FastMathFlags::fast : arith::FastMathFlags::none;
}

Value KernelEmitter::floorDivide(Value x, Value y) {
  Value zero = number(0), one = number(1), minus = number(-1);
  Value isZero = compare(arith::CmpIPredicate::eq, y, zero);
  Value isMinus = compare(arith::CmpIPredicate::eq, y, minus);
  Value safe = choose(arith::OrIOp::create(b, isZero, isMinus), one, y);
  Value quotient = arith::DivSIOp::create(b, x, safe);
  Value rest = sub(x, mul(quotient, safe));
  Value differ = compare(arith::CmpIPredicate::slt, arith::XOrIOp::create(b, rest, safe), zero);
  Value down = arith::AndIOp::create(b, differ, compare(arith::CmpIPredicate::ne, rest, zero));
  return choose(isMinus, sub(zero, x), choose(down, sub(quotient, one), quotient));
}
/// As floorDivide() of Support/CheckedMath.h.
Value KernelEmitter::floorDivideSizes(Value x, Value y) {
  Value quotient = floorDivide(x, y);
  if (std::optional<int64_t> divisor = known(y); divisor && *divisor != 0)
    return quotient;
  return choose(compare(arith::CmpIPredicate::eq, y, number(0)), number(0), quotient);
}

/// Emits a size as code; the caller holds the lock of the context's sizes.
Value KernelEmitter::sizeOf(Dim dim) {
  SizeTable &table = b.getContext()->getOrLoadDialect<MxDialect>()->sizes();
  Value sum;
  for (const DimTerm &term : dim->terms) {
    Value product =
        term.coefficient == 1 && !term.atoms.empty() ? Value() : number(term.coefficient);
    for (AtomId atom : term.atoms) {
      Value factor;
      if (table.dims.isSymbol(atom)) {
        auto name = b.getStringAttr(table.dims.symbolInfo(atom).name);
        Value &known = sizeValues[name];
        if (!known)
          for (auto [i, declared] : llvm::enumerate(kernel.getSizes()))
            if (declared == name)
              known = sizeArgument(static_cast<int64_t>(i));
        factor = known;
      } else {
        Value over = sizeOf(table.dims.numerator(atom)), by = sizeOf(table.dims.denominator(atom));
        factor = over && by ? floorDivideSizes(over, by) : Value();
      }
      if (!factor)
        return {};
      product = product ? mul(product, factor) : factor;
    }
    sum = sum ? add(sum, product) : product;
  }
  return sum ? sum : number(0);
}
Value KernelEmitter::size(SizeAttr size) {
  if (std::optional<int64_t> value = size.constant())
    return number(*value);
  Value known = sizeValues.lookup(size);
  if (!known) {
    SizeTable &table = b.getContext()->getOrLoadDialect<MxDialect>()->sizes();
    std::lock_guard guard(table.lock);
    Dim dim = size.dim();
    known = inEntry([&] { return dim ? sizeOf(dim) : Value(); });
    if (!known) // LowerKernel.cpp has checked that all names are declared.
      known = number(0);
    sizeValues[size] = known;
  }
  return known;
}
SmallVector<Value> KernelEmitter::sizesOf(TensorType type) {
  SmallVector<Value> out;
  for (SizeAttr s : type.getSizes())
    out.push_back(size(s));
  return out;
}
Value KernelEmitter::elementCount(TensorType type) {
  Value count = number(1);
  for (Value s : sizesOf(type))
    count = mul(count, s);
  return count;
}

// ---------------------------------------------------------------------------------------- memory

Type KernelEmitter::codeType(Type element) const {
  if (element.isUnsignedInteger())
    return IntegerType::get(element.getContext(), element.getIntOrFloatBitWidth());
  return element;
}
Type KernelEmitter::memoryType(Type element) const {
  if (element.isInteger(1))
    return IntegerType::get(element.getContext(), 8);
  return codeType(element);
}

SmallVector<Value> KernelEmitter::denseStrides(TensorType type) {
  SmallVector<Value> strides(type.rank());
  Value stride = number(1);
  for (size_t i = type.rank(); i-- > 0;) {
    strides[i] = stride;
    if (i > 0)
      stride = type.getSizes()[i].constant() == 1 ? stride : mul(stride, size(type.getSizes()[i]));
  }
  return strides;
}

Value KernelEmitter::workspace() {
  return inEntry([&]() -> Value {
    if (kernel.getWorkspace() == 0)
      return LLVM::ZeroOp::create(b, pointer());
    return bufferArgument(static_cast<unsigned>(inputs.size() + outputs.size()));
  });
}

void KernelEmitter::makeBuffers() {
  b.setInsertionPoint(entry->getTerminator());
  // Outputs do not alias anything else: without this, a loop would begin with many runtime alias
  // checks, or not be vectorised at all.
  auto domain = LLVM::AliasScopeDomainAttr::get(b.getContext(), b.getStringAttr("kernel"));
  SmallVector<Attribute> scopes{LLVM::AliasScopeAttr::get(domain, b.getStringAttr("inputs"))};
  for (unsigned i = 0; i < kernel.getNumResults(); ++i)
    scopes.push_back(
        LLVM::AliasScopeAttr::get(domain, b.getStringAttr("output " + std::to_string(i))));
  auto makeBuffer = [&](unsigned index, TensorType type, size_t scope) {
    Buffer buffer;
    buffer.address = bufferArgument(index);
    buffer.element = type.getElement();
    buffer.scopes = b.getArrayAttr(scopes[scope]);
    SmallVector<Attribute> others;
    for (auto [i, other] : llvm::enumerate(scopes))
      if (i != scope)
        others.push_back(other);
    buffer.others = b.getArrayAttr(others);
    return buffer;
  };
  unsigned index = 0;
  auto strideAt = static_cast<int64_t>(kernel.getSizes().size());
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    auto type = cast<TensorType>(argument.getType());
    Buffer buffer = makeBuffer(index, type, 0);
    if (isStrided(argument))
      for (size_t i = 0; i < type.rank(); ++i)
        buffer.strides.push_back(sizeArgument(strideAt++));
    else
      buffer.strides = denseStrides(type);
    inputs.push_back(buffer);
    ++index;
  }
  for (auto [i, result] : llvm::enumerate(kernel.getResultTypes())) {
    auto type = cast<TensorType>(result);
    Buffer buffer = makeBuffer(index++, type, i + 1);
    buffer.strides = denseStrides(type);
    outputs.push_back(buffer);
  }
  // An in-place output: one address, so that the code need not compare two.
  for (auto [output, input] : llvm::enumerate(writesOver(kernel)))
    if (input >= 0)
      inputs[input] = outputs[output];
}

bool KernelEmitter::isStrided(BlockArgument argument) {
  return kernel.getStrided() && (*kernel.getStrided())[argument.getArgNumber()];
}
const Buffer &KernelEmitter::input(BlockArgument argument) {
  return inputs[argument.getArgNumber()];
}

/// The address of a global with these elements of memory.
Value KernelEmitter::constantInMemory(DenseElementsAttr flat) {
  auto type = LLVM::LLVMArrayType::get(flat.getElementType(), flat.getNumElements());
  std::string name = "mx.constant." + std::to_string(globalCount++);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    LLVM::GlobalOp::create(b, type, /*isConstant=*/true, LLVM::Linkage::Internal, name, flat,
                           /*alignment=*/64);
  }
  Value address;
  inEntry([&] {
    address = LLVM::AddressOfOp::create(b, LLVM::LLVMPointerType::get(b.getContext()), name);
  });
  return address;
}

Buffer KernelEmitter::table(ArrayRef<int64_t> numbers) {
  Type element = b.getI64Type();
  auto type = RankedTensorType::get({static_cast<int64_t>(numbers.size())}, element);
  Buffer buffer;
  buffer.address = constantInMemory(DenseElementsAttr::get(type, numbers));
  buffer.element = element;
  buffer.strides = {number(1)};
  return buffer;
}

const Buffer &KernelEmitter::constantBuffer(ConstantOp op) {
  auto [known, isNew] = globals.try_emplace(op.getOperation());
  if (!isNew)
    return known->second;
  auto value = cast<DenseElementsAttr>(op.getValue());
  Type element = memoryType(value.getElementType());
  // Bools become bytes and unsigned numbers become signless, as in all of the code.
  if (value.getElementType().isInteger(1)) {
    SmallVector<int8_t> bytes;
    for (bool bit : value.getValues<bool>())
      bytes.push_back(bit);
    value = DenseElementsAttr::get(
        RankedTensorType::get({static_cast<int64_t>(bytes.size())}, element), ArrayRef(bytes));
  } else {
    value = value.reshape(value.getType().clone({value.getNumElements()}));
    if (value.getElementType() != element)
      value = value.bitcast(element);
  }
  Buffer buffer;
  buffer.address = constantInMemory(value);
  inEntry([&] {
    buffer.element = op.getType().getElement();
    buffer.strides = denseStrides(op.getType());
  });
  return known->second = buffer;
}

Value KernelEmitter::offset(const Buffer &buffer, Indices at) {
  Value sum;
  for (auto [index, stride] : llvm::zip_equal(at, buffer.strides)) {
    if (index == numbers.lookup(0))
      continue;
    Value part = stride == numbers.lookup(1) ? index : mul(index, stride);
    sum = sum ? add(sum, part) : part;
  }
  return sum ? sum : number(0);
}
Value KernelEmitter::addressAt(const Buffer &buffer, Value offset) {
  if (offset == numbers.lookup(0))
    return buffer.address;
  return LLVM::GEPOp::create(b, buffer.address.getType(), memoryType(buffer.element),
                             buffer.address, ArrayRef<LLVM::GEPArg>{offset});
}
Value KernelEmitter::load(const Buffer &buffer, Indices at) {
  Type type = memoryType(buffer.element);
  auto op = LLVM::LoadOp::create(b, type, addressAt(buffer, offset(buffer, at)));
  if (buffer.scopes) {
    op.setAliasScopesAttr(buffer.scopes);
    op.setNoaliasScopesAttr(buffer.others);
  }
  if (buffer.element.isInteger(1))
    return compare(arith::CmpIPredicate::ne, op, constantOf(type, 0));
  return op;
}
void KernelEmitter::store(const Buffer &buffer, Indices at, Value value) {
  if (buffer.element.isInteger(1))
    value = arith::ExtUIOp::create(b, memoryType(buffer.element), value);
  auto op = LLVM::StoreOp::create(b, value, addressAt(buffer, offset(buffer, at)));
  if (buffer.scopes) {
    op.setAliasScopesAttr(buffer.scopes);
    op.setNoaliasScopesAttr(buffer.others);
  }
}

Buffer KernelEmitter::scratch(Type type, int64_t count) {
  Buffer buffer;
  buffer.element = type;
  buffer.strides.push_back(number(1));
  buffer.address = inEntry([&] {
    return LLVM::AllocaOp::create(b, LLVM::LLVMPointerType::get(b.getContext()), memoryType(type),
                                  number(count), /*alignment=*/64);
  });
  return buffer;
}
Value KernelEmitter::variable(Type type, Value initial) {
  Value slot = inEntry([&] {
    return LLVM::AllocaOp::create(b, LLVM::LLVMPointerType::get(b.getContext()), type, number(1));
  });
  write(slot, initial);
  return slot;
}
Value KernelEmitter::read(Value variable, Type type) {
  return LLVM::LoadOp::create(b, type, variable);
}
void KernelEmitter::write(Value variable, Value value) {
  LLVM::StoreOp::create(b, value, variable);
}

// ----------------------------------------------------------------------------------------- loops

int64_t KernelEmitter::workOfElement() {
  int64_t work = 0;
  for (Operation &op : kernel.getBody().front())
    work += ir::isExpensive(&op) ? 16 : 1;
  return work / 4 + 1;
}

/// Ranges of zero or one iteration are not emitted as loops: LLVM's short pipelines would keep
/// them.
void KernelEmitter::loop(Value from, Value to, int64_t step, llvm::function_ref<void(Value)> body) {
  if (std::optional<int64_t> begin = known(from), end = known(to); begin && end) {
    if (*begin >= *end)
      return;
    if (*end - *begin <= step)
      return body(from);
  }
  auto op = scf::ForOp::create(b, from, to, number(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.getBody());
  body(op.getInductionVar());
}
void KernelEmitter::nest(ArrayRef<Value> sizes, llvm::function_ref<void(Indices)> body) {
  SmallVector<Value> at;
  auto descend = [&](auto &self, size_t depth) -> void {
    if (depth == sizes.size())
      return body(at);
    loop(number(0), sizes[depth], 1, [&](Value i) {
      at.push_back(i);
      self(self, depth + 1);
      at.pop_back();
    });
  };
  descend(descend, 0);
}
void KernelEmitter::when(Value condition, llvm::function_ref<void()> then,
                         llvm::function_ref<void()> otherwise) {
  auto op = scf::IfOp::create(b, condition, /*withElseRegion=*/static_cast<bool>(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&op.getThenRegion().front());
  then();
  if (otherwise) {
    b.setInsertionPointToStart(&op.getElseRegion().front());
    otherwise();
  }
}

} // namespace mx::lowering
