// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dispatch loop (threaded code with computed goto). Programs are verified, so it does not
// repeat the verifier's checks: opcodes, registers, indices, jump targets and the kinds of declared
// registers are valid.
//
// Registers of inline kinds keep their kind for the whole call: such instructions read and write
// the number only.

#include "host/Machine.h"

#include <cmath>

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wgnu-label-as-value"
#else
#pragma GCC diagnostic ignored "-Wpedantic"
#endif

namespace mxrt::host {

static inline int64_t wrap(uint64_t bits) { return int64_t(bits); }

/// Rounds down. y != 0. The only overflow, -2^63 // -1, wraps.
static inline int64_t floorDiv(int64_t x, int64_t y) {
  if (y == -1)
    return wrap(0 - uint64_t(x));
  int64_t quotient = x / y;
  return x % y != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient;
}
static inline int64_t floorMod(int64_t x, int64_t y) {
  if (y == -1)
    return 0;
  int64_t rest = x % y;
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

/// Checks arity, `mut` and kinds of a call through a function value.
static bool acceptsCall(Machine &m, const Function &callee, uint32_t captured,
                        std::span<const uint16_t> list,
                        std::span<const Kind> kinds, Kind destination) {
  std::span<const ParamData> params = callee.data->params.subspan(captured);
  if (params.size() != list.size())
    return m.raise(error(m.heap.baseAllocator(), MXRT_HOST_TYPE, noLocation,
                         "%s takes %zu arguments, %zu were given",
                         callee.name->text(), params.size(), list.size()));
  for (size_t i = 0; i < list.size(); ++i) {
    Kind kind = kinds[list[i] & ~mutBit];
    bool isMut = list[i] & mutBit;
    if (isMut != params[i].isMut ||
        (isMut ? kind != params[i].kind : !fits(kind, params[i].kind)))
      return m.raise(error(m.heap.baseAllocator(), MXRT_HOST_TYPE, noLocation,
                           "argument %zu of %s is %s%s, not %s%s", i + 1,
                           callee.name->text(), params[i].isMut ? "mut " : "",
                           kindName(params[i].kind), isMut ? "mut " : "",
                           kindName(kind)));
  }
  if (!fits(callee.data->result, destination))
    return m.raiseKind(destination, callee.data->result);
  return true;
}

// Dispatch copies the instruction first: the next load then does not wait for the stores of this
// instruction.
#define NEXT                                                                   \
  do {                                                                         \
    instr = *pc++;                                                             \
    goto *table[instr.op];                                                     \
  } while (false)
#define JUMP(distance)                                                         \
  do {                                                                         \
    pc += (distance);                                                          \
    if (m.attention.load(std::memory_order_relaxed)) [[unlikely]]              \
      goto attend;                                                             \
    NEXT;                                                                      \
  } while (false)
#define BINARY(Name, out, in, expression)                                      \
  op##Name : {                                                                 \
    auto x = r[instr.b].in, y = r[instr.c].in;                                 \
    r[instr.a].out = (expression);                                             \
    NEXT;                                                                      \
  }
#define UNARY(Name, out, in, expression)                                       \
  op##Name : {                                                                 \
    auto x = r[instr.b].in;                                                    \
    r[instr.a].out = (expression);                                             \
    NEXT;                                                                      \
  }
#define BRANCH(Name, condition)                                                \
  op##Name : {                                                                 \
    auto x = r[instr.a].i, y = r[instr.b].i;                                   \
    if (condition)                                                             \
      JUMP(int16_t(instr.c));                                                  \
    NEXT;                                                                      \
  }

