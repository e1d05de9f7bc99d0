// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branches, exits and barriers of the block.
#include "driver/Cuda.h"
#include "exec/Warp.h"
#include "ptx/Decoder.h"

namespace mxemu {

namespace {

void indexedBranch(Warp &w, const Inst &i, uint32_t mask) {
  const char *a = w.row(i.op[0]);
  forLanes(mask, [&](int l) {
    uint32_t index = get<uint32_t>(a, l);
    if (index >= i.targets.size())
      w.report(CUDA_ERROR_LAUNCH_FAILED, i, l,
               "index " + std::to_string(index) + " of brx.idx is out of bounds");
    w.pcs[l] = i.targets[index];
  });
}
void arrive(Warp &w, const Inst &i, uint32_t mask) { w.block->arrive(w, i, mask); }
void trap(Warp &w, const Inst &i, uint32_t mask) {
  w.report(CUDA_ERROR_LAUNCH_FAILED, i, __builtin_ctz(mask), "the kernel executed trap");
}
void warpBarrier(Warp &w, const Inst &, uint32_t) { w.lastSync = ++w.block->time; }
void nothing(Warp &, const Inst &, uint32_t) {}

void decodeBarrier(Decoder &d) {
  Inst &i = d.inst;
  if (d.take("warp")) {
    if (!d.take("sync"))
      d.fail("bar.warp.sync is the only barrier of warps");
    d.expectOperands(1, 1);
    i.op[4] = d.source(0, Ty::B32);
    i.flow = Inst::Together;
    i.execute = warpBarrier;
    return;
  }
  d.take("cta");
  bool isBar = d.statement.opcode == "bar";
  i.aligned = d.take("aligned") || isBar;
  i.flow = Inst::Barrier;
  i.execute = arrive;
  size_t at = 0;
  bool reduces = d.take("red"), arrives = !reduces && d.take("arrive");
  if (!reduces && !arrives && !d.take("sync"))
    d.fail(".sync, .arrive or .red is missing");
  if (reduces) {
    i.kind = d.take("popc") ? 1 : d.take("and") ? 2 : d.take("or") ? 3 : 0;
    if (!i.kind)
      d.fail(".popc, .and or .or is missing");
    Ty type = d.takeType();
    i.op[2] = d.destination(at++, type);
    i.op[3] = d.source(d.count() - 1, Ty::Pred);
  }
  size_t counted = d.count() - at - (reduces ? 1 : 0);
  if (counted < 1 || counted > 2 || (arrives && counted != 2))
    d.fail("wrong number of operands");
  i.op[0] = d.source(at++, Ty::U32);
  if (counted == 2)
    i.op[1] = d.source(at++, Ty::U32);
  i.number = (counted == 2 ? 1u : 0u) | (arrives ? 2u : 0u);
}

} // namespace

void addControlOps(DecodeTable &table) {
  table["bra"] = [](Decoder &d) {
    d.take("uni");
    d.inst.flow = Inst::Branch;
  };
  table["brx"] = [](Decoder &d) {
    if (!d.take("idx"))
      d.fail(".idx is missing");
    d.take("uni");
    d.expectOperands(2, 2);
    d.inst.op[0] = d.source(0, Ty::U32);
    d.inst.flow = Inst::Branch;
    d.inst.execute = indexedBranch;
  };
  table["exit"] = [](Decoder &d) {
    d.take("uni");
    d.inst.flow = Inst::Exit;
  };
  table["trap"] = [](Decoder &d) {
    d.expectOperands(0, 0);
    d.inst.execute = trap;
  };
  table["brkpt"] = table["trap"];
  table["bar"] = table["barrier"] = decodeBarrier;
  table["nanosleep"] = [](Decoder &d) {
    d.takeType();
    d.source(0, Ty::U32);
    d.inst.execute = nothing;
  };
}

} // namespace mxemu
