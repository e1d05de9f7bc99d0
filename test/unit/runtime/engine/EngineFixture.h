// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An engine of either kind for a test, with the Subject that watches it.

#ifndef MXRT_TEST_ENGINE_ENGINEFIXTURE_H
#define MXRT_TEST_ENGINE_ENGINEFIXTURE_H

#include "Model.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

namespace mxrt::test {

/// The C status of a call, as something EXPECT_ can print.
inline int code(mxrt_status status) { return Status(status).code(); }
inline int code(const Status &status) { return status.code(); }

class EngineTest : public testing::TestWithParam<mxrt_engine_kind> {
protected:
  void open(mxrt_engine_options options = {}) {
    options.kind = GetParam();
    if (options.workers_per_device == 0)
      options.workers_per_device = 2;
    ASSERT_EQ(code(mxrt_engine_create(&options, &engine)), MXRT_OK);
  }
  void SetUp() override { open(); }
  void TearDown() override { close(); }
  void reopen(mxrt_engine_options options) {
    close();
    open(options);
  }
  void close() {
    mxrt_engine_destroy(engine);
    engine = nullptr;
  }
  mxrt_var newVar() {
    mxrt_var var = 0;
    EXPECT_EQ(code(mxrt_engine_new_var(engine, &var)), MXRT_OK);
    return var;
  }
  bool isNaive() const { return GetParam() == MXRT_ENGINE_NAIVE; }

  /// A Subject whose complaints fail the test.
  std::unique_ptr<Subject> subject(const std::vector<OpSpec> &ops,
                                   int variables) {
    return std::make_unique<Subject>(engine, ops, variables,
                                     [](const std::string &why) {
                                       ADD_FAILURE() << why;
                                     });
  }

  mxrt_engine *engine = nullptr;
  static constexpr mxrt_location here = {"wait.mx", 77, 7};
};

inline std::string
engineName(const testing::TestParamInfo<mxrt_engine_kind> &info) {
  return info.param == MXRT_ENGINE_NAIVE ? "Naive" : "Threaded";
}

#define MXRT_BOTH_ENGINES(suite)                                               \
  INSTANTIATE_TEST_SUITE_P(Kinds, suite,                                       \
                           testing::Values(MXRT_ENGINE_NAIVE,                  \
                                           MXRT_ENGINE_THREADED),              \
                           engineName)

/// An op's function: adds one to the int64_t that is its payload.
inline mxrt_status addOne(mxrt_op_context *, void *payload) {
  ++*static_cast<int64_t *>(payload);
  return nullptr;
}

inline mxrt_op opOn(const mxrt_var *writes, size_t count, mxrt_op_fn run,
             void *payload) {
  mxrt_op op = {};
  op.run = run;
  op.payload = payload;
  op.writes = writes;
  op.write_count = count;
  op.name = "test op";
  op.location = {"push.mx", 3, 4};
  return op;
}

/// Stops a thread until it is opened.
class Gate {
public:
  void open() {
    word.store(1);
    word.notify_all();
  }
  void pass() { word.wait(0); }

private:
  std::atomic<int> word{0};
};

} // namespace mxrt::test

#endif // MXRT_TEST_ENGINE_ENGINEFIXTURE_H
