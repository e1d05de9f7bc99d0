// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rank's side of `mxc launch`: its number, and the channel to the launcher. The environment
// holds both (docs/reference/command-line.md).
//
// The channel is a pair of sockets, or a TCP connection to a launcher on another machine. A rank
// sends reports of errors, so that the launcher shows the one that began it; the launcher sends a
// byte for each rank whose program is over, or a signal. When the launcher ends, the channel ends,
// and so does this process.
//
// Thread rule: report() from any thread, one at a time; everything else from any thread.
#pragma once
#include "base/Os.h"
#include "dist/Instance.h"
#include <cstdint>
#include <string>

namespace mx::run {

class Launched {
public:
  /// MX_LAUNCHER: descriptors of the channel and of the lock for compilation, `5,6`; or the address
  /// of a launcher, `HOST:PORT` (net/Rendezvous.h).
  static constexpr const char *kLauncher = "MX_LAUNCHER";
  enum class Report : char {
    Error = 'E', ///< of this rank
    Lost = 'L',  ///< follows from the loss of another rank
    Stopped = 'S',
    Done = 'D' ///< the program is over, whatever its exit code
  };
  /// The launcher sends signals as bytes from here on; below are ranks whose programs are over.
  static constexpr unsigned char kSignals = 128;
  /// Of a report on the channel: its kind, and the length of the text that follows.
  struct Header {
    char kind;
    char unused[3];
    uint32_t length;
  };
  static constexpr uint32_t kMaxText = 1 << 20;

  /// Reads the environment.
  Launched();
  ~Launched();
  Launched(const Launched &) = delete;
  Launched &operator=(const Launched &) = delete;

  bool isRank() const { return ranks > 0; } ///< the environment says so
  int rank() const { return number; }
  int size() const { return ranks; }
  mxrt::dist::JobState state() const;
  /// Sends a report to the launcher. False if there is no launcher.
  bool report(Report kind, std::string text);
  /// A descriptor whose first byte the compiling rank locks; -1: none.
  int compileLock() const { return lock; }

private:
  static void watch(void *self);
  bool inherit(const char *given);
  bool call(const char *given, const char *job);
  int number = 0, ranks = 0;
  int channel = -1, lock = -1, stops = -1;
  bool isCall = false; ///< the channel is a connection of this process
  std::atomic<uint64_t> ended{0};
  mxrt::os::Thread watcher;
};

} // namespace mx::run
