// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// References of float instructions. They use the host's rounding modes and its own 16-bit
// conversions, not the emulator's rounding.
#include "OpcodeCases.h"

#include <cfenv>
#include <cmath>
#include <cstring>

namespace mxemu {

using U = uint64_t;

static float f(U bits) {
  float value;
  uint32_t word = uint32_t(bits);
  std::memcpy(&value, &word, 4);
  return value;
}
static double d(U bits) {
  double value;
  std::memcpy(&value, &bits, 8);
  return value;
}
static U b(float value) {
  uint32_t word;
  std::memcpy(&word, &value, 4);
  return std::isnan(value) ? 0x7fffffff : word;
}
static U b(double value) {
  U word;
  std::memcpy(&word, &value, 8);
  return word;
}
static float h(U bits) {
  _Float16 value;
  uint16_t word = uint16_t(bits);
  std::memcpy(&value, &word, 2);
  return float(value);
}
static U hb(double value) {
  if (std::isnan(value))
    return 0x7fff;
  _Float16 narrow = _Float16(value);
  uint16_t word;
  std::memcpy(&word, &narrow, 2);
  return word;
}
static float bh(U bits) { return f((bits & 0xffff) << 16); }
/// The nearest bf16 of an exact sum: the neighbours of its truncation are compared.
static U bhb(long double value) {
  if (std::isnan(value))
    return 0x7fff;
  float narrow = float(value);
  if (std::isinf(narrow) && !std::isinf(value))
    return std::signbit(value) ? 0xff80 : 0x7f80;
  U base = (b(narrow) >> 16) & 0xffff, best = base;
  long double distance = INFINITY;
  for (U candidate : {base - 1, base, base + 1}) {
    if (((candidate ^ base) & 0x8000) && (base & 0x7fff))
      continue;
    if ((candidate & 0x8000) != (std::signbit(value) ? 0x8000u : 0u))
      continue;
    long double at = (candidate & 0x7fff) == 0x7f80 ? std::copysign(0x1p128L, value)
                                                    : (long double)bh(candidate);
    long double gap = std::fabs(at - value);
    if (std::isinf(value))
      gap = (candidate & 0x7fff) == 0x7f80 ? 0 : INFINITY;
    if (gap < distance || (gap == distance && !(candidate & 1))) {
      distance = gap;
      best = candidate;
    }
  }
  return best & 0xffff;
}

static float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

template <class T, class F> static T inMode(int mode, F compute) {
  std::fesetround(mode);
  volatile T result = compute();
  std::fesetround(FE_TONEAREST);
  return result;
}

std::vector<OpcodeCase> floatCases() {
  std::vector<OpcodeCase> cases;
  auto add = [&](std::string name, std::string code, std::string types, auto expected,
                 double tolerance = 0, double absolute = 0) {
    cases.push_back(
        {std::move(name), std::move(code), std::move(types), expected, tolerance, absolute});
  };
  const std::pair<const char *, int> modes[] = {
      {"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};
  for (auto [name, mode] : modes) {
    std::string m = name;
    int r = mode;
    add("add." + m + "_f32", "add." + m + ".f32 %d, %a, %b;", "f32 f32 f32", [r](U x, U y, U) {
      volatile float p = f(x), q = f(y);
      return b(inMode<float>(r, [&] { return p + q; }));
    });
    add("sub." + m + "_f32", "sub." + m + ".f32 %d, %a, %b;", "f32 f32 f32", [r](U x, U y, U) {
      volatile float p = f(x), q = f(y);
      return b(inMode<float>(r, [&] { return p - q; }));
    });
    add("mul." + m + "_f32", "mul." + m + ".f32 %d, %a, %b;", "f32 f32 f32", [r](U x, U y, U) {
      volatile float p = f(x), q = f(y);
      return b(inMode<float>(r, [&] { return p * q; }));
    });
    add("fma." + m + "_f32", "fma." + m + ".f32 %d, %a, %b, %c;", "f32 f32 f32 f32",
        [r](U x, U y, U z) {
          volatile float p = f(x), q = f(y), s = f(z);
          return b(inMode<float>(r, [&] { return std::fma(float(p), float(q), float(s)); }));
        });
    add("div." + m + "_f32", "div." + m + ".f32 %d, %a, %b;", "f32 f32 f32", [r](U x, U y, U) {
      volatile float p = f(x), q = f(y);
      return b(inMode<float>(r, [&] { return p / q; }));
    });
    add("rcp." + m + "_f32", "rcp." + m + ".f32 %d, %a;", "f32 f32", [r](U x, U, U) {
      volatile float p = f(x);
      return b(inMode<float>(r, [&] { return 1.0f / p; }));
    });
    add("sqrt." + m + "_f32", "sqrt." + m + ".f32 %d, %a;", "f32 f32", [r](U x, U, U) {
      volatile float p = f(x);
      return b(inMode<float>(r, [&] { return std::sqrt(float(p)); }));
    });
    // x87's 64 bits with the mode set, rounded once more only where the first rounding was exact in
    // double
    add("add." + m + "_f64", "add." + m + ".f64 %d, %a, %b;", "f64 f64 f64", [r](U x, U y, U) {
      volatile double p = d(x), q = d(y);
      return b(inMode<double>(r, [&] { return p + q; }));
    });
    add("mul." + m + "_f64", "mul." + m + ".f64 %d, %a, %b;", "f64 f64 f64", [r](U x, U y, U) {
      volatile double p = d(x), q = d(y);
      return b(inMode<double>(r, [&] { return p * q; }));
    });
    add("fma." + m + "_f64", "fma." + m + ".f64 %d, %a, %b, %c;", "f64 f64 f64 f64",
        [r](U x, U y, U z) {
          volatile double p = d(x), q = d(y), s = d(z);
          return b(inMode<double>(r, [&] { return std::fma(double(p), double(q), double(s)); }));
        });
  }
  add("div.rn_f64", "div.rn.f64 %d, %a, %b;", "f64 f64 f64",
      [](U x, U y, U) { return b(d(x) / d(y)); });
  add("sqrt.rn_f64", "sqrt.rn.f64 %d, %a;", "f64 f64",
      [](U x, U, U) { return b(std::sqrt(d(x))); });
  add("add.ftz", "add.ftz.f32 %d, %a, %b;", "f32 f32 f32",
      [](U x, U y, U) { return b(flushed(flushed(f(x)) + flushed(f(y)))); });
  add("fma.ftz", "fma.rn.ftz.f32 %d, %a, %b, %c;", "f32 f32 f32 f32", [](U x, U y, U z) {
    return b(flushed(std::fma(flushed(f(x)), flushed(f(y)), flushed(f(z)))));
  });
  add("mul.sat", "mul.rn.sat.f32 %d, %a, %b;", "f32 f32 f32", [](U x, U y, U) {
    float v = f(x) * f(y);
    return b(!(v > 0) ? 0.0f : v < 1 ? v : 1.0f);
  });
  for (bool most : {false, true}) {
    std::string op = most ? "max" : "min";
    auto choose = [most](auto x, auto y) {
      if (std::isnan(x) || std::isnan(y))
        return std::isnan(x) ? y : x;
      if (x == y)
        return std::signbit(x) == most ? y : x;
      return (x > y) == most ? x : y;
    };
    add(op + "_f32", op + ".f32 %d, %a, %b;", "f32 f32 f32",
        [choose](U x, U y, U) { return b(choose(f(x), f(y))); });
    add(op + "_f64", op + ".f64 %d, %a, %b;", "f64 f64 f64",
        [choose](U x, U y, U) { return b(choose(d(x), d(y))); });
    add(op + ".NaN_f32", op + ".NaN.f32 %d, %a, %b;", "f32 f32 f32", [choose](U x, U y, U) {
      return std::isnan(f(x)) || std::isnan(f(y)) ? U(0x7fffffff) : b(choose(f(x), f(y)));
    });
    add(op + "_f16", op + ".f16 %d, %a, %b;", "f16 f16 f16",
        [choose](U x, U y, U) { return hb(choose(h(x), h(y))); });
  }
  add("abs_f32", "abs.f32 %d, %a;", "f32 f32", [](U x, U, U) { return x & 0x7fffffff; });
  add("neg_f32", "neg.f32 %d, %a;", "f32 f32",
      [](U x, U, U) { return (x & 0xffffffff) ^ 0x80000000; });
  add("neg_f64", "neg.f64 %d, %a;", "f64 f64", [](U x, U, U) { return x ^ (U(1) << 63); });
  add("copysign", "copysign.f32 %d, %a, %b;", "f32 f32 f32",
      [](U x, U y, U) { return (x & 0x80000000) | (y & 0x7fffffff); });
  add("testp",
      "testp.subnormal.f32 %p, %a; testp.notanumber.f32 %q, %a; selp.u32 %d, 1, 0, %p; @%q add.u32 "
      "%d, %d, 2;",
      "u32 f32", [](U x, U, U) {
        return U((std::fpclassify(f(x)) == FP_SUBNORMAL || f(x) == 0 ? 1 : 0) +
                 (std::isnan(f(x)) ? 2 : 0));
      });
  for (auto op : {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu",
                  "num", "nan"}) {
    std::string o = op;
    auto holds = [o](auto x, auto y) {
      bool unordered = std::isnan(x) || std::isnan(y);
      if (o == "num")
        return !unordered;
      if (o == "nan")
        return unordered;
      if (unordered)
        return o.size() == 3;
      std::string base = o.substr(0, 2);
      return base == "eq"   ? x == y
             : base == "ne" ? x != y
             : base == "lt" ? x < y
             : base == "le" ? x <= y
             : base == "gt" ? x > y
                            : x >= y;
    };
    std::string tail = " %p, %a, %b; selp.u32 %d, 1, 0, %p;";
    add("setp." + o + "_f32", "setp." + o + ".f32" + tail, "u32 f32 f32",
        [holds](U x, U y, U) { return U(holds(f(x), f(y))); });
    add("setp." + o + "_f64", "setp." + o + ".f64" + tail, "u32 f64 f64",
        [holds](U x, U y, U) { return U(holds(d(x), d(y))); });
    add("setp." + o + "_f16", "setp." + o + ".f16" + tail, "u32 f16 f16",
        [holds](U x, U y, U) { return U(holds(h(x), h(y))); });
  }
  // 16 bits
  add("add_f16", "add.rn.f16 %d, %a, %b;", "f16 f16 f16",
      [](U x, U y, U) { return hb(double(h(x)) + h(y)); });
  add("sub_f16", "sub.rn.f16 %d, %a, %b;", "f16 f16 f16",
      [](U x, U y, U) { return hb(double(h(x)) - h(y)); });
  add("mul_f16", "mul.rn.f16 %d, %a, %b;", "f16 f16 f16",
      [](U x, U y, U) { return hb(double(h(x)) * h(y)); });
  add("fma_f16", "fma.rn.f16 %d, %a, %b, %c;", "f16 f16 f16 f16",
      [](U x, U y, U z) { return hb(std::fma(double(h(x)), double(h(y)), double(h(z)))); });
  add("fma.relu_f16", "fma.rn.relu.f16 %d, %a, %b, %c;", "f16 f16 f16 f16", [](U x, U y, U z) {
    double v = std::fma(double(h(x)), double(h(y)), double(h(z)));
    return std::signbit(v) && !std::isnan(v) ? U(0) : hb(v);
  });
  add("fma_bf16", "fma.rn.bf16 %d, %a, %b, %c;", "bf16 bf16 bf16 bf16", [](U x, U y, U z) {
    // The sum of far exponents keeps a sticky digit in 64 bits.
    long double p = (long double)bh(x) * bh(y), s = p + bh(z);
    long double lost =
        std::isfinite(s)
            ? (std::fabs(p) > std::fabs((long double)bh(z)) ? bh(z) - (s - p) : p - (s - bh(z)))
            : 0;
    if (lost != 0 && !std::isnan(lost))
      s = std::nextafter(s, lost > 0 ? INFINITY : -INFINITY);
    return bhb(s);
  });
  add("max_bf16", "max.bf16 %d, %a, %b;", "bf16 bf16 bf16", [](U x, U y, U) {
    float p = bh(x), q = bh(y);
    if (std::isnan(p) || std::isnan(q))
      return std::isnan(p) && std::isnan(q) ? U(0x7fff) : std::isnan(p) ? y & 0xffff : x & 0xffff;
    return (p == q ? (std::signbit(p) ? y : x) : p > q ? x : y) & 0xffff;
  });
  add("add_f16x2", "add.rn.f16x2 %d, %a, %b;", "f16x2 f16x2 f16x2", [](U x, U y, U) {
    return hb(double(h(x)) + h(y)) | hb(double(h(x >> 16)) + h(y >> 16)) << 16;
  });
  add("fma_f16x2", "fma.rn.f16x2 %d, %a, %b, %c;", "f16x2 f16x2 f16x2 f16x2", [](U x, U y, U z) {
    auto one = [](U p, U q, U r) { return hb(std::fma(double(h(p)), double(h(q)), double(h(r)))); };
    return one(x, y, z) | one(x >> 16, y >> 16, z >> 16) << 16;
  });
  // Approximations, within the bounds of the ISA.
  auto approx = [&](const std::string &op, auto g, double tolerance, double absolute) {
    add(
        op + ".approx", op + ".approx.f32 %d, %a;", "f32 f32",
        [g](U x, U, U) { return b(float(g((long double)f(x)))); }, tolerance, absolute);
  };
  approx(
      "ex2", [](long double x) { return std::exp2(x); }, 0x1p-22, 0x1p-148);
  approx(
      "lg2", [](long double x) { return std::log2(x); }, 0x1p-22, 0x1p-22);
  approx(
      "rcp", [](long double x) { return 1 / x; }, 0x1p-23, 0x1p-148);
  approx(
      "rsqrt", [](long double x) { return 1 / std::sqrt(x); }, 0x1p-22, 0);
  approx(
      "sqrt", [](long double x) { return std::sqrt(x); }, 0x1p-22, 0);
  approx(
      "tanh", [](long double x) { return std::tanh(x); }, 0x1p-11, 0);
  for (auto op : {"sin", "cos"})
    add(
        std::string(op) + ".approx",
        std::string("{ .reg .pred far; .reg .f32 y; abs.f32 y, %a; setp.gtu.f32 far, y, "
                    "0f40490FDB; @far mov.f32 %a, 0f3F800000; ") +
            op + ".approx.f32 %d, %a; }",
        "f32 f32",
        [sine = std::string(op) == "sin"](U x, U, U) {
          float v = f(x);
          if (!(std::fabs(v) <= f(0x40490fdb)))
            v = 1;
          return b(float(sine ? std::sin((long double)v) : std::cos((long double)v)));
        },
        0, 0x1.7p-21);
  add(
      "div.full", "div.full.f32 %d, %a, %b;", "f32 f32 f32",
      [](U x, U y, U) { return b(f(x) / f(y)); }, 0x1p-22, 0x1p-148);
  return cases;
}

std::vector<OpcodeCase> convertCases() {
  std::vector<OpcodeCase> cases;
  auto add = [&](std::string name, std::string code, std::string types, auto expected) {
    cases.push_back({std::move(name), std::move(code), std::move(types), expected, 0, 0});
  };
  struct IntegerType {
    const char *name;
    int bits;
    bool isSigned;
  };
  const IntegerType integers[] = {{"u8", 8, false},   {"u16", 16, false}, {"u32", 32, false},
                                  {"u64", 64, false}, {"s8", 8, true},    {"s16", 16, true},
                                  {"s32", 32, true},  {"s64", 64, true}};
  auto extend = [](U value, const IntegerType &t) {
    U mask = t.bits == 64 ? ~U(0) : (U(1) << t.bits) - 1;
    value &= mask;
    if (t.isSigned && t.bits < 64 && value >> (t.bits - 1))
      value |= ~mask;
    return value;
  };
  auto width = [](const IntegerType &t) {
    return t.bits == 64 ? ~U(0) : t.bits == 32 || t.bits == 16 ? (U(1) << t.bits) - 1 : U(0xffff);
  };
  for (auto &to : integers)
    for (auto &from : integers) {
      std::string t = to.name, s = from.name;
      add("cvt_" + t + "_" + s, "cvt." + t + "." + s + " %d, %a;", t + " " + s,
          [=](U a, U, U) { return extend(extend(a, from), to) & width(to); });
    }
  add("cvt.sat_u8_s32", "cvt.sat.u8.s32 %d, %a;", "u8 s32", [](U a, U, U) {
    return U(int32_t(a) < 0 ? 0 : int32_t(a) > 255 ? 255 : int32_t(a));
  });
  add("cvt.sat_s16_s64", "cvt.sat.s16.s64 %d, %a;", "s16 s64", [](U a, U, U) {
    return U(uint16_t(int64_t(a) < -32768 ? -32768 : int64_t(a) > 32767 ? 32767 : int64_t(a)));
  });
  const std::pair<const char *, int> modes[] = {
      {"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};
  for (auto [modeName, mode] : modes) {
    std::string m = modeName;
    int r = mode;
    for (auto &to : integers)
      for (bool wide : {false, true}) {
        std::string t = to.name, s = wide ? "f64" : "f32";
        add("cvt." + m + "i_" + t + "_" + s, "cvt." + m + "i." + t + "." + s + " %d, %a;",
            t + " " + s, [=](U a, U, U) {
              volatile double v = wide ? d(a) : double(f(a));
              if (std::isnan(double(v)))
                return !wide && to.bits != 64 ? U(0)
                                              : (to.isSigned ? extend(U(1) << (to.bits - 1), to)
                                                             : U(1) << (to.bits - 1)) &
                                                    width(to);
              double rounded = inMode<double>(r, [&] { return std::nearbyint(double(v)); });
              double top = std::ldexp(1.0, to.isSigned ? to.bits - 1 : to.bits),
                     low = to.isSigned ? -top : 0;
              U result = rounded >= top   ? (to.isSigned     ? (U(1) << (to.bits - 1)) - 1
                                             : to.bits == 64 ? ~U(0)
                                                             : (U(1) << to.bits) - 1)
                         : rounded <= low ? (to.isSigned ? U(0) - (U(1) << (to.bits - 1)) : 0)
                         : rounded < 0    ? U(int64_t(rounded))
                                          : U(rounded);
              return extend(result, to) & width(to);
            });
      }
    for (auto &from : integers) {
      std::string s = from.name;
      add("cvt." + m + "_f32_" + s, "cvt." + m + ".f32." + s + " %d, %a;", "f32 " + s,
          [=](U a, U, U) {
            volatile U v = extend(a, from);
            return b(
                inMode<float>(r, [&] { return from.isSigned ? float(int64_t(v)) : float(U(v)); }));
          });
      add("cvt." + m + "_f64_" + s, "cvt." + m + ".f64." + s + " %d, %a;", "f64 " + s,
          [=](U a, U, U) {
            volatile U v = extend(a, from);
            // The host's sequence for unsigned values gives -0 for 0 when it rounds down.
            return v == 0 ? U(0) : b(inMode<double>(r, [&] {
              return from.isSigned ? double(int64_t(v)) : double(U(v));
            }));
          });
    }
    add("cvt." + m + "_f32_f64", "cvt." + m + ".f32.f64 %d, %a;", "f32 f64", [=](U a, U, U) {
      volatile double v = d(a);
      return b(inMode<float>(r, [&] { return float(v); }));
    });
    add("cvt." + m + "i_f32_f32", "cvt." + m + "i.f32.f32 %d, %a;", "f32 f32", [=](U a, U, U) {
      volatile float v = f(a);
      return b(inMode<float>(r, [&] { return std::nearbyint(float(v)); }));
    });
  }
  add("cvt_f64_f32", "cvt.f64.f32 %d, %a;", "f64 f32", [](U a, U, U) { return b(double(f(a))); });
  add("cvt_f32_f16", "cvt.f32.f16 %d, %a;", "f32 f16", [](U a, U, U) { return b(h(a)); });
  add("cvt_f16_f32", "cvt.rn.f16.f32 %d, %a;", "f16 f32", [](U a, U, U) { return hb(f(a)); });
  add("cvt_f16_f64", "cvt.rn.f16.f64 %d, %a;", "f16 f64", [](U a, U, U) { return hb(d(a)); });
  add("cvt_bf16_f32", "cvt.rn.bf16.f32 %d, %a;", "bf16 f32", [](U a, U, U) {
    if (std::isnan(f(a)))
      return U(0x7fff);
    a &= 0xffffffff;
    return (a + 0x7fff + (a >> 16 & 1)) >> 16;
  });
  add("cvt_bf16x2_f32", "cvt.rn.bf16x2.f32 %d, %a, %b;", "bf16x2 f32 f32",
      [](U a, U c, U) { return bhb(f(c)) | bhb(f(a)) << 16; });
  add("cvt_f16x2_f32", "cvt.rn.f16x2.f32 %d, %a, %b;", "f16x2 f32 f32",
      [](U a, U c, U) { return hb(f(c)) | hb(f(a)) << 16; });
  add("cvt.rna_tf32", "cvt.rna.tf32.f32 %d, %a;", "b32 f32", [](U a, U, U) {
    if (std::isnan(f(a)))
      return U(0x7fffffff);
    a &= 0xffffffff;
    return std::isinf(f(a)) ? a : (a + 0x1000) & ~U(0x1fff);
  });
  add("cvt.sat_f32_f32", "cvt.sat.f32.f32 %d, %a;", "f32 f32", [](U a, U, U) {
    return b(!(f(a) > 0) ? 0.0f : f(a) < 1 ? f(a) : 1.0f);
  });
  add("cvt_rni_s32_f16", "cvt.rni.s32.f16 %d, %a;", "s32 f16", [](U a, U, U) {
    float v = h(a);
    return U(uint32_t(std::isnan(v)   ? 0
                      : std::isinf(v) ? (v > 0 ? INT32_MAX : INT32_MIN)
                                      : int32_t(std::nearbyint(v))));
  });
  add("cvt_f16_s32", "cvt.rn.f16.s32 %d, %a;", "f16 s32",
      [](U a, U, U) { return hb(double(int32_t(a))); });
  return cases;
}

} // namespace mxemu
