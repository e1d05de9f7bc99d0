// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors, branches and runtime calls of a kernel. Inside loops a failing element is only recorded,
// so that the loops stay free of branches; the function returns the error afterwards.
#include "Lowering/RuntimeFunctions.h"
#include "Lowering/cpu/CpuKernel.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace mx::ir;

namespace mx::lowering {
namespace {

/// Writes a number in decimal digits and a terminating 0 byte; returns the address of that byte.
/// Only used on error paths.
constexpr StringRef kNumberWriter = R"(
llvm.func internal @mx.write_number(%to: !llvm.ptr, %value: i64) -> !llvm.ptr attributes {no_inline} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %ten = arith.constant 10 : i64
  %end = arith.constant 0 : i8
  %minus = arith.constant 45 : i8
  %digit0 = arith.constant 48 : i64
  %negative = arith.cmpi slt, %value, %zero : i64
  %opposite = arith.subi %zero, %value : i64
  %size = arith.select %negative, %opposite, %value : i64
  %first = scf.if %negative -> (!llvm.ptr) {
    llvm.store %minus, %to : i8, !llvm.ptr
    %next = llvm.getelementptr %to[1] : (!llvm.ptr) -> !llvm.ptr, i8
    scf.yield %next : !llvm.ptr
  } else {
    scf.yield %to : !llvm.ptr
  }
  %count:2 = scf.while (%rest = %size, %digits = %zero) : (i64, i64) -> (i64, i64) {
    %left = arith.divui %rest, %ten : i64
    %more = arith.cmpi ne, %left, %zero : i64
    %counted = arith.addi %digits, %one : i64
    scf.condition(%more) %left, %counted : i64, i64
  } do {
  ^bb0(%rest: i64, %digits: i64):
    scf.yield %rest, %digits : i64, i64
  }
  %last = llvm.getelementptr %first[%count#1] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  llvm.store %end, %last : i8, !llvm.ptr
  %left = scf.for %i = %zero to %count#1 step %one iter_args(%rest = %size) -> (i64) : i64 {
    %whole = arith.divui %rest, %ten : i64
    %digit = arith.remui %rest, %ten : i64
    %char = arith.addi %digit, %digit0 : i64
    %byte = arith.trunci %char : i64 to i8
    %back = arith.subi %count#1, %i : i64
    %offset = arith.subi %back, %one : i64
    %at = llvm.getelementptr %first[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    llvm.store %byte, %at : i8, !llvm.ptr
    scf.yield %whole : i64
  }
  llvm.return %last : !llvm.ptr
}
)";

} // namespace

Value CpuKernel::call(StringRef name, ValueRange arguments) {
  auto op = LLVM::CallOp::create(b, RuntimeFunctions(module).get(name), arguments);
  return op.getNumResults() ? op.getResult() : Value();
}

Value CpuKernel::textGlobal(StringRef text) {
  std::string name = "mx.text." + std::to_string(globalCount++);
  std::string bytes = text.str() + '\0';
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size()),
                           /*isConstant=*/true, LLVM::Linkage::Internal, name,
                           b.getStringAttr(bytes));
  }
  return LLVM::AddressOfOp::create(b, LLVM::LLVMPointerType::get(b.getContext()), name);
}

LLVM::LLVMFuncOp CpuKernel::numberWriter() {
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>("mx.write_number"))
    return known;
  OwningOpRef<ModuleOp> parsed = parseSourceString<ModuleOp>(kNumberWriter, b.getContext());
  auto writer = cast<LLVM::LLVMFuncOp>(parsed->getBody()->front());
  writer->walk([&](Operation *op) { op->setLoc(b.getLoc()); });
  writer->remove();
  module.getBody()->push_front(writer);
  return writer;
}

