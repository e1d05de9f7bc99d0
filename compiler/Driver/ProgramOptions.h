// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options that programs declare with `option(name, default)`: how commands list and check them.
#pragma once
#include "Driver/Settings.h"

namespace mx::driver {

/// Prints the options of a program: `mxc run FILE --help`. Returns the exit code.
int showProgramOptions(const std::string &path, const std::string &name, std::string text,
                       const Settings &settings, Streams &streams);

/// Before a program is run input by input: checks that the values of the command line fit its
/// options. Returns the exit code; ignores other errors of the program.
int checkProgramOptions(const std::string &path, const Settings &settings, Streams &streams);

/// For a command that reads several programs: each value of the command line must match an option
/// of at least one of them.
class OptionsOfFiles {
public:
  OptionsOfFiles(sema::CheckOptions &check, size_t files) : check(check) {
    check.sharesOptions = files > 1;
  }
  /// After a program was checked; `isWhole` if that found all its options.
  void add(const sema::Checker &checker, bool isWhole);
  /// Reports options that no program declares; returns the exit code.
  int finish(const Settings &settings, Streams &streams) const;

private:
  sema::CheckOptions &check;
  std::vector<sema::OptionInfo> found;
  bool areAll = true, isAnyWrong = false;
};

} // namespace mx::driver
