// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory planner benchmark: quality and time of arena packing.

#include "MemoryBench.h"

#include "CutRectangle.h"
#include "Measure.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

using namespace mx::memory;

namespace {

using Blocks = std::vector<Piece>;

double secondsSince(std::clock_t begin) { return double(std::clock() - begin) / CLOCKS_PER_SEC; }

/// Reads lines of id,lower,upper,size below a header; the upper bound is exclusive.
bool readCsv(const std::string &path, Blocks &blocks) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || line.rfind("id,lower,upper,size", 0) != 0)
    return false;
  while (std::getline(file, line)) {
    int64_t lower = 0, upper = 0, size = 0;
    if (std::sscanf(line.c_str(), "%*[^,],%" SCNd64 ",%" SCNd64 ",%" SCNd64, &lower, &upper,
                    &size) != 3 ||
        upper <= lower || size < 0)
      return false;
    blocks.push_back({size, lower, upper - 1});
  }
  return true;
}

/// The capacity in a name like `name.1048576.csv`; 0 if there is none.
int64_t capacityOf(const std::string &path) {
  size_t end = path.rfind(".csv"), dot = end == std::string::npos ? end : path.rfind('.', end - 1);
  return dot == std::string::npos ? 0 : std::atoll(path.c_str() + dot + 1);
}

/// One row of the table.
struct Line {
  std::string name;
  size_t blocks;
  int64_t bytes;
  double ratio, milliseconds;
};

Line measure(const std::string &name, const Blocks &blocks, int64_t capacity, double seconds) {
  PackOptions options;
  std::clock_t begin = std::clock();
  if (seconds > 0) {
    options.effort = INT64_MAX / 4;
    options.target = capacity; // stops once the packing fits the capacity
    options.isLate = [&] { return secondsSince(begin) > seconds; };
  }
  Packing packing = pack(blocks, options);
  double took = secondsSince(begin);
  if (capacity == 0)
    capacity = liveBound(blocks);
  Line line = {name, blocks.size(), packing.bytes,
               double(packing.bytes) / double(std::max<int64_t>(capacity, 1)), took * 1000};
  std::printf("%-24s %8zu %14" PRId64 " %8.4f %10.1f  %s\n", name.c_str(), line.blocks, line.bytes,
              line.ratio, line.milliseconds, packing.isProven ? "shortest" : "");
  return line;
}

void printJson(const std::vector<Line> &lines, std::FILE *to) {
  std::fprintf(to, "{\"figures\":[");
  for (const Line &line : lines)
    std::fprintf(
        to, "%s\n{\"what\":\"%s of %zu\",\"value\":%.6f,\"unit\":\"of the bound\",\"ms\":%.3f}",
        &line == lines.data() ? "" : ",", line.name.c_str(), line.blocks, line.ratio,
        line.milliseconds);
  std::fprintf(to, "\n]}\n");
}

} // namespace

int runMemoryBench(int argc, char **argv) {
  const char *json = mx::bench::takeJson(argc, argv);
  std::vector<Line> lines;
  double seconds = 0;
  std::vector<std::string> files;
  for (int i = 0; i < argc; ++i) {
    if (std::strncmp(argv[i], "--seconds=", 10) == 0)
      seconds = std::atof(argv[i] + 10);
    else if (argv[i][0] != '-')
      files.push_back(argv[i]);
    else {
      std::fprintf(stderr, "mxc-bench memory: unknown option `%s`\n", argv[i]);
      return 2;
    }
  }
  std::printf("%-24s %8s %14s %8s %10s\n", "packing", "blocks", "bytes", "ratio", "ms (cpu)");
  for (const std::string &path : files) {
    Blocks blocks;
    if (!readCsv(path, blocks)) {
      std::fprintf(stderr, "mxc-bench memory: `%s` is not a list of id,lower,upper,size\n",
                   path.c_str());
      return 2;
    }
    lines.push_back(measure(path.substr(path.rfind('/') + 1), blocks, capacityOf(path), seconds));
  }
  if (files.empty())
    for (size_t count : {30u, 300u, 3000u, 30'000u, 100'000u})
      lines.push_back(measure("rectangle",
                              cutRectangle(count, count, 1 << 20, static_cast<int64_t>(2 * count)),
                              0, seconds));
  bool written = !json || mx::bench::writeJson(json, [&](std::FILE *to) { printJson(lines, to); });
  return written ? 0 : 1;
}
