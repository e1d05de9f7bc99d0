// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f32 and f64. Plain rounding to nearest is the host's arithmetic; other modes compute the exact value
// (rounded to odd in double) and round it once.
#include "exec/Warp.h"
#include "ptx/Decoder.h"

#include <algorithm>
#include <cfenv>

namespace mxemu {

namespace {

enum FloatOp : uint8_t { Add, Sub, Mul, Fma, Div, Rcp, Sqrt, Min, Max, Abs, Neg };

template <class T> T canonical(T value) {
  if constexpr (sizeof(T) == 4)
    return value != value ? canonicalNan() : value;
  return value;
}
inline float saturate(float value) { return value != value ? 0.0f : value <= 0 ? 0.0f : value > 1 ? 1.0f : value; }
inline double saturate(double value) { return value != value ? 0.0 : value <= 0 ? 0.0 : value > 1 ? 1.0 : value; }

/// Quotient or root whose last bit says whether something was lost.
double toOdd(double value, double residue) {
  uint64_t bits;
  std::memcpy(&bits, &value, 8);
  if (!(residue < 0 || residue > 0) || (bits & 1) || !std::isfinite(value))
    return value;
  return std::nextafter(value, residue > 0 ? INFINITY : -INFINITY);
}

/// The sign of an exact zero sum depends on the mode.
double zeroSum(double sum, double a, double b, Round mode) {
  if (sum == 0 && mode == Round::Down && !(a == 0 && b == 0 && !std::signbit(a) && !std::signbit(b)))
    return -0.0;
  return sum;
}

float roundedSingle(uint8_t op, float a, float b, float c, Round mode) {
  double value;
  switch (op) {
  case Add: value = zeroSum(addToOdd(a, b), a, b, mode); break;
  case Sub: value = zeroSum(addToOdd(a, -double(b)), a, -double(b), mode); break;
  case Mul: value = double(a) * b; break;
  case Fma: value = zeroSum(addToOdd(double(a) * b, c), double(a) * b, c, mode); break;
  case Rcp: b = a, a = 1; [[fallthrough]];
  case Div: {
    double quotient = double(a) / b;
    double residue = std::fma(-quotient, double(b), double(a));
    value = toOdd(quotient, b < 0 ? -residue : residue);
    break;
  }
  default: {
    double root = std::sqrt(double(a));
    value = toOdd(root, std::fma(-root, root, double(a)));
  }
  }
  return Number<float>::make(value, mode);
}

int hostMode(Round mode) {
  return mode == Round::Zero ? FE_TOWARDZERO : mode == Round::Down ? FE_DOWNWARD : mode == Round::Up ? FE_UPWARD : FE_TONEAREST;
}
double roundedDouble(uint8_t op, double x, double y, double z, Round mode) {
  volatile double a = x, b = y, c = z, result = 0;
  std::fesetround(hostMode(mode));
  switch (op) {
  case Add: result = a + b; break;
  case Sub: result = a - b; break;
  case Mul: result = a * b; break;
  case Fma: result = std::fma(a, b, c); break;
  case Div: result = a / b; break;
  case Rcp: result = 1.0 / a; break;
  default: result = std::sqrt(a); break;
  }
  std::fesetround(FE_TONEAREST);
  return result;
}

template <class T> T nearest(uint8_t op, T a, T b, T c) {
  switch (op) {
  case Add: return a + b;
  case Sub: return a - b;
  case Mul: return a * b;
  case Fma: return std::fma(a, b, c);
  case Div: return a / b;
  case Rcp: return T(1) / a;
  default: return std::sqrt(a);
  }
}

template <class T, FloatOp Op> void plain(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]), *b = w.row(i.op[2]);
  eachLane<T>(mask, w.row(i.op[0]), [=](int l) { return canonical(nearest<T>(Op, get<T>(a, l), get<T>(b, l), T(0))); });
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void fmaRow(float *d, const float *a, const float *b, const float *c) {
  const float nan = canonicalNan();
  for (int l = 0; l < 32; ++l) {
    float value = __builtin_fmaf(a[l], b[l], c[l]);
    d[l] = value != value ? nan : value;
  }
}
const bool hasFma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
void fmaRow(float *, const float *, const float *, const float *) {}
const bool hasFma = false;
#endif

void fmaSingle(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]), *b = w.row(i.op[2]), *c = w.row(i.op[3]);
  char *d = w.row(i.op[0]);
  if (mask == ~0u && hasFma) {
    alignas(64) float results[32];
    fmaRow(results, reinterpret_cast<const float *>(a), reinterpret_cast<const float *>(b),
           reinterpret_cast<const float *>(c));
    std::memcpy(d, results, sizeof results);
    return;
  }
  eachLane<float>(mask, d, [=](int l) { return canonical(std::fma(get<float>(a, l), get<float>(b, l), get<float>(c, l))); });
}

