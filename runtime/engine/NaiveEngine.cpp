// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instantiation of the naive (serial) engine.

#include "engine/NaiveEngine.h"

namespace mxrt::engine {

template class NaiveEngine<RealSync>;

Result<Engine *> createNaive(const EngineOptions &options) {
  return NaiveEngine<RealSync>::create(options);
}

} // namespace mxrt::engine
