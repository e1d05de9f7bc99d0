// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Commands that run an input: timing, comparison and single-stepping.
#include "Driver/Compare.h"
#include "Repl/PromptCommands.h"
#include "Repl/Figures.h"
#include "Support/LocationText.h"
#include "host/Text.h"
#include "mxrt/memory.h"
#include <algorithm>
#include <chrono>
#include <limits>

namespace mx::repl {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

constexpr mxrt_device kDefault = {MXRT_CPU, 0};

mxrt_memory_stats memoryNow(driver::InputSession &session) {
  mxrt_memory_stats stats = {};
  mxrt_status_release(mxrt_memory_get_stats(session.runtimeOf(), &kDefault, &stats));
  return stats;
}

double compileSeconds(driver::InputSession &session) {
  double sum = 0;
  session.graphHost().visitVariants(
      [&](const driver::LoadedVariant &variant) { sum += variant.compileMs * 1e-3; });
  return sum;
}

} // namespace

bool timeInput(Prompt &prompt, const std::string &rest) {
  if (rest.empty()) {
    prompt.err << "how long does what take? `:time x @ x.T`\n";
    return false;
  }
  driver::InputSession &session = prompt.session;
  prompt.undo.begin();
  driver::InputResult result;
  double before = compileSeconds(session);
  auto begin = Clock::now();
  mxrt::host::Program *program = session.compileInput(prompt.nextName(), "", rest + "\n", result);
  double compiling = secondsSince(begin);
  begin = Clock::now();
  bool fine = program && session.runCompiled(program);
  double first = secondsSince(begin);
  if (fine) {
    double graphs = compileSeconds(session) - before;
    compiling += graphs;
    first = std::max(0.0, first - graphs);
    // An input with side effects runs only once.
    constexpr uint8_t kOnce = sema::kFile | sema::kNet | sema::kPrint | sema::kExtern;
    constexpr double kEnough = 0.5;
    constexpr size_t kMaxRuns = 10000;
    std::vector<double> runs;
    mxrt_status_release(mxrt_memory_reset_peak(session.runtimeOf(), &kDefault));
    int64_t live = memoryNow(session).live_bytes;
    if (result.summary.isExpression && !(result.summary.effects & kOnce))
      for (auto start = Clock::now();
           fine && runs.size() < kMaxRuns && (runs.empty() || secondsSince(start) < kEnough);) {
        auto one = Clock::now();
        fine = session.runCompiled(program);
        runs.push_back(secondsSince(one));
      }
    if (fine) {
      int64_t peak = std::max<int64_t>(0, memoryNow(session).peak_bytes - live);
      prompt.out << "compile " << showSeconds(compiling) << "   run ";
      if (runs.empty()) {
        prompt.out << showSeconds(first) << " (once)";
      } else {
        std::sort(runs.begin(), runs.end());
        prompt.out << showSeconds(runs.front()) << " (min of " << runs.size() << ", median "
                   << showSeconds(runs[runs.size() / 2]) << ")";
      }
      prompt.out << "   peak " << formatBytes(peak) << "\n";
    }
  }
  prompt.undo.end(fine && !result.summary.isExpression, rest + "\n");
  return fine;
}

bool compareInput(Prompt &prompt, const std::string &rest) {
  if (rest.empty()) {
    prompt.err << "compare what? `:compare step(x)`\n";
    return false;
  }
  driver::Comparison found;
  prompt.session.compareInto(&found);
  bool fine = prompt.run(prompt.nextName(), "", rest + "\n");
  prompt.session.compareInto(nullptr);
  if (fine)
    found.print(prompt.out);
  return fine;
}

// --------------------------------------------------------------------------------- single-stepping

namespace {

/// Single-stepping: stops before each statement of a running program and asks what to do.
class Stepper {
public:
  explicit Stepper(Prompt &prompt) : prompt(prompt) {}

