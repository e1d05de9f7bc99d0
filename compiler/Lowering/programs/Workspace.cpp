// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Workspace sizes of kernels.
#include "Lowering/programs/Workspace.h"
#include "Support/ElementType.h"
#include "dialects/mx/Table.h"
#include "mxrt/workspace.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace mx::lowering {

static int64_t workspaceOf(ir::RoutineOp op, const rt::SizeBounds &bounds) {
  using Workspace = mxrt_workspace (*)(int64_t, const int64_t *);
  auto needed = llvm::StringSwitch<Workspace>(op.getKind())
#define MXRT_ROUTINE(name, workspace) .Case(#name, workspace)
#include "mxrt/routine.def"
                    .Default(nullptr);
  if (!needed)
    return INT64_MAX; // a kind that the runtime does not list
  int64_t sizes[4] = {1, 1, 1, 1};
  for (auto [i, part] : llvm::enumerate(op.callSizes()))
    for (ir::SizeAttr size : part) {
      std::optional<int64_t> largest = rt::largest(size, bounds);
      if (!largest)
        return INT64_MAX;
      sizes[i] = mxrt_workspace_times(sizes[i], *largest);
    }
  Type element = cast<ir::TensorType>(op.getInputs()[0].getType()).getElement();
  mxrt_workspace layout = needed(elementInfo(ir::elementFromMlir(element)).bytes, sizes);
  return mxrt_workspace_bytes(&layout);
}

int64_t workspaceOf(ir::KernelOp kernel, const rt::SizeBounds &bounds) {
  if (std::optional<ir::Table> table = ir::tableOf(kernel))
    return table->bytes();
  int64_t largest = 0;
  kernel.walk([&](ir::RoutineOp op) { largest = std::max(largest, workspaceOf(op, bounds)); });
  return largest;
}

} // namespace mx::lowering
