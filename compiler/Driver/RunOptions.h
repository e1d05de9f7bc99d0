// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of commands that run programs: `mxc run`, `mxc test`, the prompt.
#pragma once
#include "Driver/Session.h"
#include "Driver/Settings.h"

namespace mx::driver {

/// Those with a value, and those without.
const std::set<std::string> &runOptions();
const std::set<std::string> &runFlags();
/// Fills `options`; returns what is wrong, or nothing.
std::string readRunOptions(const CommandLine &line, const Settings &settings,
                           SessionOptions &options);

/// What `--seed` says; returns what is wrong, or nothing.
std::string readSeed(const std::string &text, int64_t &seed);

} // namespace mx::driver
