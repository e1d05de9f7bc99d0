// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MX_TEST_UNIT_RUNTIME_RANDOM_RANDOMFIXTURE_H
#define MX_TEST_UNIT_RUNTIME_RANDOM_RANDOMFIXTURE_H

#include "mxrt/random.h"
#include "mxrt/runtime.h"

#include <cstring>
#include <gtest/gtest.h>
#include <vector>

/// A runtime with a given number of threads and a context on it.
class Machine {
public:
  explicit Machine(int32_t threads) {
    mxrt_options options;
    mxrt_options_init(&options);
    options.threads = threads;
    EXPECT_EQ(mxrt_runtime_create(&options, &runtime), nullptr);
    mxrt_device cpu = {MXRT_CPU, 0};
    EXPECT_EQ(mxrt_runtime_context(runtime, &cpu, nullptr, &context), nullptr);
  }
  ~Machine() { mxrt_runtime_destroy(runtime); }
  Machine(const Machine &) = delete;
  Machine &operator=(const Machine &) = delete;

  mxrt_runtime *runtime = nullptr;
  mxrt_context context;
};

inline mxrt_rng seeded(uint64_t seed) {
  mxrt_rng rng;
  mxrt_rng_seed(&rng, seed);
  return rng;
}

inline mxrt_code codeOf(mxrt_status status) {
  mxrt_code code = mxrt_status_code(status);
  mxrt_status_release(status);
  return code;
}

/// FNV-1a of the bytes: a hash of a whole result.
template <typename T> uint64_t fingerprint(const std::vector<T> &values) {
  uint64_t hash = 1469598103934665603ull;
  const auto *bytes = reinterpret_cast<const unsigned char *>(values.data());
  for (size_t i = 0; i < values.size() * sizeof(T); ++i)
    hash = (hash ^ bytes[i]) * 1099511628211ull;
  return hash;
}

#endif // MX_TEST_UNIT_RUNTIME_RANDOM_RANDOMFIXTURE_H
