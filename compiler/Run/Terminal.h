// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What of a terminal a program may use.
#pragma once
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace mx::run {

struct Terminal {
  bool colour = false; ///< messages in colours
  bool bars = false;   ///< bars are redrawn on one line
  bool draws = false;  ///< what is printed is seen by a person

  static Terminal look() {
    const char *noColour = std::getenv("NO_COLOR"), *term = std::getenv("TERM");
    bool dumb = term && std::strcmp(term, "dumb") == 0;
    Terminal out;
    out.bars = isatty(STDERR_FILENO) && !dumb;
    out.draws = isatty(STDOUT_FILENO) && !dumb;
    out.colour = out.bars && !(noColour && *noColour);
    return out;
  }
};

} // namespace mx::run
