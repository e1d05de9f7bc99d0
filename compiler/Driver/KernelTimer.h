// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `--tune`: autotuning. Times kernels on the session's runtime, with its threads, and reports the
// findings.
#pragma once
#include "Pipeline/Tune.h"
#include "Target/Jit.h"
#include "mxrt/runtime.h"
#include <ostream>

namespace mx::driver {

class KernelTimer final : public pipeline::KernelClock {
public:
  KernelTimer(mxrt_runtime *runtime, target::Jit jit, std::ostream &out)
      : runtime(runtime), jit(std::move(jit)), out(out) {}

  std::optional<double> time(const std::string &object, const std::string &name,
                             llvm::ArrayRef<Room> buffers) override;
  void found(const Found &kernel) override;

private:
  mxrt_runtime *runtime;
  target::Jit jit; ///< a separate one: a name can be defined only once at a time
  std::ostream &out;
};

} // namespace mx::driver
