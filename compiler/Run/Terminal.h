// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Terminal capabilities that a program may use.
#pragma once
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <ostream>
#include <unistd.h>

namespace mx::run {

struct Terminal {
  bool colour = false; ///< messages in colours
  bool bars = false;   ///< progress bars are redrawn on one line
  bool isInteractive = false; ///< standard output is a terminal

  static Terminal look() {
    const char *noColour = std::getenv("NO_COLOR"), *term = std::getenv("TERM");
    bool dumb = term && std::strcmp(term, "dumb") == 0;
    Terminal out;
    out.bars = isatty(STDERR_FILENO) && !dumb;
    out.isInteractive = isatty(STDOUT_FILENO) && !dumb;
    out.colour = out.bars && !(noColour && *noColour);
    return out;
  }
};

/// Opening a file returns the lowest free descriptor. If a standard stream is closed, that would be
/// its descriptor, and printed text would end up in the file. Call this before opening anything.
/// Writing to such a stream, or reading from it, fails as if it were still closed.
inline void fillStandardStreams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF) {
      int made = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
      if (made >= 0 && made != stream) // without /dev/null, or with a lower one still closed
        close(made);
    }
}

/// At the end of a command: flushes standard output. Returns false, with the reason written, if
/// that fails.
bool finishOutput(std::ostream &out, std::ostream &err);

} // namespace mx::run
