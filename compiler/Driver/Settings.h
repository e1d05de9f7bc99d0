// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options shared by all commands that read programs.
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

/// Options with a value.
const std::set<std::string> &programOptions();
/// Fills `settings`; returns an error message or an empty string.
std::string readSettings(const CommandLine &line, Streams &streams, Settings &settings);
/// Reports an error in the arguments of a command; returns the exit code for it.
int wrongUse(Streams &streams, const std::string &message, const char *command);
/// The whole standard input; nothing if it cannot be read, with the reason in `error`.
std::optional<std::string> readStandardInput(std::string &error);
/// The text of a program, `-` for the standard input. Reports an error if it cannot be read.
std::optional<std::string> readProgram(const std::string &path, Streams &streams,
                                       const char *command);
/// The name of the program in messages.
std::string shownName(const Settings &settings, const std::string &path);
/// The words of `a,b,c`.
std::vector<std::string> commaList(const std::string &text);
/// The current name of a stage or pass; names of earlier releases are accepted with a note.
std::string currentName(const std::string &name, std::ostream &err);
/// Passes named by `--disable`; returns an error message or an empty string.
std::string readDisabled(const CommandLine &line, std::ostream &err,
                         std::set<std::string> &disabled);
/// Reads `--internal-bf16`: bf16 instructions (AVX512_BF16, AMX) that plain code emulates, for
/// tests.
std::string readBf16Unit(const CommandLine &line, pipeline::Options &compile);

} // namespace mx::driver
