// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer arithmetic; add, sub, mul, … of floats are handed on by their type.
#include "exec/Warp.h"
#include "ptx/Decoder.h"

#include <algorithm>

namespace mxemu {

namespace {

template <class F> void withInteger(Decoder &d, Ty type, F use) {
  switch (type) {
  case Ty::U16:
  case Ty::B16:
    return use(uint16_t());
  case Ty::U32:
  case Ty::B32:
    return use(uint32_t());
  case Ty::U64:
  case Ty::B64:
    return use(uint64_t());
  case Ty::S16:
    return use(int16_t());
  case Ty::S32:
    return use(int32_t());
  case Ty::S64:
    return use(int64_t());
  default:
    d.fail("a type that this instruction does not have");
  }
}

template <class T> using Unsigned = std::make_unsigned_t<T>;
template <class T> struct Twice;
template <> struct Twice<uint16_t> { using type = uint32_t; };
template <> struct Twice<int16_t> { using type = int32_t; };
template <> struct Twice<uint32_t> { using type = uint64_t; };
template <> struct Twice<int32_t> { using type = int64_t; };
__extension__ typedef unsigned __int128 Wide128;
__extension__ typedef __int128 SignedWide128;
template <> struct Twice<uint64_t> { using type = Wide128; };
template <> struct Twice<int64_t> { using type = SignedWide128; };
template <class T> T highOf(T a, T b) {
  return T((typename Twice<T>::type(a) * typename Twice<T>::type(b)) >> (8 * sizeof(T)));
}
// Products of narrow unsigned types must not become signed ints.
template <class T> T times(T a, T b) { return T(uint64_t(a) * uint64_t(b)); }

template <class T, T (*F)(T, T)> void binary(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]), *b = w.row(i.op[2]);
  eachLane<T>(mask, w.row(i.op[0]), [=](int l) { return F(get<T>(a, l), get<T>(b, l)); });
}
template <class T, T (*F)(T)> void unary(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]);
  eachLane<T>(mask, w.row(i.op[0]), [=](int l) { return F(get<T>(a, l)); });
}
template <class T, T (*F)(T, T, T)> void ternary(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]), *b = w.row(i.op[2]), *c = w.row(i.op[3]);
  eachLane<T>(mask, w.row(i.op[0]),
              [=](int l) { return F(get<T>(a, l), get<T>(b, l), get<T>(c, l)); });
}

template <class T> T addOf(T a, T b) { return T(Unsigned<T>(a) + Unsigned<T>(b)); }
template <class T> T subOf(T a, T b) { return T(Unsigned<T>(a) - Unsigned<T>(b)); }
template <class T> T minOf(T a, T b) { return std::min(a, b); }
template <class T> T maxOf(T a, T b) { return std::max(a, b); }
template <class T> T absOf(T a) { return a < 0 ? T(0 - Unsigned<T>(a)) : a; }
template <class T> T negOf(T a) { return T(0 - Unsigned<T>(a)); }
// Division by zero gives all ones, as hardware does.
template <class T> T divOf(T a, T b) {
  if (b == 0)
    return T(-1);
  if constexpr (std::is_signed_v<T>)
    if (b == T(-1))
      return T(0 - Unsigned<T>(a));
  return T(a / b);
}
template <class T> T remOf(T a, T b) {
  if (b == 0)
    return a;
  if constexpr (std::is_signed_v<T>)
    if (b == T(-1))
      return 0;
  return T(a % b);
}
template <class T> T saturatedAdd(T a, T b) {
  int64_t sum = int64_t(a) + int64_t(b);
  return T(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX));
}
template <class T> T saturatedSub(T a, T b) {
  return T(std::clamp<int64_t>(int64_t(a) - int64_t(b), INT32_MIN, INT32_MAX));
}
template <class T> T madLow(T a, T b, T c) { return T(uint64_t(times(a, b)) + uint64_t(c)); }
template <class T> T madHigh(T a, T b, T c) {
  return T(Unsigned<T>(highOf(a, b)) + Unsigned<T>(c));
}
template <class T> T sadOf(T a, T b, T c) {
  Unsigned<T> difference =
      a < b ? Unsigned<T>(b) - Unsigned<T>(a) : Unsigned<T>(a) - Unsigned<T>(b);
  return T(difference + Unsigned<T>(c));
}
template <class T> T mul24Of(T a, T b) {
  int64_t x = int64_t(uint64_t(a) << 40), y = int64_t(uint64_t(b) << 40);
  if constexpr (std::is_signed_v<T>)
    return T((x >> 40) * (y >> 40));
  return T((uint64_t(x) >> 40) * (uint64_t(y) >> 40));
}
template <class T> T mad24Of(T a, T b, T c) { return addOf(mul24Of(a, b), c); }

