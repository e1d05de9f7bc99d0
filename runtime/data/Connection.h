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

struct Connection final : Kept {
  Connection(const mxrt_allocator *alloc, dist::Instance *instance)
      : alloc(alloc), instance(instance), next(alloc) {}
  ~Connection() {
    if (instance && store)
      instance->remove(*store);
    dist::Store::destroy(store);
    deleteObject(alloc, hub);
  }
  // ConnectionState.cpp
  Status save(Saver &to) override;
  Status check(Restorer &from) override;
  Status read(Restorer &from, std::string_view file) override;
  Status commit() override;
  void destroy() override { deleteObject(alloc, this); }

  const mxrt_allocator *alloc;
  dist::Instance *instance;
  net::LocalHub *hub = nullptr; // of a rank that is alone
  net::MonotonicClock clock;
  dist::Store *store = nullptr;

private:
  /// What a checkpoint says about whose residuals it has.
  struct Owner {
    int64_t rank, size;
  };
  Owner owner = {};             // of what is being saved
  Vec<dist::KeptResidual> next; // of a restore() that may still fail
};

} // namespace mxrt::data

#endif // MXRT_DATA_CONNECTION_H
