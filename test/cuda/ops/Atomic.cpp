// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// atom, red, membar, fence.
#include "driver/Cuda.h"
#include "exec/Warp.h"
#include "ptx/Decoder.h"

#include <algorithm>

namespace mxemu {

namespace {

enum AtomicOp : uint8_t { Add, Min, Max, And, Or, Xor, Exch, Cas, Inc, Dec };

template <class T> T apply(uint8_t op, T old, T b, T c) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    switch (op) {
    case Add:
      return T(U(old) + U(b));
    case Min:
      return std::min(old, b);
    case Max:
      return std::max(old, b);
    case And:
      return T(old & b);
    case Or:
      return T(old | b);
    case Xor:
      return T(old ^ b);
    case Inc:
      return old >= b ? T(0) : T(old + 1);
    case Dec:
      return old == 0 || old > b ? b : T(old - 1);
    case Cas:
      return old == b ? c : old;
    default:
      return b;
    }
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BHalf>) {
    return Number<T>::make(addToOdd(fromHalf(old), fromHalf(b)));
  } else {
    return Number<T>::make((long double)old + (long double)b == (long double)(old + b)
                               ? (long double)(old + b)
                               : (long double)T(old + b));
  }
}
template <class H> struct PairOf { H low, high; };
template <class H> PairOf<H> apply(uint8_t op, PairOf<H> old, PairOf<H> b, PairOf<H> c) {
  return {apply<H>(op, old.low, b.low, c.low), apply<H>(op, old.high, b.high, c.high)};
}

template <class T> void atomic(Warp &w, const Inst &i, uint32_t mask) {
  T olds[32];
  auto visit = [&](int l) {
    uint64_t address = addressAt(w, i, i.op[1], l);
    Access access = resolve(w, i, l, i.space, address, sizeof(T), Mode::Atomic);
    checkWritten(w, i, l, access, address, sizeof(T));
    checkRace(w, i, l, access, address, sizeof(T), Mode::Atomic, false);
    releaseAndAcquire(w, address, access.shared);
    T old, b = get<T>(w.row(i.op[2]), l), c = get<T>(w.row(i.op[3]), l);
    std::memcpy(&old, access.bytes, sizeof(T));
    T result = apply(i.kind, old, b, c);
    std::memcpy(access.bytes, &result, sizeof(T));
    olds[l] = old;
  };
  // Nothing says in which order lanes act.
  if (w.run->seed % 2)
    for (int l = 31; l >= 0; --l) {
      if (mask >> l & 1)
        visit(l);
    }
  else
    forLanes(mask, visit);
  if (i.number) {
    char *d = w.row(i.op[0]);
    forLanes(mask, [&](int l) { put<T>(d, l, olds[l]); });
  }
}

void decodeAtomic(Decoder &d, bool result) {
  static const std::pair<const char *, AtomicOp> names[] = {
      {"add", Add}, {"min", Min},   {"max", Max}, {"and", And}, {"or", Or},
      {"xor", Xor}, {"exch", Exch}, {"cas", Cas}, {"inc", Inc}, {"dec", Dec}};
  for (auto word :
       {"relaxed", "acquire", "release", "acq_rel", "cta", "gpu", "sys", "cluster", "noftz"})
    d.take(word);
  d.inst.space = d.take("global")                            ? Space::Global
                 : d.take("shared") || d.take("shared::cta") ? Space::Shared
                                                             : Space::Generic;
  bool found = false;
  for (auto &[name, op] : names)
    if ((found = d.take(name))) {
      d.inst.kind = op;
      break;
    }
  uint8_t op = d.inst.kind;
  if (!found || (!result && (op == Exch || op == Cas)))
    d.fail("no operation");
  Ty type = d.takeType();
  size_t at = result ? 1 : 0;
  d.expectOperands(at + (op == Cas ? 3 : 2), at + (op == Cas ? 3 : 2));
  if (result) {
    d.inst.op[0] = d.destination(0, type);
    d.inst.number = 1;
  }
  d.inst.op[1] = d.address(at);
  d.inst.op[2] = d.source(at + 1, type);
  d.inst.op[3] = op == Cas ? d.source(at + 2, type) : d.inst.op[2];
  bool isBitwise = op == And || op == Or || op == Xor || op == Exch || op == Cas;
  if (isBits(type) != isBitwise || (isFloat(type) && op != Add) ||
      ((op == Inc || op == Dec) && type != Ty::U32))
    d.fail("a type that this operation does not have");
  switch (type) {
  case Ty::B16:
    d.inst.execute = atomic<uint16_t>;
    break;
  case Ty::B32:
  case Ty::U32:
    d.inst.execute = atomic<uint32_t>;
    break;
  case Ty::B64:
  case Ty::U64:
    d.inst.execute = atomic<uint64_t>;
    break;
  case Ty::S32:
    d.inst.execute = atomic<int32_t>;
    break;
  case Ty::S64:
    d.inst.execute = atomic<int64_t>;
    break;
  case Ty::F32:
    d.inst.execute = atomic<float>;
    break;
  case Ty::F64:
    d.inst.execute = atomic<double>;
    break;
  case Ty::F16:
    d.inst.execute = atomic<Half>;
    break;
  case Ty::BF16:
    d.inst.execute = atomic<BHalf>;
    break;
  case Ty::F16x2:
    d.inst.execute = atomic<PairOf<Half>>;
    break;
  case Ty::BF16x2:
    d.inst.execute = atomic<PairOf<BHalf>>;
    break;
  default:
    d.fail("a type that this instruction does not have");
  }
}

void fence(Warp &w, const Inst &, uint32_t) {
  w.lastFence = w.block->time;
  ++w.block->time;
}

} // namespace

void addAtomicOps(DecodeTable &table) {
  table["atom"] = [](Decoder &d) { decodeAtomic(d, true); };
  table["red"] = [](Decoder &d) { decodeAtomic(d, false); };
  table["membar"] = table["fence"] = [](Decoder &d) {
    for (auto word : {"cta", "gl", "gpu", "sys", "cluster", "sc", "acq_rel"})
      d.take(word);
    d.expectOperands(0, 0);
    d.inst.execute = fence;
  };
}

} // namespace mxemu
