// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instructions between the lanes of a warp: shfl, vote, match, redux, activemask, elect. op[4] is
// the member mask; the lanes that it names execute together.
#include "driver/Cuda.h"
#include "exec/Warp.h"
#include "ptx/Decoder.h"

#include <algorithm>

namespace mxemu {

namespace {

enum ShuffleMode : uint8_t { Up, Down, Butterfly, Index };

void shuffle(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]), *b = w.row(i.op[2]), *c = w.row(i.op[3]);
  uint32_t values[32], inside = 0;
  forLanes(mask, [&](int l) {
    int offset = int(get<uint32_t>(b, l) & 31);
    uint32_t packed = get<uint32_t>(c, l);
    int segment = int(packed >> 8 & 31), clamp = int(packed & 31);
    int last = (l & segment) | (clamp & ~segment), first = l & segment, from = l;
    bool valid = false;
    switch (i.kind) {
    case Up:
      from = l - offset, valid = from >= last;
      break;
    case Down:
      from = l + offset, valid = from <= last;
      break;
    case Butterfly:
      from = l ^ offset, valid = from <= last;
      break;
    default:
      from = first | (offset & ~segment), valid = from <= last;
      break;
    }
    if (!valid)
      from = l;
    if (!(mask >> from & 1))
      w.report(CUDA_ERROR_LAUNCH_FAILED, i, l,
               "shuffle reads lane " + std::to_string(from) + ", which does not take part");
    values[l] = get<uint32_t>(a, from);
    inside |= uint32_t(valid) << l;
  });
  char *d = w.row(i.op[0]);
  forLanes(mask, [&](int l) { put<uint32_t>(d, l, values[l]); });
  if (i.number)
    w.setPredicate(i.vector[0], mask, inside);
}

void vote(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t yes = w.predicate(i.op[1]) & mask;
  if (i.kind == 3)
    return forLanes(mask, [&](int l) { put<uint32_t>(w.row(i.op[0]), l, yes); });
  bool result = i.kind == 0 ? yes == mask : i.kind == 1 ? yes != 0 : yes == 0 || yes == mask;
  w.setPredicate(i.op[0], mask, result ? ~0u : 0);
}

template <class T> void match(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]);
  uint32_t results[32];
  forLanes(mask, [&](int l) {
    uint32_t same = 0;
    forLanes(mask, [&](int other) { same |= uint32_t(get<T>(a, other) == get<T>(a, l)) << other; });
    results[l] = i.kind && same != mask ? 0 : same; // all: the mask or nothing
  });
  uint32_t first = results[__builtin_ctz(mask)];
  forLanes(mask, [&](int l) { put<uint32_t>(w.row(i.op[0]), l, results[l]); });
  if (i.number)
    w.setPredicate(i.vector[0], mask, first ? ~0u : 0);
}

template <class T> void reduce(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]);
  bool start = true;
  T result = 0;
  forLanes(mask, [&](int l) {
    T value = get<T>(a, l);
    if (start)
      result = value;
    else
      switch (i.kind) {
      case 0:
        result = T(uint32_t(result) + uint32_t(value));
        break;
      case 1:
        result = std::min(result, value);
        break;
      case 2:
        result = std::max(result, value);
        break;
      case 3:
        result &= value;
        break;
      case 4:
        result |= value;
        break;
      default:
        result ^= value;
        break;
      }
    start = false;
  });
  forLanes(mask, [&](int l) { put<T>(w.row(i.op[0]), l, result); });
}

void needSync(Decoder &d) {
  if (!d.take("sync"))
    d.fail(".sync is missing");
  d.inst.flow = Inst::Together;
}
/// d or d|p.
void targets(Decoder &d, Ty type) {
  const Argument &target = d.written(0);
  bool isPair = target.kind == Argument::Pair;
  d.inst.op[0] = d.destination(isPair ? target.parts[0] : target, type);
  if (isPair) {
    d.inst.number = 1;
    d.inst.vector.push_back(d.destination(target.parts[1], Ty::Pred));
  }
}

} // namespace

void addWarpOps(DecodeTable &table) {
  table["shfl"] = [](Decoder &d) {
    needSync(d);
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    bool found = false;
    for (uint8_t k = 0; k < 4 && !found; ++k)
      if ((found = d.take(modes[k])))
        d.inst.kind = k;
    if (!found)
      d.fail("no mode");
    d.takeType();
    d.expectOperands(5, 5);
    targets(d, Ty::B32);
    d.inst.op[1] = d.source(1, Ty::B32);
    d.inst.op[2] = d.source(2, Ty::B32);
    d.inst.op[3] = d.source(3, Ty::B32);
    d.inst.op[4] = d.source(4, Ty::B32);
    d.inst.execute = shuffle;
  };
  table["vote"] = [](Decoder &d) {
    needSync(d);
    d.inst.kind = d.take("all")      ? 0
                  : d.take("any")    ? 1
                  : d.take("uni")    ? 2
                  : d.take("ballot") ? 3
                                     : 4;
    if (d.inst.kind == 4)
      d.fail("no mode");
    Ty type = d.takeType();
    d.expectOperands(3, 3);
    d.inst.op[0] = d.destination(0, type);
    d.inst.op[1] = d.source(1, Ty::Pred);
    d.inst.op[4] = d.source(2, Ty::B32);
    d.inst.execute = vote;
  };
  table["match"] = [](Decoder &d) {
    d.inst.kind = d.take("all");
    if (!d.inst.kind && !d.take("any"))
      d.fail(".any or .all is missing");
    needSync(d);
    Ty type = d.takeType();
    d.expectOperands(3, 3);
    targets(d, Ty::B32);
    d.inst.op[1] = d.source(1, type);
    d.inst.op[4] = d.source(2, Ty::B32);
    d.inst.execute = bytesOf(type) == 8 ? match<uint64_t> : match<uint32_t>;
  };
  table["redux"] = [](Decoder &d) {
    needSync(d);
    static const char *const ops[] = {"add", "min", "max", "and", "or", "xor"};
    bool found = false;
    for (uint8_t k = 0; k < 6 && !found; ++k)
      if ((found = d.take(ops[k])))
        d.inst.kind = k;
    Ty type = d.takeType();
    if (!found || bytesOf(type) != 4 || isFloat(type))
      d.fail("no operation of this type");
    d.expectOperands(3, 3);
    d.inst.op[0] = d.destination(0, type);
    d.inst.op[1] = d.source(1, type);
    d.inst.op[4] = d.source(2, Ty::B32);
    d.inst.execute = isSigned(type) ? reduce<int32_t> : reduce<uint32_t>;
  };
  table["activemask"] = [](Decoder &d) {
    d.takeType();
    d.simple({Ty::B32});
    d.inst.execute = [](Warp &w, const Inst &i, uint32_t mask) {
      forLanes(mask, [&](int l) { put<uint32_t>(w.row(i.op[0]), l, mask); });
    };
  };
}

} // namespace mxemu
