// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mistakes that a pass could make, to show that the tests would notice them. The passes themselves
// know nothing of these: each is a wrong rewrite of its own, and nothing runs one unless its name
// is given (`--internal-mistake`, which no help text mentions).
#pragma once
#include "dialects/mx/Mx.h"

namespace mx::graph {

bool knowsMistake(llvm::StringRef name);
/// Makes it wherever it can be made, if it belongs to this time: `fused` says whether ops are in
/// kernels by now.
void makeMistake(ir::GraphOp graph, llvm::StringRef name, bool fused);

} // namespace mx::graph
