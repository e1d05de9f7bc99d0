// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a plan needs and why, in words and numbers.
#pragma once
#include "Memory/Work.h"
#include <map>
#include <string>
#include <vector>

namespace mx::memory {

/// What memory is for. Of arguments: by their types. In the arena, a gradient is what an update of
/// a parameter or of an optimizer's state reads that has the parameter's shape.
enum class Use : uint8_t { Parameter, State, Gradient, Data, Activation, Workspace };
const char *useName(Use use);

/// One tensor, or a workspace, in the arena.
struct Tensor {
  std::string what;  ///< the ops that compute it
  std::string type;  ///< f32[64, 256]
  std::string place; ///< file:line:column, or empty
  int64_t bytes = 0;
  Use use = Use::Activation;
};

/// Where it lies and when it is in use: from one op of `inUse` to another, both included.
struct Placed {
  Tensor tensor;
  int64_t offset = 0, first = 0, last = -1;
};

struct DeviceReport {
  std::string device;  ///< empty: the default one
  int64_t arena = 0;   ///< bytes that a call leases
  int64_t alone = 0;   ///< what it would be without sharing: a slice for each buffer
  int64_t bound = 0;   ///< the most that is in use at once; no plan of this order needs less
  int64_t inputs = 0;  ///< of the caller, parameters among them
  int64_t outputs = 0; ///< made for the caller
  int64_t inPlace = 0; ///< results that are written where an argument is
  std::map<Use, int64_t> arguments; ///< `inputs` by use
  std::map<Use, int64_t> atPeak;    ///< `bound` by use
  std::vector<Tensor> peak;         ///< in use at once where most is, largest first
  std::string peakPlace;            ///< of the op that runs there
  std::vector<int64_t> inUse;       ///< at each op
  std::vector<Placed> slices;       ///< all that are in use at some op
};

/// Values of one place that are made again.
struct AgainAt {
  std::string place, what;
  int64_t calls = 0, operations = 0;
};

struct PlanReport {
  std::string name; ///< of the graph, with its sizes
  Work work;
  Work again;                  ///< the part of `work` that is done again, to need less memory
  int64_t plain;               ///< bytes of the arena without that
  int64_t limit = 0;           ///< of an arena; 0: none
  int64_t sourceBound = 0;     ///< in use at once if ops ran in the order they are written
  std::vector<AgainAt> places; ///< most work first
  std::vector<DeviceReport> devices;
};
PlanReport describePlan(rt::ProgramOp program, const std::string &name);

/// On a program: bytes of the arena when nothing is made again.
inline constexpr llvm::StringLiteral kPlainBytes = "mxrt.plain";
/// On a program: bytes in use at once before ops changed places.
inline constexpr llvm::StringLiteral kSourceBound = "mxrt.source_bound";
/// On a program: bytes that its arena may have.
inline constexpr llvm::StringLiteral kLimit = "mxrt.limit";
/// The most bytes that a program uses at once, over all devices.
int64_t boundOf(rt::ProgramOp program);

/// For people.
std::string showPlan(const PlanReport &plan);

/// Why a plan is not below its limit: a line, and lines of notes; empty if it is. `where` is the
/// graph as a user writes it.
std::string refusalOf(const PlanReport &plan, const std::string &where);
/// What is made again and what that costs, as such lines; empty if nothing is.
std::string describeAgain(const PlanReport &plan);

/// For programs: one object with everything above.
std::string planAsJson(const PlanReport &plan);

/// One page with a picture of the arenas over time, and nothing that it has to load.
std::string planAsHtml(const PlanReport &plan);

/// 1,234,567
std::string withCommas(int64_t number);

} // namespace mx::memory
