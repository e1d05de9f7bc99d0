// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "engine/ThreadedEngine.h"

namespace mxrt::engine {

template class ThreadedEngine<RealSync>;

Result<Engine *> createThreaded(const mxrt_engine_options &options) {
  return ThreadedEngine<RealSync>::create(options);
}

} // namespace mxrt::engine