/// Any mode, ftz and sat.
template <class T> void general(Warp &w, const Inst &i, uint32_t mask) {
  const char *ra = w.row(i.op[1]), *rb = w.row(i.op[2]), *rc = w.row(i.op[3]);
  eachLane<T>(mask, w.row(i.op[0]), [&](int l) {
    T a = get<T>(ra, l), b = get<T>(rb, l), c = get<T>(rc, l), result;
    if constexpr (sizeof(T) == 4) {
      if (i.ftz)
        a = flush(a), b = flush(b), c = flush(c);
      result = i.round == Round::Nearest ? nearest<T>(i.kind, a, b, c) : roundedSingle(i.kind, a, b, c, i.round);
      if (i.ftz)
        result = flush(result);
    } else {
      result = i.round == Round::Nearest ? nearest<T>(i.kind, a, b, c) : roundedDouble(i.kind, a, b, c, i.round);
    }
    return i.sat ? saturate(result) : canonical(result);
  });
}

template <class T> void minMax(Warp &w, const Inst &i, uint32_t mask) {
  const char *ra = w.row(i.op[1]), *rb = w.row(i.op[2]);
  eachLane<T>(mask, w.row(i.op[0]), [&](int l) {
    T a = get<T>(ra, l), b = get<T>(rb, l);
    if constexpr (sizeof(T) == 4)
      if (i.ftz)
        a = flush(a), b = flush(b);
    if (a != a || b != b) {
      if (i.relu || (a != a && b != b)) // relu stands for .NaN
        return sizeof(T) == 4 ? T(canonicalNan()) : T(std::nan(""));
      return a != a ? b : a;
    }
    if (a == b)
      return (i.kind == Min) == std::signbit(a) ? a : b;
    return (a < b) == (i.kind == Min) ? a : b;
  });
}
template <class T> void sign(Warp &w, const Inst &i, uint32_t mask) {
  const char *ra = w.row(i.op[1]);
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr Bits top = Bits(1) << (8 * sizeof(T) - 1);
  eachLane<T>(mask, w.row(i.op[0]), [&](int l) {
    T value = get<T>(ra, l);
    if constexpr (sizeof(T) == 4)
      if (i.ftz)
        value = flush(value);
    Bits bits;
    std::memcpy(&bits, &value, sizeof bits);
    bits = i.kind == Abs ? bits & ~top : bits ^ top;
    std::memcpy(&value, &bits, sizeof bits);
    return value;
  });
}

