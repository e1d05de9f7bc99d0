// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Benchmark harness: alternating runs, quartiles, tables and JSON.

#include "Measure.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <unistd.h>

namespace mx::bench {

double now() {
  using namespace std::chrono;
  return duration<double, std::micro>(steady_clock::now().time_since_epoch())
      .count();
}

std::string commandOf(int argc, char **argv) {
  if (argc > 0)
    return argv[0];
  char path[4096];
  ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
  std::string self(path, size > 0 ? static_cast<size_t>(size) : 0);
  return self.substr(0, self.rfind('/')) + "/mxc";
}

const char *takeJson(int &argc, char **argv) {
  for (int i = 0; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], "--json") == 0) {
      const char *path = argv[i + 1];
      std::rotate(argv + i, argv + i + 2, argv + argc);
      argc -= 2;
      return path;
    }
  return nullptr;
}

bool writeJson(const char *path, const std::function<void(std::FILE *)> &print) {
  std::FILE *file = std::strcmp(path, "-") == 0 ? stdout : std::fopen(path, "w");
  if (!file) {
    std::fprintf(stderr, "mxc-bench: cannot write %s\n", path);
    return false;
  }
  print(file);
  return file == stdout || std::fclose(file) == 0;
}

Quartiles quartilesOf(std::vector<double> values) {
  if (values.empty())
    return {};
  std::sort(values.begin(), values.end());
  auto at = [&](double part) {
    double index = part * static_cast<double>(values.size() - 1);
    auto below = static_cast<size_t>(index);
    size_t above = std::min(below + 1, values.size() - 1);
    double weight = index - static_cast<double>(below);
    return values[below] * (1 - weight) + values[above] * weight;
  };
  return {at(0.25), at(0.5), at(0.75)};
}

/// Threads of the last contender may still spin and compete with the next one for a processor.
/// Waits until they sleep. All of them do within 1 ms.
static void settle() {
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
}

void Report::compare(const std::string &work, double goal,
                     const std::vector<Contender> &contenders) {
  std::vector<std::vector<double>> times(contenders.size());
  std::vector<std::vector<double>> ratios(contenders.size());
  for (const Contender &contender : contenders)
    contender.run();
  for (int block = 0; block < blocks; ++block) {
    for (size_t i = 0; i < contenders.size(); ++i) {
      settle();
      times[i].push_back(contenders[i].run());
    }
    for (size_t i = 1; i < contenders.size(); ++i)
      ratios[i].push_back(times[i].back() / times[0].back());
  }
  for (size_t i = 0; i < contenders.size(); ++i)
    rows.push_back({work, contenders[i].name, quartilesOf(times[i]),
                    quartilesOf(ratios[i]), i == 0 ? goal : 0});
}

bool Report::goalsMet() const {
  return std::all_of(rows.begin(), rows.end(), [](const Row &row) {
    return row.goal == 0 || row.time.median <= row.goal;
  });
}

void Report::printTable(std::FILE *to) const {
  std::fprintf(to, "%-30s %-22s %9s %9s %9s %9s %7s\n", "work", "by", "median us",
               "q1", "q3", "ratio", "goal");
  std::string last;
  for (const Row &row : rows) {
    std::fprintf(to, "%-30s %-22s %9.3f %9.3f %9.3f ",
                 row.work == last ? "" : row.work.c_str(), row.name.c_str(),
                 row.time.median, row.time.low, row.time.high);
    last = row.work;
    if (row.ratio.median > 0)
      std::fprintf(to, "%9.2f\n", row.ratio.median);
    else if (row.goal > 0)
      std::fprintf(to, "%9s %7.2f %s\n", "", row.goal,
                   row.time.median <= row.goal ? "met" : "MISSED");
    else
      std::fprintf(to, "\n");
  }
  std::fprintf(to, "ratio: time of the peer / ours, median over %d "
                   "interleaved blocks; above 1 we are faster\n",
               blocks);
  for (const std::string &text : notes)
    std::fprintf(to, "%s\n", text.c_str());
}

void Report::printJson(std::FILE *to) const {
  std::fprintf(to, "{\"blocks\":%d,\"rows\":[", blocks);
  const char *comma = "";
  for (const Row &row : rows) {
    // Names are constants of this program: they need no escapes.
    std::fprintf(to,
                 "%s\n{\"work\":\"%s\",\"by\":\"%s\",\"median_us\":%.6f,"
                 "\"q1_us\":%.6f,\"q3_us\":%.6f,\"iqr_us\":%.6f",
                 comma, row.work.c_str(), row.name.c_str(), row.time.median,
                 row.time.low, row.time.high, row.time.high - row.time.low);
    if (row.ratio.median > 0)
      std::fprintf(to, ",\"ratio\":%.4f,\"ratio_q1\":%.4f,\"ratio_q3\":%.4f",
                   row.ratio.median, row.ratio.low, row.ratio.high);
    if (row.goal > 0)
      std::fprintf(to, ",\"goal_us\":%.3f,\"met\":%s", row.goal,
                   row.time.median <= row.goal ? "true" : "false");
    std::fprintf(to, "}");
    comma = ",";
  }
  std::fprintf(to, "\n]}\n");
}

void Figures::title(const std::string &text) {
  group = text;
  std::printf("%s\n", text.c_str());
}

void Figures::add(const std::string &what, double value, const char *unit, double goal,
                  bool atLeast) {
  figures.push_back({group + ": " + what, value, unit, goal, atLeast});
  std::printf("  %-58s %9.3f %-4s", what.c_str(), value, unit);
  if (goal > 0)
    std::printf("  goal %g  %s", goal,
                value < 0              ? "not measured"
                : figures.back().met() ? "met"
                                       : "missed");
  std::printf("\n");
}

bool Figures::goalsMet() const {
  return std::all_of(figures.begin(), figures.end(),
                     [](const Figure &figure) { return figure.goal == 0 || figure.met(); });
}

void Figures::printJson(std::FILE *to) const {
  std::fprintf(to, "{\"figures\":[");
  const char *comma = "";
  for (const Figure &figure : figures) {
    // Names are constants of this program: they need no escapes.
    std::fprintf(to, "%s\n{\"what\":\"%s\",\"value\":%.6f,\"unit\":\"%s\"", comma,
                 figure.what.c_str(), figure.value, figure.unit);
    if (figure.goal > 0)
      std::fprintf(to, ",\"%s\":%g,\"met\":%s", figure.atLeast ? "min" : "max", figure.goal,
                   figure.met() ? "true" : "false");
    std::fprintf(to, "}");
    comma = ",";
  }
  std::fprintf(to, "\n]}\n");
}

} // namespace mx::bench
