// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `mxc check`: semantic analysis without a run, and printing of front-end stages (`--emit`).
#include "Driver/Commands.h"
#include "Driver/MakeCode.h"
#include "Driver/Settings.h"
#include "IRGen/IRGen.h"
#include "Pipeline/Pipeline.h"
#include "Driver/ProgramOptions.h"
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

/// Finds errors that a run would report before it starts: generates code and discards it. Returns
/// an internal error of mxc, if any.
std::optional<std::string> makeCode(sema::Checker &checker, const sema::ModuleInfo &module,
                                    const SourceManager &sources, Diagnostics &diags) {
  mlir::DialectRegistry registry;
  pipeline::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  irgen::Options options;
  options.tests = true;
  irgen::Generated made = irgen::generate(context, checker.sema(), module, options);
  if (!made.module || diags.hasErrors())
    return std::nullopt;
  if (auto fault = faultIn(*made.module))
    return fault;
  std::string fault;
  if (prepareModule(*made.module, sources, diags))
    makeBytecode(*made.module, made.entry, sources, diags, fault);
  return fault.empty() ? std::nullopt : std::optional(fault);
}

/// Checks one text; returns the exit code.
int checkText(const std::string &path, std::string text, const Settings &settings,
              Streams &streams, OptionsOfFiles &found) {
  SourceManager sources;
  Diagnostics diags(sources);
  for (Code code : settings.silenced)
    diags.silence(code);
  const SourceFile &file = sources.add(shownName(settings, path), path == "-" ? "" : path, std::move(text));
  std::optional<std::string> fault;
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
    else if (!diags.hasErrors())
      fault = makeCode(checker, *module, sources, diags);
    found.add(checker, !diags.hasErrors());
  }
  for (const Diagnostic *d : diags.sorted())
    streams.err << render(*d, sources, settings.render);
  if (diags.full() && settings.render.format == ErrorFormat::Text)
    streams.err << "stopped after " << diags.errorCount() << " errors\n";
  if (fault) {
    streams.err << faultText(*fault);
    return kFaultOfMxc;
  }
  return diags.hasErrors() ? kProgramHasErrors : kFine;
}

int checkFiles(const std::vector<std::string> &files, Settings &settings, Streams &streams,
               const char *command) {
  int worst = kFine;
  OptionsOfFiles options(settings.check, files.size());
  for (const std::string &path : files) {
    std::optional<std::string> text = readProgram(path, streams, command);
    if (!text) {
      worst = std::max<int>(worst, kWrongUse);
      continue;
    }
    worst = std::max(worst, checkText(path, std::move(*text), settings, streams, options));
  }
  // Without semantic analysis (tokens, the syntax tree) the options are unknown.
  bool isChecked = settings.emit.empty() || settings.emit == "typed";
  return isChecked ? std::max(worst, options.finish(settings, streams)) : worst;
}

} // namespace

int runCheck(const std::vector<std::string> &args, Streams streams) {
  CommandLine line(args, programOptions(), {"--help", "-h"});
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
  if (problem.empty() && !settings.emit.empty() && settings.emit != "tokens" &&
      settings.emit != "ast" && settings.emit != "typed")
    problem = "`" + settings.emit + "` is not a stage; known are tokens, ast and typed";
  if (!problem.empty())
    return wrongUse(streams, problem, "check");
  return checkFiles(line.files(), settings, streams, "check");
}

} // namespace mx::driver
