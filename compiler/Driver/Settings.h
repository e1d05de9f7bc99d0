// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options that all commands reading programs share.
#pragma once
#include "Driver/Commands.h"
#include "Sema/Checker.h"
#include "Support/Diagnostic.h"

namespace mx::driver {

struct Settings {
  RenderOptions render;
  std::string emit, shownName;
  std::vector<Code> silenced;
  sema::CheckOptions check;
};

/// The options that take a value.
const std::set<std::string> &programOptions();
/// Fills `settings`; returns what is wrong, or nothing.
std::string readSettings(const CommandLine &line, Streams &streams, Settings &settings);
/// Says what is wrong with the arguments of a command; returns the exit code for it.
int wrongUse(Streams &streams, const std::string &message, const char *command);
std::string readStandardInput();

} // namespace mx::driver
