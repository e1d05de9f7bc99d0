// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks as threads of one process (`dist.local`). The instance of the program that was started is
// rank 0. Its first connection with several workers starts the other instances: each runs the whole
// program on a thread, with a machine of its own, and joins at the same call.
//
// The first error ends all ranks: it is reported with its rank, and the others are cancelled. An
// error that another rank is lost is reported only if no rank has another error.
//
// A process of `mxc launch` is one rank. It sends its error to the launcher, which applies the same
// rules to all processes.
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
  /// Sets the machine that cancel() stops; null: none.
  void attach(Machine *machine);
  /// The program ended with an error: the other ranks stop.
  void stopOthers();
  void cancelAll();
  enum class Verdict {
    Alone, ///< there are no other ranks
    Report,
    Keep,  ///< hold back until no rank can have another error
    Stopped, ///< by Ctrl-C; the launcher reports it once
    Silent ///< a consequence of an error that was reported
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
  bool hasReported = false; ///< some error of this rank was reported
  std::thread thread;
  std::atomic<Machine *> machine{nullptr};
};

/// Folders and files of one rank: `FOLDER/rank1`, `trace.rank1.json`. Rank 0 has the names as they
/// are.
std::string folderOfRank(const std::string &folder, int rank);
std::string fileOfRank(const std::string &file, int rank);

class Replicas {
public:
  /// Runs another instance, on its thread. True on success. `threads`: how many it may use.
  using Body =
      std::function<bool(Replica &replica, int threads, std::ostream &out, std::ostream &err)>;
  /// All ranks write to these streams; no other code may use them meanwhile.
  Replicas(std::ostream &out, std::ostream &err, Launched &launched, Body body);
  ~Replicas();
  Replicas(const Replicas &) = delete;
  Replicas &operator=(const Replicas &) = delete;

  Replica &first() { return *ranks[0]; }
  /// Streams of rank 0. Lines of other ranks have a prefix, `[1] `. Compiler messages are shown once,
  /// by rank 0 of a launch.
  std::ostream &out();
  std::ostream &err();
  /// Waits for the other ranks. `fine`: the program of rank 0 succeeded. False if any rank failed,
  /// which has been reported.
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
  std::ostringstream unseen; ///< compiler messages of ranks above 0 of a launch: discarded
  std::ostream &target, &errors;
  std::mutex writing; ///< to both
  std::unique_ptr<Stream> ownOut, ownErr;

  std::mutex mutex; ///< guards the members below
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
  std::atomic<int> cancelling{0}; ///< threads, or a signal handler, that access the machines
  std::atomic<bool> isInterrupted{false};
};

} // namespace mx::run