template <class T, bool Add> void mulWide(Warp &w, const Inst &i, uint32_t mask) {
  using W = typename Twice<T>::type;
  using UW = std::make_unsigned_t<W>;
  const char *a = w.row(i.op[1]), *b = w.row(i.op[2]), *c = Add ? w.row(i.op[3]) : nullptr;
  eachLane<W>(mask, w.row(i.op[0]), [=](int l) {
    W product = W(UW(W(get<T>(a, l))) * UW(W(get<T>(b, l))));
    return Add ? W(UW(product) + UW(get<W>(c, l))) : product;
  });
}

Ty wider(Ty type) {
  switch (type) {
  case Ty::U16:
    return Ty::U32;
  case Ty::S16:
    return Ty::S32;
  case Ty::U32:
    return Ty::U64;
  case Ty::S32:
    return Ty::S64;
  default:
    return Ty::None;
  }
}

bool handedOn(Decoder &d, Ty type) {
  if (type == Ty::F32 || type == Ty::F64)
    decodeFloatArithmetic(d, type);
  else if (isFloat(type))
    decodeHalfArithmetic(d, type);
  return isFloat(type);
}

enum CarryKind : uint8_t { AddC = 1, SubC, MadLoC, MadHiC };

// The carry flag of a lane is kept in a row of the kernel's own.
template <class T> void carry(Warp &w, const Inst &i, uint32_t mask) {
  char *dst = w.row(i.op[0]), *flag = w.row(i.vector[0]);
  forLanes(mask, [&](int l) {
    T a = get<T>(w.row(i.op[1]), l), b = get<T>(w.row(i.op[2]), l);
    bool in = i.number & 1 && get<uint32_t>(flag, l), out;
    T result;
    if (i.kind == SubC) {
      result = T(a - b - T(in));
      out = a < b || (in && a == b);
    } else {
      if (i.kind == MadLoC || i.kind == MadHiC) {
        a = i.kind == MadLoC ? times(a, b) : highOf(a, b);
        b = get<T>(w.row(i.op[3]), l);
      }
      result = T(a + b + T(in));
      out = result < a || (in && result == a);
    }
    put<T>(dst, l, result);
    if (i.number & 2)
      put<uint32_t>(flag, l, out);
  });
}

void decodeCarry(Decoder &d, CarryKind kind, bool useCarry) {
  bool set = d.take("cc");
  if (kind == MadLoC) {
    if (d.take("hi"))
      kind = MadHiC;
    else if (!d.take("lo"))
      d.fail(".lo or .hi is missing");
  }
  Ty type = d.takeType();
  d.inst.kind = kind;
  d.inst.number = (useCarry ? 1 : 0) | (set ? 2 : 0);
  static const Argument flagName = [] {
    Argument name;
    name.name = "%carry-flag";
    return name;
  }();
  const Symbol *flag = d.builder.find(flagName.name);
  if (!flag)
    d.fail("no carry flag");
  d.inst.vector.push_back(flag->row);
  if (kind >= MadLoC)
    d.simple({type, type, type, type});
  else
    d.simple({type, type, type});
  switch (bytesOf(type)) {
  case 4:
    d.inst.execute = carry<uint32_t>;
    break;
  case 8:
    d.inst.execute = carry<uint64_t>;
    break;
  default:
    d.fail("a type that this instruction does not have");
  }
}

