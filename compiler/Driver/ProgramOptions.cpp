// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Listing and checking of the options that programs declare.
#include "Driver/ProgramOptions.h"
#include "Support/Limits.h"
#include <algorithm>

namespace mx::driver {
namespace {

int renderAll(const Diagnostics &diags, const SourceManager &sources, const Settings &settings,
              Streams &streams) {
  for (const Diagnostic *d : diags.sorted())
    streams.err << render(*d, sources, settings.render);
  return diags.hasErrors() ? kProgramHasErrors : kFine;
}

} // namespace

int showProgramOptions(const std::string &path, const std::string &name, std::string text,
                       const Settings &settings, Streams &streams) {
  SourceManager sources;
  Diagnostics diags(sources);
  for (Code code : settings.silenced)
    diags.silence(code);
  sema::CheckOptions check = settings.check;
  check.options.clear(); // shows the program's own defaults
  sema::Checker checker(sources, diags, check);
  checker.checkProgram(sources.add(name, path == "-" ? "" : path, std::move(text)));
  if (int code = renderAll(diags, sources, settings, streams))
    return code;
  const std::vector<sema::OptionInfo> &options = checker.options();
  if (options.empty()) {
    streams.out << name << " has no options\n";
  } else {
    size_t wide = 0, wideType = 0;
    for (const sema::OptionInfo &each : options) {
      wide = std::max(wide, each.name.size() + 1 + each.shown.size());
      wideType = std::max(wideType, each.type.size());
    }
    streams.out << "options of " << name << ", with their defaults\n\nusage: mxc run "
                << (path.empty() ? "-e 'CODE'" : path) << " -- name=value…\n\n";
    for (const sema::OptionInfo &each : options) {
      std::string first = each.name + "=" + each.shown;
      streams.out << "  " << first << std::string(wide - first.size() + 3, ' ') << each.type
                  << std::string(wideType - each.type.size() + 3, ' ')
                  << sources.locationLine(each.span) << "\n";
    }
  }
  streams.out << "\n`mxc run --help` lists the options of mxc itself\n";
  return kFine;
}

int checkProgramOptions(const std::string &path, const Settings &settings, Streams &streams) {
  std::string error;
  std::optional<std::string> text = readFile(path, limits::kMaxSourceBytes + 1, error);
  if (settings.check.options.empty() || !text)
    return kFine;
  SourceManager sources;
  Diagnostics diags(sources);
  sema::Checker checker(sources, diags, settings.check);
  checker.checkProgram(sources.add(path, path, std::move(*text)));
  if (!checker.hasWrongOptions())
    return kFine;
  renderAll(diags, sources, settings, streams);
  return kWrongUse;
}

void OptionsOfFiles::add(const sema::Checker &checker, bool isWhole) {
  found.insert(found.end(), checker.options().begin(), checker.options().end());
  areAll &= isWhole;
  isAnyWrong |= checker.hasWrongOptions();
}

int OptionsOfFiles::finish(const Settings &settings, Streams &streams) const {
  if (isAnyWrong)
    return kWrongUse;
  if (!check.sharesOptions || !areAll)
    return kFine;
  SourceManager sources;
  Diagnostics diags(sources);
  bool isWrong = sema::reportUnknownOptions(check.options, found, diags);
  renderAll(diags, sources, settings, streams);
  return isWrong ? kWrongUse : kFine;
}

} // namespace mx::driver
