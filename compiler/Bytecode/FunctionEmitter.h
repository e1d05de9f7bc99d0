// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code generation and register allocation: one mx.func to the instructions of one function of the
// VM. Emit*.cpp have the families of ops.
//
// An op is emitted in three steps: operands and temporary registers are fetched (use, temp);
// operands whose last use this is free their registers (releaseOperands); the result gets a
// register, perhaps one of these (define), and the instruction is written. So an instruction may
// write a register that it reads, and a temporary never overwrites a live operand. Values that
// ended and were not overwritten are dropped.
#pragma once
#include "Bytecode/Liveness.h"
#include "Bytecode/ModuleTables.h"

namespace mx::bytecode {

class FunctionEmitter {
public:
  FunctionEmitter(ModuleTables &tables, ir::FuncOp function, bool locations);
  /// false: an error was reported.
  bool run();

private:
  using Operation = mlir::Operation;
  using Value = mlir::Value;
  using Regs = llvm::ArrayRef<uint16_t>;

  // -- FunctionEmitter.cpp: instructions
  uint32_t here() const { return uint32_t(code.code.size()); }
  uint32_t emit(Opcode op, uint16_t a = 0, uint16_t b = 0, uint16_t c = 0);
  uint32_t emitWide(Opcode op, uint16_t a, int32_t wide);
  /// A jump whose target is patched later. `jmp` does not use the register.
  uint32_t emitJump(Opcode op, Reg condition = 0) { return emitWide(op, condition, 0); }
  void landHere(uint32_t jump) { code.patchJump(jump, here()); }
  uint16_t list(llvm::SmallVector<uint16_t> entries);
  void drop(Reg reg);
  /// dst = src; with `ends`, this is the last use of src.
  void transfer(Reg dst, Reg src, bool ends);
  struct Transfer {
    Reg dst, src;
    bool ends;
  };
  /// Parallel moves: a register may be the source of one and the target of another.
  void transferAll(llvm::SmallVector<Transfer> moves);
  void locationAt(Operation *op, bool mayBegin = true);
  void writeLocation();
  mlir::InFlightDiagnostic error(Operation *op);
  /// The program is past a limit of the VM (E0002): an error of the program at this op.
  mlir::InFlightDiagnostic overLimit(Operation *op);
  void checkLimits(Operation *op);

  // -- FunctionEmitter.cpp: values
  Reg use(Value value);
  /// A host number: read from the device first if it is there.
  Reg useNumber(Value value);
  /// A tensor: created first if the number is on the host.
  Reg useTensor(Value value);
  Reg temp(Kind kind);
  Reg define(Value result);
  /// Like define, but the op does not return its result if the result is unused.
  Reg defineIfUsed(Value result);
  /// The result in a register that already holds the operand: the operand's own register if it ends
  /// here, otherwise a copy. The op then updates it in place.
  Reg defineFrom(Value operand, Value result);
  bool ends(Value value) const;
  /// Constants and sizes stay in their registers until their block ends.
  bool isPinned(Value value) const;
  void releaseOperands();
  void beginOp(Operation *op);
  /// Frees operands that ended and temporaries; drops values that were not overwritten.
  void endOperands();
  /// Also frees unused results.
  void endOp();
  void endValue(Value value);

  // -- FunctionEmitter.cpp: blocks
  void emitBody();
  /// `targets`: registers of the yielded values.
  void emitBlock(mlir::Block &block, Regs targets);
  void openBlock(mlir::Block &block, mlir::ValueRange yielded, Regs targets);
  void closeBlock();
  void emitYield(ir::YieldOp op, Regs targets);
  void emitOp(Operation &op);
  void emitReturn(ir::ReturnOp op);

  // -- Sizes.cpp
  struct Scope {
    llvm::StringMap<Reg> names;
    llvm::DenseMap<const DimNode *, Reg> sizes;
    std::map<std::pair<Kind, uint64_t>, Reg> constants;
    std::vector<Reg> owned;
    /// A name is shadowed here, and so sizes may have other values than outside.
    bool hidesSizes = false;
  };
  Reg ownedByScope(Kind kind);
  Reg constant(Kind kind, uint64_t bits);
  Reg constantInt(int64_t value) { return constant(Kind::Int, uint64_t(value)); }
  void loadConstant(Reg reg, Kind kind, uint64_t bits);
  Reg size(ir::SizeAttr size);
  Reg evaluate(Dim dim, ir::SizeTable &table);
  Reg evaluateAtom(AtomId atom, ir::SizeTable &table);
  std::optional<Reg> knownSize(Dim dim);
  Reg evaluateTerm(const DimTerm &term, Reg scratch, ir::SizeTable &table);
  void bindSize(ir::BindSizeOp op);
  /// The sizes of a type as operands.
  void appendSizes(llvm::SmallVector<uint16_t> &operands, ir::TensorType type);

