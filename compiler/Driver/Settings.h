// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options that all commands reading programs share.
#pragma once
#include "Driver/Commands.h"
#include "Sema/Checker.h"
#include "Support/Diagnostic.h"

namespace mx::pipeline {
struct Options;
}

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
/// The text of a program, `-` for the standard input. Says so if it cannot be read.
std::optional<std::string> readProgram(const std::string &path, Streams &streams,
                                       const char *command);
/// What messages call it.
std::string shownName(const Settings &settings, const std::string &path);
/// The words of `a,b,c`.
std::vector<std::string> commaList(const std::string &text);
/// The passes that `--disable` names; returns what is wrong, or nothing.
std::string readDisabled(const CommandLine &line, std::set<std::string> &disabled);
/// Reads `--internal-words`: instructions that plain code is to imitate, for tests.
std::string readWords(const CommandLine &line, pipeline::Options &compile);

} // namespace mx::driver
