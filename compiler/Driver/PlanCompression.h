// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What compressed gradients would cost, for `mxc plan`.
#pragma once
#include "Memory/Report.h"

namespace mx::driver {

/// The payload of each average of gradients with each codec, for some numbers of workers, as the
/// runtime sends it with `direct`. Empty if the plan averages none.
std::string showCompression(const memory::PlanReport &plan);

} // namespace mx::driver
