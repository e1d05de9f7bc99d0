// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of graphs whose code is there: arguments are handed over as buffers, the call is pushed to
// the engine as one op, results become values again.
#pragma once
#include "Run/CallBytes.h"
#include "Run/GraphCode.h"
#include "eager/Executor.h"
#include "mxrt/memory.h"
#include <atomic>
#include <span>
#include <string>
#include <vector>

namespace mx::run {

/// The arena of a call that has ended, for the next one of the same code, which then takes no
/// lock of the pool. Any thread.
class SpareArena {
public:
  SpareArena() = default;
  SpareArena(const SpareArena &) = delete;
  ~SpareArena() {
    if (mxrt_arena arena; take(arena))
      mxrt_arena_return(&arena);
  }
  bool take(mxrt_arena &out) {
    State expected = State::Kept;
    if (!state.compare_exchange_strong(expected, State::Busy, std::memory_order_acquire))
      return false;
    out = kept;
    state.store(State::Empty, std::memory_order_release);
    return true;
  }
  /// False if there is one already: it goes back to its pool.
  bool keep(const mxrt_arena &arena) {
    State expected = State::Empty;
    if (!state.compare_exchange_strong(expected, State::Busy, std::memory_order_acquire))
      return false;
    kept = arena;
    state.store(State::Kept, std::memory_order_release);
    return true;
  }

private:
  enum class State { Empty, Busy, Kept };
  std::atomic<State> state{State::Empty};
  mxrt_arena kept = {};
};

/// Code for the sizes of a call: all that its calls have in common. Never changes, so that any
/// thread may call it.
struct BoundCode {
  const Code *code = nullptr;
  std::vector<std::vector<int64_t>> shapes; ///< of the outputs
  std::vector<int64_t> open;                ///< values of the sizes left open
  std::vector<int64_t> outputOf; ///< of each input: the output that is written over it, or -1
  bool isOver = false;           ///< there is such an input
  CallBytes *taken = nullptr;    ///< what calls take is added to it; null: nobody counts
  SpareArena *spare = nullptr;   ///< of calls that run at once; null: none is kept
};
/// `sizes` are all of the graph.
void bindCode(const Code &code, std::span<const int64_t> sizes, BoundCode &out);

/// The value of a size; 0 where a divisor is.
int64_t valueOf(const Size &size, std::span<const int64_t> sizes);

/// An argument of a graph: a tensor, or a number of the host as bytes.
struct GraphInput {
  mxrt_tensor *tensor = nullptr;
  uint64_t number = 0;
};

/// Issues a call. Inputs that an output is written over are that output. Any thread.
mxrt::Status issueGraph(mxrt_runtime *runtime, const BoundCode &bound,
                        std::span<const GraphInput> inputs, std::span<mxrt_tensor *const> outputs,
                        const mxrt_place &place);
/// Runs it here and now. `buffers` are the addresses of all inputs, then of all outputs; no output
/// is written over an input. Any thread.
mxrt_status runGraphNow(mxrt_runtime *runtime, const BoundCode &bound, void *const *buffers,
                        const mxrt_place &place);
/// A new tensor for output `index`.
mxrt::Status makeGraphOutput(mxrt_runtime *runtime, const BoundCode &bound, size_t index,
                             const mxrt_place &place, mxrt_tensor *&out);

/// The eager executor with calls of graphs; who finds the code is up to what it is derived from.
class GraphCaller : public mxrt::eager::EagerHost {
protected:
  using EagerHost::EagerHost;
  /// A call from host code, whose arguments are the sizes and then the values.
  mxrt::Status callGraph(const Graph &graph, const BoundCode &bound,
                         mxrt::host::Invocation &call);
  /// Its sizes.
  static std::vector<int64_t> sizesOf(const Graph &graph, const mxrt::host::Invocation &call);
  /// An error if a size is above its bound; else the key of the variant: -1 for sizes left open.
  mxrt::Status variantKey(const Graph &graph, std::span<const int64_t> sizes,
                          const mxrt_place &place, std::vector<int64_t> &key) const;
  mxrt::Status fail(mxrt_code code, const mxrt_place &place, const std::string &message) const;

private:
  struct Call;
  mxrt::Status flatten(const Part &part, const mxrt::host::Value &value, Call &call, bool isOwned);
  mxrt::Status makeOutputs(const BoundCode &bound, Call &call, const mxrt_place &place);
  mxrt::Status takeOver(mxrt_tensor *&input, mxrt::host::ForeignObject *owner, Call &call,
                        const mxrt_place &place, mxrt_tensor *&out);
  mxrt::Status rebuild(const Part &part, Call &call, size_t &next, mxrt::host::Heap &heap,
                       mxrt::host::Value &out);
};

} // namespace mx::run
