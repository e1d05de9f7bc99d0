// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cvt of every pair of types. A long double holds every source exactly, so each conversion rounds
// once.
#include "exec/Warp.h"
#include "ptx/Decoder.h"

#include <algorithm>

namespace mxemu {

namespace {

long double load(Ty type, const char *row, int l) {
  switch (type) {
  case Ty::U8:
    return get<uint8_t>(row, l);
  case Ty::U16:
    return get<uint16_t>(row, l);
  case Ty::U32:
    return get<uint32_t>(row, l);
  case Ty::U64:
    return get<uint64_t>(row, l);
  case Ty::S8:
    return get<int8_t>(row, l);
  case Ty::S16:
    return get<int16_t>(row, l);
  case Ty::S32:
    return get<int32_t>(row, l);
  case Ty::S64:
    return get<int64_t>(row, l);
  case Ty::F16:
    return fromHalf(get<Half>(row, l));
  case Ty::BF16:
    return fromHalf(get<BHalf>(row, l));
  case Ty::F64:
    return get<double>(row, l);
  default:
    return get<float>(row, l);
  }
}

uint64_t maskOf(unsigned bytes) {
  return bytes == 8 ? ~uint64_t(0) : (uint64_t(1) << (8 * bytes)) - 1;
}

long double roundToInteger(long double value, Round mode) {
  switch (mode) {
  case Round::Zero:
    return std::trunc(value);
  case Round::Down:
    return std::floor(value);
  case Round::Up:
    return std::ceil(value);
  case Round::NearestAway:
    return std::round(value);
  default:
    return std::nearbyint(value);
  }
}

/// Bits of an integer type for a value that is clamped to its range.
uint64_t clampTo(Ty type, long double value) {
  unsigned bits = 8 * bytesOf(type);
  if (isSigned(type)) {
    long double limit = std::scalbn((long double)1, int(bits) - 1);
    if (value >= limit)
      return (uint64_t(1) << (bits - 1)) - 1;
    return uint64_t(int64_t(std::max(value, -limit)));
  }
  long double limit = std::scalbn((long double)1, int(bits));
  if (value >= limit)
    return maskOf(bits / 8);
  return value <= 0 ? 0 : uint64_t(value);
}

uint64_t toInteger(const Inst &i, long double value) {
  if (value != value) {
    bool zero = i.from != Ty::F64 && bytesOf(i.type) != 8;
    return zero ? 0 : uint64_t(1) << (8 * bytesOf(i.type) - 1);
  }
  return clampTo(i.type, roundToInteger(value, i.round));
}

uint64_t bitsOf(Ty type, long double value, Round mode) {
  switch (type) {
  case Ty::F16:
    return Number<Half>::make(value, mode).bits;
  case Ty::BF16:
    return Number<BHalf>::make(value, mode).bits;
  case Ty::F64: {
    double result = Number<double>::make(value, mode);
    uint64_t bits;
    std::memcpy(&bits, &result, 8);
    return bits;
  }
  default: {
    float result = Number<float>::make(value, mode);
    uint32_t bits;
    std::memcpy(&bits, &result, 4);
    return bits;
  }
  }
}

long double finishFloat(const Inst &i, long double value) {
  if (i.sat)
    value = value != value || value <= 0 ? 0 : std::min<long double>(value, 1);
  if (i.relu && value < 0)
    value = 0;
  return value;
}

uint64_t toFloat(const Inst &i, long double value) {
  bool fromFloat = isFloat(i.from);
  if (i.ftz && i.from == Ty::F32)
    value = flush(float(value));
  if (fromFloat && i.kind == 1) // rounding to an integer in the same type
    value = std::isfinite(value) ? std::copysign(roundToInteger(value, i.round), value) : value;
  value = finishFloat(i, value);
  uint64_t bits = bitsOf(i.type, value, i.kind == 1 ? Round::Nearest : i.round);
  if (i.relu && value == 0)
    bits = 0;
  if (i.ftz && i.type == Ty::F32 && !(bits & 0x7f800000))
    bits &= 0x80000000;
  return bits;
}

/// Integers: truncated or extended, or clamped with .sat.
uint64_t integerToInteger(const Inst &i, const char *row, int l) {
  if (i.sat)
    return clampTo(i.type, load(i.from, row, l));
  uint64_t bits;
  switch (i.from) {
  case Ty::U8:
    bits = get<uint8_t>(row, l);
    break;
  case Ty::U16:
    bits = get<uint16_t>(row, l);
    break;
  case Ty::U32:
    bits = get<uint32_t>(row, l);
    break;
  case Ty::S8:
    bits = uint64_t(int64_t(get<int8_t>(row, l)));
    break;
  case Ty::S16:
    bits = uint64_t(int64_t(get<int16_t>(row, l)));
    break;
  case Ty::S32:
    bits = uint64_t(int64_t(get<int32_t>(row, l)));
    break;
  default:
    bits = get<uint64_t>(row, l);
    break;
  }
  return bits;
}

/// A result in its register: sign- or zero-extended where the register is wider.
void store(const Inst &i, char *row, int l, uint64_t bits) {
  unsigned bytes = bytesOf(i.type);
  bits &= maskOf(bytes);
  if (isSigned(i.type) && bytes < 8 && bits >> (8 * bytes - 1))
    bits |= ~maskOf(bytes);
  putWide(row, i.op[0], l, bits);
}

void convert(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]);
  char *d = w.row(i.op[0]);
  bool toInt = isInteger(i.type), fromInt = isInteger(i.from);
  forLanes(mask, [&](int l) {
    if (toInt && fromInt)
      return store(i, d, l, integerToInteger(i, a, l));
    long double value = load(i.from, a, l);
    if (toInt) {
      if (i.ftz && i.from == Ty::F32)
        value = flush(float(value));
      return store(i, d, l, toInteger(i, value));
    }
    store(i, d, l, toFloat(i, value));
  });
}

