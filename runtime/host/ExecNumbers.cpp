// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numeric instructions that call libm or can fail.

#include "host/Machine.h"

#include <cmath>

namespace mxrt::host {

bool execPowInt(Machine &m, Value *r, Instr instr) {
  uint64_t base = uint64_t(r[instr.b].i);
  int64_t exponent = r[instr.c].i;
  if (exponent < 0)
    return m.raise(MXRT_INVALID_ARGUMENT,
                   "an integer cannot be raised to a negative power");
  uint64_t power = 1;
  for (uint64_t left = uint64_t(exponent); left; left >>= 1) {
    if (left & 1)
      power *= base;
    base *= base;
  }
  r[instr.a].i = int64_t(power);
  return true;
}

/// As Python's float `//` and `%`, but a divisor of 0 gives inf or nan.
static void floorDivMod(double x, double y, double &quotient, double &rest) {
  if (y == 0) {
    quotient = x / y;
    rest = std::nan("");
    return;
  }
  rest = std::fmod(x, y);
  double exact = (x - rest) / y;
  if (rest != 0) {
    if ((y < 0) != (rest < 0)) {
      rest += y;
      exact -= 1;
    }
  } else {
    rest = std::copysign(0.0, y);
  }
  if (exact != 0) {
    quotient = std::floor(exact);
    if (exact - quotient > 0.5)
      quotient += 1;
  } else {
    quotient = std::copysign(0.0, x / y);
  }
}

bool execFloorDivF64(Machine &, Value *r, Instr instr) {
  double quotient, rest;
  floorDivMod(r[instr.b].d, r[instr.c].d, quotient, rest);
  r[instr.a].d = quotient;
  return true;
}
bool execModF64(Machine &, Value *r, Instr instr) {
  double quotient, rest;
  floorDivMod(r[instr.b].d, r[instr.c].d, quotient, rest);
  r[instr.a].d = rest;
  return true;
}
bool execFloorDivF32(Machine &, Value *r, Instr instr) {
  double quotient, rest;
  floorDivMod(r[instr.b].f, r[instr.c].f, quotient, rest);
  r[instr.a].f = float(quotient);
  return true;
}
bool execModF32(Machine &, Value *r, Instr instr) {
  double quotient, rest;
  floorDivMod(r[instr.b].f, r[instr.c].f, quotient, rest);
  r[instr.a].f = float(rest);
  return true;
}
bool execPowF32(Machine &, Value *r, Instr instr) {
  r[instr.a].f = std::pow(r[instr.b].f, r[instr.c].f);
  return true;
}
bool execPowF64(Machine &, Value *r, Instr instr) {
  r[instr.a].d = std::pow(r[instr.b].d, r[instr.c].d);
  return true;
}

static bool toInt(Machine &m, double number, Value &out) {
  // Both bounds are exact in f64; 2^63 itself does not fit.
  if (!(number >= -9223372036854775808.0 && number < 9223372036854775808.0))
    return m.raise(MXRT_INVALID_ARGUMENT,
                   "the number does not fit in 64 bits");
  out.i = int64_t(number);
  return true;
}
bool execF32ToInt(Machine &m, Value *r, Instr instr) {
  return toInt(m, r[instr.b].f, r[instr.a]);
}
bool execF64ToInt(Machine &m, Value *r, Instr instr) {
  return toInt(m, r[instr.b].d, r[instr.a]);
}

bool execReadTensor(Machine &m, Value *r, Instr instr) {
  if (!r[instr.b].isSet())
    return m.raiseUnset();
  if (!m.options.host)
    return m.raise(MXRT_UNSUPPORTED, "this host cannot read tensors");
  Kind wanted = r[instr.a].kind;
  Value element;
  Status status = m.options.host->readScalar(r[instr.b], wanted, element);
  if (status.failed())
    return m.raise(std::move(status));
  if (element.kind != wanted) {
    release(m.heap, element);
    return m.raise(MXRT_INTERNAL, "the host read an element of another kind");
  }
  if (wanted == Kind::Bool)
    element.i = element.i != 0;
  r[instr.a] = element;
  return true;
}

} // namespace mxrt::host
