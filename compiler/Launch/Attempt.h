// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One attempt to run a job: starts all ranks, forwards their output and signals, collects their
// reports, and finds the rank that failed first.
#pragma once
#include "Launch/Lines.h"
#include "Launch/Rank.h"
#include "Launch/Signals.h"
#include "Launch/Starter.h"
#include "Launch/TaggedLines.h"
#include "net/Rendezvous.h"
#include <chrono>
#include <memory>
#include <optional>

namespace mx::launch {

class Attempt {
public:
  /// Remote ranks call the launcher at the rendezvous; nullptr: there are none.
  Attempt(int ranks, Lines &out, Lines &err, Signals &signals, const Starter &starter,
          mxrt::net::Rendezvous *rendezvous)
      : out(out), err(err), signals(signals), starter(starter), rendezvous(rendezvous),
        taggedOut(out, ranks), taggedErr(err, ranks), seen(static_cast<size_t>(ranks)) {}

  /// Returns the exit code of the job. `common` has what all ranks get.
  int run(const RankOptions &common);
  /// Whether a rank was killed or is lost, rather than failed by an error of its own.
  bool mayStartAgain() const { return isRestartable; }
  /// The last message of the launcher; empty after success.
  std::string ending() const;

private:
  using Clock = std::chrono::steady_clock;
  struct Seen {
    bool ended = false;
    bool isDone = false;   ///< a remote rank said so
    bool hasCalled = false; ///< a remote rank
    bool isCut = false;     ///< a remote rank ended without a word
    bool isSilent = false;  ///< a remote rank failed, and its report did not arrive
    std::string lost;    ///< the report that another rank is lost
    std::string stopped; ///< and that it was stopped
  };

  bool start(const RankOptions &common);
  /// Takes the calls of remote ranks.
  void answer();
  /// A remote rank whose channel ended although its program was not over.
  void noticeCut(Rank &rank);
  /// Reads what a rank says, and notices its end.
  void look(Rank &rank);
  void noticeReport(Rank &rank, Rank::Report report);
  void noticeEnd(Rank &rank);
  void noticeSignal(int signal);
  /// After reports that a rank is lost: names the lost rank once it is known, or at the deadline.
  void decide();
  void fail(Rank &rank);
  void endAll(int signal, std::chrono::milliseconds patience, Rank *except = nullptr);
  void wait();
  bool isOver();
  std::string nameOf(int rank) const;

  Lines &out, &err;
  Signals &signals;
  const Starter &starter;
  mxrt::net::Rendezvous *const rendezvous;
  TaggedLines taggedOut, taggedErr;
  std::vector<Seen> seen;
  std::vector<std::unique_ptr<Rank>> ranks;
  bool isEnding = false, isInterrupted = false, isRestartable = false;
  bool isForced = false; ///< ranks were killed here
  bool hasReported = false; ///< the failure, by the rank itself
  int endedBy = 0;       ///< a signal to the launcher
  int cause = -1;        ///< the rank that failed first
  int firstCut = -1;     ///< the first remote rank that ended without a word
  int lost = -1;         ///< the rank that does not answer
  bool isLostStopped = false;
  std::string problem; ///< why a rank could not be started
  std::optional<Clock::time_point> decideAt, killAt;
};

} // namespace mx::launch
