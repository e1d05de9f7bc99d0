// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ld, st, mov, cvta, prefetch.
#include "driver/Cuda.h"
#include "exec/Warp.h"
#include "ptx/Decoder.h"

#include <chrono>

namespace mxemu {

namespace {

bool allWritten(const uint8_t *states, unsigned bytes) {
  for (; bytes >= 4; bytes -= 4, states += 4) {
    uint32_t word;
    std::memcpy(&word, states, 4);
    if (word != 0x01010101)
      return false;
  }
  for (; bytes; --bytes, ++states)
    if (*states != Written)
      return false;
  return true;
}

template <class T> void loadElement(const Inst &i, Warp &w, int l, const char *bytes) {
  T value;
  for (const Operand &operand : i.vector) {
    std::memcpy(&value, bytes, sizeof(T));
    bytes += sizeof(T);
    char *row = w.row(operand);
    if (operand.bytes == sizeof(T) || sizeof(T) == 8)
      put<T>(row, l, value);
    else
      putWide(row, operand, l, uint64_t(int64_t(value))); // sign-extends signed T
  }
}

template <class T> void load(Warp &w, const Inst &i, uint32_t mask) {
  unsigned bytes = unsigned(sizeof(T) * i.vector.size());
  if (i.space == Space::Param && i.op[1].constant) {
    // A parameter is the same for all lanes and was checked when the module was loaded.
    forLanes(mask,
             [&](int l) { loadElement<T>(i, w, l, w.run->params + addressAt(w, i, i.op[1], 0)); });
    return;
  }
  forLanes(mask, [&](int l) {
    uint64_t address = addressAt(w, i, i.op[1], l);
    Access access = resolve(w, i, l, i.space, address, bytes, Mode::Read);
    if (access.states && !allWritten(access.states, bytes))
      checkWritten(w, i, l, access, address, bytes);
    checkRace(w, i, l, access, address, bytes, Mode::Read, false);
    if (i.transposed && access.cells && access.cells->run == w.run->serial &&
        access.cells->writeTime)
      w.report(CUDA_ERROR_LAUNCH_FAILED, i, l, "ld.global.nc of memory that this kernel writes");
    if (i.kind == 1)
      releaseAndAcquire(w, address, access.shared);
    loadElement<T>(i, w, l, access.bytes);
  });
}

template <class T> void store(Warp &w, const Inst &i, uint32_t mask) {
  unsigned bytes = unsigned(sizeof(T) * i.vector.size());
  if (i.kind == 1) {
    w.lastFence = w.block->time;
    ++w.block->time;
  }
  forLanes(mask, [&](int l) {
    T values[4];
    for (size_t k = 0; k < i.vector.size(); ++k)
      values[k] = get<T>(w.row(i.vector[k]), l);
    uint64_t address = addressAt(w, i, i.op[0], l);
    Access access = resolve(w, i, l, i.space, address, bytes, Mode::Write);
    if (access.states && access.shared)
      for (unsigned k = 0; k < bytes; ++k)
        if (access.states[k] == CopyPending)
          w.report(CUDA_ERROR_LAUNCH_FAILED, i, l,
                   "race: write to the target of a cp.async before its wait_group");
    bool same = access.states && allWritten(access.states, bytes) &&
                !std::memcmp(access.bytes, values, bytes);
    checkRace(w, i, l, access, address, bytes, Mode::Write, same);
    if (i.kind == 1)
      releaseAndAcquire(w, address, access.shared);
    std::memcpy(access.bytes, values, bytes);
    if (access.states)
      std::memset(access.states, Written, bytes);
  });
}

template <template <class> class F> Execute byType(Decoder &d, Ty type);

void takeSpace(Decoder &d, bool write) {
  static const std::pair<const char *, Space> names[] = {
      {"global", Space::Global},      {"shared", Space::Shared},    {"shared::cta", Space::Shared},
      {"local", Space::Local},        {"const", Space::Const},      {"param", Space::Param},
      {"param::entry", Space::Param}, {"param::func", Space::Param}};
  d.inst.space = Space::Generic;
  for (auto &[name, space] : names)
    if (d.take(name)) {
      d.inst.space = space;
      break;
    }
  if (write && d.inst.space == Space::Const)
    d.fail("a write to constant memory");
}

/// .weak .volatile .relaxed .acquire .release, scopes and cache operators.
void takeMemoryModifiers(Decoder &d) {
  d.take("weak");
  d.inst.strong |= d.take("volatile");
  d.inst.strong |= d.take("relaxed");
  if (d.take("acquire") || d.take("release")) {
    d.inst.strong = true;
    d.inst.kind = 1;
  }
  for (auto scope : {"cta", "gpu", "sys", "cluster"})
    d.take(scope);
  for (auto cache :
       {"ca", "cg", "cs", "lu", "cv", "wb", "wt", "L1::evict_normal", "L1::evict_unchanged",
        "L1::evict_first", "L1::evict_last", "L1::no_allocate", "L2::64B", "L2::128B", "L2::256B"})
    d.take(cache);
}

/// The space behind .param is the kernel's parameters or a variable of a call.
void settleParameter(Decoder &d, size_t index, unsigned bytes) {
  if (d.inst.space != Space::Param)
    return;
  const Symbol *symbol = d.builder.find(d.written(index).name);
  if (symbol && symbol->kind == Symbol::Local) {
    d.inst.space = Space::Local;
  } else if (symbol && symbol->kind == Symbol::KernelParam) {
    uint64_t end = symbol->value + uint64_t(d.inst.offset) + bytes;
    if (end > d.builder.kernel().paramBytes || (symbol->value + uint64_t(d.inst.offset)) % bytes)
      d.fail("a parameter is read out of bounds or misaligned");
  }
}

void decodeLoad(Decoder &d) {
  takeSpace(d, false);
  takeMemoryModifiers(d);
  d.inst.transposed = d.take("nc"); // stands for .nc
  unsigned lanes = d.takeVector();
  Ty type = d.takeType();
  d.expectOperands(2, 2);
  d.inst.op[1] = d.address(1);
  settleParameter(d, 1, lanes * bytesOf(type));
  d.destinations(0, type, lanes);
  switch (type) {
  case Ty::B8:
  case Ty::U8:
    d.inst.execute = load<uint8_t>;
    break;
  case Ty::S8:
    d.inst.execute = load<int8_t>;
    break;
  case Ty::S16:
    d.inst.execute = load<int16_t>;
    break;
  case Ty::S32:
    d.inst.execute = load<int32_t>;
    break;
  case Ty::S64:
    d.inst.execute = load<int64_t>;
    break;
  default:
    switch (bytesOf(type)) {
    case 2:
      d.inst.execute = load<uint16_t>;
      break;
    case 4:
      d.inst.execute = load<uint32_t>;
      break;
    case 8:
      d.inst.execute = load<uint64_t>;
      break;
    default:
      d.fail("a type that this instruction does not have");
    }
  }
}

void decodeStore(Decoder &d) {
  takeSpace(d, true);
  takeMemoryModifiers(d);
  unsigned lanes = d.takeVector();
  Ty type = d.takeType();
  d.expectOperands(2, 2);
  d.inst.op[0] = d.address(0);
  settleParameter(d, 0, lanes * bytesOf(type));
  if (d.inst.space == Space::Param)
    d.fail("a write to the parameters of the kernel");
  d.sources(1, type, lanes);
  switch (bytesOf(type)) {
  case 1:
    d.inst.execute = store<uint8_t>;
    break;
  case 2:
    d.inst.execute = store<uint16_t>;
    break;
  case 4:
    d.inst.execute = store<uint32_t>;
    break;
  case 8:
    d.inst.execute = store<uint64_t>;
    break;
  default:
    d.fail("a type that this instruction does not have");
  }
}

template <class T> void copy(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]);
  eachLane<T>(mask, w.row(i.op[0]), [=](int l) { return get<T>(a, l); });
}
void copyPredicate(Warp &w, const Inst &i, uint32_t mask) {
  w.setPredicate(i.op[0], mask, w.predicate(i.op[1]));
}
/// mov.b32 d, {a, b} and mov.b32 {a, b}, d: number bytes an element.
void pack(Warp &w, const Inst &i, uint32_t mask) {
  forLanes(mask, [&](int l) {
    uint64_t bits = 0;
    for (size_t k = 0; k < i.vector.size(); ++k) {
      const char *row = w.row(i.vector[k]);
      uint64_t part = i.number == 4   ? get<uint32_t>(row, l)
                      : i.number == 2 ? get<uint16_t>(row, l)
                                      : get<uint8_t>(row, l);
      bits |= part << (8 * i.number * k);
    }
    putWide(w.row(i.op[0]), i.op[0], l, bits);
  });
}
void unpack(Warp &w, const Inst &i, uint32_t mask) {
  forLanes(mask, [&](int l) {
    const char *from = w.row(i.op[1]);
    uint64_t bits = i.op[1].bytes == 8 ? get<uint64_t>(from, l) : get<uint32_t>(from, l);
    for (size_t k = 0; k < i.vector.size(); ++k) {
      uint64_t part = bits >> (8 * i.number * k) & ((uint64_t(1) << (8 * i.number)) - 1);
      putWide(w.row(i.vector[k]), i.vector[k], l, part);
    }
  });
}
void clockValue(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t now = i.kind ? uint64_t(std::chrono::steady_clock::now().time_since_epoch().count())
                        : w.run->steps + w.block->time;
  forLanes(mask, [&](int l) { putWide(w.row(i.op[0]), i.op[0], l, now); });
}

