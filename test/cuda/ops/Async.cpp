// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cp.async. A copy happens when its thread waits for its group: until then its target holds poison
// and may not be touched, and changes of its source show.
#include "driver/Cuda.h"
#include "exec/Warp.h"
#include "ptx/Decoder.h"

namespace mxemu {

namespace {

uint64_t sharedOffset(uint64_t address) {
  return address - windows().shared < Windows::bytes ? address - windows().shared : address;
}

void issue(Warp &w, const Inst &i, uint32_t mask) {
  forLanes(mask, [&](int l) {
    uint64_t target = sharedOffset(addressAt(w, i, i.op[0], l));
    const char *row = w.row(i.op[1]);
    uint64_t source = (i.op[1].bytes == 8 ? get<uint64_t>(row, l) : get<uint32_t>(row, l)) +
                      uint64_t(i.sourceOffset);
    unsigned bytes = i.number, take = bytes;
    if (i.kind & 1)
      take = get<uint32_t>(w.row(i.op[2]), l);
    if (i.kind & 2)
      take = w.predicate(i.op[2]) >> l & 1 ? 0 : bytes; // ignore-src
    if (take > bytes)
      w.report(CUDA_ERROR_LAUNCH_FAILED, i, l, "the source size of cp.async exceeds its size");
    Access to = resolve(w, i, l, Space::Shared, target, bytes, Mode::Write);
    for (unsigned k = 0; k < bytes; ++k)
      if (to.states[k] == CopyPending)
        w.report(CUDA_ERROR_LAUNCH_FAILED, i, l,
                 "race: two cp.async to one target without a wait_group between them");
    checkRace(w, i, l, to, target, bytes, Mode::Write, false);
    if (source & (bytes - 1))
      w.report(CUDA_ERROR_MISALIGNED_ADDRESS, i, l, "misaligned source of cp.async");
    if (take) {
      // The source size need not be a power of two: check it as bytes.
      for (unsigned k = 0; k < take; ++k) {
        Access from = resolve(w, i, l, Space::Global, source + k, 1, Mode::Read);
        checkWritten(w, i, l, from, source + k, 1);
        if (k % 4 == 0)
          checkRace(w, i, l, from, source + k, std::min(4u, take - k) == 4 ? 4 : 1, Mode::Read,
                    false);
      }
    }
    std::memset(to.bytes, 0xff, bytes);
    std::memset(to.states, CopyPending, bytes);
    w.copies[l].push_back({source, uint32_t(target), bytes, take, w.copyGroup[l], i.line});
  });
}

void commit(Warp &w, const Inst &, uint32_t mask) {
  forLanes(mask, [&](int l) { ++w.copyGroup[l]; });
}

/// Completes all but the newest `number` committed groups; wait_all those without a group too.
void wait(Warp &w, const Inst &i, uint32_t mask) {
  forLanes(mask, [&](int l) {
    auto &copies = w.copies[l];
    size_t kept = 0;
    for (auto &copy : copies) {
      if (i.kind == 0 && copy.group + i.number >= w.copyGroup[l]) {
        copies[kept++] = copy;
        continue;
      }
      Access to = resolve(w, i, l, Space::Shared, copy.target, copy.bytes, Mode::Write);
      std::memset(to.bytes, 0, copy.bytes);
      for (unsigned k = 0; k < copy.sourceBytes; ++k)
        to.bytes[k] = *resolve(w, i, l, Space::Global, copy.source + k, 1, Mode::Read).bytes;
      std::memset(to.states, Written, copy.bytes);
      // For other threads the copy is a write of this moment.
      checkRace(w, i, l, to, copy.target, copy.bytes, Mode::Write, false);
    }
    copies.resize(kept);
  });
}

} // namespace

void addAsyncOps(DecodeTable &table) {
  table["cp"] = [](Decoder &d) {
    Inst &i = d.inst;
    if (!d.take("async"))
      d.fail("only cp.async is supported");
    if (d.take("commit_group")) {
      d.expectOperands(0, 0);
      i.execute = commit;
      return;
    }
    if (d.take("wait_all")) {
      d.expectOperands(0, 0);
      i.kind = 1;
      i.execute = wait;
      return;
    }
    if (d.take("wait_group")) {
      d.expectOperands(1, 1);
      i.number = uint32_t(d.immediate(0));
      i.execute = wait;
      return;
    }
    bool cacheGlobal = d.take("cg");
    if (!cacheGlobal && !d.take("ca"))
      d.fail(".ca or .cg is missing");
    if (!(d.take("shared") || d.take("shared::cta")) || !d.take("global"))
      d.fail("cp.async copies from global to shared memory");
    for (auto hint : {"L2::64B", "L2::128B", "L2::256B"})
      d.take(hint);
    d.expectOperands(3, 4);
    i.op[1] = d.address(1);
    i.sourceOffset = i.offset;
    i.op[0] = d.address(0);
    i.number = uint32_t(d.immediate(2));
    if (!(i.number == 16 || (!cacheGlobal && (i.number == 4 || i.number == 8))))
      d.fail("cp.async of this size");
    if (d.count() == 4) {
      const Symbol *symbol =
          d.written(3).kind == Argument::Name ? d.builder.find(d.written(3).name) : nullptr;
      bool ignore = symbol && symbol->type == Ty::Pred;
      i.kind = ignore ? 2 : 1;
      i.op[2] = d.source(3, ignore ? Ty::Pred : Ty::U32);
    }
    i.execute = issue;
  };
}

} // namespace mxemu
