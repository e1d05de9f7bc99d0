// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stands in for libFuzzer in builds without it: runs the fuzz target once on
// every file given, and on every file of every folder given. Arguments that
// start with `-` are libFuzzer's and are ignored.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace fs = std::filesystem;

static bool replay(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    return false;
  }
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  // Said first, so that a crash shows which input it was.
  std::fprintf(stderr, "replaying %s\n", path.c_str());
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
  return true;
}

int main(int argc, char **argv) {
  std::vector<fs::path> inputs;
  bool good = true;
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] == '-')
      continue;
    std::error_code error;
    if (!fs::is_directory(argv[i], error)) {
      inputs.emplace_back(argv[i]);
      continue;
    }
    for (const fs::directory_entry &entry : fs::recursive_directory_iterator(argv[i], error))
      if (entry.is_regular_file())
        inputs.push_back(entry.path());
    if (error) {
      std::fprintf(stderr, "cannot list %s: %s\n", argv[i], error.message().c_str());
      good = false;
    }
  }
  std::sort(inputs.begin(), inputs.end());
  for (const fs::path &input : inputs)
    good &= replay(input);
  std::fprintf(stderr, "replayed %zu inputs\n", inputs.size());
  return good ? 0 : 1;
}
