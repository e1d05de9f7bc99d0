// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// setp, set, selp, slct.
#include "exec/Warp.h"
#include "ptx/Decoder.h"

namespace mxemu {

namespace {

enum Comparison : uint8_t { Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan };

template <Comparison C, class T> bool compare(T a, T b) {
  bool unordered = a != a || b != b;
  switch (C) {
  case Eq:
    return a == b;
  case Ne:
    return a != b && !unordered;
  case Lt:
    return a < b;
  case Le:
    return a <= b;
  case Gt:
    return a > b;
  case Ge:
    return a >= b;
  case Equ:
    return unordered || a == b;
  case Neu:
    return unordered || a != b;
  case Ltu:
    return unordered || a < b;
  case Leu:
    return unordered || a <= b;
  case Gtu:
    return unordered || a > b;
  case Geu:
    return unordered || a >= b;
  case Num:
    return !unordered;
  case Nan:
    return unordered;
  }
  return false;
}

template <class T> auto value(const char *row, int lane, bool ftz) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BHalf>) {
    return fromHalf(get<T>(row, lane));
  } else if constexpr (std::is_same_v<T, float>) {
    float result = get<float>(row, lane);
    return ftz ? flush(result) : result;
  } else {
    return get<T>(row, lane);
  }
}

/// A bit a lane, for the lanes of the mask.
template <class T, Comparison C> uint32_t compareLanes(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]), *b = w.row(i.op[2]);
  uint32_t result = 0;
  if (i.ftz) {
    forLanes(mask, [&](int l) {
      result |= uint32_t(compare<C>(value<T>(a, l, true), value<T>(b, l, true))) << l;
    });
  } else {
    for (int l = 0; l < 32; ++l)
      result |= uint32_t(compare<C>(value<T>(a, l, false), value<T>(b, l, false))) << l;
  }
  return result;
}

// kind: 0 none, 1 and, 2 or, 3 xor with the predicate op[3]; q takes the inverted comparison.
template <class T, Comparison C> void setPredicate(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t first = compareLanes<T, C>(w, i, mask), second = ~first;
  if (i.kind) {
    uint32_t with = w.predicate(i.op[3]);
    auto join = [&](uint32_t x) {
      return i.kind == 1 ? x & with : i.kind == 2 ? x | with : x ^ with;
    };
    first = join(first);
    second = join(second);
  }
  w.setPredicate(i.op[0], mask, first);
  if (i.number)
    w.setPredicate(i.op[4], mask, second);
}

template <class T, Comparison C> void setValue(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t result = compareLanes<T, C>(w, i, mask);
  if (i.kind) {
    uint32_t with = w.predicate(i.op[3]);
    result = i.kind == 1 ? result & with : i.kind == 2 ? result | with : result ^ with;
  }
  uint32_t yes = i.type == Ty::F32 ? 0x3f800000 : ~0u;
  eachLane<uint32_t>(mask, w.row(i.op[0]), [=](int l) { return result >> l & 1 ? yes : 0; });
}

template <class T, Comparison C> Execute pick(bool predicate) {
  return predicate ? setPredicate<T, C> : setValue<T, C>;
}
template <class T> Execute forType(Comparison c, bool p) {
  switch (c) {
  case Eq:
    return pick<T, Eq>(p);
  case Ne:
    return pick<T, Ne>(p);
  case Lt:
    return pick<T, Lt>(p);
  case Le:
    return pick<T, Le>(p);
  case Gt:
    return pick<T, Gt>(p);
  case Ge:
    return pick<T, Ge>(p);
  default:
    break;
  }
  if constexpr (!std::is_integral_v<T>)
    switch (c) {
    case Equ:
      return pick<T, Equ>(p);
    case Neu:
      return pick<T, Neu>(p);
    case Ltu:
      return pick<T, Ltu>(p);
    case Leu:
      return pick<T, Leu>(p);
    case Gtu:
      return pick<T, Gtu>(p);
    case Geu:
      return pick<T, Geu>(p);
    case Num:
      return pick<T, Num>(p);
    case Nan:
      return pick<T, Nan>(p);
    default:
      break;
    }
  return nullptr;
}