  // -- EmitNumbers.cpp: elements on the host
  bool isImmediate(ir::ConstantOp op) const;
  void emitHostElementwise(Operation *op);
  void emitHostConstant(ir::ConstantOp op);
  void emitHostCast(ir::CastOp op);
  void emitHostLogic(Operation *op);
  void emitSelect(ir::SelectOp op);
  bool emitHostArithmetic(Operation *op, mlir::Type element);
  bool emitHostCompare(Operation *op, Kind kind);
  void emitIsFinite(Operation *op, Kind kind);
  void emitMath(Operation *op, llvm::StringRef name, Kind kind);
  void wrap(Reg reg, mlir::Type element);

  // -- EmitTensors.cpp
  /// Calls `name`, on the device of the result, with `operands`; they are released before.
  void callTensor(Operation *op, llvm::StringRef name, llvm::SmallVector<uint16_t> operands);
  Reg makeTensor(Reg number, ir::TensorType type);
  bool emitTensorOp(Operation *op);
  void emitElementwise(Operation *op);
  void emitReduction(Operation *op, llvm::ArrayRef<int64_t> axes, bool keep);
  void emitConstant(ir::ConstantOp op);
  void emitLiteral(ir::ConstantOp op, mlir::DenseElementsAttr values);
  std::string indexSpec(mlir::ArrayAttr spec, mlir::OperandRange at, bool mayTakeTensor,
                        llvm::SmallVector<uint16_t> &operands);
  void emitSlice(ir::SliceOp op);
  void emitUpdate(ir::UpdateOp op);
  void emitTake(ir::TakeOp op);
  void emitWindows(mlir::Operation *op);
  void emitRandom(ir::RandomOp op);
  void emitTo(ir::ToDeviceOp op);

  // -- EmitUndef.cpp
  void emitUndef(ir::UndefOp op);

  // -- EmitControl.cpp
  bool emitControl(Operation *op);
  struct Results {
    llvm::SmallVector<Reg> regs;
    llvm::SmallVector<bool> reserved; ///< reserved by this op
  };
  Results reserveResults(Operation *op);
  void keepResults(Operation *op, const Results &results);
  void emitIf(ir::IfOp op);
  void emitFor(ir::ForOp op);
  void emitWhile(ir::WhileOp op);
  void emitTry(ir::TryOp op);
  void emitAssert(ir::AssertOp op);
  void raise(Reg message, mxrt_code code);
  Results carry(Operation *op, mlir::OperandRange carried);
  void setCarried(mlir::Block &block, size_t first, const Results &results);
  void jumpBackIf(ir::YieldOp op, uint32_t target);
  bool fusesWithJump(Operation *op) const;

  // -- EmitCalls.cpp
  bool emitCallOp(Operation *op);
  void emitCall(ir::CallOp op);
  void emitClosure(ir::ClosureOp op);
  void emitCallValue(ir::CallValueOp op);
  void emitNative(ir::NativeOp op);
  /// Emits the call and assigns registers to its results.
  void callWithResults(Opcode opcode, uint16_t callee, uint16_t arguments,
                       mlir::ValueRange results);

  // -- EmitAggregates.cpp
  bool emitValueOp(Operation *op);
  void emitMake(ir::MakeOp op);
  void emitPrintOrFormat(Operation *op);
  void emitCompare(ir::CompareOp op);
  void emitGlobal(Operation *op);
  Reg takeGlobal(ir::GlobalLoadOp op, Value result);
  void guardGlobals();
  uint16_t globalRow(Operation *op, llvm::StringRef name, mlir::Type type);
  void emitCell(Operation *op);

  ModuleTables &tables;
  ir::FuncOp function;
  const Callee &self;
  host::FunctionBuilder &code;
  Liveness live;
  Registers registers;
  std::vector<Scope> scopes;
  llvm::DenseMap<Value, Reg> values;
  llvm::DenseMap<Value, Reg> hints;
  llvm::DenseSet<Value> pinned;
  std::map<llvm::SmallVector<uint16_t>, uint16_t> listRows;
  bool failed = false;

  /// The op being emitted.
  struct Current {
    Operation *op = nullptr;
    bool released = false;
    llvm::SmallVector<Value, 2> handedOver;
    llvm::SmallVector<Reg, 4> temps, freed;
    /// Globals that were moved out, and the first instruction that must restore them if it fails.
    llvm::SmallVector<std::pair<uint16_t, Reg>, 2> taken;
    uint32_t guardFrom = 0;
  } current;
  /// The source location of the next instruction, and of the one before.
  bool locations;
  uint32_t line = 0, column = 0, lastLine = 0, lastColumn = 0;
  bool statement = false;
};

} // namespace mx::bytecode
