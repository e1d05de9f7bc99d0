// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How ranks are started: as processes of this machine, or by a program that starts them on others
// (ssh, srun of Slurm, mpirun). Such a program is found on PATH. Its ranks find the launcher at an
// address, call it, and end when it ends.
#pragma once
#include "Launch/Rank.h"
#include <optional>

namespace mx::launch {

enum class Via { Local, Ssh, Slurm, Mpirun };

/// A machine, and how many ranks it gets.
struct Host {
  std::string name;
  int slots = 1;
};

struct StarterOptions {
  Via via = Via::Local;
  std::vector<Host> hosts; ///< ranks go to the first until its slots are used, then to the next
  std::vector<std::string> command;
  int ranks = 1;
};

class Starter {
public:
  /// An error message, or empty: whether the program is there and the hosts have enough slots.
  std::string open(StarterOptions given);
  /// What starts a rank. `common` are variables of all ranks; that of the job is not shown to other
  /// users of a machine.
  RankOptions rank(int number, const std::vector<std::string> &common) const;
  /// One process starts all ranks; its output has tags (TaggedLines).
  bool isOneForAll() const { return options.via == Via::Mpirun; }
  bool isRemote() const { return options.via != Via::Local; }
  /// Where a rank runs; empty: here.
  std::string hostOf(int rank) const;

private:
  StarterOptions options;
  std::string program;
};

/// The hosts of a file: `NAME [slots=K]` a line, `#` begins a comment. Nothing, with an error
/// message, if it cannot be read.
std::optional<std::vector<Host>> readHosts(const std::string &file, std::string &problem);
/// For a shell of POSIX.
std::string quoted(const std::string &text);

} // namespace mx::launch