void decodeMove(Decoder &d) {
  Ty type = d.takeType();
  d.expectOperands(2, 2);
  unsigned bytes = bytesOf(type);
  const Argument &to = d.written(0), &from = d.written(1);
  if (from.kind == Argument::Vector || to.kind == Argument::Vector) {
    size_t count = (from.kind == Argument::Vector ? from : to).parts.size();
    if (count < 2 || count > 4 || bytes % count || bytes / count > 4)
      d.fail("a vector operand of another length");
    d.inst.number = uint32_t(bytes / count);
    Ty part = d.inst.number == 4 ? Ty::B32 : d.inst.number == 2 ? Ty::B16 : Ty::B8;
    if (from.kind == Argument::Vector) {
      d.inst.op[0] = d.destination(0, type);
      d.sources(1, part, count);
      d.inst.execute = pack;
    } else {
      d.inst.op[1] = d.source(1, type);
      d.destinations(0, part, count);
      d.inst.execute = unpack;
    }
    return;
  }
  d.inst.op[0] = d.destination(0, type);
  if (from.name == "%clock" || from.name == "%clock64" || from.name == "%globaltimer") {
    d.inst.kind = from.name == "%globaltimer";
    d.inst.execute = clockValue;
    return;
  }
  d.inst.op[1] = d.source(1, type);
  switch (bytes) {
  case 0:
    d.inst.execute = copyPredicate;
    break;
  case 2:
    d.inst.execute = copy<uint16_t>;
    break;
  case 4:
    d.inst.execute = copy<uint32_t>;
    break;
  case 8:
    if (d.inst.op[1].bytes != 8 && !d.inst.op[1].constant)
      d.fail("the source is too narrow");
    d.inst.execute = copy<uint64_t>;
    break;
  default:
    d.fail("a type that this instruction does not have");
  }
}

