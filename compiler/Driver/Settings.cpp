// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options shared by commands that read programs, and reading of program text.
#include "Driver/Settings.h"
#include "Driver/Installed.h"
#include "Pipeline/Pipeline.h"
#include "Support/Limits.h"
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace mx::driver {

int wrongUse(Streams &streams, const std::string &message, const char *command) {
  streams.err << "mxc " << command << ": " << message << "\n`mxc " << command
              << " --help` shows how it is used\n";
  return kWrongUse;
}

std::string readSettings(const CommandLine &line, Streams &streams, Settings &settings) {
  std::string format = line.value("--error-format").value_or("text");
  if (format == "short")
    settings.render.format = ErrorFormat::Short;
  else if (format == "json")
    settings.render.format = ErrorFormat::Json;
  else if (format != "text")
    return "`" + format + "` is not a format; known are text, short and json";
  std::string colour = line.value("--colour").value_or(line.value("--color").value_or("auto"));
  if (colour != "auto" && colour != "always" && colour != "never")
    return "`" + colour + "` is not a choice for --colour; known are auto, always and never";
  settings.render.colour = colour == "always" || (colour == "auto" && streams.colour);
  settings.emit = currentName(line.value("--emit").value_or(""), streams.err);
  for (const std::string &list : line.values("--silence"))
    for (size_t begin = 0; begin <= list.size();) {
      size_t end = std::min(list.find(',', begin), list.size());
      std::string id = list.substr(begin, end - begin);
      const CodeInfo *info = findCode(id);
      if (!info)
        return "there is no code `" + id + "`";
      if (severityOf(info->code) == Severity::Error)
        return "`" + id + "` is an error and cannot be silenced";
      settings.silenced.push_back(info->code);
      begin = end + 1;
    }
  auto define = [&](const std::string &text, const std::string &shown) -> std::string {
    size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return "`" + shown + "` is not of the form name=value";
    std::string name = text.substr(0, equals);
    auto [known, isNew] = settings.check.options.emplace(name, text.substr(equals + 1));
    return isNew ? ""
                 : "option `" + name + "` is given twice: `" + name + "=" + known->second +
                       "` and `" + text + "`";
  };
  for (const std::string &text : line.values("-D"))
    if (std::string problem = define(text, "-D " + text); !problem.empty())
      return problem;
  for (const std::string &text : line.rest())
    if (std::string problem = define(text, "-- " + text); !problem.empty())
      return problem;
  settings.shownName = line.value("--as").value_or("");
  settings.check.stdlib = findStdlib();
  return "";
}

std::optional<std::string> readStandardInput(std::string &error) {
  std::string text;
  errno = 0;
  char buffer[1 << 16];
  size_t got;
  while ((got = std::fread(buffer, 1, sizeof buffer, stdin)) > 0 &&
         text.size() <= limits::kMaxSourceBytes)
    text.append(buffer, got);
  if (!std::ferror(stdin))
    return text;
  error = std::strerror(errno ? errno : EIO);
  return std::nullopt;
}

std::vector<std::string> commaList(const std::string &text) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin)
      out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

std::string currentName(const std::string &name, std::ostream &err) {
  static constexpr std::pair<std::string_view, std::string_view> kRenamed[] = {
      {"linalg", "loops"}, {"block", "tile-chains"}, {"panels", "prepack"}};
  for (auto [before, now] : kRenamed)
    if (name == before) {
      err << "mxc: note: `" << before << "` is called `" << now << "` now\n";
      return std::string(now);
    }
  return name;
}

std::string readDisabled(const CommandLine &line, std::ostream &err,
                         std::set<std::string> &disabled) {
  for (const std::string &given : commaList(line.value("--disable").value_or(""))) {
    std::string pass = currentName(given, err);
    if (std::find(std::begin(pipeline::kCanDisable), std::end(pipeline::kCanDisable), pass) ==
        std::end(pipeline::kCanDisable)) {
      std::string known;
      for (std::string_view name : pipeline::kCanDisable)
        known += (known.empty() ? "" : ", ") + std::string(name);
      return "there is no pass `" + pass + "`; known are " + known;
    }
    disabled.insert(pass);
  }
  return "";
}

std::string readBf16Unit(const CommandLine &line, pipeline::Options &compile) {
  std::optional<std::string> name = line.value("--internal-bf16");
  if (!name)
    return "";
  compile.bf16 = Bf16Unit::parse(*name);
  // Native instructions require a CPU that has them.
  bool fits = compile.bf16 && (compile.bf16->isEmulated || !compile.bf16->kind);
  return fits ? "" : "`" + *name + "` is not a bf16 unit that can be emulated";
}

const std::set<std::string> &programOptions() {
  static const std::set<std::string> options = {
      "--error-format", "--emit", "--silence", "--as", "-D", "--colour", "--color"};
  return options;
}

std::optional<std::string> readProgram(const std::string &path, Streams &streams,
                                       const char *command) {
  std::string error;
  std::optional<std::string> text = path == "-"
                                        ? readStandardInput(error)
                                        : readFile(path, limits::kMaxSourceBytes + 1, error);
  if (!text)
    streams.err << "mxc " << command << ": cannot read "
                << (path == "-" ? "standard input" : "`" + path + "`") << ": " << error << "\n";
  return text;
}

std::string shownName(const Settings &settings, const std::string &path) {
  if (!settings.shownName.empty())
    return settings.shownName;
  return path == "-" ? "<stdin>" : path;
}

} // namespace mx::driver
