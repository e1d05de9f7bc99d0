// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Marks the buffers whose lifetime ends at a guarded call.
#include "Memory/Guard.h"
#include "Memory/Liveness.h"
#include "dialects/mxrt/Marks.h"

using namespace mlir;

namespace mx::memory {

void guard(rt::ProgramOp program) {
  Liveness liveness(program);
  Builder b(program.getContext());
  program->setAttr(rt::kGuarded, b.getUnitAttr());
  for (Operation *op : liveness.ops()) {
    auto call = dyn_cast<rt::CallOp>(op);
    if (!call)
      continue;
    // A buffer that is live at the write of the call is read later, on some path.
    int64_t after = 2 * liveness.number(op) + 1;
    SmallVector<int64_t> ends;
    for (auto [i, read] : llvm::enumerate(call.getReads()))
      if (std::optional<unsigned> index = liveness.indexOf(read);
          index && read.getDefiningOp<rt::SliceOp>() &&
          !intersect(liveness.segments(*index), Segment{after, after}))
        ends.push_back(static_cast<int64_t>(i));
    if (!ends.empty())
      call->setAttr(rt::kEnds, b.getDenseI64ArrayAttr(ends));
  }
}

} // namespace mx::memory
