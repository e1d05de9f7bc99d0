// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `--compare`: differential testing. Each call of a graph also runs op by op, and the results are
// compared.
#pragma once
#include "host/Value.h"
#include "mxrt/tensor.h"
#include <cstdint>
#include <ostream>
#include <string>

namespace mx::driver {

/// The findings so far. The largest difference is kept with its location.
struct Comparison {
  uint64_t calls = 0, elements = 0, different = 0, failed = 0, endDifferently = 0;
  double largestUlps = 0;
  std::string where;           ///< `predict`, result 0, element 17, at mlp.mx:12:7
  double eager = 0, graph = 0; ///< the two values there
  std::string firstEnding;     ///< description of the first call whose two runs ended differently

  /// Compares two values of one type, leaf by leaf; both are computed. `where` names the call.
  void add(const mxrt::host::Value &eagerValue, const mxrt::host::Value &graphValue,
           const std::string &where);
  /// Adds a call that failed in at least one of the two runs, with the error codes; 0 is success.
  void addEndings(int32_t eagerCode, int32_t graphCode, const std::string &where);
  /// One line, or a few.
  void print(std::ostream &out) const;

private:
  void addTensors(mxrt_tensor *x, mxrt_tensor *y, const std::string &where);
};

/// Waits for every tensor of a value; returns the first error.
mxrt_status waitForTensors(mxrt_runtime *runtime, const mxrt::host::Value &value,
                           const mxrt_location &location);

} // namespace mx::driver