/// Moves an address between a space and generic addresses.
void convertAddress(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]);
  uint64_t base = i.space == Space::Shared  ? windows().shared
                  : i.space == Space::Local ? windows().local
                                            : 0;
  forLanes(mask, [&](int l) {
    uint64_t value = i.op[1].bytes == 8 ? get<uint64_t>(a, l) : get<uint32_t>(a, l);
    putWide(w.row(i.op[0]), i.op[0], l, i.kind ? value - base : value + base);
  });
}
void isInSpace(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[1]);
  uint32_t result = 0;
  forLanes(mask, [&](int l) {
    uint64_t value = get<uint64_t>(a, l);
    bool shared = value - windows().shared < Windows::bytes,
         local = value - windows().local < Windows::bytes;
    bool yes = i.space == Space::Shared  ? shared
               : i.space == Space::Local ? local
                                         : !shared && !local;
    result |= uint32_t(yes) << l;
  });
  w.setPredicate(i.op[0], mask, result);
}
void nothing(Warp &, const Inst &, uint32_t) {}

} // namespace

void addMemoryOps(DecodeTable &table) {
  table["ld"] = decodeLoad;
  table["ldu"] = decodeLoad;
  table["st"] = decodeStore;
  table["mov"] = decodeMove;
  table["cvta"] = [](Decoder &d) {
    d.inst.kind = d.take("to");
    takeSpace(d, false);
    if (d.inst.space == Space::Param || d.inst.space == Space::Generic)
      d.fail("this state space is not supported");
    Ty type = d.takeType();
    d.simple({type, type});
    d.inst.execute = convertAddress;
  };
  table["isspacep"] = [](Decoder &d) {
    takeSpace(d, false);
    d.simple({Ty::Pred, Ty::U64});
    d.inst.execute = isInSpace;
  };
  table["prefetch"] = table["prefetchu"] = [](Decoder &d) {
    takeSpace(d, false);
    for (auto level : {"L1", "L2", "L2::evict_last", "L2::evict_normal"})
      d.take(level);
    d.address(0);
    d.inst.execute = nothing;
  };
}

} // namespace mxemu
