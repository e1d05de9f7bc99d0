// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bits: and, or, xor, not, shifts, fields, permutations, lop3.
#include "exec/Warp.h"
#include "ptx/Decoder.h"

#include <algorithm>
#include <bit>

namespace mxemu {

namespace {

template <class F> void withBits(Decoder &d, Ty type, F use) {
  switch (bytesOf(type)) {
  case 2:
    return use(uint16_t());
  case 4:
    return use(uint32_t());
  case 8:
    return use(uint64_t());
  default:
    d.fail("a type that this instruction does not have");
  }
}

enum Bitwise : uint8_t { And, Or, Xor };
template <class T> T combine(uint8_t kind, T a, T b) {
  return T(kind == And ? a & b : kind == Or ? a | b : a ^ b);
}
template <class T, Bitwise Kind> void bitwise(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]), *b = w.row(i.op[2]);
  eachLane<T>(mask, w.row(i.op[0]),
              [=](int l) { return combine<T>(Kind, get<T>(a, l), get<T>(b, l)); });
}
void bitwisePredicate(Warp &w, const Inst &i, uint32_t mask) {
  w.setPredicate(i.op[0], mask,
                 combine<uint32_t>(i.kind, w.predicate(i.op[1]), w.predicate(i.op[2])));
}
template <Bitwise Kind> void decodeBitwise(Decoder &d) {
  Ty type = d.takeType();
  d.inst.kind = Kind;
  d.simple({type, type, type});
  if (type == Ty::Pred)
    d.inst.execute = bitwisePredicate;
  else
    withBits(d, type, [&](auto t) { d.inst.execute = bitwise<decltype(t), Kind>; });
}

template <class T, bool Condition> void negate(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]);
  eachLane<T>(mask, w.row(i.op[0]),
              [=](int l) { return Condition ? T(!get<T>(a, l)) : T(~get<T>(a, l)); });
}

// Shift amounts above the width are clamped to it.
template <class T> void shiftLeft(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]), *b = w.row(i.op[2]);
  eachLane<T>(mask, w.row(i.op[0]), [=](int l) {
    uint32_t n = get<uint32_t>(b, l);
    return n >= 8 * sizeof(T) ? T(0) : T(get<T>(a, l) << n);
  });
}
template <class T> void shiftRight(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]), *b = w.row(i.op[2]);
  eachLane<T>(mask, w.row(i.op[0]), [=](int l) {
    uint32_t n = std::min<uint32_t>(get<uint32_t>(b, l), 8 * sizeof(T));
    T value = get<T>(a, l);
    if (n == 8 * sizeof(T))
      return value < 0 ? T(-1) : T(0);
    return T(value >> n);
  });
}

void funnel(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]), *b = w.row(i.op[2]), *c = w.row(i.op[3]);
  eachLane<uint32_t>(mask, w.row(i.op[0]), [&](int l) {
    uint32_t n = get<uint32_t>(c, l);
    n = i.kind & 2 ? n & 31 : std::min(n, 32u); // wrap or clamp
    uint64_t both = uint64_t(get<uint32_t>(b, l)) << 32 | get<uint32_t>(a, l);
    return i.kind & 1 ? uint32_t(both >> n) : uint32_t((both << n) >> 32);
  });
}

