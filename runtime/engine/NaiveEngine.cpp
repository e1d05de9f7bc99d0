// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "engine/NaiveEngine.h"

namespace mxrt::engine {

template class NaiveEngine<RealSync>;

Result<Engine *> createNaive(const mxrt_engine_options &options) {
  return NaiveEngine<RealSync>::create(options);
}

} // namespace mxrt::engine