bool Machine::interpret(Value &result) {
  static const void *const runLabels[] = {
#define MX_FAST(Name, mnemonic, A, B, C, doc) &&op##Name,
#define MX_SLOW(Name, mnemonic, A, B, C, doc) &&op##Name,
#include "host/Opcodes.def"
  };
  // While there is a hook or a budget, every instruction first jumps to `watched`: single-stepping
  // costs nothing when it is off.
  static const void *const watchLabels[] = {
#define MX_FAST(Name, mnemonic, A, B, C, doc) &&watched,
#define MX_SLOW(Name, mnemonic, A, B, C, doc) &&watched,
#include "host/Opcodes.def"
  };

  Machine &m = *this;
  const void *const *table = runLabels;
  const Instr *pc = frame->pc;
  Value *r = frame->registers();
  Instr instr;
  goto attend;

watched:
  frame->pc = pc;
  if (!m.watch())
    goto raised;
  goto *runLabels[instr.op];

attend: {
  // The instruction at pc has not started: errors belong to its source location.
  frame->pc = pc + 1;
  uint32_t bits = m.attention.load(std::memory_order_relaxed);
  table = bits & watchBit ? watchLabels : runLabels;
  if (bits & cancelBit) {
    m.raise(MXRT_CANCELLED, "cancelled");
    goto raised;
  }
  NEXT;
}

raised:
  if (!m.unwind())
    return false;
  pc = frame->pc;
  r = frame->registers();
  goto attend;

enterFunction: // a new top frame is ready
  pc = frame->pc;
  r = frame->registers();
  JUMP(0);

opNop:
  NEXT;
opMov:
  r[instr.a].i = r[instr.b].i;
  NEXT;
opIntImm:
  r[instr.a].i = instr.wideBC();
  NEXT;
opBoolImm:
opDTypeImm:
  r[instr.a].i = instr.b;
  NEXT;

  BINARY(AddInt, i, i, wrap(uint64_t(x) + uint64_t(y)))
  BINARY(SubInt, i, i, wrap(uint64_t(x) - uint64_t(y)))
  BINARY(MulInt, i, i, wrap(uint64_t(x) * uint64_t(y)))
  UNARY(NegInt, i, i, wrap(0 - uint64_t(x)))
  UNARY(AddImm, i, i, wrap(uint64_t(x) + uint64_t(int64_t(int16_t(instr.c)))))
  UNARY(WrapI8, i, i, int64_t(int8_t(uint8_t(uint64_t(x)))))
  UNARY(WrapU8, i, i, int64_t(uint8_t(uint64_t(x))))
  UNARY(WrapI32, i, i, int64_t(int32_t(uint32_t(uint64_t(x)))))

opDivInt: {
  int64_t x = r[instr.b].i, y = r[instr.c].i;
  if (y == 0) [[unlikely]] {
    if (!options.uncheckedDivision)
      goto divisionByZero;
    r[instr.a].f = 0;
    NEXT;
  }
  r[instr.a].f = float(double(x) / double(y));
  NEXT;
}
opFloorDivInt: {
  int64_t x = r[instr.b].i, y = r[instr.c].i;
  if (y == 0) [[unlikely]] {
    if (!options.uncheckedDivision)
      goto divisionByZero;
    r[instr.a].i = 0;
    NEXT;
  }
  r[instr.a].i = floorDiv(x, y);
  NEXT;
}
opModInt: {
  int64_t x = r[instr.b].i, y = r[instr.c].i;
  if (y == 0) [[unlikely]] {
    if (!options.uncheckedDivision)
      goto divisionByZero;
    r[instr.a].i = 0;
    NEXT;
  }
  r[instr.a].i = floorMod(x, y);
  NEXT;
}
divisionByZero:
  frame->pc = pc;
  m.raise(MXRT_DIVISION_BY_ZERO, "integer division by zero");
  goto raised;

  BINARY(AddF32, f, f, x + y)
  BINARY(SubF32, f, f, x - y)
  BINARY(MulF32, f, f, x * y)
  BINARY(DivF32, f, f, x / y)
  UNARY(NegF32, f, f, -x)
  BINARY(AddF64, d, d, x + y)
  BINARY(SubF64, d, d, x - y)
  BINARY(MulF64, d, d, x * y)
  BINARY(DivF64, d, d, x / y)
  UNARY(NegF64, d, d, -x)

  UNARY(IntToF32, f, i, float(x))
  UNARY(IntToF64, d, i, double(x))
  UNARY(F32ToF64, d, f, double(x))
  UNARY(F64ToF32, f, d, float(x))
  UNARY(BoolToInt, i, i, x)
  UNARY(Not, i, i, x ^ 1)

  BINARY(EqInt, i, i, x == y)
  BINARY(NeInt, i, i, x != y)
  BINARY(LtInt, i, i, x < y)
  BINARY(LeInt, i, i, x <= y)
  BINARY(EqF32, i, f, x == y)
  BINARY(NeF32, i, f, x != y)
  BINARY(LtF32, i, f, x < y)
  BINARY(LeF32, i, f, x <= y)
  BINARY(EqF64, i, d, x == y)
  BINARY(NeF64, i, d, x != y)
  BINARY(LtF64, i, d, x < y)
  BINARY(LeF64, i, d, x <= y)
  BINARY(EqBool, i, i, x == y)
  BINARY(NeBool, i, i, x != y)
  BINARY(EqDType, i, i, x == y)

opJump:
  JUMP(instr.wideAB());
opJumpTrue:
  if (r[instr.a].i)
    JUMP(instr.wideBC());
  NEXT;
opJumpFalse:
  if (!r[instr.a].i)
    JUMP(instr.wideBC());
  NEXT;
  BRANCH(JumpEqInt, x == y)
  BRANCH(JumpNeInt, x != y)
  BRANCH(JumpLtInt, x < y)
  BRANCH(JumpLeInt, x <= y)
opNextInt: {
  int64_t x = wrap(uint64_t(r[instr.a].i) + 1);
  r[instr.a].i = x;
  if (x < r[instr.b].i)
    JUMP(int16_t(instr.c));
  NEXT;
}

opCall: {
  frame->pc = pc;
  const Function &callee = frame->fn->program->functions[instr.b];
  std::span<const uint16_t> list = frame->fn->data->lists[instr.c];
  if (!m.argumentsSet(r, list))
    goto raised;
  Frame *fresh = m.pushFrame(callee, nullptr);
  if (!fresh)
    goto raised;
  m.passArguments(fresh, r, list);
  frame = fresh;
  goto enterFunction;
}

opCallValue: {
  frame->pc = pc;
  if (!r[instr.b].isSet()) {
    m.raiseUnset();
    goto raised;
  }
  ClosureObject *closure = r[instr.b].closure();
  const Function &callee = closure->program->functions[closure->function];
  std::span<const uint16_t> list = frame->fn->data->lists[instr.c];
  std::span<const Kind> kinds = frame->fn->data->registers;
  // The verifier's checks of `call`, done at run time.
  if (!acceptsCall(m, callee, closure->count, list, kinds,
                   instr.a == noRegister ? Kind::Any : kinds[instr.a]) ||
      !m.argumentsSet(r, list))
    goto raised;
  Frame *fresh = m.pushFrame(callee, closure);
  if (!fresh)
    goto raised;
  m.passArguments(fresh, r, list);
  frame = fresh;
  goto enterFunction;
}

opRet: {
  Value value = r[instr.a];
  if (!value.isSet()) {
    frame->pc = pc;
    m.raiseUnset();
    goto raised;
  }
  retain(value);
  bool isEntry = frame->isEntry;
  m.popFrame();
  if (isEntry) {
    result = value;
    return true;
  }
  pc = frame->pc;
  r = frame->registers();
  uint16_t to = pc[-1].a;
  if (to == noRegister)
    release(heap, value);
  else if (isInline(value.kind) && r[to].kind == value.kind)
    r[to].i = value.i;
  else
    replace(heap, r[to], value);
  NEXT;
}

opRetUnit: {
  bool isEntry = frame->isEntry;
  m.popFrame();
  if (isEntry) {
    result = Value::unit();
    return true;
  }
  pc = frame->pc;
  r = frame->registers();
  uint16_t to = pc[-1].a;
  if (to != noRegister)
    replace(heap, r[to], Value::unit());
  NEXT;
}

opRaise:
  frame->pc = pc;
  if (r[instr.a].isSet())
    m.raiseValue(r[instr.a].error());
  else
    m.raiseUnset();
  goto raised;

#define MX_FAST(Name, mnemonic, A, B, C, doc)
#define MX_SLOW(Name, mnemonic, A, B, C, doc)                                  \
  op##Name : frame->pc = pc;                                                   \
  if (!exec##Name(m, r, instr)) [[unlikely]]                                   \
    goto raised;                                                               \
  NEXT;
#include "host/Opcodes.def"
}

} // namespace mxrt::host
