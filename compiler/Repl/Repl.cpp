// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The read-eval-print loop.
#include "Repl/Repl.h"
#include "Driver/Emit.h"
#include "Driver/ProgramOptions.h"
#include "Driver/RunOptions.h"
#include "Repl/PromptCommands.h"
#include "Repl/Figures.h"
#include "Repl/Inputs.h"
#include "Repl/Suggestions.h"
#include "Run/Interrupt.h"
#include "Support/LocationText.h"
#include <cstdlib>
#include <unistd.h>

namespace mx::repl {
namespace {

constexpr const char *kHelp = R"(mxc - a prompt: type statements, see results

usage: mxc [OPTIONS] [-- name=value…]
       mxc -i FILE [OPTIONS] [-- name=value…]   the same after the statements of FILE

The options are those of `mxc run`. `:help` at the prompt lists its commands.
)";

bool isDumb() {
  const char *term = std::getenv("TERM");
  return !term || !*term || std::string(term) == "dumb";
}

/// Waiting time of an input, for `:waits on`.
struct Waits {
  double seconds = 0;
  int count = 0;
  std::vector<std::pair<std::string, double>> locations;

  void add(driver::InputSession &session, double took) {
    ++count;
    seconds += took;
    mxrt::host::Location at = session.machine().locationAt(0);
    constexpr size_t kMaxShown = 5;
    if (!at.file)
      return;
    std::string location = locationText(at.file->view(), at.line, at.column);
    for (auto &[known, sum] : locations)
      if (known == location) {
        sum += took;
        return;
      }
    if (locations.size() < kMaxShown)
      locations.push_back({location, took});
  }
  void print(std::ostream &out) const {
    out << "waited " << count << (count == 1 ? " time, " : " times, ") << showSeconds(seconds);
    for (auto &[location, took] : locations)
      out << "   " << location << " " << showSeconds(took);
    out << "\n";
  }
};

} // namespace

bool Prompt::run(const std::string &name, const std::string &path, const std::string &text) {
  Waits waits;
  if (showsWaits)
    session.graphHost().onWait([&](double seconds) { waits.add(session, seconds); });
  undo.begin();
  driver::InputResult result = session.enter(name, path, text, /*isWhole=*/true);
  session.graphHost().onWait(nullptr);
  undo.end(result.fine, text);
  if (result.fine && isInteractive)
    for (const auto &definition : result.summary.definitions)
      out << definition.name << ": " << definition.type << "\n";
  if (result.shown)
    out << *result.shown << "\n";
  if (showsWaits)
    waits.print(out);
  out << std::flush;
  return result.fine;
}

int runRepl(const std::vector<std::string> &args, driver::Streams streams) {
  std::set<std::string> valued = driver::runOptions();
  valued.insert("-i");
  driver::CommandLine line(args, valued, driver::runFlags());
  if (!line.problem().empty())
    return driver::wrongUse(streams, line.problem(), "-i FILE");
  if (line.has("--help") || line.has("-h")) {
    streams.out << kHelp;
    return driver::kFine;
  }
  if (!line.files().empty())
    return driver::wrongUse(streams, "`-i` takes one file", "-i FILE");
  driver::Settings settings;
  driver::SessionOptions options;
  std::string problem = driver::readSettings(line, streams, settings);
  if (problem.empty())
    problem = driver::readRunOptions(line, streams.err, settings, options);
  // Options for whole programs have no effect here.
  for (auto [option, instead] : {std::pair("--emit", "`:ir NAME STAGE` shows stages at the prompt"),
                                 {"--compare", "`:compare EXPRESSION` does that at the prompt"},
                                 {"--timing", "`:time EXPRESSION` does that at the prompt"},
                                 {"--filter", "it is for `mxc test`"},
                                 {"--internal-bytes", "it is for `mxc run`"},
                                 {"-e", "it is for programs without a prompt"}})
    if (problem.empty() && line.has(option))
      problem = "`" + std::string(option) + "` cannot be given: " + instead;
  if (!problem.empty())
    return driver::wrongUse(streams, problem, "-i FILE");
  if (line.has("--explain-fusion"))
    driver::explainFusion(options, streams.err);
  if (std::optional<std::string> file = line.value("-i"))
    if (int code = driver::checkProgramOptions(*file, settings, streams))
      return code;
  options.onTerminal = streams.terminal;
  options.drawsOnTerminal = streams.drawsOut;
  driver::InputSession session(options, streams.out, streams.err);
  if (!session.ready())
    return driver::kFaultOfMxc;
  run::Interruptible stop(session.runsOn(), run::Interruptible::IfSlow::Wait);

  bool terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
  ReaderHooks hooks;
  hooks.complete = [&](const std::string &before) { return suggest(session.checker(), before); };
  hooks.takeInterrupt = [&] {
    bool asked = session.wasCancelled();
    session.clearCancel();
    return asked;
  };
  History history(terminal ? History::defaultPath() : "");
  std::unique_ptr<LineReader> reader;
  if (terminal && !isDumb())
    reader = makeEditReader(history, hooks);
  if (!reader)
    reader = makePlainReader(streams.out, terminal, hooks);
  Undo undo(session);
  Prompt prompt(session, undo, *reader, streams, terminal);
  if (terminal) {
    int threads = mxrt_runtime_threads(session.runtimeOf());
    streams.out << "mx " MX_VERSION "   " << threads << (threads == 1 ? " thread" : " threads")
                << "   :help, ?name, Ctrl-D\n"
                << std::flush;
  }
  auto ready = [&] { // clears earlier interrupts; from here on Ctrl-C stops the next input
    if (session.wasCancelled())
      session.clearCancel();
  };
  int code = driver::kFine;
  if (std::optional<std::string> file = line.value("-i"))
    if (!loadFile(prompt, *file))
      code = driver::kProgramHasErrors;
  ready();
  while (!prompt.leaves) {
    std::optional<std::string> input = reader->readInput();
    if (!input)
      break;
    bool fine =
        isCommand(*input) ? runCommand(prompt, *input) : prompt.run(prompt.nextName(), "", *input);
    streams.out << std::flush;
    streams.err << std::flush;
    // A person has seen the error; a script needs the exit code.
    if (!terminal && !fine)
      code = driver::kProgramHasErrors;
    ready();
  }
  if (std::string problem = reader->problem(); !problem.empty()) {
    streams.err << "mxc: cannot read standard input: " << problem << "\n";
    return driver::kWrongUse;
  }
  if (!session.writeProfile())
    return driver::kProgramHasErrors;
  return terminal ? driver::kFine : code;
}

} // namespace mx::repl
