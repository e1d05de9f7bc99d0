// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The REPL: `mxc` without a command.
//
//   Repl         the loop: one input, its result, the next
//   LineReader   sources of inputs: an editable terminal, or lines of any file
//   Inputs       detection of complete inputs; pasted transcripts
//   History      inputs of earlier sessions, on disk
//   Suggest      Tab completion
//   Undo         undo of inputs
//   Reload       statements of a changed file that must run again
//   Commands     the table of `:commands`; implemented in Look-, Run- and FileCommands.cpp
#pragma once
#include "Driver/Commands.h"

namespace mx::repl {

/// Runs until the input ends. `args` are those behind `mxc`: none, or `-i FILE` and options.
int runRepl(const std::vector<std::string> &args, driver::Streams streams);

} // namespace mx::repl