// The ISA bounds these functions by a few units in the last place. They are rounded exactly here,
// except sin and cos, which lose what the reduction of their argument loses in hardware.
template <double (*F)(double)> void approximate(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]);
  eachLane<float>(mask, w.row(i.op[0]), [&](int l) {
    float value = get<float>(a, l);
    if (i.ftz)
      value = flush(value);
    float result = canonical(float(F(value)));
    return i.ftz ? flush(result) : result;
  });
}
template <double (*F)(double)> void approximateDouble(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]);
  eachLane<double>(mask, w.row(i.op[0]), [&](int l) {
    double value = get<double>(a, l);
    if (std::fabs(value) < std::numeric_limits<double>::min())
      value = std::copysign(0.0, value);
    return F(value);
  });
}
double rcpOf(double x) { return 1 / x; }
double rsqrtOf(double x) { return 1 / std::sqrt(x); }
double sqrtOf(double x) { return std::sqrt(x); }
double sinOf(double x) { return std::sin(x); }
double cosOf(double x) { return std::cos(x); }
double lg2Of(double x) { return std::log2(x); }
double ex2Of(double x) { return std::exp2(x); }
double tanhOf(double x) { return std::tanh(x); }

/// div.approx: for |b| in [2^-126, 2^126] within 2 ulp; above that the quotient is 0, as in hardware.
void divideApproximately(Warp &w, const Inst &i, uint32_t mask) {
  const char *ra = w.row(i.op[1]), *rb = w.row(i.op[2]);
  eachLane<float>(mask, w.row(i.op[0]), [&](int l) {
    float a = get<float>(ra, l), b = get<float>(rb, l);
    if (i.ftz)
      a = flush(a), b = flush(b);
    if (i.kind && std::isfinite(b) && std::fabs(b) > 0x1p126f) // approx, not full
      return canonical(std::isinf(a) ? std::nanf("") : a * std::copysign(0.0f, b));
    float result = canonical(a / b);
    return i.ftz ? flush(result) : result;
  });
}

template <double (*F)(double)> void decodeApproximate(Decoder &d) {
  if (!d.take("approx"))
    d.fail(".approx is missing");
  d.inst.ftz = d.take("ftz");
  Ty type = d.takeType();
  if (type == Ty::F64 && (d.statement.opcode == "rcp" || d.statement.opcode == "rsqrt")) {
    d.simple({type, type});
    d.inst.execute = approximateDouble<F>;
    return;
  }
  if (type == Ty::F16 || type == Ty::BF16 || type == Ty::F16x2 || type == Ty::BF16x2)
    return decodeHalfArithmetic(d, type);
  if (type != Ty::F32)
    d.fail("a type that this instruction does not have");
  d.simple({type, type});
  d.inst.execute = approximate<F>;
}

/// rcp and sqrt have exact forms too.
template <FloatOp Op, double (*F)(double)> void decodeExactOrApproximate(Decoder &d) {
  if (!d.takeRound(d.inst.round))
    return decodeApproximate<F>(d);
  d.inst.ftz = d.take("ftz");
  Ty type = d.takeType();
  d.inst.kind = Op;
  d.simple({type, type});
  d.inst.op[2] = d.inst.op[3] = d.inst.op[1];
  if (type != Ty::F32 && type != Ty::F64)
    d.fail("a type that this instruction does not have");
  d.inst.execute = type == Ty::F32 ? general<float> : general<double>;
}

template <class T> void testProperty(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]);
  uint32_t result = 0;
  forLanes(mask, [&](int l) {
    T x = get<T>(a, l);
    bool yes = false;
    switch (i.kind) {
    case 0: yes = std::isfinite(x); break;
    case 1: yes = std::isinf(x); break;
    case 2: yes = !std::isnan(x); break;
    case 3: yes = std::isnan(x); break;
    case 4: yes = std::isnormal(x); break;
    default: yes = x == 0 || std::fpclassify(x) == FP_SUBNORMAL; break;
    }
    result |= uint32_t(yes) << l;
  });
  w.setPredicate(i.op[0], mask, result);
}
template <class T> void copySign(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]), *b = w.row(i.op[2]);
  eachLane<T>(mask, w.row(i.op[0]), [=](int l) { return std::copysign(get<T>(b, l), get<T>(a, l)); });
}

} // namespace