void decodeCompare(Decoder &d, bool predicate) {
  static const std::pair<const char *, Comparison> names[] = {
      {"eq", Eq},   {"ne", Ne},   {"lt", Lt},   {"le", Le},   {"gt", Gt},   {"ge", Ge},
      {"lo", Lt},   {"ls", Le},   {"hi", Gt},   {"hs", Ge},   {"equ", Equ}, {"neu", Neu},
      {"ltu", Ltu}, {"leu", Leu}, {"gtu", Gtu}, {"geu", Geu}, {"num", Num}, {"nan", Nan}};
  int comparison = -1;
  for (auto &[name, c] : names)
    if (d.take(name)) {
      comparison = c;
      break;
    }
  if (comparison < 0)
    d.fail("no comparison");
  d.inst.kind = d.take("and") ? 1 : d.take("or") ? 2 : d.take("xor") ? 3 : 0;
  d.inst.ftz = d.take("ftz");
  if (!predicate)
    d.inst.type = d.takeType();
  Ty type = d.takeType();
  size_t operands = d.inst.kind ? 4 : 3;
  d.expectOperands(operands, operands);
  if (predicate) {
    const Argument &target = d.written(0);
    bool isPair = target.kind == Argument::Pair;
    d.inst.op[0] = d.destination(isPair ? target.parts[0] : target, Ty::Pred);
    if (isPair) {
      d.inst.number = 1;
      d.inst.op[4] = d.destination(target.parts[1], Ty::Pred);
    }
  } else {
    d.inst.op[0] = d.destination(0, d.inst.type);
    if (bytesOf(d.inst.type) != 4)
      d.fail("a type that this instruction does not have");
  }
  d.inst.op[1] = d.source(1, type);
  d.inst.op[2] = d.source(2, type);
  if (d.inst.kind)
    d.inst.op[3] = d.source(3, Ty::Pred);
  Comparison c = Comparison(comparison);
  switch (type) {
  case Ty::B16:
  case Ty::U16:
    d.inst.execute = forType<uint16_t>(c, predicate);
    break;
  case Ty::B32:
  case Ty::U32:
    d.inst.execute = forType<uint32_t>(c, predicate);
    break;
  case Ty::B64:
  case Ty::U64:
    d.inst.execute = forType<uint64_t>(c, predicate);
    break;
  case Ty::S16:
    d.inst.execute = forType<int16_t>(c, predicate);
    break;
  case Ty::S32:
    d.inst.execute = forType<int32_t>(c, predicate);
    break;
  case Ty::S64:
    d.inst.execute = forType<int64_t>(c, predicate);
    break;
  case Ty::F32:
    d.inst.execute = forType<float>(c, predicate);
    break;
  case Ty::F64:
    d.inst.execute = forType<double>(c, predicate);
    break;
  case Ty::F16:
    d.inst.execute = forType<Half>(c, predicate);
    break;
  case Ty::BF16:
    d.inst.execute = forType<BHalf>(c, predicate);
    break;
  default:
    break;
  }
  if (!d.inst.execute)
    d.fail("a type that this instruction does not have");
}

template <class T> void select(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]), *b = w.row(i.op[2]);
  uint32_t choice = w.predicate(i.op[3]);
  eachLane<T>(mask, w.row(i.op[0]),
              [=](int l) { return choice >> l & 1 ? get<T>(a, l) : get<T>(b, l); });
}
/// slct: a where c >= 0.
template <class T> void selectSign(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]), *b = w.row(i.op[2]), *c = w.row(i.op[3]);
  eachLane<T>(mask, w.row(i.op[0]), [&](int l) {
    bool first = i.from == Ty::F32 ? (i.ftz ? flush(get<float>(c, l)) : get<float>(c, l)) >= 0
                                   : get<int32_t>(c, l) >= 0;
    return first ? get<T>(a, l) : get<T>(b, l);
  });
}
Execute bySize(Decoder &d, Ty type, Execute two, Execute four, Execute eight) {
  switch (bytesOf(type)) {
  case 2:
    return two;
  case 4:
    return four;
  case 8:
    return eight;
  default:
    d.fail("a type that this instruction does not have");
  }
}

} // namespace

void addCompareOps(DecodeTable &table) {
  table["setp"] = [](Decoder &d) { decodeCompare(d, true); };
  table["set"] = [](Decoder &d) { decodeCompare(d, false); };
  table["selp"] = [](Decoder &d) {
    Ty type = d.takeType();
    d.simple({type, type, type, Ty::Pred});
    d.inst.execute = bySize(d, type, select<uint16_t>, select<uint32_t>, select<uint64_t>);
  };
  table["slct"] = [](Decoder &d) {
    d.inst.ftz = d.take("ftz");
    Ty type = d.takeType();
    d.inst.from = d.takeType();
    d.simple({type, type, type, d.inst.from});
    d.inst.execute =
        bySize(d, type, selectSign<uint16_t>, selectSign<uint32_t>, selectSign<uint64_t>);
  };
}

} // namespace mxemu
