// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PackArena: static memory planning. Assigns an arena offset to each slice. Groups of slices become
// blocks with a length and a lifetime; Packing finds their offsets.
#include "Memory/Groups.h"
#include "Memory/Packing.h"
#include "Memory/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace mx::memory {

#define GEN_PASS_DEF_PACKARENA
#include "Memory/Passes.h.inc"

namespace {

struct PackArena : impl::PackArenaBase<PackArena> {
  using Base::Base;

  void runOnOperation() override {
    for (auto program : getOperation().getOps<rt::ProgramOp>())
      packProgram(program);
  }

  void packProgram(rt::ProgramOp program) {
    for (auto slice : llvm::make_early_inc_range(program.block().getOps<rt::SliceOp>()))
      if (slice->use_empty())
        slice.erase();
    Liveness liveness(program);
    Groups groups(program, liveness);
    // One packing problem per device.
    llvm::MapVector<Attribute, SmallVector<unsigned>> byDevice;
    for (unsigned group = 0; group < groups.size(); ++group)
      byDevice[groups[group].device()].push_back(group);

    SmallVector<Attribute> arenas;
    for (auto &[device, members] : byDevice) {
      std::vector<Piece> blocks;
      for (unsigned group : members) {
        Span span = groups[group].span();
        auto bytes = static_cast<int64_t>(llvm::alignTo(groups[group].bytes(), rt::kAlignment));
        blocks.push_back({bytes, span.first, std::max(span.first, span.last)});
      }
      Packing packing =
          share ? pack(blocks, {.effort = effort, .enough = enough}) : packApart(blocks);
      for (auto [i, group] : llvm::enumerate(members))
        for (rt::SliceOp slice : groups[group].slices)
          slice.setOffset(packing.offsets[i]);
      arenas.push_back(rt::ArenaAttr::get(&getContext(), cast<StringAttr>(device), packing.bytes));
    }
    program.setArenasAttr(ArrayAttr::get(&getContext(), arenas));
  }
};

} // namespace
} // namespace mx::memory
