// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One object file with everything that exported graphs need but libmxrt_core: their code for each
// CPU, the tables that the runtime chooses from (mxrt/aot.h), the functions of the header, and
// parameters that are embedded.
#pragma once
#include "Build/Interface.h"
#include "Pipeline/Pipeline.h"

namespace mx::build {

/// A CPU by the name it was asked for.
struct Cpu {
  std::string name;
  target::TargetCpu target;
  /// The least mxrt_aot_cpu_level() of machines that run it.
  int level() const;
};

/// What `--target-cpu` means; nothing after an error, which is reported. Best first.
std::optional<std::vector<Cpu>> parseCpus(const std::string &list, Diagnostics &diags);
/// What code is for if nobody says.
std::string defaultCpus();

/// Compiles all variants of all functions, and notes the workspace of each in `interface`. Nothing
/// after an error, which is reported.
std::optional<std::string> makeObject(Interface &interface, const std::vector<Cpu> &cpus,
                                      const pipeline::Options &options, Diagnostics &diags);

} // namespace mx::build