template <class T> void countBits(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]);
  eachLane<uint32_t>(mask, w.row(i.op[0]), [&](int l) {
    T value = get<T>(a, l);
    return uint32_t(i.kind ? std::countl_zero(value) : std::popcount(value));
  });
}
template <class T> void reverse(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]);
  eachLane<T>(mask, w.row(i.op[0]), [=](int l) {
    T value = get<T>(a, l), result = 0;
    for (size_t bit = 0; bit < 8 * sizeof(T); ++bit, value >>= 1)
      result = T(result << 1 | (value & 1));
    return result;
  });
}
/// bfind: position of the highest bit that differs from the sign; all ones for none.
template <class T> void findBit(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]);
  eachLane<uint32_t>(mask, w.row(i.op[0]), [&](int l) {
    T value = get<T>(a, l);
    if (i.sat && std::make_signed_t<T>(value) < 0) // sat stands for a signed type
      value = T(~value);
    if (!value)
      return ~0u;
    uint32_t position = uint32_t(8 * sizeof(T)) - 1 - uint32_t(std::countl_zero(value));
    return i.kind ? uint32_t(8 * sizeof(T)) - 1 - position : position;
  });
}
template <class T> void extract(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]), *b = w.row(i.op[2]), *c = w.row(i.op[3]);
  constexpr uint32_t top = 8 * sizeof(T) - 1;
  eachLane<T>(mask, w.row(i.op[0]), [&](int l) {
    T value = get<T>(a, l);
    uint32_t position = get<uint32_t>(b, l) & 255, length = get<uint32_t>(c, l) & 255;
    bool sign = false;
    if (i.sat && length)
      sign = value >> std::min(position + length - 1, top) & 1;
    T result = 0;
    for (uint32_t bit = 0; bit <= top; ++bit) {
      bool set = bit < length && position + bit <= top ? value >> (position + bit) & 1 : sign;
      result = T(result | T(set) << bit);
    }
    return result;
  });
}
template <class T> void insert(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]), *b = w.row(i.op[2]), *c = w.row(i.op[3]), *e = w.row(i.op[4]);
  constexpr uint32_t width = 8 * sizeof(T);
  eachLane<T>(mask, w.row(i.op[0]), [=](int l) {
    T source = get<T>(a, l), result = get<T>(b, l);
    uint32_t position = get<uint32_t>(c, l) & 255, length = get<uint32_t>(e, l) & 255;
    for (uint32_t bit = 0; bit < length && position + bit < width; ++bit) {
      T one = T(T(1) << (position + bit));
      result = source >> bit & 1 ? T(result | one) : T(result & ~one);
    }
    return result;
  });
}
void permute(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]), *b = w.row(i.op[2]), *c = w.row(i.op[3]);
  eachLane<uint32_t>(mask, w.row(i.op[0]), [&](int l) {
    uint64_t both = uint64_t(get<uint32_t>(b, l)) << 32 | get<uint32_t>(a, l);
    uint32_t control = get<uint32_t>(c, l), n = control & 3, result = 0;
    for (uint32_t k = 0; k < 4; ++k) {
      uint32_t choice;
      switch (i.kind) {
      default:
        choice = control >> (4 * k) & 15;
        break;
      case 1:
        choice = n + k;
        break; // f4e
      case 2:
        choice = (n + 8 - k) & 7;
        break; // b4e
      case 3:
        choice = n;
        break; // rc8
      case 4:
        choice = std::max(k, n);
        break; // ecl
      case 5:
        choice = std::min(k, n);
        break; // ecr
      case 6:
        choice = (n & 1) * 2 + (k & 1);
        break; // rc16
      }
      uint32_t byte = uint32_t(both >> (8 * (choice & 7))) & 255;
      if (choice & 8)
        byte = byte & 128 ? 255 : 0;
      result |= byte << (8 * k);
    }
    return result;
  });
}
void lop3(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]), *b = w.row(i.op[2]), *c = w.row(i.op[3]);
  eachLane<uint32_t>(mask, w.row(i.op[0]), [&](int l) {
    uint32_t x = get<uint32_t>(a, l), y = get<uint32_t>(b, l), z = get<uint32_t>(c, l), result = 0;
    for (uint32_t term = 0; term < 8; ++term)
      if (i.number >> term & 1)
        result |= (term & 4 ? x : ~x) & (term & 2 ? y : ~y) & (term & 1 ? z : ~z);
    return result;
  });
}

} // namespace