/// add sub mul mad fma div min max abs neg of f32 and f64; the type is already taken.
void decodeFloatArithmetic(Decoder &d, Ty type) {
  static const std::map<std::string, FloatOp> ops = {{"add", Add}, {"sub", Sub}, {"mul", Mul}, {"mad", Fma},
                                                     {"fma", Fma}, {"div", Div}, {"min", Min}, {"max", Max},
                                                     {"abs", Abs}, {"neg", Neg}};
  auto found = ops.find(d.statement.opcode);
  if (found == ops.end())
    d.fail("a type that this instruction does not have");
  FloatOp op = found->second;
  bool isSingle = type == Ty::F32;
  d.inst.kind = op;
  d.inst.ftz = isSingle && d.take("ftz");
  if (op == Abs || op == Neg) {
    d.simple({type, type});
    d.inst.execute = isSingle ? sign<float> : sign<double>;
    return;
  }
  if (op == Min || op == Max) {
    d.inst.relu = isSingle && d.take("NaN");
    d.simple({type, type, type});
    d.inst.execute = isSingle ? minMax<float> : minMax<double>;
    return;
  }
  if (op == Div && isSingle && (d.take("full") || d.take("approx"))) {
    auto &mods = d.statement.modifiers;
    d.inst.kind = std::find(mods.begin(), mods.end(), "approx") != mods.end();
    d.simple({type, type, type});
    d.inst.execute = divideApproximately;
    return;
  }
  bool rounded = d.takeRound(d.inst.round);
  if (!rounded && (op == Fma || op == Div))
    d.fail("no rounding mode");
  d.inst.sat = isSingle && d.take("sat");
  if (op == Fma)
    d.simple({type, type, type, type});
  else {
    d.simple({type, type, type});
    d.inst.op[3] = d.inst.op[2];
  }
  bool isPlain = d.inst.round == Round::Nearest && !d.inst.ftz && !d.inst.sat;
  if (isSingle) {
    d.inst.execute = general<float>;
    if (isPlain && op == Add)
      d.inst.execute = plain<float, Add>;
    else if (isPlain && op == Sub)
      d.inst.execute = plain<float, Sub>;
    else if (isPlain && op == Mul)
      d.inst.execute = plain<float, Mul>;
    else if (isPlain && op == Fma)
      d.inst.execute = fmaSingle;
  } else {
    d.inst.execute = general<double>;
  }
}

void addFloatOps(DecodeTable &table) {
  table["fma"] = [](Decoder &d) {
    Ty type = d.takeType();
    if (type == Ty::F32 || type == Ty::F64)
      decodeFloatArithmetic(d, type);
    else
      decodeHalfArithmetic(d, type);
  };
  table["rcp"] = decodeExactOrApproximate<Rcp, rcpOf>;
  table["sqrt"] = decodeExactOrApproximate<Sqrt, sqrtOf>;
  table["rsqrt"] = decodeApproximate<rsqrtOf>;
  table["sin"] = decodeApproximate<sinOf>;
  table["cos"] = decodeApproximate<cosOf>;
  table["lg2"] = decodeApproximate<lg2Of>;
  table["ex2"] = decodeApproximate<ex2Of>;
  table["tanh"] = decodeApproximate<tanhOf>;
  table["testp"] = [](Decoder &d) {
    static const char *const names[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
    bool found = false;
    for (uint8_t k = 0; k < 6 && !found; ++k)
      if ((found = d.take(names[k])))
        d.inst.kind = k;
    if (!found)
      d.fail("no property");
    Ty type = d.takeType();
    d.simple({Ty::Pred, type});
    d.inst.execute = type == Ty::F64 ? testProperty<double> : testProperty<float>;
  };
  table["copysign"] = [](Decoder &d) {
    Ty type = d.takeType();
    d.simple({type, type, type});
    d.inst.execute = type == Ty::F64 ? copySign<double> : copySign<float>;
  };
}

} // namespace mxemu
