// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The examples in C and C++, as they are: their main() has another name here
// and their runtime the allocator of the sweep. What they print counts.

#include "AllocationSweep.h"

extern "C" int exampleInC(void);
int exampleInCpp();

namespace mxrt::test {
namespace {

const mxrt_allocator *swept = nullptr;

} // namespace
} // namespace mxrt::test

/// What the examples call instead of mxrt_runtime_create.
extern "C" mxrt_status createSweptRuntime(const mxrt_options *given, mxrt_runtime **out) {
  mxrt_options options;
  mxrt_options_init(&options);
  if (given)
    options = *given;
  options.allocator = mxrt::test::swept;
  return mxrt_runtime_create(&options, out);
}

namespace mxrt::test {
namespace {

Status runExample(Stage &stage, int (*example)()) {
  swept = stage.memory.get();
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  int result = example();
  std::string text =
      ::testing::internal::GetCapturedStdout() + ::testing::internal::GetCapturedStderr();
  // An example ends at the first error it does not expect. Where it expects
  // one it prints whatever comes: out of memory too.
  if (text.find("error[R0101]") != std::string::npos)
    return outOfMemory();
  EXPECT_EQ(result, 0) << text;
  stage.saw(text);
  return success();
}

const char *const figures =
    "the table of locations counts what it cannot name for the unknown location; a "
    "released block that cannot be noted goes back to the system; an error "
    "needs no memory";

const SweepProgram programs[] = {
    {"InC", [](Stage &stage) { return runExample(stage, exampleInC); }, figures},
    {"InCpp", [](Stage &stage) { return runExample(stage, exampleInCpp); }, figures},
};
INSTANTIATE_TEST_SUITE_P(Examples, AllocationSweep, ::testing::ValuesIn(programs), nameOfProgram);

} // namespace
} // namespace mxrt::test
