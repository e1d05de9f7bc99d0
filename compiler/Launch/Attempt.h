// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One attempt to run a job: starts all ranks, forwards their output and signals, collects their
// reports, and finds the rank that failed first.
#pragma once
#include "Launch/Lines.h"
#include "Launch/Rank.h"
#include "Launch/Signals.h"
#include <chrono>
#include <memory>
#include <optional>

namespace mx::launch {

class Attempt {
public:
  Attempt(int ranks, Lines &out, Lines &err, Signals &signals)
      : out(out), err(err), signals(signals), seen(static_cast<size_t>(ranks)) {}

  /// Returns the exit code of the job. MX_RANK is added to the variables.
  int run(RankOptions options);
  /// Whether a rank was killed or is lost, rather than failed by an error of its own.
  bool mayStartAgain() const { return isRestartable; }
  /// The last message of the launcher; empty after success.
  std::string ending() const;

private:
  using Clock = std::chrono::steady_clock;
  struct Seen {
    bool ended = false;
    std::string lost;    ///< its report that another rank is lost
    std::string stopped; ///< its report that it was interrupted
  };

  bool start(RankOptions &options);
  /// Reads output and reports of a rank, and detects its exit.
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
  std::vector<Seen> seen;
  std::vector<std::unique_ptr<Rank>> ranks;
  bool isEnding = false, isInterrupted = false, isRestartable = false;
  bool isForced = false; ///< the launcher killed ranks
  int endedBy = 0;       ///< the signal that ended the launcher; 0: none
  int cause = -1;        ///< the rank that failed first
  int lost = -1;         ///< the rank that does not answer
  bool isLostStopped = false;
  std::string problem; ///< why a rank could not be started
  std::optional<Clock::time_point> decideAt, killAt;
};

} // namespace mx::launch
