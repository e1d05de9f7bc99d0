// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `mxc check`, `mxc run` and `--emit`.
#include "Driver/Commands.h"
#include "IRGen/IRGen.h"
#include "mlir/IR/Verifier.h"
#include "Sema/Checker.h"
#include "Support/Limits.h"
#include "Syntax/Parser.h"

namespace mx::driver {
namespace {

constexpr const char *kCheckHelp = R"(mxc check - all errors of a program; nothing runs

usage: mxc check [OPTIONS] FILE…          (- reads standard input)

  --error-format=text|short|json   pictures of the source; one line each; one JSON object a line
  --emit=tokens|ast|typed          print a stage of the compiler instead
  --silence=CODE[,CODE]            leave out warnings, e.g. --silence=W0301
  --as NAME                        show NAME in messages instead of the file's name
  -D name=value                    a value for `option(name, default)`
  --colour=auto|always|never       colours in messages
)";

struct Settings {
  RenderOptions render;
  std::string emit, shownName;
  std::vector<Code> silenced;
  sema::CheckOptions check;
};

int wrongUse(Streams &streams, const std::string &message, const char *command) {
  streams.err << "mxc " << command << ": " << message << "\n`mxc " << command
              << " --help` shows how it is used\n";
  return kWrongUse;
}

std::string printTokens(const SourceFile &file, const LexedSource &lexed) {
  std::string out;
  for (const Token &t : lexed.tokens) {
    LineColumn at = file.lineColumn(t.begin);
    const TokenInfo &info = tokenInfo(t.kind);
    std::string text(file.text().substr(t.begin, t.end - t.begin));
    out += std::to_string(at.line) + ":" + std::to_string(at.column) + "\t";
    if (info.fixed)
      out += std::string(info.spelling);
    else if (t.kind == Tok::Newline || t.kind == Tok::EndOfFile)
      out += t.kind == Tok::Newline ? "newline" : "end";
    else
      out += (t.kind == Tok::Name    ? "name "
              : t.kind == Tok::Int   ? "int "
              : t.kind == Tok::Float ? "float "
                                     : "string ") +
             jsonString(text);
    out += "\n";
  }
  return out;
}

std::string emitMx(sema::Checker &checker, const sema::ModuleInfo &module) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  irgen::Generated generated = irgen::generate(context, checker.sema(), module, {});
  std::string text;
  if (generated.module) {
    llvm::raw_string_ostream out(text);
    generated.module->print(out);
    (void)mlir::verify(*generated.module);
  }
  return text;
}

/// Checks one text; returns the exit code.
int checkText(const std::string &path, std::string text, const Settings &settings,
              Streams &streams) {
  SourceManager sources;
  Diagnostics diags(sources);
  for (Code code : settings.silenced)
    diags.silence(code);
  std::string shown = !settings.shownName.empty() ? settings.shownName
                      : path == "-"               ? "<stdin>"
                                                  : path;
  const SourceFile &file = sources.add(shown, path == "-" ? "" : path, std::move(text));
  if (settings.emit == "tokens" || settings.emit == "ast") {
    LexedSource lexed = lex(file, diags);
    if (settings.emit == "tokens") {
      streams.out << printTokens(file, lexed);
    } else {
      Arena arena;
      ast::Module *module = parseModule(file, lexed, arena, diags);
      streams.out << ast::dump(*module, /*withSpans=*/false);
    }
  } else {
    sema::Checker checker(sources, diags, settings.check);
    const sema::ModuleInfo *module = checker.checkProgram(file);
    if (settings.emit == "typed" && !diags.hasErrors())
      streams.out << checker.describe(*module);
    if (settings.emit == "mx" && !diags.hasErrors())
      streams.out << emitMx(checker, *module);
  }
  for (const Diagnostic *d : diags.sorted())
    streams.err << render(*d, sources, settings.render);
  if (diags.full() && settings.render.format == ErrorFormat::Text)
    streams.err << "stopped after " << diags.errorCount() << " errors\n";
  return diags.hasErrors() ? kProgramHasErrors : kFine;
}

/// Options that all commands reading programs share. Returns what is wrong, or nothing.
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
  settings.emit = line.value("--emit").value_or("");
  if (!settings.emit.empty() && settings.emit != "tokens" && settings.emit != "ast" &&
      settings.emit != "typed" && settings.emit != "mx")
    return "`" + settings.emit + "` is not a stage; known are tokens, ast, typed and mx";
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
  for (const std::string &define : line.values("-D")) {
    size_t equals = define.find('=');
    if (equals == std::string::npos || equals == 0)
      return "`-D " + define + "` is not of the form name=value";
    settings.check.options[define.substr(0, equals)] = define.substr(equals + 1);
  }
  settings.shownName = line.value("--as").value_or("");
  settings.check.stdlib = findStdlib();
  return "";
}

std::string readStandardInput() {
  std::string text;
  char buffer[1 << 16];
  size_t got;
  while ((got = std::fread(buffer, 1, sizeof buffer, stdin)) > 0 &&
         text.size() <= limits::kMaxSourceBytes)
    text.append(buffer, got);
  return text;
}

int checkFiles(const std::vector<std::string> &files, const Settings &settings, Streams &streams,
               const char *command) {
  int worst = kFine;
  for (const std::string &path : files) {
    std::string error;
    std::optional<std::string> text =
        path == "-" ? readStandardInput() : readFile(path, limits::kMaxSourceBytes + 1, error);
    if (!text) {
      streams.err << "mxc " << command << ": cannot read `" << path << "`: " << error << "\n";
      worst = std::max<int>(worst, kWrongUse);
      continue;
    }
    worst = std::max(worst, checkText(path, std::move(*text), settings, streams));
  }
  return worst;
}

const std::set<std::string> kValued = {"--error-format", "--emit", "--silence", "--as", "-D",
                                       "--colour",       "--color"};

} // namespace

int runCheck(const std::vector<std::string> &args, Streams streams) {
  CommandLine line(args, kValued, {"--help", "-h"});
  if (!line.problem().empty())
    return wrongUse(streams, line.problem(), "check");
  if (line.has("--help") || line.has("-h")) {
    streams.out << kCheckHelp;
    return kFine;
  }
  if (line.files().empty())
    return wrongUse(streams, "which file?", "check");
  Settings settings;
  std::string problem = readSettings(line, streams, settings);
  if (!problem.empty())
    return wrongUse(streams, problem, "check");
  return checkFiles(line.files(), settings, streams, "check");
}

int runProgram(const std::vector<std::string> &args, Streams streams) {
  CommandLine line(args, kValued, {"--help", "-h"});
  if (!line.problem().empty())
    return wrongUse(streams, line.problem(), "run");
  if (line.has("--help") || line.has("-h")) {
    streams.out
        << "mxc run - check a program and run it\n\nusage: mxc run [OPTIONS] FILE [-- options of "
           "the program]\n\n"
           "This version checks the program and stops: running comes next, see docs/status.md.\n";
    return kFine;
  }
  if (line.files().size() != 1)
    return wrongUse(streams, "one file, please", "run");
  Settings settings;
  std::string problem = readSettings(line, streams, settings);
  if (!problem.empty())
    return wrongUse(streams, problem, "run");
  int result = checkFiles(line.files(), settings, streams, "run");
  if (result != kFine)
    return result;
  streams.err
      << "mxc run: " << line.files()[0]
      << " has no errors, but this version of mxc cannot run programs yet (docs/status.md)\n";
  return kWrongUse;
}

} // namespace mx::driver
