// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mutation testing of the compiler: miscompilations that a pass could cause, to show that the tests
// would detect them. The passes themselves do not know of these: each is a separate wrong rewrite,
// and none runs unless its name is given (`--internal-mistake`, which no help text mentions).
#pragma once
#include "dialects/mx/Mx.h"

namespace mx::graph {

bool knowsMistake(llvm::StringRef name);
/// The rule of differentiation that the mistake makes wrong: `mul` for `gradient-mul`, and so on
/// for other ops; `order` visits the iterations of a loop in the wrong order, `sum` overwrites an
/// adjoint instead of accumulating into it. Empty for other mistakes.
llvm::StringRef wrongRuleOf(llvm::StringRef name);
/// Applies the mistake wherever it applies, if it belongs to this stage: `fused` says whether ops
/// are already in kernels.
void makeMistake(ir::GraphOp graph, llvm::StringRef name, bool fused);

} // namespace mx::graph
