// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Binds engine variables to buffers. A buffer may outlive its runtime; then its variable was
// already deleted with the engine, and the link records this.

#ifndef MXRT_ABI_VARIABLES_H
#define MXRT_ABI_VARIABLES_H

#include "abi/Runtime.h"
#include "memory/Tensor.h"
#include "mxrt/engine.h"

namespace mxrt {

/// Shared by the runtime and every bound buffer.
class EngineLink {
public:
  EngineLink(const mxrt_allocator &source, mxrt_engine *engine)
      : alloc(source), engine(engine) {
    retainReserve(alloc.reserve); // may outlive the runtime
  }
  void retain() { refs.fetch_add(1, std::memory_order_relaxed); }
  void release();
  /// The runtime is about to destroy the engine.
  void sever();
  /// Deletes a variable, unless the engine was destroyed.
  void drop(mxrt_var variable);

  mxrt_engine *target() const { return engine; }
  const mxrt_allocator *allocator() const { return &alloc; }

private:
  mxrt_allocator alloc;
  std::atomic<uint32_t> refs{1};
  Mutex mutex;
  mxrt_engine *engine; // null once severed; written under the mutex
};

/// The runtime's link, created with its engine on first use.
Result<EngineLink *> engineLink(mxrt_runtime *runtime);

/// The variable of a buffer, created on first use.
Result<mxrt_var> variableOf(EngineLink *link, mxrt_buffer *buffer);

} // namespace mxrt

#endif // MXRT_ABI_VARIABLES_H
