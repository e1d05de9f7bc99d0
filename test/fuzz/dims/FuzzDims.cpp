// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds facts and a claim from the input, asks the solver, and computes whether its answer can be
// right. A wrong answer stops the program.
#include "test/unit/dims/RandomClaims.h"
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  size_t at = 0;
  mx::testing::ClaimCheck check = mx::testing::checkRandomClaim(
      [&](uint32_t below) { return at < size ? data[at++] % below : 0; }, 3);
  if (!check.problem.empty()) {
    std::fprintf(stderr, "%s\n", check.problem.c_str());
    std::abort();
  }
  return 0;
}