/// Text for the runtime, which copies it.
Value CpuKernel::message(ArrayRef<MessagePart> parts) {
  if (parts.size() == 1 && !parts[0].number)
    return textGlobal(parts[0].text);
  constexpr int64_t kDigits = 20;
  int64_t length = 1;
  for (const MessagePart &part : parts)
    length += part.number ? kDigits : static_cast<int64_t>(part.text.size());
  Value start = scratch(b.getI8Type(), length).address, at = start;
  for (const MessagePart &part : parts) {
    if (part.number) {
      at = LLVM::CallOp::create(b, numberWriter(), ValueRange{at, part.number}).getResult();
      continue;
    }
    auto size = static_cast<int32_t>(part.text.size());
    // With its 0 byte, which the next part overwrites.
    LLVM::MemcpyOp::create(b, at, textGlobal(part.text), number(size + 1), /*isVolatile=*/false);
    at = LLVM::GEPOp::create(b, at.getType(), b.getI8Type(), at, ArrayRef<LLVM::GEPArg>{size});
  }
  return start;
}

/// Equal kernels share their code, called from many locations, also by other programs through the
/// cache: the caller passes the location.
Value CpuKernel::location() {
  return LLVM::GEPOp::create(b, LLVM::LLVMPointerType::get(b.getContext()), b.getI8Type(), context,
                             ArrayRef<LLVM::GEPArg>{layout::mxrt_context::location});
}

void CpuKernel::failIf(Value condition, Code code, ArrayRef<MessagePart> parts) {
  Block *from = b.getInsertionBlock();
  Region &body = function.getBody();
  Block *failing = b.createBlock(&body, body.end());
  static_assert(layout::mxrt_context::allocator == 0);
  Value allocator = LLVM::LoadOp::create(b, context.getType(), context);
  Value number = constantOf(b.getI32Type(), static_cast<int32_t>(code));
  Value text = message(parts);
  Value status = call("mxrt_status_text", {allocator, number, location(), text});
  LLVM::ReturnOp::create(b, status);
  Block *onward = b.createBlock(&body, body.end());
  b.setInsertionPointToEnd(from);
  cf::CondBranchOp::create(b, condition, failing, ValueRange(), onward, ValueRange());
  b.setInsertionPointToEnd(onward);
}
void CpuKernel::failWith(Value status) {
  Block *from = b.getInsertionBlock();
  Region &body = function.getBody();
  Block *failing = b.createBlock(&body, body.end());
  LLVM::ReturnOp::create(b, status);
  Block *onward = b.createBlock(&body, body.end());
  b.setInsertionPointToEnd(from);
  Value null = LLVM::ZeroOp::create(b, status.getType());
  Value failed = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::ne, status, null);
  cf::CondBranchOp::create(b, failed, failing, ValueRange(), onward, ValueRange());
  b.setInsertionPointToEnd(onward);
}
void CpuKernel::fork(Value condition, llvm::function_ref<void()> then,
                     llvm::function_ref<void()> otherwise) {
  Block *from = b.getInsertionBlock(), *begins[2], *ends[2];
  Region &body = function.getBody();
  for (int part : {0, 1}) {
    begins[part] = b.createBlock(&body, body.end());
    (part ? otherwise : then)();
    ends[part] = b.getInsertionBlock();
  }
  Block *onward = b.createBlock(&body, body.end());
  for (Block *end : ends) {
    b.setInsertionPointToEnd(end);
    cf::BranchOp::create(b, onward);
  }
  b.setInsertionPointToEnd(from);
  cf::CondBranchOp::create(b, condition, begins[0], ValueRange(), begins[1], ValueRange());
  b.setInsertionPointToEnd(onward);
}
void CpuKernel::noteFault(Operation *op, Value condition, Code code, StringRef message) {
  auto known = llvm::find_if(faults, [&](const Fault &f) { return f.op == op && f.code == code; });
  if (known == faults.end()) {
    Value flag = inEntry([&] { return variable(b.getI1Type(), constantOf(b.getI1Type(), 0)); });
    faults.push_back({op, flag, code, message.str()});
    known = std::prev(faults.end());
  }
  write(known->flag, arith::OrIOp::create(b, read(known->flag, b.getI1Type()), condition));
}
void CpuKernel::finish() {
  for (const Fault &fault : faults) {
    b.setLoc(fault.op->getLoc());
    failIf(read(fault.flag, b.getI1Type()), fault.code, MessagePart(fault.message));
  }
  b.setLoc(kernel.getLoc());
  LLVM::ReturnOp::create(b, Value(LLVM::ZeroOp::create(b, context.getType())));
  outlineParallelLoops();
}

} // namespace mx::lowering
