// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One process of a job: start, output, reports, state.
//
// The process leads a process group of its own, so that a signal also reaches its children. Only
// the destructor reaps it: until then its pid is not reused, and a signal to the group cannot reach
// an unrelated process. It ends with its launcher: the system kills it (PR_SET_PDEATHSIG), and its
// children see their channel close (run::Launched).
#pragma once
#include "Run/Launched.h"
#include <csignal>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace mx::launch {

struct RankOptions {
  std::vector<std::string> command; ///< the file of a program, and its arguments
  std::string input;                ///< its standard input; empty: none
  bool isRemote = false;            ///< a program that starts the rank, which calls the launcher
  /// `NAME=value`, added to the environment or replacing a variable of it.
  std::vector<std::string> variables;
  int compileLock = -1; ///< a descriptor that the rank inherits
  sigset_t signals;     ///< signal mask of the rank
};

class Rank {
public:
  explicit Rank(int number) : number(number) {}
  /// Kills the processes that are left in the group.
  ~Rank();
  Rank(const Rank &) = delete;
  Rank &operator=(const Rank &) = delete;

  /// Returns an error message, or an empty string.
  std::string start(const RankOptions &options);
  /// A rank that is started and ended by the process of another one. Never an error.
  std::string follow(Rank &carrier);
  /// To the whole group, while the process is there. To a remote rank through its channel; but
  /// SIGKILL ends the program that started it, and the channel, which ends the rank.
  void signal(int which);
  /// The channel of a remote rank, which has called.
  void connect(int channel);
  bool isRemote() const { return remote; }
  /// Says that the program of another rank is over.
  void tellEnd(int other);

  enum class State { Running, Stopped, Ended };
  State state();
  bool hasEnded() { return state() == State::Ended; }
  /// Of a process that has ended: its exit code; 128 + its signal. As a shell has it.
  int exitCode() const {
    return carrier ? carrier->exitCode() : killedBy ? 128 + killedBy : code;
  }
  int endSignal() const { return killedBy; } ///< 0: it ended by itself

  /// Descriptors to read from; -1 once they are at their end.
  int outFile() const { return files[0]; }
  int errFile() const { return files[1]; }
  int channelFile() const { return files[2]; }
  /// Reads the bytes available on stdout (0), stderr (1) or the channel (2), at most 64 KiB. Closes
  /// a descriptor at its end.
  std::string read(int which);

  /// Reports from the channel.
  struct Report {
    run::Launched::Report kind;
    std::string text;
  };
  /// Reads the channel; false if no whole report is there.
  bool nextReport(Report &report);

  const int number;

private:
  pid_t process = -1;
  Rank *carrier = nullptr; ///< has the process
  int files[3] = {-1, -1, -1};
  bool isOver = false, remote = false;
  int code = 0, killedBy = 0;
  std::string received; ///< from the channel
};

} // namespace mx::launch
