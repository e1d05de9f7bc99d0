// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rank's side of `mxc launch`: its number, and the channel to the launcher. The environment
// holds both (docs/reference/command-line.md).
//
// The channel is a socket pair. A rank sends error reports, of which the launcher shows the first
// cause. The launcher sends one byte for each rank whose program has ended. When the launcher ends,
// the channel closes, and this process ends too.
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
  /// MX_LAUNCHER: descriptors of the channel and of the lock for compilation, `5,6`.
  static constexpr const char *kLauncher = "MX_LAUNCHER";
  enum class Report : char {
    Error = 'E', ///< of this rank
    Lost = 'L',  ///< follows from the loss of another rank
    Stopped = 'S'
  };
  /// Header of a report on the channel; `length` bytes of text follow.
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

  bool isRank() const { return ranks > 0; } ///< MX_SIZE is set
  int rank() const { return number; }
  int size() const { return ranks; }
  mxrt::dist::JobState state() const;
  /// Sends a report to the launcher. False if there is no launcher.
  bool report(Report kind, std::string text);
  /// A descriptor whose first byte the compiling rank locks; -1: none.
  int compileLock() const { return lock; }

private:
  static void watch(void *self);
  int number = 0, ranks = 0;
  int channel = -1, lock = -1, stops = -1;
  std::atomic<uint64_t> ended{0};
  mxrt::os::Thread watcher;
};

} // namespace mx::run
