// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instantiation of the threaded dependency engine.

#include "engine/ThreadedEngine.h"

namespace mxrt::engine {

template class ThreadedEngine<RealSync>;

Result<Engine *> createThreaded(const EngineOptions &options) {
  return ThreadedEngine<RealSync>::create(options);
}

} // namespace mxrt::engine
