// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Symbols of generated functions for `perf`.
#pragma once
#include "Target/Fault.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include <memory>
#include <string>

namespace mx::target {

/// A plugin that appends each linked function to FOLDER/perf-PID.map, which `perf report` reads
/// from /tmp. LLVM's own plugin for perf is not used: it has one state for the whole process, so a
/// second Jit would take over the first one's, and it aborts if its file cannot be created.
Result<std::shared_ptr<llvm::orc::ObjectLinkingLayer::Plugin>>
makePerfMap(const std::string &folder);

} // namespace mx::target