// What kernels do most.
void singleFromSigned(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]);
  eachLane<float>(mask, w.row(i.op[0]), [=](int l) { return float(get<int32_t>(a, l)); });
}
void signedExtend(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]);
  eachLane<int64_t>(mask, w.row(i.op[0]), [=](int l) { return int64_t(get<int32_t>(a, l)); });
}
void zeroExtend(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]);
  eachLane<uint64_t>(mask, w.row(i.op[0]), [=](int l) { return uint64_t(get<uint32_t>(a, l)); });
}

/// cvt.rn.f16x2.f32 d, a, b: a in the upper half.
void convertPair(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]), *b = w.row(i.op[2]);
  Ty type = i.type == Ty::F16x2 ? Ty::F16 : Ty::BF16;
  eachLane<uint32_t>(mask, w.row(i.op[0]), [&](int l) {
    auto one = [&](const char *row) {
      long double value = finishFloat(i, get<float>(row, l));
      uint32_t bits = uint32_t(bitsOf(type, value, i.round));
      return i.relu && value == 0 ? 0 : bits;
    };
    return one(b) | one(a) << 16;
  });
}
void convertTf32(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]);
  eachLane<float>(mask, w.row(i.op[0]), [&](int l) {
    float value = get<float>(a, l);
    if (value != value)
      return canonicalNan();
    if (i.relu && value < 0)
      return 0.0f;
    return float(roundToFormat(value, tf32, i.round));
  });
}

} // namespace

void addConvertOps(DecodeTable &table) {
  table["cvt"] = [](Decoder &d) {
    Inst &i = d.inst;
    bool integerMode = d.takeRound(i.round, true), floatMode = !integerMode && d.takeRound(i.round);
    d.takeFloatModifiers();
    i.relu = d.take("relu");
    i.type = d.takeType();
    i.from = d.takeType();
    auto usable = [](Ty type) { return isInteger(type) || (isFloat(type) && bytesOf(type)); };
    if (!usable(i.type) || !usable(i.from))
      d.fail("a type that this instruction does not have");
    if (i.type == Ty::F16x2 || i.type == Ty::BF16x2) {
      if (i.from != Ty::F32 || !floatMode)
        d.fail("a pair is converted from two f32 with a rounding mode");
      d.simple({i.type, Ty::F32, Ty::F32});
      i.execute = convertPair;
      return;
    }
    d.simple({i.type, i.from});
    if (i.type == Ty::TF32) {
      if (i.from != Ty::F32 || !floatMode)
        d.fail("tf32 is converted from f32 with a rounding mode");
      i.execute = convertTf32;
      return;
    }
    if (i.from == Ty::F16x2 || i.from == Ty::BF16x2 || i.from == Ty::TF32)
      d.fail("a type that this instruction does not have");
    bool toInt = isInteger(i.type), fromInt = isInteger(i.from);
    if (!fromInt && toInt && !integerMode)
      d.fail("no integer rounding mode");
    if (fromInt && !toInt && !floatMode)
      d.fail("no rounding mode");
    if (fromInt && toInt && (integerMode || floatMode))
      d.fail("a rounding mode between integers");
    if (!fromInt && !toInt) {
      bool same = i.type == i.from,
           narrower = bytesOf(i.type) < bytesOf(i.from) ||
                      (bytesOf(i.type) == 2 && bytesOf(i.from) == 2 && !same);
      if (narrower && !floatMode)
        d.fail("no rounding mode");
      if (same && floatMode)
        d.fail("this rounding mode is for conversions that lose digits");
      i.kind = integerMode ? 1 : 0;
    }
    i.execute = convert;
    if (i.type == Ty::F32 && i.from == Ty::S32 && i.round == Round::Nearest && !i.sat)
      i.execute = singleFromSigned;
    else if (bytesOf(i.type) == 8 && toInt && i.from == Ty::S32 && !i.sat && i.op[0].bytes == 8)
      i.execute = signedExtend;
    else if (bytesOf(i.type) == 8 && toInt && i.from == Ty::U32 && !i.sat && i.op[0].bytes == 8)
      i.execute = zeroExtend;
  };
}

} // namespace mxemu
