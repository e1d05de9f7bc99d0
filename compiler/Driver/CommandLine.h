// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arguments of `mxc`, parsed once. Commands query the options they know; an unknown option is
// an error that names the command and the nearest known option.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace mx::driver {

/// The message for an internal error of mxc, used by every command.
std::string faultText(const std::string &what);

/// Exit codes of every command.
enum ExitCode { kFine = 0, kProgramHasErrors = 1, kWrongUse = 2, kFaultOfMxc = 3 };

class CommandLine {
public:
  /// `valued` are the options that take a value, as `--x=v` or `--x v`; `flags` take none.
  CommandLine(std::vector<std::string> args, std::set<std::string> valued,
              std::set<std::string> flags);

  /// Empty if the arguments are valid, otherwise the error.
  const std::string &problem() const { return error; }
  bool has(const std::string &flag) const { return given.count(flag) != 0; }
  std::optional<std::string> value(const std::string &option) const;
  std::vector<std::string> values(const std::string &option) const;
  const std::vector<std::string> &files() const { return positional; }
  /// The arguments behind `--`.
  const std::vector<std::string> &rest() const { return afterDashes; }

private:
  std::multimap<std::string, std::string> given;
  std::vector<std::string> positional, afterDashes;
  std::string error;
};

} // namespace mx::driver
