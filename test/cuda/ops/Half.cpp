// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f16, bf16 and their pairs. Sums of two exact values are rounded to odd in double first, then
// once.
#include "exec/Warp.h"
#include "ptx/Decoder.h"

namespace mxemu {

namespace {

enum HalfOp : uint8_t { Add, Sub, Mul, Fma, Min, Max, Abs, Neg, Ex2, Tanh };

template <class H> H flushHalf(H value) {
  constexpr uint16_t exponent = std::is_same_v<H, Half> ? 0x7c00 : 0x7f80;
  return value.bits & exponent ? value : H{uint16_t(value.bits & 0x8000)};
}

template <class H> H compute(const Inst &i, H a, H b, H c) {
  if (i.ftz)
    a = flushHalf(a), b = flushHalf(b), c = flushHalf(c);
  constexpr uint16_t nan = 0x7fff;
  double x = fromHalf(a), y = fromHalf(b), z = fromHalf(c), value;
  switch (i.kind) {
  case Add:
    value = addToOdd(x, y);
    break;
  case Sub:
    value = addToOdd(x, -y);
    break;
  case Mul:
    value = x * y;
    break;
  case Fma:
    value = addToOdd(x * y, z);
    break;
  case Abs:
    return H{uint16_t(a.bits & 0x7fff)};
  case Neg:
    return H{uint16_t(a.bits ^ 0x8000)};
  case Ex2:
    value = std::exp2(x);
    break;
  case Tanh:
    value = std::tanh(x);
    break;
  default:
    if (x != x || y != y) {
      if (i.strong || (x != x && y != y)) // strong stands for .NaN
        return H{nan};
      return x != x ? b : a;
    }
    if (x == y)
      return (i.kind == Min) == std::signbit(x) ? a : b;
    return (x < y) == (i.kind == Min) ? a : b;
  }
  H result = Number<H>::make(value, i.round);
  if (i.ftz)
    result = flushHalf(result);
  if (i.sat) {
    float f = fromHalf(result);
    result = f != f || f <= 0 ? H{0} : f > 1 ? Number<H>::make(1) : result;
  }
  if (i.relu && (result.bits & 0x8000) && !(fromHalf(result) != fromHalf(result)))
    result = H{0};
  return result;
}

template <class H> void scalar(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]), *b = w.row(i.op[2]), *c = w.row(i.op[3]);
  eachLane<H>(mask, w.row(i.op[0]),
              [&](int l) { return compute<H>(i, get<H>(a, l), get<H>(b, l), get<H>(c, l)); });
}
template <class H> void pair(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]), *b = w.row(i.op[2]), *c = w.row(i.op[3]);
  eachLane<uint32_t>(mask, w.row(i.op[0]), [&](int l) {
    uint32_t x = get<uint32_t>(a, l), y = get<uint32_t>(b, l), z = get<uint32_t>(c, l);
    auto at = [&](int shift) {
      return uint32_t(
          compute<H>(i, H{uint16_t(x >> shift)}, H{uint16_t(y >> shift)}, H{uint16_t(z >> shift)})
              .bits);
    };
    return at(0) | at(16) << 16;
  });
}

} // namespace

void decodeHalfArithmetic(Decoder &d, Ty type) {
  static const std::map<std::string, HalfOp> ops = {
      {"add", Add}, {"sub", Sub}, {"mul", Mul}, {"fma", Fma}, {"min", Min},
      {"max", Max}, {"abs", Abs}, {"neg", Neg}, {"ex2", Ex2}, {"tanh", Tanh}};
  auto found = ops.find(d.statement.opcode);
  if (found == ops.end() || type == Ty::TF32)
    d.fail("a type that this instruction does not have");
  HalfOp op = found->second;
  bool isHalf = type == Ty::F16 || type == Ty::F16x2;
  d.inst.kind = op;
  bool rounded = op <= Fma && d.take("rn");
  if (op == Fma && !rounded)
    d.fail("no rounding mode");
  if (isHalf || op == Ex2)
    d.inst.ftz |= d.take("ftz");
  if (isHalf && op <= Fma)
    d.inst.sat = d.take("sat");
  if (op == Fma)
    d.inst.relu = d.take("relu");
  if (op == Min || op == Max)
    d.inst.strong = d.take("NaN");
  if (op == Fma)
    d.simple({type, type, type, type});
  else if (op == Abs || op == Neg || op == Ex2 || op == Tanh)
    d.simple({type, type});
  else
    d.simple({type, type, type});
  if (op != Fma)
    d.inst.op[3] = d.inst.op[1];
  if (op >= Abs)
    d.inst.op[2] = d.inst.op[1];
  switch (type) {
  case Ty::F16:
    d.inst.execute = scalar<Half>;
    break;
  case Ty::BF16:
    d.inst.execute = scalar<BHalf>;
    break;
  case Ty::F16x2:
    d.inst.execute = pair<Half>;
    break;
  default:
    d.inst.execute = pair<BHalf>;
    break;
  }
}

void addHalfOps(DecodeTable &) {}

} // namespace mxemu
