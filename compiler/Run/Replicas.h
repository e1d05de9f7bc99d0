// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instances of a program as the ranks of one process (`dist.local`). The instance that was started
// is rank 0. When it first connects several workers, the others start: each runs the whole program
// on a thread, with a machine of its own, and joins when it reaches the same call.
//
// One error ends all: the rank that has it is reported, the others are cancelled. Errors that only
// say that another rank is lost are reported if there is no other.
//
// A process of `mxc launch` is one rank. It gives its error to the launcher, which does the same for
// all processes.
//
// Thread rule: `Replicas` belongs to the thread of rank 0, a `Replica` to that of its rank. Only
// cancel() may be called from any thread, and from a signal handler.
#pragma once
#include "Run/Launched.h"
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
  bool isOneOfSeveral() const override;
  mxrt::dist::QueueHub &queues() override;
  int rankHere() const override { return number; }
  mxrt::dist::JobState job() const override;

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
    Stopped, ///< by Ctrl-C; a launcher says so once
    Silent ///< it follows from what was reported
  };
  Verdict judge(mxrt_code code);
  /// `text` is the report, for Report, Keep and Stopped.
  void report(Verdict verdict, const std::string &text);
  /// "rank 1 of 4", for notes.
  std::string name() const;
  int rank() const { return number; }

private:
  friend class Replicas;
  Replicas &all;
  const int number;
  int joined = 0;          ///< connections so far
  bool hasReported = false; ///< anything, so that a failure has a reason
  std::thread thread;
  std::atomic<Machine *> machine{nullptr};
};

/// Of what ranks do not share: the folder `FOLDER/rank1`, the file `trace.rank1.json`. Those of rank
/// 0 have the names as they are.
std::string folderOfRank(const std::string &folder, int rank);
std::string fileOfRank(const std::string &file, int rank);

class Replicas {
public:
  /// Runs a further instance, on its thread: true if it ended well. `threads`: what it may use.
  using Body =
      std::function<bool(Replica &replica, int threads, std::ostream &out, std::ostream &err)>;
  /// All ranks write to these streams, which nobody else uses meanwhile.
  Replicas(std::ostream &out, std::ostream &err, Launched &launched, Body body);
  ~Replicas();
  Replicas(const Replicas &) = delete;
  Replicas &operator=(const Replicas &) = delete;

  Replica &first() { return *ranks[0]; }
  /// Streams of rank 0. Lines of other ranks have a prefix, `[1] `. What a compiler says is shown
  /// once: by rank 0 of a launch.
  std::ostream &out();
  std::ostream &err();
  /// Waits for the other ranks. `fine`: the program of rank 0 ended well. False if it did not or
  /// another rank failed, which has been reported.
  bool finish(bool fine);
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
  Launched &launched;
  std::ostringstream unseen; ///< what a further process of a launch says of compilation
  std::ostream &target, &errors;
  std::mutex writing; ///< to both
  std::unique_ptr<Stream> ownOut, ownErr;

  std::mutex mutex; ///< guards what follows
  struct Meeting {
    std::unique_ptr<mxrt::net::LocalHub> hub;
    std::vector<bool> isHere;
  };
  std::vector<Meeting> meetings; ///< of each connection
  std::unique_ptr<mxrt::dist::QueueHub> queues; ///< made before the threads start
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
