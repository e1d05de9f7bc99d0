// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of commands that run programs: `mxc run`, `mxc test`, the prompt.
#pragma once
#include "Driver/Session.h"
#include "Driver/Settings.h"

namespace mx::driver {

/// Options with a value, and flags without.
const std::set<std::string> &runOptions();
const std::set<std::string> &runFlags();
/// Fills `options`; returns an error message or an empty string.
std::string readRunOptions(const CommandLine &line, std::ostream &err, const Settings &settings,
                           SessionOptions &options);

/// Parses `--seed`; returns an error message or an empty string.
std::string readSeed(const std::string &text, int64_t &seed);

} // namespace mx::driver