#define MXEMU_BINARY(NAME, FUNCTION)                                                               \
  table[NAME] = [](Decoder &d) {                                                                   \
    Ty type = d.takeType();                                                                        \
    if (handedOn(d, type))                                                                         \
      return;                                                                                      \
    d.simple({type, type, type});                                                                  \
    withInteger(d, type, [&](auto t) {                                                             \
      using T = decltype(t);                                                                       \
      d.inst.execute = binary<T, FUNCTION<T>>;                                                     \
    });                                                                                            \
  }

template <bool Subtract> void decodeAddSub(Decoder &d) {
  if (d.take("cc")) {
    // add.cc has the flag without reading it.
    Ty type = d.takeType();
    d.inst.kind = Subtract ? SubC : AddC;
    d.inst.number = 2;
    const Symbol *flag = d.builder.find("%carry-flag");
    if (!flag)
      d.fail("no carry flag");
    d.inst.vector.push_back(flag->row);
    d.simple({type, type, type});
    d.inst.execute = bytesOf(type) == 8 ? carry<uint64_t> : carry<uint32_t>;
    return;
  }
  Ty type = d.takeType();
  if (handedOn(d, type))
    return;
  bool saturate = type == Ty::S32 && d.take("sat");
  d.simple({type, type, type});
  withInteger(d, type, [&](auto t) {
    using T = decltype(t);
    d.inst.execute = binary < T, Subtract ? subOf<T> : addOf < T >> ;
    if constexpr (std::is_same_v<T, int32_t>)
      if (saturate)
        d.inst.execute = binary < T, Subtract ? saturatedSub<T> : saturatedAdd < T >> ;
  });
}

template <bool Add> void decodeMul(Decoder &d) {
  if (Add && d.statement.modifiers.size() > 1 &&
      std::find(d.statement.modifiers.begin(), d.statement.modifiers.end(), "cc") !=
          d.statement.modifiers.end())
    return decodeCarry(d, MadLoC, false);
  Ty type = d.takeType();
  if (handedOn(d, type))
    return;
  bool wide = d.take("wide"), high = !wide && d.take("hi");
  if (!wide && !high && !d.take("lo"))
    d.fail(".lo, .hi or .wide is missing");
  if (wide) {
    Ty result = wider(type);
    if (result == Ty::None)
      d.fail("a type that this instruction does not have");
    if (Add)
      d.simple({result, type, type, result});
    else
      d.simple({result, type, type});
    switch (type) {
    case Ty::U16:
      d.inst.execute = mulWide<uint16_t, Add>;
      break;
    case Ty::S16:
      d.inst.execute = mulWide<int16_t, Add>;
      break;
    case Ty::U32:
      d.inst.execute = mulWide<uint32_t, Add>;
      break;
    default:
      d.inst.execute = mulWide<int32_t, Add>;
      break;
    }
    return;
  }
  if (Add)
    d.simple({type, type, type, type});
  else
    d.simple({type, type, type});
  withInteger(d, type, [&](auto t) {
    using T = decltype(t);
    if constexpr (Add)
      d.inst.execute = high ? ternary<T, madHigh<T>> : ternary<T, madLow<T>>;
    else
      d.inst.execute = high ? binary<T, highOf<T>> : binary<T, times<T>>;
  });
}

