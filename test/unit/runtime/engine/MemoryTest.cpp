// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every allocation fails once: an error each time, nothing leaked, and the
// engine works afterwards.

#include "EngineFixture.h"

#include "../TestAllocator.h"

#include <cstring>

using namespace mxrt;
using namespace mxrt::test;

namespace {

class Memory : public testing::TestWithParam<mxrt_engine_kind> {
protected:
  /// A little of everything that allocates. Errors other than "out of memory"
  /// and those that the ops return fail the test. Returns whether any call
  /// reported that memory was short.
  bool useEngine(TestAllocator &memory, mxrt_engine *engine) {
    bool shortage = false;
    auto tell = [&](Status status, int expected = MXRT_OK) {
      int got = status.code();
      shortage |= got == MXRT_OUT_OF_MEMORY;
      EXPECT_TRUE(got == MXRT_OUT_OF_MEMORY || got == expected ||
                  (got == MXRT_OK && expected != MXRT_OK))
          << got << ": " << status.message();
      return got == MXRT_OK;
    };
    mxrt_var vars[3] = {};
    for (mxrt_var &var : vars)
      if (!tell(Status(mxrt_engine_new_var(engine, &var))))
        return true;
    mxrt_cancel *cancel = nullptr;
    tell(Status(mxrt_cancel_create(memory.get(), &cancel)));
    std::vector<char> large(9000); // an op of its own size
    for (int i = 0; i < 40; ++i) {
      mxrt_op op = {};
      op.run = [](mxrt_op_context *, void *payload) -> mxrt_status {
        auto *alloc = *static_cast<const mxrt_allocator **>(payload);
        return alloc ? error(alloc, MXRT_ASSERTION, noPlace, "number %d", 1)
                           .release()
                     : nullptr;
      };
      const mxrt_allocator *failing = i % 5 == 4 ? memory.get() : nullptr;
      std::memcpy(large.data(), &failing, sizeof failing);
      op.payload = large.data();
      op.payload_bytes = i % 7 == 0 ? large.size() : sizeof failing;
      op.writes = &vars[i % 3];
      op.write_count = 1;
      op.device = {MXRT_CPU, i % 2};
      op.name = "op";
      op.place = {"push.mx", i + 1, 1};
      op.flags = i % 4 == 0 ? MXRT_OP_OVERWRITES : 0;
      op.cancel = cancel;
      tell(Status(mxrt_engine_push(engine, &op)));
    }
    for (mxrt_var var : vars)
      tell(Status(mxrt_engine_wait(engine, var, {"wait.mx", 1, 1})),
           MXRT_ASSERTION);
    tell(Status(mxrt_engine_wait_all(engine, {"wait.mx", 2, 1})),
         MXRT_ASSERTION);
    mxrt_cancel_release(cancel);
    for (mxrt_var var : vars) // cannot fail for want of memory
      EXPECT_EQ(code(mxrt_engine_delete_var(engine, var, nullptr, nullptr)),
                MXRT_OK);
    return shortage;
  }

  /// False if the engine could not be made.
  bool runOnce(TestAllocator &memory, bool *shortage) {
    mxrt_engine_options options = {};
    options.allocator = memory.get();
    options.kind = GetParam();
    options.workers_per_device = 1;
    mxrt_engine *engine = nullptr;
    Status made(mxrt_engine_create(&options, &engine));
    if (made.failed()) {
      EXPECT_EQ(made.code(), MXRT_OUT_OF_MEMORY);
      *shortage = true;
      return false;
    }
    *shortage = useEngine(memory, engine);
    // The engine has not suffered.
    EXPECT_EQ(code(mxrt_engine_wait_all(engine, {})), MXRT_OK);
    memory.relent();
    EXPECT_FALSE(useEngine(memory, engine));
    mxrt_engine_destroy(engine);
    return true;
  }

  void failEach(TestAllocator::Fail mode) {
    TestAllocator counting;
    bool shortage = false;
    ASSERT_TRUE(runOnce(counting, &shortage));
    EXPECT_FALSE(shortage);
    // More than a clean run makes, since a failing one may differ.
    long calls = counting.calls();
    ASSERT_GT(calls, 10);
    long unreported = 0;
    for (long n = 1; n <= calls + 5; ++n) {
      TestAllocator memory(mode, n);
      runOnce(memory, &shortage);
      unreported += memory.failures() > 0 && !shortage;
      ASSERT_EQ(memory.liveBlocks(), 0) << "allocation " << n;
      ASSERT_EQ(memory.mistake(), "") << "allocation " << n;
    }
    // The text of an error that is on its way anyway may be lost without a
    // second error; everything else is reported.
    RecordProperty("unreported", std::to_string(unreported));
  }
};

TEST_P(Memory, EachAllocationFailsOnce) { failEach(TestAllocator::Fail::Once); }
TEST_P(Memory, AllAllocationsFailFromThere) {
  failEach(TestAllocator::Fail::From);
}

MXRT_BOTH_ENGINES(Memory);

} // namespace