void addLogicOps(DecodeTable &table) {
  table["and"] = decodeBitwise<And>;
  table["or"] = decodeBitwise<Or>;
  table["xor"] = decodeBitwise<Xor>;
  table["not"] = [](Decoder &d) {
    Ty type = d.takeType();
    d.simple({type, type});
    if (type == Ty::Pred)
      d.inst.execute = [](Warp &w, const Inst &i, uint32_t mask) {
        w.setPredicate(i.op[0], mask, ~w.predicate(i.op[1]));
      };
    else
      withBits(d, type, [&](auto t) { d.inst.execute = negate<decltype(t), false>; });
  };
  table["cnot"] = [](Decoder &d) {
    Ty type = d.takeType();
    d.simple({type, type});
    withBits(d, type, [&](auto t) { d.inst.execute = negate<decltype(t), true>; });
  };
  table["shl"] = [](Decoder &d) {
    Ty type = d.takeType();
    d.simple({type, type, Ty::U32});
    withBits(d, type, [&](auto t) { d.inst.execute = shiftLeft<decltype(t)>; });
  };
  table["shr"] = [](Decoder &d) {
    Ty type = d.takeType();
    d.simple({type, type, Ty::U32});
    withBits(d, type, [&](auto t) {
      using T = decltype(t);
      d.inst.execute = isSigned(type) ? shiftRight<std::make_signed_t<T>> : shiftRight<T>;
    });
  };
  table["shf"] = [](Decoder &d) {
    bool right = d.take("r");
    if (!right && !d.take("l"))
      d.fail(".l or .r is missing");
    bool wrap = d.take("wrap");
    if (!wrap && !d.take("clamp"))
      d.fail(".wrap or .clamp is missing");
    d.takeType();
    d.inst.kind = uint8_t((right ? 1 : 0) | (wrap ? 2 : 0));
    d.simple({Ty::B32, Ty::B32, Ty::B32, Ty::U32});
    d.inst.execute = funnel;
  };
  table["popc"] = table["clz"] = [](Decoder &d) {
    Ty type = d.takeType();
    d.inst.kind = d.statement.opcode == "clz";
    d.simple({Ty::U32, type});
    withBits(d, type, [&](auto t) { d.inst.execute = countBits<decltype(t)>; });
  };
  table["brev"] = [](Decoder &d) {
    Ty type = d.takeType();
    d.simple({type, type});
    withBits(d, type, [&](auto t) { d.inst.execute = reverse<decltype(t)>; });
  };
  table["bfind"] = [](Decoder &d) {
    d.inst.kind = d.take("shiftamt");
    Ty type = d.takeType();
    d.inst.sat = isSigned(type);
    d.simple({Ty::U32, type});
    withBits(d, type, [&](auto t) { d.inst.execute = findBit<decltype(t)>; });
  };
  table["bfe"] = [](Decoder &d) {
    Ty type = d.takeType();
    d.inst.sat = isSigned(type);
    d.simple({type, type, Ty::U32, Ty::U32});
    withBits(d, type, [&](auto t) { d.inst.execute = extract<decltype(t)>; });
  };
  table["bfi"] = [](Decoder &d) {
    Ty type = d.takeType();
    d.simple({type, type, type, Ty::U32, Ty::U32});
    withBits(d, type, [&](auto t) { d.inst.execute = insert<decltype(t)>; });
  };
  table["prmt"] = [](Decoder &d) {
    d.takeType();
    static const char *const modes[] = {"", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
    for (uint8_t k = 1; k < 7; ++k)
      if (d.take(modes[k]))
        d.inst.kind = k;
    d.simple({Ty::B32, Ty::B32, Ty::B32, Ty::B32});
    d.inst.execute = permute;
  };
  table["lop3"] = [](Decoder &d) {
    d.takeType();
    d.expectOperands(5, 5);
    d.inst.op[0] = d.destination(0, Ty::B32);
    for (size_t k = 1; k < 4; ++k)
      d.inst.op[k] = d.source(k, Ty::B32);
    d.inst.number = uint32_t(d.immediate(4)) & 255;
    d.inst.execute = lop3;
  };
}

} // namespace mxemu
