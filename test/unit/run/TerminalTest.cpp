// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Standard streams: pipes, and streams that are closed when the program starts.
#include "Run/Terminal.h"
#include <gtest/gtest.h>
#include <sys/wait.h>

using namespace mx::run;

namespace {

/// Runs `body` in a process of its own; its exit code.
template <typename Body> int inChild(Body body) {
  pid_t child = fork();
  if (child == 0)
    _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Terminal, APipeIsNone) {
  EXPECT_EQ(inChild([] {
              int ends[2];
              if (pipe(ends) != 0 || dup2(ends[1], STDOUT_FILENO) < 0 ||
                  dup2(ends[1], STDERR_FILENO) < 0)
                return 1;
              Terminal found = Terminal::look();
              return found.colour || found.bars || found.isInteractive ? 2 : 0;
            }),
            0);
}

/// A file that is opened after fillStandardStreams() is never a standard stream, whichever are
/// closed.
TEST(Terminal, ClosedStreamsAreFilled) {
  for (int closed = 0; closed < 8; ++closed)
    EXPECT_EQ(inChild([closed] {
                for (int stream = 0; stream < 3; ++stream)
                  if (closed >> stream & 1)
                    close(stream);
                fillStandardStreams();
                int file = open("/dev/null", O_RDONLY);
                if (file <= STDERR_FILENO)
                  return 1;
                char byte = 0;
                for (int stream = 0; stream < 3; ++stream)
                  if (closed >> stream & 1) {
                    // As if it were closed: EBADF, not success.
                    ssize_t moved = stream == 0 ? read(stream, &byte, 1) : write(stream, &byte, 1);
                    if (moved >= 0 || errno != EBADF)
                      return 2 + stream;
                  }
                return 0;
              }),
              0)
        << closed;
}

} // namespace
