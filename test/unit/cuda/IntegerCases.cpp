// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "OpcodeCases.h"

#include <algorithm>

namespace mxemu {

using U = uint64_t;
__extension__ typedef __int128 Wide;

template <class T> static U bits(T value) { return U(std::make_unsigned_t<T>(value)); }

std::vector<OpcodeCase> integerCases() {
  std::vector<OpcodeCase> cases;
  auto add = [&](std::string name, std::string code, std::string types, auto expected) {
    cases.push_back({std::move(name), std::move(code), std::move(types), expected, 0, 0});
  };
  // Every two-operand instruction in every width; results modulo 2^bits.
  auto widths = [&](auto t, const std::string &type) {
    using T = decltype(t);
    auto two = [&](const std::string &op, auto f) {
      add(op + "_" + type, op + "." + type + " %d, %a, %b;", type + " " + type + " " + type,
          [f](U a, U b, U) { return bits(T(f(Wide(T(a)), Wide(T(b))))); });
    };
    two("add", [](Wide a, Wide b) { return a + b; });
    two("sub", [](Wide a, Wide b) { return a - b; });
    two("mul.lo", [](Wide a, Wide b) { return Wide(U(a) * U(b)); });
    two("min", [](Wide a, Wide b) { return std::min(a, b); });
    two("max", [](Wide a, Wide b) { return std::max(a, b); });
    two("div", [](Wide a, Wide b) { return b ? a / b : Wide(-1); });
    two("rem", [](Wide a, Wide b) { return b ? a % b : a; });
    if constexpr (sizeof(T) < 8)
      two("mul.hi", [](Wide a, Wide b) { return (a * b) >> (8 * sizeof(T)); });
    add("mad.lo_" + type, "mad.lo." + type + " %d, %a, %b, %c;",
        type + " " + type + " " + type + " " + type,
        [](U a, U b, U c) { return bits(T(a * b + c)); });
    if constexpr (std::is_signed_v<T>) {
      add("abs_" + type, "abs." + type + " %d, %a;", type + " " + type,
          [](U a, U, U) { return bits(T(T(a) < 0 ? 0 - a : a)); });
      add("neg_" + type, "neg." + type + " %d, %a;", type + " " + type,
          [](U a, U, U) { return bits(T(0 - a)); });
    }
    for (auto op : {"eq", "ne", "lt", "le", "gt", "ge"}) {
      std::string o = op;
      add("setp." + o + "_" + type,
          "setp." + o + "." + type + " %p, %a, %b; selp.u32 %d, 7, 9, %p;",
          "u32 " + type + " " + type, [o](U x, U y, U) {
            T a = T(x), b = T(y);
            bool yes = o == "eq"   ? a == b
                       : o == "ne" ? a != b
                       : o == "lt" ? a < b
                       : o == "le" ? a <= b
                       : o == "gt" ? a > b
                                   : a >= b;
            return U(yes ? 7 : 9);
          });
    }
    add("shr_" + type, "shr." + type + " %d, %a, %b;", type + " " + type + " u32", [](U a, U b, U) {
      unsigned width = 8 * sizeof(T), n = std::min(unsigned(uint32_t(b)), width);
      return bits(T(Wide(T(a)) >> n));
    });
  };
  widths(uint16_t(), "u16");
  widths(int16_t(), "s16");
  widths(uint32_t(), "u32");
  widths(int32_t(), "s32");
  widths(uint64_t(), "u64");
  widths(int64_t(), "s64");
  add("mul.hi_u64", "mul.hi.u64 %d, %a, %b;", "u64 u64 u64", [](U a, U b, U) {
    // by halves, without wide integers
    U al = uint32_t(a), ah = a >> 32, bl = uint32_t(b), bh = b >> 32;
    U low = al * bl, m1 = ah * bl + (low >> 32), m2 = al * bh + uint32_t(m1);
    return ah * bh + (m1 >> 32) + (m2 >> 32);
  });
  add("mul.wide_s32", "mul.wide.s32 %d, %a, %b;", "s64 s32 s32",
      [](U a, U b, U) { return U(int64_t(int32_t(a)) * int32_t(b)); });
  add("mul.wide_u32", "mul.wide.u32 %d, %a, %b;", "u64 u32 u32",
      [](U a, U b, U) { return U(uint32_t(a)) * uint32_t(b); });
  add("mul.wide_u16", "mul.wide.u16 %d, %a, %b;", "u32 u16 u16",
      [](U a, U b, U) { return U(uint16_t(a)) * uint16_t(b); });
  add("mad.wide_s32", "mad.wide.s32 %d, %a, %b, %c;", "s64 s32 s32 s64",
      [](U a, U b, U c) { return U(int64_t(int32_t(a)) * int32_t(b)) + c; });
  add("mad.hi_s32", "mad.hi.s32 %d, %a, %b, %c;", "s32 s32 s32 s32", [](U a, U b, U c) {
    return U(uint32_t((int64_t(int32_t(a)) * int32_t(b)) >> 32) + uint32_t(c)) & 0xffffffff;
  });
  add("add.sat_s32", "add.sat.s32 %d, %a, %b;", "s32 s32 s32", [](U a, U b, U) {
    int64_t sum = int64_t(int32_t(a)) + int32_t(b);
    return U(uint32_t(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : int32_t(sum)));
  });
  add("add.cc",
      "{ .reg .u32 lo, hi; add.cc.u32 lo, %a, %b; addc.u32 hi, 0, 0; mov.b64 %d, {lo, hi}; }",
      "u64 u32 u32", [](U a, U b, U) { return U(uint32_t(a)) + uint32_t(b); });
  add("sub.cc",
      "{ .reg .u32 lo, hi; sub.cc.u32 lo, %a, %b; subc.u32 hi, 0, 0; mov.b64 %d, {lo, hi}; }",
      "u64 u32 u32", [](U a, U b, U) { return U(uint32_t(a)) - U(uint32_t(b)); });
  add("sad_u32", "sad.u32 %d, %a, %b, %c;", "u32 u32 u32 u32", [](U a, U b, U c) {
    uint32_t x = uint32_t(a), y = uint32_t(b);
    return U(uint32_t((x > y ? x - y : y - x) + uint32_t(c)));
  });
  for (auto type : {"b16", "b32", "b64"}) {
    std::string t = type, three = t + " " + t + " " + t;
    U mask = t == "b16" ? 0xffff : t == "b32" ? 0xffffffff : ~U(0);
    unsigned width = t == "b16" ? 16 : t == "b32" ? 32 : 64;
    add("and_" + t, "and." + t + " %d, %a, %b;", three, [=](U a, U b, U) { return a & b & mask; });
    add("or_" + t, "or." + t + " %d, %a, %b;", three, [=](U a, U b, U) { return (a | b) & mask; });
    add("xor_" + t, "xor." + t + " %d, %a, %b;", three,
        [=](U a, U b, U) { return (a ^ b) & mask; });
    add("not_" + t, "not." + t + " %d, %a;", t + " " + t, [=](U a, U, U) { return ~a & mask; });
    add("cnot_" + t, "cnot." + t + " %d, %a;", t + " " + t,
        [=](U a, U, U) { return U((a & mask) == 0); });
    add("shl_" + t, "shl." + t + " %d, %a, %b;", t + " " + t + " u32",
        [=](U a, U b, U) { return uint32_t(b) >= width ? 0 : (a << uint32_t(b)) & mask; });
    add("selp_" + t, "setp.lt.u32 %p, %c, 1000000; selp." + t + " %d, %a, %b, %p;", three + " u32",
        [=](U a, U b, U c) { return (uint32_t(c) < 1000000 ? a : b) & mask; });
  }
  for (auto wide : {false, true}) {
    std::string t = wide ? "b64" : "b32";
    unsigned width = wide ? 64 : 32;
    U mask = wide ? ~U(0) : 0xffffffff;
    auto at = [](U v, unsigned i) { return v >> i & 1; };
    add("popc_" + t, "popc." + t + " %d, %a;", "u32 " + t, [=](U a, U, U) {
      U n = 0;
      for (unsigned i = 0; i < width; ++i)
        n += at(a, i);
      return n;
    });
    add("clz_" + t, "clz." + t + " %d, %a;", "u32 " + t, [=](U a, U, U) {
      U n = 0;
      while (n < width && !at(a, unsigned(width - 1 - n)))
        ++n;
      return n;
    });
    add("brev_" + t, "brev." + t + " %d, %a;", t + " " + t, [=](U a, U, U) {
      U r = 0;
      for (unsigned i = 0; i < width; ++i)
        r |= at(a, i) << (width - 1 - i);
      return r;
    });
    std::string u = wide ? "u64" : "u32", s = wide ? "s64" : "s32";
    auto field = [=](bool isSigned) {
      return [=](U a, U b, U c) {
        unsigned pos = unsigned(b & 255), len = unsigned(c & 255), msb = width - 1;
        U sbit = !isSigned || len == 0 ? 0 : at(a & mask, std::min(pos + len - 1, msb));
        U d = 0;
        for (unsigned i = 0; i <= msb; ++i)
          d |= (i < len && pos + i <= msb ? at(a, pos + i) : sbit) << i;
        return d;
      };
    };
    add("bfe_" + u,
        "{ .reg .u32 x, y; and.b32 x, %b, 63; and.b32 y, %c, 63; bfe." + u + " %d, %a, x, y; }",
        u + " " + u + " u32 u32", [=](U a, U b, U c) { return field(false)(a, b & 63, c & 63); });
    add("bfe_" + s,
        "{ .reg .u32 x, y; and.b32 x, %b, 63; and.b32 y, %c, 63; bfe." + s + " %d, %a, x, y; }",
        s + " " + s + " u32 u32", [=](U a, U b, U c) { return field(true)(a, b & 63, c & 63); });
    add("bfi_" + t,
        "{ .reg .u32 x, y; and.b32 x, %c, 63; shr.u32 y, %c, 8; and.b32 y, y, 63; bfi." + t +
            " %d, %a, %b, x, y; }",
        t + " " + t + " " + t + " u32", [=](U a, U b, U c) {
          unsigned pos = unsigned(c & 63), len = unsigned(c >> 8 & 63);
          U f = b & mask;
          for (unsigned i = 0; i < len && pos + i < width; ++i)
            f = (f & ~(U(1) << (pos + i))) | at(a, i) << (pos + i);
          return f;
        });
    add("bfind_" + s, "bfind." + s + " %d, %a;", "u32 " + s, [=](U a, U, U) {
      a &= mask;
      U sign = at(a, width - 1);
      for (int i = int(width) - 2; i >= 0; --i)
        if (at(a, unsigned(i)) != sign)
          return U(i);
      return U(0xffffffff);
    });
  }
  add("prmt", "prmt.b32 %d, %a, %b, %c;", "b32 b32 b32 b32", [](U a, U b, U c) {
    uint8_t bytes[8];
    for (int i = 0; i < 4; ++i)
      bytes[i] = uint8_t(a >> (8 * i)), bytes[i + 4] = uint8_t(b >> (8 * i));
    U d = 0;
    for (int i = 0; i < 4; ++i) {
      unsigned n = c >> (4 * i) & 15;
      uint8_t v = bytes[n & 7];
      d |= U(uint8_t(n & 8 ? (v & 0x80 ? 0xff : 0) : v)) << (8 * i);
    }
    return d;
  });
  for (unsigned lut : {0x80u, 0x96u, 0xe8u, 0xcau, 0x1u, 0x6au})
    add("lop3_" + std::to_string(lut), "lop3.b32 %d, %a, %b, %c, " + std::to_string(lut) + ";",
        "b32 b32 b32 b32", [lut](U a, U b, U c) {
          U d = 0;
          for (int i = 0; i < 32; ++i)
            d |= U(lut >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1) << i;
          return d;
        });
  add("shf.l.wrap", "shf.l.wrap.b32 %d, %a, %b, %c;", "b32 b32 b32 u32", [](U a, U b, U c) {
    unsigned n = c & 31;
    return (n ? b << n | uint32_t(a) >> (32 - n) : b) & 0xffffffff;
  });
  add("shf.r.clamp", "shf.r.clamp.b32 %d, %a, %b, %c;", "b32 b32 b32 u32", [](U a, U b, U c) {
    unsigned n = std::min<unsigned>(uint32_t(c), 32);
    return (n == 0 ? a : n == 32 ? b : uint32_t(b) << (32 - n) | uint32_t(a) >> n) & 0xffffffff;
  });
  add("dp4a_s", "dp4a.s32.s32 %d, %a, %b, %c;", "s32 b32 b32 s32", [](U a, U b, U c) {
    for (int i = 0; i < 4; ++i)
      c += U(int64_t(int8_t(a >> (8 * i))) * int8_t(b >> (8 * i)));
    return c & 0xffffffff;
  });
  add("dp4a_us", "dp4a.u32.s32 %d, %a, %b, %c;", "s32 b32 b32 s32", [](U a, U b, U c) {
    for (int i = 0; i < 4; ++i)
      c += U(int64_t(uint8_t(a >> (8 * i))) * int8_t(b >> (8 * i)));
    return c & 0xffffffff;
  });
  add("setp_and_pair",
      "setp.lt.u32 %q, %c, 5; setp.gt.and.s32 %p|%q, %a, %b, !%q; selp.u32 %d, 1, 0, %p; @%q "
      "add.u32 %d, %d, 2;",
      "u32 s32 s32 u32", [](U a, U b, U c) {
        bool with = !(uint32_t(c) < 5), gt = int32_t(a) > int32_t(b);
        return U((gt && with ? 1 : 0) + (!gt && with ? 2 : 0));
      });
  add("set_u32", "set.ge.u32.s32 %d, %a, %b;", "u32 s32 s32",
      [](U a, U b, U) { return U(int32_t(a) >= int32_t(b) ? 0xffffffff : 0); });
  add("slct", "slct.u32.s32 %d, %a, %b, %c;", "u32 u32 u32 s32",
      [](U a, U b, U c) { return (int32_t(c) >= 0 ? a : b) & 0xffffffff; });
  add("mov_pack", "{ .reg .b16 x, y; mov.b32 {x, y}, %a; mov.b32 %d, {y, x}; }", "b32 b32",
      [](U a, U, U) { return (a >> 16 & 0xffff) | (a & 0xffff) << 16; });
  return cases;
}

} // namespace mxemu
