// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that uses all of memory/, run again and again with the Nth
// allocation failing, for every N. Each time there must be an error, nothing
// may leak, and the same runtime must then do the work.

#include "MemoryFixture.h"
#include "mxrt/dlpack.h"
#include "mxrt/random.h"

namespace {

using mxrt::Status;
using mxrt::success;
using mxrt::TensorRef;

Status fillAndReverse(mxrt_runtime *runtime, const mxrt_context *context,
                      int64_t *result) {
  int64_t shape[] = {6, 50};
  mxrt_tensor *raw = nullptr;
  MXRT_CHECK(Status(mxrt_tensor_create(runtime, &cpu0, MXRT_I32, 2, shape,
                                       &here, &raw)));
  TensorRef a(raw);
  mxrt_rng rng;
  mxrt_rng_seed(&rng, 3);
  MXRT_CHECK(Status(mxrt_random_uniform_i32(
      context, &rng, 0, 100, 300,
      static_cast<int32_t *>(mxrt_tensor_data(a.get())))));
  MXRT_CHECK(
      Status(mxrt_tensor_slice(a.get(), 1, 49, -1, -1, &here, &raw)));
  TensorRef reversed(raw);
  MXRT_CHECK(Status(mxrt_tensor_select(reversed.get(), 0, 2, &here, &raw)));
  TensorRef row(raw);
  MXRT_CHECK(Status(mxrt_tensor_expand(row.get(), 0, &here, &raw)));
  TensorRef wide(raw);
  int64_t shape4[] = {4, 50};
  MXRT_CHECK(
      Status(mxrt_tensor_broadcast(wide.get(), 2, shape4, &here, &raw)));
  TensorRef repeated(raw);
  int32_t swap[] = {1, 0};
  MXRT_CHECK(Status(mxrt_tensor_permute(repeated.get(), swap, &here, &raw)));
  TensorRef transposed(raw);
  // Write to the shared, repeated view: needs a copy.
  raw = transposed.release();
  mxrt_tensor *from = nullptr;
  Status prepared(mxrt_tensor_prepare_write(runtime, &raw, &here, &from));
  transposed = TensorRef(raw);
  TensorRef source(from);
  MXRT_CHECK(std::move(prepared));
  MXRT_CHECK(
      Status(mxrt_tensor_copy(context, source.get(), transposed.get())));
  int64_t flatShape[] = {200};
  MXRT_CHECK(
      Status(mxrt_tensor_reshape(transposed.get(), 1, flatShape, &here, &raw)));
  TensorRef flat(raw);
  const auto *data = static_cast<int32_t *>(mxrt_tensor_data(flat.get()));
  for (int i = 0; i < 200; ++i)
    *result += data[i] * (i + 1);
  return success();
}

Status exchangeAndLease(mxrt_runtime *runtime, int64_t *result) {
  int64_t shape = 10;
  mxrt_tensor *raw = nullptr;
  mxrt_place elsewhere = {"a_second_file.mx", 99, 1};
  MXRT_CHECK(Status(mxrt_tensor_create(runtime, &cpu1, MXRT_I64, 1, &shape,
                                       &elsewhere, &raw)));
  TensorRef a(raw);
  auto *data = static_cast<int64_t *>(mxrt_tensor_data(a.get()));
  for (int64_t i = 0; i < shape; ++i)
    data[i] = i;
  void *managed = nullptr;
  MXRT_CHECK(Status(mxrt_tensor_to_dlpack(a.get(), 1, &here, &managed)));
  Status imported(
      mxrt_tensor_from_dlpack(runtime, managed, 1, &here, &raw));
  if (imported.failed()) {
    auto *modern = static_cast<mxrt_dl_managed_versioned *>(managed);
    modern->deleter(modern);
    return imported;
  }
  TensorRef b(raw);
  MXRT_CHECK(Status(mxrt_tensor_target(b.get(), &raw)));
  TensorRef target(raw);
  *result += static_cast<int64_t *>(mxrt_tensor_data(target.get()))[9];
  mxrt_arena arena;
  MXRT_CHECK(
      Status(mxrt_arena_lease(runtime, &cpu0, 5000, "graph", &here, &arena)));
  mxrt_arena_return(&arena);
  return success();
}

Status program(mxrt_runtime *runtime, int64_t *result) {
  *result = 0;
  mxrt_context context;
  MXRT_CHECK(
      Status(mxrt_runtime_context(runtime, &cpu0, &here, &context)));
  MXRT_CHECK(fillAndReverse(runtime, &context, result));
  return exchangeAndLease(runtime, result);
}

Status openAndRun(const mxrt_allocator *alloc, mxrt_runtime **runtime,
                  int64_t *result) {
  mxrt_options options;
  mxrt_options_init(&options);
  options.allocator = alloc;
  options.threads = 2;
  MXRT_CHECK(Status(mxrt_runtime_create(&options, runtime)));
  return program(*runtime, result);
}

class AllocationFailure : public ::testing::TestWithParam<TestAllocator::Fail> {
};

TEST_P(AllocationFailure, EveryAllocationInTurn) {
  int64_t expected = 0;
  long total;
  {
    TestAllocator alloc;
    mxrt_runtime *runtime = nullptr;
    ASSERT_TRUE(openAndRun(alloc.get(), &runtime, &expected).ok());
    total = alloc.calls();
    mxrt_runtime_destroy(runtime);
    ASSERT_EQ(alloc.liveBlocks(), 0);
  }
  ASSERT_NE(expected, 0);
  long errors = 0, survived = 0;
  for (long n = 1; n <= total; ++n) {
    TestAllocator alloc(GetParam(), n);
    mxrt_runtime *runtime = nullptr;
    int64_t result = 0;
    {
      Status status = openAndRun(alloc.get(), &runtime, &result);
      if (status.failed()) {
        ++errors;
        EXPECT_EQ(status.code(), MXRT_OUT_OF_MEMORY) << n;
        EXPECT_STRNE(status.message(), "");
      } else {
        // Tables of statistics may do without; results may not differ.
        ++survived;
        EXPECT_EQ(result, expected) << n;
      }
      EXPECT_GE(alloc.failures(), 1);
    }
    // The runtime, if it came to be, is usable afterwards.
    alloc.relent();
    if (runtime) {
      Status again = program(runtime, &result);
      ASSERT_TRUE(again.ok()) << n << ": " << again.message();
      EXPECT_EQ(result, expected) << n;
      mxrt_runtime_destroy(runtime);
    }
    ASSERT_EQ(alloc.liveBlocks(), 0) << n;
    ASSERT_EQ(alloc.mistake(), "") << n;
  }
  RecordProperty("allocations", int(total));
  RecordProperty("errors", int(errors));
  EXPECT_GT(errors, total / 2);
  if (GetParam() == TestAllocator::Fail::From) {
    EXPECT_LE(survived, 4); // only the last few are optional
  }
}

INSTANTIATE_TEST_SUITE_P(OnceAndFrom, AllocationFailure,
                         ::testing::Values(TestAllocator::Fail::Once,
                                           TestAllocator::Fail::From),
                         [](const auto &info) {
                           return info.param == TestAllocator::Fail::Once
                                      ? "Once"
                                      : "From";
                         });

} // namespace
