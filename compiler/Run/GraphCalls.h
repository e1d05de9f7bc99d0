// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of compiled graphs: arguments are passed as buffers, the call is pushed to the engine as
// one op, and results become values again.
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

/// The arena of a finished call, cached for the next call of the same code, which then does not
/// lock the pool. Thread-safe.
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
  /// False if there is one already: the caller returns the arena to its pool.
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

/// Code bound to the sizes of a call: everything that its calls have in common. Immutable, so that
/// any thread may call it.
struct BoundCode {
  const Code *code = nullptr;
  std::vector<std::vector<int64_t>> shapes; ///< of the outputs
  std::vector<int64_t> open;                ///< values of the dynamic sizes
  std::vector<int64_t> outputOf; ///< of each input: the output that overwrites it, or -1
  bool isOver = false;           ///< whether there is such an input
  CallBytes *taken = nullptr;    ///< accumulates the memory use of calls; null: not counted
  SpareArena *spare = nullptr;   ///< of synchronous calls; null: no arena is kept
};
/// `sizes` are all sizes of the graph.
void bindCode(const Code &code, std::span<const int64_t> sizes, BoundCode &out);

/// Evaluates a size; 0 on division by zero.
int64_t valueOf(const Size &size, std::span<const int64_t> sizes);

/// An argument of a graph: a tensor, or a host number as bytes.
struct GraphInput {
  mxrt_tensor *tensor = nullptr;
  uint64_t number = 0;
};

/// Issues an asynchronous call. An input that an output overwrites must be that output.
/// Thread-safe.
mxrt::Status issueGraph(mxrt_runtime *runtime, const BoundCode &bound,
                        std::span<const GraphInput> inputs, std::span<mxrt_tensor *const> outputs,
                        const mxrt_location &location);
/// Runs the call synchronously on this thread. `buffers` are the addresses of all inputs, then of
/// all outputs; no output overwrites an input. Thread-safe.
mxrt_status runGraphNow(mxrt_runtime *runtime, const BoundCode &bound, void *const *buffers,
                        const mxrt_location &location);
/// Creates a tensor for output `index`.
mxrt::Status makeGraphOutput(mxrt_runtime *runtime, const BoundCode &bound, size_t index,
                             const mxrt_location &location, mxrt_tensor *&out);

/// The eager executor with calls of graphs; subclasses find the code.
class GraphCaller : public mxrt::eager::EagerHost {
protected:
  using EagerHost::EagerHost;
  /// A call from host code, whose arguments are the sizes and then the values.
  mxrt::Status callGraph(const Graph &graph, const BoundCode &bound,
                         mxrt::host::Invocation &call);
  /// The sizes among its arguments.
  static std::vector<int64_t> sizesOf(const Graph &graph, const mxrt::host::Invocation &call);
  /// An error if a size exceeds its bound; otherwise the key of the variant, with -1 for dynamic
  /// sizes.
  mxrt::Status variantKey(const Graph &graph, std::span<const int64_t> sizes,
                          const mxrt_location &location, std::vector<int64_t> &key) const;
  mxrt::Status fail(mxrt_code code, const mxrt_location &location, const std::string &message) const;

private:
  struct Call;
  mxrt::Status flatten(const Part &part, const mxrt::host::Value &value, Call &call, bool isOwned);
  mxrt::Status makeOutputs(const BoundCode &bound, Call &call, const mxrt_location &location);
  mxrt::Status takeOver(mxrt_tensor *&input, mxrt::host::ForeignObject *owner, Call &call,
                        const mxrt_location &location, mxrt_tensor *&out);
  mxrt::Status rebuild(const Part &part, Call &call, size_t &next, mxrt::host::Heap &heap,
                       mxrt::host::Value &out);
};

} // namespace mx::run
