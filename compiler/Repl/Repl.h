// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The prompt: `mxc` without a command.
//
//   Repl         the loop: one input, what it gave, the next
//   LineReader   where inputs come from: a terminal that can be edited, or lines of any file
//   Inputs       when an input is complete; transcripts that are pasted
//   History      inputs of earlier sessions, on disk
//   Suggest      what Tab offers
//   Undo         going back
//   Reload       what of a changed file has to run again
//   Commands     the table of `:commands`; Look-, Run- and FileCommands.cpp do them
#pragma once
#include "Driver/Commands.h"

namespace mx::repl {

/// Runs until the input ends. `args` are those behind `mxc`: none, or `-i FILE` and options.
int runRepl(const std::vector<std::string> &args, driver::Streams streams);

} // namespace mx::repl
