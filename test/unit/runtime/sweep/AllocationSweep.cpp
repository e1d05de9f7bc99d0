// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AllocationSweep.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define MX_FIND_LEAKS() __lsan_do_recoverable_leak_check()
#endif
#endif
#ifndef MX_FIND_LEAKS
#define MX_FIND_LEAKS() 0
#endif

namespace mxrt::test {

Status Stage::provoked(Status status, mxrt_code wanted) {
  if (status.code() == wanted) {
    char text[1024];
    mxrt_status_format(status.get(), text, sizeof(text));
    saw(text);
    return success();
  }
  EXPECT_TRUE(status.failed()) << "no error " << wanted;
  return status;
}

std::string nameOfProgram(const ::testing::TestParamInfo<SweepProgram> &info) {
  return info.param.name;
}

namespace {

Status open(TestAllocator &memory, mxrt_runtime **runtime) {
  mxrt_options options;
  mxrt_options_init(&options);
  options.allocator = memory.get();
  options.threads = 2;
  return Status(mxrt_runtime_create(&options, runtime));
}

/// The stack as addresses in this program's file, for a symbolizer.
void recordSite(const char *program, bool absorbed, const TestAllocator &memory) {
  static FILE *const file = [] {
    const char *name = std::getenv("MX_ALLOCATION_SITES");
    return name && *name ? std::fopen(name, "a") : nullptr;
  }();
  if (!file)
    return;
  std::fprintf(file, "%s %s", absorbed ? "absorbed" : "error", program);
  Dl_info own = {}, found = {};
  dladdr(reinterpret_cast<void *>(&recordSite), &own);
  for (void *address : memory.refusalTrace())
    if (dladdr(address, &found) && found.dli_fbase == own.dli_fbase)
      // The call is before the address it returns to.
      std::fprintf(
          file, " 0x%zx",
          static_cast<size_t>(static_cast<char *>(address) - static_cast<char *>(own.dli_fbase)) -
              1);
  std::fprintf(file, "\n");
  std::fflush(file);
}

} // namespace

bool AllocationSweep::failAt(TestAllocator::Fail mode, long n, const std::string &expected) {
  const SweepProgram &program = GetParam();
  TestAllocator memory(mode, n);
  memory.traceRefusal();
  mxrt_runtime *runtime = nullptr;
  Status status = open(memory, &runtime);
  std::string seen;
  if (status.ok()) {
    Stage stage(memory, runtime);
    status = program.run(stage);
    seen = stage.log();
  }
  bool failed = memory.failures() > 0;
  if (status.failed()) {
    ++errors;
    EXPECT_TRUE(failed) << "an error without cause: " << status.message();
    EXPECT_EQ(status.code(), MXRT_OUT_OF_MEMORY) << status.message();
    EXPECT_STRNE(status.message(), "");
  } else if (failed) {
    ++absorbed;
    EXPECT_STRNE(program.optional, "") << "no error";
    EXPECT_EQ(seen, expected);
  }
  if (failed)
    recordSite(program.name, status.ok(), memory);

  // Memory is back, and the same runtime does the work. (If there was none
  // for a runtime, there is one now.)
  memory.relent();
  if (n % 2) // an error may outlive what it came from
    status = success();
  if (!runtime) {
    Status again = open(memory, &runtime);
    EXPECT_TRUE(again.ok()) << again.message();
  }
  if (runtime) {
    Stage stage(memory, runtime);
    Status again = program.run(stage);
    EXPECT_TRUE(again.ok()) << "afterwards: " << again.message();
    EXPECT_EQ(stage.log(), expected) << "afterwards";
  }
  mxrt_runtime_destroy(runtime);
  status = success();
  EXPECT_EQ(memory.liveBlocks(), 0) << "leaked";
  EXPECT_EQ(memory.mistake(), "");
  return failed;
}

void AllocationSweep::sweep(TestAllocator::Fail mode) {
  std::string expected;
  long total;
  {
    TestAllocator memory;
    mxrt_runtime *runtime = nullptr;
    ASSERT_TRUE(open(memory, &runtime).ok());
    Stage stage(memory, runtime);
    Status status = GetParam().run(stage);
    ASSERT_TRUE(status.ok()) << status.message();
    expected = stage.log();
    ASSERT_NE(expected, "");
    total = memory.calls();
    mxrt_runtime_destroy(runtime);
    ASSERT_EQ(memory.liveBlocks(), 0);
    ASSERT_EQ(memory.mistake(), "");
  }
  // With threads the number of allocations may differ from run to run: on to
  // the first run that gets by without the Nth.
  for (long n = 1;; ++n) {
    SCOPED_TRACE("allocation " + std::to_string(n));
    bool failed = failAt(mode, n, expected);
    if (HasFailure() || (!failed && n > total))
      break;
    ASSERT_LE(n, 2 * total + 100) << "the sweep does not end";
  }
  EXPECT_EQ(MX_FIND_LEAKS(), 0);
  EXPECT_GT(errors, 0);
  // A reason that no longer applies must go.
  if (mode == TestAllocator::Fail::Once)
    EXPECT_EQ(absorbed > 0, *GetParam().optional != 0) << GetParam().optional;
  RecordProperty("allocations", std::to_string(total));
  RecordProperty("errors", std::to_string(errors));
  RecordProperty("absorbed", std::to_string(absorbed));
}

TEST_P(AllocationSweep, OnlyTheNthFails) { sweep(TestAllocator::Fail::Once); }
TEST_P(AllocationSweep, AllFromTheNthFail) { sweep(TestAllocator::Fail::From); }

} // namespace mxrt::test
