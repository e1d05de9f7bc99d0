// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a plan needs and why, in words and numbers.
#pragma once
#include "dialects/mxrt/Mxrt.h"
#include <string>
#include <vector>

namespace mx::memory {

/// One tensor, or a workspace, in the arena.
struct Tensor {
  std::string what;  ///< the ops that compute it
  std::string type;  ///< f32[64, 256]
  std::string place; ///< file:line:column, or empty
  int64_t bytes = 0;
};

/// Where it lies and when it is in use: from one op of `inUse` to another, both included.
struct Placed {
  Tensor tensor;
  int64_t offset = 0, first = 0, last = -1;
};

/// What a call computes and moves, at the bounds of open sizes. A loop counts with its number of
/// turns if that is known, and else once.
struct Work {
  int64_t operations = 0; ///< of elements; a product counts two for each pair
  int64_t bytes = 0;      ///< read and written by kernels and copies
  bool isExact = true;    ///< no loop of unknown length, no branch
};

struct DeviceReport {
  std::string device;         ///< empty: the default one
  int64_t arena = 0;          ///< bytes that a call leases
  int64_t alone = 0;          ///< what it would be without sharing: a slice for each buffer
  int64_t bound = 0;          ///< the most that is in use at once; no plan of this order needs less
  int64_t inputs = 0;         ///< of the caller, parameters among them
  int64_t outputs = 0;        ///< made for the caller
  std::vector<Tensor> peak;   ///< in use at once where most is, largest first
  std::string peakPlace;      ///< of the op that runs there
  std::vector<int64_t> inUse; ///< at each op
  std::vector<Placed> slices; ///< all that are in use at some op
};

std::vector<DeviceReport> describePlan(rt::ProgramOp program);

/// For people. `name` is that of the graph.
std::string showPlan(const std::vector<DeviceReport> &devices, const Work &work,
                     const std::string &name);

Work workOf(rt::ProgramOp program);

/// For programs: one object with everything above.
std::string planAsJson(const std::vector<DeviceReport> &devices, const Work &work,
                       const std::string &name);

/// One page with a picture of the arenas over time, and nothing that it has to load.
std::string planAsHtml(const std::vector<DeviceReport> &devices, const Work &work,
                       const std::string &name);

/// 1,234,567
std::string withCommas(int64_t number);

} // namespace mx::memory
