// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Read-only commands: inspection.
#include "Repl/PromptCommands.h"
#include "Repl/Figures.h"
#include "mxrt/memory.h"
#include <algorithm>
#include <sstream>

namespace mx::repl {
namespace {

/// Splits the words of a command; `N=32` and `N=32,T=7` go into `request`.
bool readBf16Unit(Prompt &prompt, const std::string &rest, std::vector<std::string> &words,
               driver::PlanRequest &request) {
  std::istringstream in(rest);
  for (std::string word; in >> word;) {
    if (word.find('=') == std::string::npos) {
      words.push_back(word);
      continue;
    }
    if (std::string problem = driver::readSizes(word, request); !problem.empty()) {
      prompt.err << problem << "\n";
      return false;
    }
  }
  request.ofSession = true;
  return true;
}

bool unknown(Prompt &prompt, const std::string &name) {
  std::string near = sema::nearestName(prompt.session.checker().sema(), name);
  prompt.err << "nothing is called `" << name << "`"
             << (near.empty() ? "" : "; did you mean `" + near + "`?") << "\n";
  return false;
}

} // namespace

bool showType(Prompt &prompt, const std::string &rest) {
  if (rest.empty()) {
    prompt.err << "of which expression? `:type ones([2]) + 1.0`\n";
    return false;
  }
  sema::InputSummary summary;
  if (!prompt.session.describeInput("<type>", rest + "\n", summary))
    return false;
  std::string type = summary.type.empty() ? "no value" : summary.type;
  for (const auto &definition : summary.definitions)
    type = definition.name + ": " + definition.type;
  uint8_t effects = summary.effects & static_cast<uint8_t>(~sema::kWait);
  bool waits = summary.waits || (summary.effects & sema::kWait);
  prompt.out << type << "   effects: " << sema::CheckedProgram::effectsText(effects)
             << "   waits: " << (waits ? "yes" : "no") << "\n";
  return true;
}

bool showDoc(Prompt &prompt, const std::string &rest) {
  if (rest.empty()) {
    prompt.err << "of which name? `?relu`, `:doc nn.Dense`\n";
    return false;
  }
  std::vector<sema::Meaning> meanings = sema::meaningsOf(prompt.session.checker().sema(), rest);
  if (meanings.empty())
    return unknown(prompt, rest);
  for (const sema::Meaning &meaning : meanings) {
    prompt.out << meaning.title << "\n";
    if (!meaning.doc.empty())
      prompt.out << meaning.doc << "\n";
    if (!meaning.location.empty())
      prompt.out << "defined at " << meaning.location << "\n";
  }
  return true;
}

bool showSource(Prompt &prompt, const std::string &rest) {
  if (rest.empty()) {
    prompt.err << "of which name? `??step`, `:source nn.Dense`\n";
    return false;
  }
  std::vector<sema::Meaning> meanings = sema::meaningsOf(prompt.session.checker().sema(), rest);
  if (meanings.empty())
    return unknown(prompt, rest);
  for (const sema::Meaning &meaning : meanings) {
    if (meaning.source.empty())
      prompt.out << meaning.title << "   (built in)\n";
    else
      prompt.out << "# " << meaning.location << "\n" << meaning.source << "\n";
  }
  return true;
}

bool showNames(Prompt &prompt, const std::string &rest) {
  sema::CheckedProgram &sema = prompt.session.checker().sema();
  std::vector<std::vector<std::string>> rows;
  for (auto &[name, type] : prompt.session.checker().names())
    if (name.starts_with(rest)) {
      std::string shown = type;
      if (shown.empty())
        if (auto meanings = sema::meaningsOf(sema, name); !meanings.empty())
          shown = meanings[0].title;
      rows.push_back({name, shown});
    }
  prompt.out << table(rows, "");
  return true;
}

bool showStage(Prompt &prompt, const std::string &rest) {
  std::vector<std::string> words;
  driver::PlanRequest request;
  if (!readBf16Unit(prompt, rest, words, request))
    return false;
  if (words.empty() || words.size() > 2) {
    prompt.err << "of which function? `:ir step`, `:ir step llvm N=32`\n";
    return false;
  }
  return prompt.session.showStage(words[0], words.size() > 1 ? words[1] : "mx", request);
}

bool showPlan(Prompt &prompt, const std::string &rest) {
  std::vector<std::string> words;
  driver::PlanRequest request;
  if (!readBf16Unit(prompt, rest, words, request))
    return false;
  if (words.size() != 1) {
    prompt.err << "of which graph? `:plan step N=32`\n";
    return false;
  }
  request.graph = words[0];
  return prompt.session.planGraph(request);
}

bool showMemory(Prompt &prompt, const std::string &rest) {
  if (!rest.empty()) {
    prompt.err << "`:mem` takes no argument\n";
    return false;
  }
  driver::InputSession &session = prompt.session;
  std::map<std::string, std::string> types;
  for (auto &[name, type] : session.checker().names())
    types[name] = type;
  std::vector<std::vector<std::string>> rows;
  for (auto &[name, value] : session.variables())
    if (int64_t bytes = driver::tensorBytes(value))
      rows.push_back({name, types[name], formatBytes(bytes)});
  prompt.out << table(rows, "no variable holds a tensor\n");
  for (int32_t index = 0; index < mxrt_runtime_cpu_devices(session.runtimeOf()); ++index) {
    mxrt_device device = {MXRT_CPU, index};
    mxrt_memory_stats stats = {};
    mxrt_status status = mxrt_memory_get_stats(session.runtimeOf(), &device, &stats);
    bool known = !status;
    mxrt_status_release(status);
    if (known && (index == 0 || stats.allocations > 0))
      prompt.out << "cpu:" << index << "   live " << formatBytes(stats.live_bytes) << " in "
                 << stats.live_blocks << (stats.live_blocks == 1 ? " block" : " blocks")
                 << "   cached " << formatBytes(stats.cached_bytes) << "   peak "
                 << formatBytes(stats.peak_bytes) << "\n";
  }
  return true;
}

bool showGraphs(Prompt &prompt, const std::string &rest) {
  if (!rest.empty()) {
    prompt.err << "`:graphs` takes no argument\n";
    return false;
  }
  std::vector<std::vector<std::string>> rows;
  prompt.session.graphHost().visitVariants([&](const driver::LoadedVariant &variant) {
    std::string sizes;
    for (auto &[name, value] : variant.sizes)
      sizes += (sizes.empty() ? "" : " ") + name + "=" + std::to_string(value);
    for (const std::string &open : variant.code.sizes)
      sizes += (sizes.empty() ? "dyn " : " dyn ") + open;
    int64_t bytes = 0;
    for (auto &[device, arena] : variant.code.arenas)
      bytes += arena;
    rows.push_back({variant.name, sizes, "compiled in " + showSeconds(variant.compileMs * 1e-3),
                    "arena " + formatBytes(bytes),
                    std::to_string(variant.calls) + (variant.calls == 1 ? " call" : " calls")});
  });
  prompt.out << table(rows, "no graph is compiled yet\n");
  return true;
}

} // namespace mx::repl