  static mxrt::Status hook(void *context, mxrt::host::Vm &vm) {
    return static_cast<Stepper *>(context)->stop(vm);
  }

private:
  mxrt::Status stop(mxrt::host::Vm &vm) {
    uint32_t depth = vm.depth();
    mxrt::host::Location location = vm.locationAt(0);
    if (depth > deepest || !location.file)
      return {};
    std::string here = locationText(location.file->view(), location.line);
    if (here == lastHere && depth == lastDepth)
      return {};
    showChanges(vm, depth);
    lastHere = here;
    lastDepth = depth;
    Span span = prompt.session.sourceTexts().find(location.file->view(), location.line, 1);
    std::string text;
    if (span.valid())
      text = prompt.session.sourceTexts().file(span).line(location.line);
    prompt.out << here << "   " << text << "\n" << std::flush;
    for (;;) {
      std::optional<std::string> answer = prompt.reader.readLine("step> ");
      std::string word = answer.value_or("q");
      if (word.empty() || word == "n" || word == "next") {
        deepest = depth;
      } else if (word == "i" || word == "in") {
        deepest = depth + 1;
      } else if (word == "o" || word == "out") {
        deepest = depth - 1;
      } else if (word == "c" || word == "continue") {
        deepest = 0;
      } else if (word == "p" || word == "print") {
        showRegisters(vm);
        continue;
      } else if (word == "q" || word == "quit") {
        vm.cancel();
        deepest = 0;
      } else {
        prompt.out << "Enter or n: next; i: into calls; o: out of this function; p: print what it "
                      "holds; c: go on; q: stop\n";
        continue;
      }
      return {};
    }
  }

  std::string show(mxrt::host::Vm &vm, const mxrt::host::Value &value) {
    mxrt::host::Text text(vm.heap());
    if (mxrt::Status status = vm.show(value, text); !status.ok())
      return "(its operation failed)";
    std::string shown(text.view());
    for (size_t at = shown.find('\n'); at != std::string::npos; at = shown.find('\n', at + 3))
      shown.replace(at, 1, "\n  ");
    return shown;
  }

  /// Shows the results of the last statement of this function: registers with a new value.
  void showChanges(mxrt::host::Vm &vm, uint32_t depth) {
    std::span<const mxrt::host::Value> registers = vm.registersAt(0);
    std::vector<uint64_t> now;
    for (const mxrt::host::Value &value : registers)
      now.push_back(value.isSet() ? static_cast<uint64_t>(value.i) : 0);
    if (depth == seenDepth && now.size() == seen.size())
      for (size_t i = 0; i < now.size(); ++i)
        if (now[i] != seen[i] && registers[i].isSet() &&
            registers[i].kind == mxrt::host::Kind::Tensor)
          prompt.out << "  " << show(vm, registers[i]) << "\n";
    seen = std::move(now);
    seenDepth = depth;
  }

  void showRegisters(mxrt::host::Vm &vm) {
    for (const mxrt::host::Value &value : vm.registersAt(0))
      if (value.isSet() && value.kind != mxrt::host::Kind::Unit)
        prompt.out << "  " << show(vm, value) << "\n";
  }

  Prompt &prompt;
  uint32_t deepest = std::numeric_limits<uint32_t>::max();
  uint32_t lastDepth = 0, seenDepth = 0;
  std::string lastHere;
  std::vector<uint64_t> seen;
};

} // namespace

bool stepThrough(Prompt &prompt, const std::string &rest) {
  if (rest.empty()) {
    prompt.err << "through what? `:step train(x)`\n";
    return false;
  }
  Stepper stepper(prompt);
  bool eager = prompt.session.settings().code.eager;
  prompt.session.setEager(true);
  prompt.session.setStepping(true);
  prompt.session.machine().setStatementHook(Stepper::hook, &stepper);
  bool fine = prompt.run(prompt.nextName(), "", rest + "\n");
  prompt.session.machine().setStatementHook(nullptr, nullptr);
  prompt.session.setEager(eager);
  prompt.session.setStepping(false);
  return fine;
}

} // namespace mx::repl
