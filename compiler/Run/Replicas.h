// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instances of a program as the ranks of one process (`dist.local`). The instance that was started
// is rank 0. When it first connects several workers, the others start: each runs the whole program
// on a thread, with a machine of its own, and joins when it reaches the same call.
//
// One error ends all: the rank that has it is reported, the others are cancelled. Errors that only
// say that another rank is lost are reported if there is no other.
//
// Thread rule: `Replicas` belongs to the thread of rank 0, a `Replica` to that of its rank. Only
// cancel() may be called from any thread, and from a signal handler.
#pragma once
#include "dist/Instance.h"
#include "net/Local.h"
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <ostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace mx::run {

class Machine;
class Replicas;

/// One rank.
class Replica final : public mxrt::dist::Instance {
public:
  Replica(Replicas &all, int rank) : Instance(mxrt_system_allocator()), all(all), number(rank) {}
  mxrt::Result<mxrt::net::TransportBox> join(int workers, mxrt_location location) override;

  // ---- called by its Machine
  /// The machine can be cancelled from now on, or no longer.
  void attach(Machine *machine);
  /// The program ended with an error: the other ranks stop.
  void stopOthers();
  void cancelAll();
  enum class Verdict {
    Alone, ///< there are no other ranks
    Report,
    Keep,  ///< until it is known that no rank has another error
    Silent ///< it follows from what was reported
  };
  Verdict judge(mxrt_code code);
  /// `text` is the report, for Report and Keep.
  void report(Verdict verdict, const std::string &text);
  /// "rank 1 of 4", for notes.
  std::string name() const;
  /// Of what ranks do not share: a folder ("/rank1"), a file ("trace.rank1.json").
  std::string suffix() const { return "/rank" + std::to_string(number); }
  std::string fileSuffix() const { return ".rank" + std::to_string(number); }
  /// Replicas::finish(), by rank 0.
  bool finishAll();

private:
  friend class Replicas;
  Replicas &all;
  const int number;
  int joined = 0;          ///< connections so far
  bool hasReported = false; ///< anything, so that a failure has a reason
  std::thread thread;
  std::atomic<Machine *> machine{nullptr};
};

class Replicas {
public:
  /// Runs a further instance, on its thread: true if it ended well. `threads`: what it may use.
  using Body =
      std::function<bool(Replica &replica, int threads, std::ostream &out, std::ostream &err)>;
  /// All ranks write to these streams, which nobody else uses meanwhile.
  Replicas(std::ostream &out, std::ostream &err, Body body);
  ~Replicas();
  Replicas(const Replicas &) = delete;
  Replicas &operator=(const Replicas &) = delete;

  Replica &first() { return *ranks[0]; }
  /// Streams of rank 0. Lines of other ranks have a prefix, `[1] `.
  std::ostream &out();
  std::ostream &err();
  /// Waits for the other ranks. False if one failed, which has been reported.
  bool finish();
  /// Cancels every rank.
  void cancel();

private:
  friend class Replica;
  class Buffer;
  struct Stream;
  mxrt::Status start(int workers, mxrt_location location);
  void runInstance(Replica &replica);
  void leave(Replica &replica, bool failed);
  void write(std::ostream &to, const std::string &text);

  const Body body;
  std::ostream &target, &errors;
  std::mutex writing; ///< to both
  std::unique_ptr<Stream> ownOut, ownErr;

  std::mutex mutex; ///< guards what follows
  struct Meeting {
    std::unique_ptr<mxrt::net::LocalHub> hub;
    std::vector<bool> isHere;
  };
  std::vector<Meeting> meetings; ///< of each connection
  struct End {
    bool ended = false, failed = false;
  };
  std::vector<End> ends; ///< of the ranks
  bool hasFailed = false, hasReport = false, isJoined = false;
  std::vector<std::pair<int, std::string>> kept; ///< reports, by rank

  /// Set before the threads start.
  std::vector<std::unique_ptr<Replica>> ranks;
  std::atomic<int> count{1};
  std::atomic<int> cancelling{0}; ///< threads, or a signal handler, that use the machines
  std::atomic<bool> isInterrupted{false};
};

} // namespace mx::run
