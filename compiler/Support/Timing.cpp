// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stage timer of `--timing`.
#include "Support/Timing.h"
#include <algorithm>
#include <iomanip>
#include <sstream>

namespace mx {

void Timing::settle() {
  Clock::time_point now = Clock::now();
  if (!open.empty())
    stages[open.back()].ms += std::chrono::duration<double, std::milli>(now - since).count();
  since = now;
}

void Timing::begin(std::string_view name) {
  settle();
  auto known = std::find_if(stages.begin(), stages.end(),
                            [&](const Stage &stage) { return stage.name == name; });
  if (known == stages.end())
    known = stages.insert(stages.end(), Stage{std::string(name)});
  ++known->times;
  open.push_back(static_cast<size_t>(known - stages.begin()));
}

void Timing::end() {
  settle();
  open.pop_back();
}

void Timing::print(std::ostream &out) const {
  constexpr size_t kShown = 5;
  double total = 0;
  size_t width = std::string_view("where the time went").size();
  for (const Stage &stage : stages) {
    total += stage.ms;
    width = std::max(width, stage.name.size());
  }
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << std::left << std::setw(static_cast<int>(width))
       << "where the time went" << std::right << std::setw(10) << "ms" << std::setw(8) << "%"
       << std::setw(8) << "times" << "\n";
  auto row = [&](std::string_view name, double ms) {
    text << std::left << std::setw(static_cast<int>(width)) << name << std::right << std::setw(10)
         << ms << std::setw(8) << (total > 0 ? 100 * ms / total : 0);
  };
  for (const Stage &stage : stages) {
    row(stage.name, stage.ms);
    text << std::setw(8) << stage.times << "\n";
  }
  row("total", total);
  text << "\n";
  std::vector<Piece> slowest = pieces;
  auto all = [](const Piece &piece) { return piece.optimizeMs + piece.generateMs; };
  std::sort(slowest.begin(), slowest.end(),
                   [&](const Piece &x, const Piece &y) { return all(x) > all(y); });
  if (slowest.size() > kShown)
    slowest.resize(kShown);
  if (!slowest.empty())
    text << pieces.size() << " code units were compiled; the slowest:\n";
  for (const Piece &piece : slowest)
    text << std::setw(10) << all(piece) << " ms  " << piece.name << " (optimising "
         << piece.optimizeMs << ", generating " << piece.generateMs << ")\n";
  out << text.str();
}

} // namespace mx
