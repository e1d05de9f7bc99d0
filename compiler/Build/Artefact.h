// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One self-contained object file for exported graphs, except for libmxrt_core: their code for each
// CPU (function multi-versioning), the dispatch tables of the runtime (mxrt/aot.h), the functions
// of the header, and embedded parameters.
#pragma once
#include "Build/Interface.h"
#include "Pipeline/Pipeline.h"

namespace mx::build {

/// A target CPU, with the name given by the user.
struct Cpu {
  std::string name;
  target::TargetCpu target;
  /// The minimal mxrt_aot_cpu_level() of machines that run it.
  int level() const;
};

/// Parses `--target-cpu`, best first; nothing after an error, which has been reported.
std::optional<std::vector<Cpu>> parseCpus(const std::string &list, Diagnostics &diags);
/// The default value of `--target-cpu`.
std::string defaultCpus();

/// Compiles all variants of all functions, and records the workspace size of each in `interface`.
/// Nothing after an error, which has been reported.
std::optional<std::string> makeObject(Interface &interface, const std::vector<Cpu> &cpus,
                                      const pipeline::Options &options, Diagnostics &diags);

} // namespace mx::build
