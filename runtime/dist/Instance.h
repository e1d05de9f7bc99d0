// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One instance of a program that may run as several ranks, and the source of its
// connections. The host of a program implements it (compiler/Run); without it, a program
// is the only instance in its process.

#ifndef MXRT_DIST_INSTANCE_H
#define MXRT_DIST_INSTANCE_H

#include "dist/Queue.h"
#include "dist/Store.h"

namespace mxrt::dist {

/// State of a job of processes (dist/Job.h), as its launcher reports it.
struct JobState {
  bool hasLauncher = false; ///< a launcher ends the job if a rank fails
  uint64_t ended = 0;       ///< ranks whose programs have ended: bit r is rank r
};

class Instance {
public:
  /// The transport of the next connection of this instance, whose rank it knows; it
  /// starts the other instances if they do not run yet. R0705 if they cannot run here.
  virtual Result<net::TransportBox> join(int workers, mxrt_location location) = 0;
  /// Whether there are other instances in this process.
  virtual bool isOneOfSeveral() const = 0;
  /// Queues that it shares with them, and its rank there.
  virtual QueueHub &queues() = 0;
  virtual int rankHere() const = 0;
  /// What a launcher says about the other processes of the job. From any thread.
  virtual JobState job() const = 0;

  /// Stores that are open. leave() closes them: the other ranks see that this one left.
  [[nodiscard]] bool add(Store &store) { return stores.push(&store); }
  void remove(Store &store) {
    for (size_t i = 0; i < stores.size(); ++i)
      if (stores[i] == &store)
        return stores.swapRemove(i);
  }
  void leave() {
    for (Store *store : stores)
      store->close();
  }
  /// After an error of the program.
  void giveUp() {
    for (Store *store : stores)
      store->giveUp();
  }

protected:
  explicit Instance(const mxrt_allocator *alloc) : stores(alloc) {}
  ~Instance() = default;

private:
  Vec<Store *> stores;
};

} // namespace mxrt::dist

#endif // MXRT_DIST_INSTANCE_H