/// dp4a, dp2a: dot products of bytes.
void dot(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]), *b = w.row(i.op[2]), *c = w.row(i.op[3]);
  eachLane<uint32_t>(mask, w.row(i.op[0]), [&](int l) {
    uint32_t x = get<uint32_t>(a, l), y = get<uint32_t>(b, l), sum = get<uint32_t>(c, l);
    auto byte = [](uint32_t word, int at, Ty type) {
      uint8_t value = uint8_t(word >> (8 * at));
      return isSigned(type) ? int32_t(int8_t(value)) : int32_t(value);
    };
    if (i.kind == 0)
      for (int k = 0; k < 4; ++k)
        sum += uint32_t(byte(x, k, i.type) * byte(y, k, i.from));
    else
      for (int k = 0; k < 2; ++k) {
        int32_t half =
            isSigned(i.type) ? int32_t(int16_t(x >> (16 * k))) : int32_t(uint16_t(x >> (16 * k)));
        sum += uint32_t(half * byte(y, k + (i.kind == 2 ? 2 : 0), i.from));
      }
    return sum;
  });
}

} // namespace

void addIntegerOps(DecodeTable &table) {
  table["add"] = decodeAddSub<false>;
  table["sub"] = decodeAddSub<true>;
  table["addc"] = [](Decoder &d) { decodeCarry(d, AddC, true); };
  table["subc"] = [](Decoder &d) { decodeCarry(d, SubC, true); };
  table["madc"] = [](Decoder &d) { decodeCarry(d, MadLoC, true); };
  table["mul"] = decodeMul<false>;
  table["mad"] = decodeMul<true>;
  MXEMU_BINARY("div", divOf);
  MXEMU_BINARY("rem", remOf);
  MXEMU_BINARY("min", minOf);
  MXEMU_BINARY("max", maxOf);
  table["abs"] = [](Decoder &d) {
    Ty type = d.takeType();
    if (handedOn(d, type))
      return;
    if (!isSigned(type))
      d.fail("abs of an unsigned type");
    d.simple({type, type});
    withInteger(d, type, [&](auto t) { d.inst.execute = unary<decltype(t), absOf<decltype(t)>>; });
  };
  table["neg"] = [](Decoder &d) {
    Ty type = d.takeType();
    if (handedOn(d, type))
      return;
    if (!isSigned(type))
      d.fail("neg of an unsigned type");
    d.simple({type, type});
    withInteger(d, type, [&](auto t) { d.inst.execute = unary<decltype(t), negOf<decltype(t)>>; });
  };
  table["sad"] = [](Decoder &d) {
    Ty type = d.takeType();
    d.simple({type, type, type, type});
    withInteger(d, type,
                [&](auto t) { d.inst.execute = ternary<decltype(t), sadOf<decltype(t)>>; });
  };
  table["mul24"] = [](Decoder &d) {
    if (!d.take("lo"))
      d.fail("only mul24.lo is supported");
    Ty type = d.takeType();
    d.simple({type, type, type});
    d.inst.execute =
        type == Ty::S32 ? binary<int32_t, mul24Of<int32_t>> : binary<uint32_t, mul24Of<uint32_t>>;
  };
  table["mad24"] = [](Decoder &d) {
    if (!d.take("lo"))
      d.fail("only mad24.lo is supported");
    Ty type = d.takeType();
    d.simple({type, type, type, type});
    d.inst.execute =
        type == Ty::S32 ? ternary<int32_t, mad24Of<int32_t>> : ternary<uint32_t, mad24Of<uint32_t>>;
  };
  table["dp4a"] = [](Decoder &d) {
    d.inst.type = d.takeType();
    d.inst.from = d.takeType();
    d.simple({Ty::U32, Ty::B32, Ty::B32, Ty::U32});
    d.inst.execute = dot;
  };
  table["dp2a"] = [](Decoder &d) {
    d.inst.kind = d.take("hi") ? 2 : 1;
    if (d.inst.kind == 1 && !d.take("lo"))
      d.fail(".lo or .hi is missing");
    d.inst.type = d.takeType();
    d.inst.from = d.takeType();
    d.simple({Ty::U32, Ty::B32, Ty::B32, Ty::U32});
    d.inst.execute = dot;
  };
}

} // namespace mxemu
