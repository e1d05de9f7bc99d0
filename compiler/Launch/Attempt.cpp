// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The event loop of the launcher.
#include "Launch/Attempt.h"
#include <algorithm>
#include <cstring>
#include <poll.h>

namespace mx::launch {
using namespace std::chrono_literals;

/// Time for a lost rank to report an error of its own, after another rank has reported the loss.
static constexpr auto kDecision = 5s;
/// Time for ranks to end after a signal. An interrupted program ends by itself within 3 s.
static constexpr auto kPatience = 5s;

std::string Attempt::nameOf(int rank) const {
  return "rank " + std::to_string(rank) + " of " + std::to_string(seen.size());
}

int Attempt::run(RankOptions options) {
  if (start(options))
    while (!isOver()) {
      wait();
      while (int signal = signals.next())
        noticeSignal(signal);
      for (auto &rank : ranks)
        look(*rank);
      decide();
      if (killAt && Clock::now() >= *killAt) {
        isForced = true;
        endAll(SIGKILL, kPatience);
      }
    }
  for (auto &rank : ranks) {
    look(*rank);
    out.finish(rank->number);
    err.finish(rank->number);
  }
  if (!problem.empty())
    return 1;
  if (isInterrupted)
    return endedBy == SIGINT ? 1 : 128 + endedBy;
  if (cause < 0)
    return 0;
  int code = ranks[static_cast<size_t>(cause)]->exitCode();
  return code == 0 || isForced ? 1 : code;
}

bool Attempt::start(RankOptions &options) {
  options.variables.emplace_back();
  for (size_t i = 0; i < seen.size(); ++i) {
    options.variables.back() = "MX_RANK=" + std::to_string(i);
    auto rank = std::make_unique<Rank>(static_cast<int>(i));
    problem = rank->start(options);
    if (!problem.empty())
      return false; // the destructor ends the other ranks
    ranks.push_back(std::move(rank));
  }
  return true;
}

bool Attempt::isOver() {
  return std::all_of(seen.begin(), seen.end(), [](const Seen &each) { return each.ended; });
}

void Attempt::wait() {
  std::vector<pollfd> files{{signals.file(), POLLIN, 0}};
  for (auto &rank : ranks)
    for (int file : {rank->outFile(), rank->errFile(), rank->channelFile()})
      if (file >= 0)
        files.push_back({file, POLLIN, 0});
  // Without a signal descriptor, exits of ranks are polled.
  auto longest = signals.file() >= 0 ? 60s : std::chrono::duration_cast<std::chrono::seconds>(1s);
  auto until = Clock::now() + longest;
  for (auto &limit : {decideAt, killAt})
    if (limit)
      until = std::min(until, *limit);
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
  poll(files.data(), files.size(), static_cast<int>(std::max<int64_t>(0, left + 1)));
}

void Attempt::look(Rank &rank) {
  bool ended = rank.hasEnded(); // before reading: then all of its output is there
  out.add(rank.number, rank.read(0));
  err.add(rank.number, rank.read(1));
  for (Rank::Report report; rank.nextReport(report);)
    noticeReport(rank, std::move(report));
  Seen &own = seen[static_cast<size_t>(rank.number)];
  if (!ended || own.ended)
    return;
  for (std::string more = rank.read(0); !more.empty(); more = rank.read(0))
    out.add(rank.number, more);
  for (std::string more = rank.read(1); !more.empty(); more = rank.read(1))
    err.add(rank.number, more);
  own.ended = true;
  noticeEnd(rank);
}

void Attempt::noticeReport(Rank &rank, Rank::Report report) {
  using Kind = run::Launched::Report;
  Seen &own = seen[static_cast<size_t>(rank.number)];
  if (report.kind == Kind::Lost) {
    own.lost = std::move(report.text);
  } else if (report.kind == Kind::Stopped) {
    own.stopped = std::move(report.text);
  } else if (!isEnding) {
    err.write(rank.number, report.text);
    fail(rank);
  }
}

void Attempt::noticeEnd(Rank &rank) {
  if (rank.exitCode() == 0) {
    for (auto &other : ranks)
      if (other != nullptr && other->number != rank.number)
        other->tellEnd(rank.number);
    return;
  }
  Seen &own = seen[static_cast<size_t>(rank.number)];
  if (isEnding)
    return;
  if (!own.lost.empty() && !rank.endSignal()) {
    if (!decideAt)
      decideAt = Clock::now() + kDecision;
    return;
  }
  err.write(rank.number, own.stopped);
  isRestartable = rank.endSignal() != 0;
  fail(rank);
}

void Attempt::fail(Rank &rank) {
  cause = rank.number;
  endAll(SIGTERM, kPatience, &rank);
}

void Attempt::decide() {
  if (!decideAt || isEnding)
    return;
  bool mustWait = false;
  for (auto &rank : ranks) {
    Rank::State state = rank->state();
    if (state == Rank::State::Ended)
      continue;
    if (lost < 0 || (state == Rank::State::Stopped && !isLostStopped)) {
      lost = rank->number;
      isLostStopped = state == Rank::State::Stopped;
    }
    mustWait |= state == Rank::State::Running;
  }
  // First look() at every rank that has ended.
  bool areAllSeen = std::all_of(ranks.begin(), ranks.end(), [&](auto &rank) {
    return !rank->hasEnded() || seen[static_cast<size_t>(rank->number)].ended;
  });
  if (!areAllSeen || (mustWait && Clock::now() < *decideAt)) {
    lost = -1;
    isLostStopped = false;
    return;
  }
  for (auto &rank : ranks) {
    const Seen &own = seen[static_cast<size_t>(rank->number)];
    if (own.lost.empty() || !own.ended)
      continue;
    err.write(rank->number, own.lost);
    cause = rank->number;
    break;
  }
  isRestartable = lost >= 0;
  endAll(SIGKILL, kPatience);
}

void Attempt::endAll(int signal, std::chrono::milliseconds patience, Rank *except) {
  isEnding = true;
  killAt = Clock::now() + patience;
  for (auto &rank : ranks) {
    if (rank.get() == except)
      continue;
    Rank::State state = rank->state();
    if (state != Rank::State::Ended)
      rank->signal(state == Rank::State::Stopped ? SIGKILL : signal);
  }
}

void Attempt::noticeSignal(int signal) {
  if (signal == SIGCHLD)
    return;
  if (signal == SIGTSTP) { // Ctrl-Z stops the whole job, and `fg` continues it
    for (auto &rank : ranks)
      rank->signal(SIGSTOP);
    raise(SIGSTOP);
    for (auto &rank : ranks)
      rank->signal(SIGCONT);
    return;
  }
  bool isSecond = std::exchange(isInterrupted, true);
  endedBy = signal;
  endAll(isSecond ? SIGKILL : signal == SIGINT ? SIGINT : SIGTERM, kPatience);
}

std::string Attempt::ending() const {
  if (!problem.empty())
    return "error[R0006]: " + problem + "\n";
  if (isInterrupted)
    return "stopped\n";
  if (cause < 0)
    return "";
  const Rank &rank = *ranks[static_cast<size_t>(cause)];
  if (lost >= 0)
    return "mxc launch: " + nameOf(lost) + (isLostStopped ? " is stopped" : " does not answer") +
           "; all ranks were ended\n";
  if (int signal = isForced ? 0 : rank.endSignal()) {
    std::string text = "error[R0701]: " + nameOf(cause) + " was killed by signal " +
                       std::to_string(signal) + " (" + strsignal(signal) + ")\n";
    if (signal == SIGKILL)
      text += "  = help: if nobody did that, the machine had no memory left; its log says so\n";
    return text;
  }
  return "mxc launch: " + nameOf(cause) + " ended with exit code " +
         std::to_string(rank.exitCode()) + "; all ranks were ended\n";
}

} // namespace mx::launch
