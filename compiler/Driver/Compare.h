// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `--compare`: each call of a graph also runs op by op, and the results are held against each
// other.
#pragma once
#include "host/Value.h"
#include "mxrt/tensor.h"
#include <cstdint>
#include <ostream>
#include <string>

namespace mx::driver {

/// What was found so far. The largest difference is kept with the place it came from.
struct Comparison {
  uint64_t calls = 0, elements = 0, different = 0;
  double largestUlps = 0;
  std::string where;           ///< `predict`, result 0, element 17, at mlp.mx:12:7
  double eager = 0, graph = 0; ///< the two values there

  /// Compares two values of one type, leaf by leaf; waits for both. `where` names the call.
  mxrt_status add(mxrt_runtime *runtime, const mxrt::host::Value &eagerValue,
                  const mxrt::host::Value &graphValue, const std::string &where,
                  const mxrt_place &place);
  /// One line, or a few.
  void print(std::ostream &out) const;

private:
  mxrt_status addTensors(mxrt_runtime *runtime, mxrt_tensor *x, mxrt_tensor *y,
                         const std::string &where, const mxrt_place &place);
};

} // namespace mx::driver
