// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The handle of a connection to other workers. In checkpoints it has what this worker's encodings
// left out.

#ifndef MXRT_DATA_CONNECTION_H
#define MXRT_DATA_CONNECTION_H

#include "data/Checkpoint.h"
#include "dist/Instance.h"
#include "net/Clock.h"
#include "net/Local.h"

namespace mxrt::data {

struct Connection {
  Connection(const mxrt_allocator *alloc, dist::Instance *instance)
      : alloc(alloc), instance(instance), next(alloc) {}
  ~Connection() {
    if (instance && store)
      instance->remove(*store);
    dist::Store::destroy(store);
    deleteObject(alloc, hub);
  }
  const mxrt_allocator *alloc;
  dist::Instance *instance;
  net::LocalHub *hub = nullptr; // of a rank that is alone
  net::MonotonicClock clock;
  dist::Store *store = nullptr;

  // ConnectionState.cpp
  int64_t owner[2] = {};        // rank and number of ranks, while they are saved
  Vec<dist::KeptResidual> next; // of a restore() that may still fail
};

extern const host::ForeignType connectionType;

} // namespace mxrt::data

#endif // MXRT_DATA_CONNECTION_H
