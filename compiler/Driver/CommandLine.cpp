// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parser of command lines: options with values, flags, files, and arguments behind `--`.
#include "Driver/CommandLine.h"
#include "Support/Suggest.h"

namespace mx::driver {

std::string faultText(const std::string &what) {
  return "mxc: internal fault " + what +
         "\nplease report it with the file and the command; what you wrote is not to blame\n";
}

CommandLine::CommandLine(std::vector<std::string> args, std::set<std::string> valued,
                         std::set<std::string> flags) {
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string &arg = args[i];
    if (arg == "--") {
      afterDashes.assign(args.begin() + static_cast<std::ptrdiff_t>(i) + 1, args.end());
      return;
    }
    if (arg.size() < 2 || arg[0] != '-') {
      positional.push_back(arg);
      continue;
    }
    size_t equals = arg.find('=');
    std::string name = arg.substr(0, equals);
    // `-Dname=value` is one word.
    if (arg.rfind("-D", 0) == 0 && arg.size() > 2 && valued.count("-D")) {
      given.emplace("-D", arg.substr(2));
      continue;
    }
    if (flags.count(name)) {
      if (equals != std::string::npos) {
        error = "`" + name + "` takes no value";
        return;
      }
      given.emplace(name, "");
    } else if (valued.count(name)) {
      if (equals != std::string::npos) {
        given.emplace(name, arg.substr(equals + 1));
      } else if (i + 1 < args.size()) {
        given.emplace(name, args[++i]);
      } else {
        error = "`" + name + "` needs a value";
        return;
      }
    } else {
      std::vector<std::string> known(flags.begin(), flags.end());
      known.insert(known.end(), valued.begin(), valued.end());
      std::string near = nearest(name, known);
      error =
          "unknown option `" + name + "`" + (near.empty() ? "" : "; did you mean `" + near + "`?");
      return;
    }
  }
}

std::optional<std::string> CommandLine::value(const std::string &option) const {
  auto range = given.equal_range(option);
  if (range.first == range.second)
    return std::nullopt;
  return std::prev(range.second)->second;
}

std::vector<std::string> CommandLine::values(const std::string &option) const {
  std::vector<std::string> out;
  auto range = given.equal_range(option);
  for (auto it = range.first; it != range.second; ++it)
    out.push_back(it->second);
  return out;
}

} // namespace mx::driver
