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
  std::string host = starter.hostOf(rank);
  return "rank " + std::to_string(rank) + " of " + std::to_string(seen.size()) +
         (host.empty() ? "" : " at " + host);
}

int Attempt::run(const RankOptions &common) {
  if (start(common))
    while (!isOver()) {
      wait();
      while (int signal = signals.next())
        noticeSignal(signal);
      answer();
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
  taggedOut.finish();
  taggedErr.finish();
  if (!problem.empty())
    return 1;
  if (isInterrupted)
    return endedBy == SIGINT ? 1 : 128 + endedBy;
  if (cause < 0)
    return 0;
  // mpirun's own code is that of any of its ranks.
  bool isReported = starter.isOneForAll() && hasReported;
  int code = isReported ? 1 : ranks[static_cast<size_t>(cause)]->exitCode();
  return code == 0 || isForced ? 1 : code;
}

bool Attempt::start(const RankOptions &common) {
  for (size_t i = 0; i < seen.size(); ++i) {
    auto rank = std::make_unique<Rank>(static_cast<int>(i));
    RankOptions options = starter.rank(rank->number, common.variables);
    options.compileLock = common.compileLock;
    options.signals = common.signals;
    problem = i > 0 && starter.isOneForAll() ? rank->follow(*ranks[0]) : rank->start(options);
    if (!problem.empty())
      return false; // the destructor ends the other ranks
    ranks.push_back(std::move(rank));
  }
  return true;
}

void Attempt::answer() {
  if (!rendezvous)
    return;
  rendezvous->step();
  for (int rank, channel; rendezvous->takeChannel(rank, channel);) {
    ranks[static_cast<size_t>(rank)]->connect(channel);
    seen[static_cast<size_t>(rank)].hasCalled = true;
  }
}

void Attempt::noticeCut(Rank &rank) {
  Seen &own = seen[static_cast<size_t>(rank.number)];
  if (!own.hasCalled || own.isDone || rank.channelFile() >= 0 || isEnding)
    return;
  own.hasCalled = false;
  own.isCut = true;
  if (firstCut < 0)
    firstCut = rank.number;
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
  if (rendezvous)
    for (int file : rendezvous->sockets())
      files.push_back({file, POLLIN, 0});
  // Without a file for signals the ends of ranks are looked for.
  auto longest = signals.file() >= 0 ? 60s : std::chrono::duration_cast<std::chrono::seconds>(1s);
  auto until = Clock::now() + longest;
  for (auto &limit : {decideAt, killAt})
    if (limit)
      until = std::min(until, *limit);
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
  poll(files.data(), files.size(), static_cast<int>(std::max<int64_t>(0, left + 1)));
}

void Attempt::look(Rank &rank) {
  bool ended = rank.hasEnded(); // first: what it said before is there then
  auto show = [&] {
    std::string text = rank.read(0), messages = rank.read(1);
    if (starter.isOneForAll()) {
      taggedOut.add(text);
      taggedErr.add(messages);
    } else {
      out.add(rank.number, text);
      err.add(rank.number, messages);
    }
    return !text.empty() || !messages.empty();
  };
  show();
  for (Rank::Report report; rank.nextReport(report);)
    noticeReport(rank, std::move(report));
  noticeCut(rank);
  Seen &own = seen[static_cast<size_t>(rank.number)];
  if (!ended || own.ended)
    return;
  while (show()) {
  }
  own.ended = true;
  noticeEnd(rank);
}

void Attempt::noticeReport(Rank &rank, Rank::Report report) {
  using Kind = run::Launched::Report;
  Seen &own = seen[static_cast<size_t>(rank.number)];
  if (report.kind == Kind::Done) {
    own.isDone = true;
  } else if (report.kind == Kind::Lost) {
    own.lost = std::move(report.text);
  } else if (report.kind == Kind::Stopped) {
    own.stopped = std::move(report.text);
  } else if (!isEnding) {
    err.write(rank.number, report.text);
    hasReported = true;
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
  if (starter.isOneForAll() && firstCut >= 0) { // all have ended, and this one was the first
    isRestartable = true;
    return fail(*ranks[static_cast<size_t>(firstCut)]);
  }
  // A machine that is cut off cannot report: what the others say counts.
  own.isSilent = own.hasCalled && !own.isDone && own.lost.empty() && rank.exitCode() < 128;
  if ((!own.lost.empty() || own.isSilent) && !rank.endSignal()) {
    if (!decideAt)
      decideAt = Clock::now() + kDecision;
    return;
  }
  err.write(rank.number, own.stopped);
  // ssh and srun end with such a code when a signal ends what they started.
  isRestartable = rank.endSignal() != 0 || own.isCut || (rank.isRemote() && rank.exitCode() > 128);
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
  for (auto &rank : ranks)
    if (lost < 0 && seen[static_cast<size_t>(rank->number)].isSilent)
      lost = cause = rank->number;
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
  if (signal == SIGTSTP) { // Ctrl-Z: all of the job, then again all
    for (auto &rank : ranks) // a remote one could not hear that it is to go on
      if (!rank->isRemote())
        rank->signal(SIGSTOP);
    raise(SIGSTOP);
    for (auto &rank : ranks)
      if (!rank->isRemote())
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
  if (seen[static_cast<size_t>(cause)].isCut)
    return "error[R0701]: " + nameOf(cause) +
           " ended without a word: it was killed, or the connection to it broke\n";
  if (int signal = isForced ? 0 : rank.endSignal()) {
    std::string text = "error[R0701]: " + nameOf(cause) + " was killed by signal " +
                       std::to_string(signal) + " (" + strsignal(signal) + ")\n";
    if (signal == SIGKILL)
      text += "  = help: if nobody did that, the machine had no memory left; its log says so\n";
    return text;
  }
  if (starter.isOneForAll() && hasReported)
    return "mxc launch: " + nameOf(cause) + " failed; all ranks were ended\n";
  return "mxc launch: " + (starter.isOneForAll() ? "mpirun" : nameOf(cause)) + " ended with exit code " +
         std::to_string(rank.exitCode()) + "; all ranks were ended\n";
}

} // namespace mx::launch
