// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory report of a plan: what it needs and why, as text, JSON or HTML.
#pragma once
#include "Memory/Work.h"
#include <map>
#include <string>
#include <vector>

namespace mx::memory {

/// Purpose of memory. Of arguments: by their types. In the arena, a gradient is a slice with the
/// shape of a parameter that an update of a parameter or of optimizer state reads.
enum class Use : uint8_t { Parameter, State, Gradient, Data, Activation, Workspace };
const char *useName(Use use);

/// One tensor, or a workspace, in the arena.
struct Tensor {
  std::string what;     ///< the ops that compute it
  std::string type;     ///< f32[64, 256]
  std::string location; ///< file:line:column, or empty
  int64_t bytes = 0;
  Use use = Use::Activation;
};

/// Its offset and its lifetime: from one op of `inUse` to another, both included.
struct Placed {
  Tensor tensor;
  int64_t offset = 0, first = 0, last = -1;
};

struct DeviceReport {
  std::string device;  ///< empty: the default one
  int64_t arena = 0;   ///< bytes that a call leases
  int64_t alone = 0;   ///< size without sharing: a slice for each buffer
  int64_t bound = 0;   ///< peak bytes in use; no plan with this order needs less
  int64_t inputs = 0;  ///< bytes of the caller's inputs, including parameters
  int64_t outputs = 0; ///< bytes of the outputs for the caller
  int64_t inPlace = 0; ///< bytes of results that reuse the memory of an argument
  std::map<Use, int64_t> arguments; ///< `inputs` by use
  std::map<Use, int64_t> atPeak;    ///< `bound` by use
  std::vector<Tensor> peak;         ///< live at the peak, largest first
  std::string peakLocation;         ///< source location of the op at the peak
  std::vector<int64_t> inUse;       ///< bytes at each op
  std::vector<Placed> slices;       ///< all that are live at some op
};

/// Rematerialised values of one source location.
struct RecomputedAt {
  std::string location, what;
  int64_t calls = 0, operations = 0;
};

/// What one call of a KVStore exchanges, by key.
struct ExchangedKey {
  std::string name; ///< net.fc1.w
  std::string type; ///< f32[64, 256]
  std::string form; ///< dense: all elements; rows, factors: see decision 45
  int64_t bytes = 0; ///< that a worker has
  // Of rows and factors.
  int64_t entries = 0, entryBytes = 0, denseBytes = 0;
  /// Payload that each of W workers sends, if all have as much.
  int64_t sent(const std::string &action, int64_t workers) const;
  /// The largest number of workers for which that is `entries` to each other worker.
  int64_t maxWorkers() const;
};
struct ExchangeReport {
  std::string action; ///< average
  std::vector<ExchangedKey> keys;
  int64_t bytes() const;
};

struct PlanReport {
  std::string name; ///< of the graph, with its sizes
  Work work;
  Work recomputed;                     ///< the rematerialised part of `work`
  int64_t plain;                       ///< bytes of the arena without rematerialisation
  int64_t limit = 0;                   ///< of an arena; 0: none
  int64_t sourceBound = 0;             ///< peak bytes in source order
  std::vector<RecomputedAt> locations; ///< most work first
  std::vector<DeviceReport> devices;
  std::vector<ExchangeReport> exchanges; ///< in order
};
PlanReport describePlan(rt::ProgramOp program, const std::string &name);

/// Peak bytes in use of a program, over all devices.
int64_t boundOf(rt::ProgramOp program);

/// As text for people.
std::string showPlan(const PlanReport &plan);

/// Why a plan exceeds its limit: one line, then note lines; empty if it does not. `where` is the
/// graph as a user writes it.
std::string refusalOf(const PlanReport &plan, const std::string &where);
/// The rematerialised values and their cost, as such lines; empty if there are none.
std::string describeRecomputed(const PlanReport &plan);

/// As JSON for programs: one object with everything above.
std::string planAsJson(const PlanReport &plan);

/// As a self-contained HTML page with a picture of the arenas over time.
std::string planAsHtml(const PlanReport &plan);

/// 1,234,567
std::string withCommas(int64_t number);

} // namespace mx::memory
