// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of calls: lanes, and kernels that say when a result is complete. The
// kernels here stand for a compiled backward pass: one call, several results.

#include "../memory/MemoryFixture.h"
#include "mxrt/call.h"

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>

namespace {

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

using Body =
    std::function<mxrt_status(const mxrt_context *context, const mxrt_tensor *const *tensors)>;

int32_t *dataOf(const mxrt_tensor *tensor) {
  return static_cast<int32_t *>(mxrt_tensor_data(tensor));
}

class ReadyTest : public MemoryTest, public testing::WithParamInterface<mxrt_engine_kind> {
protected:
  void SetUp() override {
    open();
    mxrt_engine_options options = {};
    options.kind = GetParam();
    options.workers_per_device = 1;
    options.max_bytes = 1000;
    ASSERT_EQ(mxrt_runtime_engine(runtime, &options, &engine), nullptr);
  }
  bool isNaive() const { return GetParam() == MXRT_ENGINE_NAIVE; }

  static mxrt_call_options announcing() {
    mxrt_call_options options;
    mxrt_call_options_init(&options);
    options.announces = 1;
    return options;
  }
  static mxrt_call_options onLane(int32_t lane) {
    mxrt_call_options options;
    mxrt_call_options_init(&options);
    options.lane = lane;
    return options;
  }

  /// `body` must outlive the call.
  mxrt_status push(const Body &body, std::vector<mxrt_tensor *> reads,
                   std::vector<mxrt_tensor *> writes, const mxrt_call_options *options) {
    const Body *argument = &body;
    mxrt_call call = {};
    call.run = [](const mxrt_context *context, const mxrt_tensor *const *tensors,
                  const void *arguments) {
      const Body *body;
      memcpy(&body, arguments, sizeof body);
      return (*body)(context, tensors);
    };
    call.name = "backward";
    call.reads = reads.data();
    call.read_count = reads.size();
    call.writes = writes.data();
    call.write_count = writes.size();
    call.arguments = &argument;
    call.argument_bytes = sizeof argument;
    call.location = here;
    return mxrt_call_push_with(runtime, &call, options);
  }
  mxrt_code wait(const Ref &tensor) {
    return codeOf(mxrt_tensor_wait(runtime, tensor.get(), &here));
  }
  uint64_t version(const mxrt_tensor *tensor) {
    mxrt_var variable = 0;
    uint64_t version = UINT64_MAX;
    EXPECT_EQ(mxrt_tensor_variable(runtime, tensor, &variable), nullptr);
    EXPECT_EQ(mxrt_engine_version(engine, variable, &version), nullptr);
    return version;
  }

  mxrt_engine *engine = nullptr;
};

TEST_P(ReadyTest, LaterFailureSparesWhatWasAnnounced) {
  Ref first = make(MXRT_I32, {3}), second = make(MXRT_I32, {3}), sum = make(MXRT_I32, {3});
  Body backward = [&](const mxrt_context *context, const mxrt_tensor *const *tensors) {
    for (int i = 0; i < 3; ++i)
      dataOf(tensors[0])[i] = 10 + i;
    if (mxrt_status failure = mxrt_ready(context, 0))
      return failure;
    return mxrt_status_make(context->allocator, MXRT_INDEX, context->location, "too late");
  };
  Body add = [](const mxrt_context *, const mxrt_tensor *const *tensors) -> mxrt_status {
    for (int i = 0; i < 3; ++i)
      dataOf(tensors[1])[i] = dataOf(tensors[0])[i] + 1;
    return nullptr;
  };
  mxrt_call_options options = announcing();
  ASSERT_EQ(push(backward, {}, {first.get(), second.get()}, &options), nullptr);
  ASSERT_EQ(push(add, {first.get()}, {sum.get()}, nullptr), nullptr);
  EXPECT_EQ(wait(sum), MXRT_OK);
  EXPECT_EQ(wait(first), MXRT_OK);
  EXPECT_EQ(wait(second), MXRT_INDEX);
  EXPECT_EQ(elementsOf(sum), (std::vector<int32_t>{11, 12, 13}));
}

TEST_P(ReadyTest, TensorsOfOneBufferAreReleasedWithTheLast) {
  Ref whole = make(MXRT_I32, {4}), other = make(MXRT_I32, {1});
  mxrt_tensor *front = nullptr, *back = nullptr;
  ASSERT_EQ(mxrt_tensor_slice(whole.get(), 0, 0, 2, 1, &here, &front), nullptr);
  ASSERT_EQ(mxrt_tensor_slice(whole.get(), 0, 2, 4, 1, &here, &back), nullptr);
  Ref frontRef(front), backRef(back);
  std::vector<uint64_t> versions;
  Body body = [&](const mxrt_context *context, const mxrt_tensor *const *tensors) {
    mxrt_status failure = nullptr;
    for (int64_t output : {0, 1, 2}) {
      for (int64_t i = 0; i < mxrt_tensor_elements(tensors[output]); ++i)
        dataOf(tensors[output])[i] = int32_t(10 * output + i);
      if ((failure = mxrt_ready(context, output)))
        break;
      versions.push_back(version(whole.get()));
      versions.push_back(version(other.get()));
    }
    return failure;
  };
  mxrt_call_options options = announcing();
  ASSERT_EQ(push(body, {}, {front, other.get(), back}, &options), nullptr);
  EXPECT_EQ(wait(whole), MXRT_OK);
  EXPECT_EQ(wait(other), MXRT_OK);
  EXPECT_EQ(codeOf(mxrt_engine_wait_all(engine, here)), MXRT_OK);
  EXPECT_EQ(versions, (std::vector<uint64_t>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(elementsOf(whole), (std::vector<int32_t>{0, 1, 20, 21}));
}

TEST_P(ReadyTest, MisuseIsAnErrorWithAReason) {
  Ref first = make(MXRT_I32, {1}), second = make(MXRT_I32, {0});
  std::vector<std::string> texts;
  Body body = [&](const mxrt_context *context, const mxrt_tensor *const *) -> mxrt_status {
    for (int64_t output : {int64_t{-1}, int64_t{2}, INT64_MAX, int64_t{1}, int64_t{1}}) {
      mxrt_status status = mxrt_ready(context, output);
      texts.push_back(status ? mxrt_status_message(status) : "");
      EXPECT_TRUE(!status || mxrt_status_code(status) == MXRT_ENGINE_USAGE);
      mxrt_status_release(status);
    }
    return nullptr;
  };
  mxrt_call_options options = announcing();
  ASSERT_EQ(push(body, {}, {first.get(), second.get()}, &options), nullptr);
  EXPECT_EQ(codeOf(mxrt_engine_wait_all(engine, here)), MXRT_OK);
  EXPECT_EQ(texts,
            (std::vector<std::string>{
                "call 'backward' says that result -1 is complete, but has 2",
                "call 'backward' says that result 2 is complete, but has 2",
                "call 'backward' says that result 9223372036854775807 is complete, but has 2", "",
                "call 'backward' says twice that result 1 is complete"}));
  EXPECT_EQ(version(first.get()), 1u);
  EXPECT_EQ(version(second.get()), 1u);
}

TEST_P(ReadyTest, WithoutAHookNothingHappens) {
  Ref out = make(MXRT_I32, {1});
  uint64_t seen = UINT64_MAX;
  Body body = [&](const mxrt_context *context, const mxrt_tensor *const *tensors) {
    mxrt_status status = mxrt_ready(context, 0);
    seen = version(tensors[0]);
    return status ? status : mxrt_ready(context, 7);
  };
  ASSERT_EQ(push(body, {}, {out.get()}, nullptr), nullptr);
  EXPECT_EQ(wait(out), MXRT_OK);
  EXPECT_EQ(seen, 0u);
  EXPECT_EQ(mxrt_ready(&context, 0), nullptr);
  mxrt_context plain;
  mxrt_context_init(&plain);
  EXPECT_EQ(mxrt_ready(&plain, 0), nullptr);
}

TEST_P(ReadyTest, ChunksHaveNoHookAndShortContextsWillDo) {
  Ref out = make(MXRT_I32, {1000});
  std::vector<uint64_t> versions;
  Body body = [&](const mxrt_context *context, const mxrt_tensor *const *tensors) {
    // Compiled code gives its kernels the first 64 bytes; ASan sees if more is read.
    auto copy = std::make_unique<char[]>(64);
    memcpy(copy.get(), context, 64);
    auto *kernelContext = reinterpret_cast<const mxrt_context *>(copy.get());
    auto fill = [](void *user, int64_t begin, int64_t end, int64_t, const mxrt_context *chunk) {
      for (int64_t i = begin; i < end; ++i)
        static_cast<int32_t *>(user)[i] = int32_t(i);
      return mxrt_ready(chunk, 0); // too early, and not heard
    };
    mxrt_status status = mxrt_parallel_for(kernelContext, 1000, 10, fill, dataOf(tensors[0]));
    if (!status)
      status = mxrt_parallel_for(kernelContext, 1, 1, fill, dataOf(tensors[0])); // inline
    versions.push_back(version(tensors[0]));
    if (!status)
      status = mxrt_ready(context, 0);
    versions.push_back(version(tensors[0]));
    return status;
  };
  mxrt_call_options options = announcing();
  ASSERT_EQ(push(body, {}, {out.get()}, &options), nullptr);
  EXPECT_EQ(codeOf(mxrt_engine_wait_all(engine, here)), MXRT_OK);
  EXPECT_EQ(versions, (std::vector<uint64_t>{0, 1}));
  EXPECT_EQ(elementsOf(out)[999], 999);
}

TEST_P(ReadyTest, OlderCallersContextsAndOptionsAreShorter) {
  mxrt_context all;
  memset(static_cast<void *>(&all), 0xAB, sizeof all);
  mxrt_context_init(&all);
  for (size_t i = 64; i < sizeof all; ++i)
    ASSERT_EQ(reinterpret_cast<unsigned char *>(&all)[i], 0xAB);
  ASSERT_EQ(mxrt_runtime_context(runtime, &cpu0, &here, &all), nullptr);
  for (size_t i = 64; i < sizeof all; ++i)
    ASSERT_EQ(reinterpret_cast<unsigned char *>(&all)[i], 0xAB);
  EXPECT_EQ(mxrt_ready(&all, 0), nullptr);

  Ref out = make(MXRT_I32, {1});
  Body body = [&](const mxrt_context *, const mxrt_tensor *const *) -> mxrt_status {
    return nullptr;
  };
  mxrt_call_options options = onLane(77);
  options.struct_size = offsetof(mxrt_call_options, lane);
  EXPECT_EQ(push(body, {}, {out.get()}, &options), nullptr) << "77 is not part of it";
  options.struct_size = sizeof options;
  EXPECT_EQ(codeOf(push(body, {}, {out.get()}, &options)), MXRT_ENGINE_USAGE);
  EXPECT_EQ(wait(out), MXRT_OK);
}

TEST_P(ReadyTest, WritingInLocationTakesNoRoom) {
  // 4,000 bytes, four times the limit: only the call that makes them counts.
  Ref tensor = make(MXRT_I32, {1000});
  Gate gate;
  int sum = 0;
  Body first = [&](const mxrt_context *, const mxrt_tensor *const *) -> mxrt_status {
    if (!isNaive())
      gate.pass();
    return nullptr;
  };
  Body update = [&](const mxrt_context *, const mxrt_tensor *const *) -> mxrt_status {
    ++sum;
    return nullptr;
  };
  ASSERT_EQ(push(first, {}, {tensor.get()}, nullptr), nullptr);
  mxrt_engine_stats before, after;
  mxrt_engine_get_stats(engine, &before);
  for (int i = 0; i < 100; ++i) // would wait for ever if it had to
    ASSERT_EQ(push(update, {}, {tensor.get()}, nullptr), nullptr);
  mxrt_engine_get_stats(engine, &after);
  EXPECT_EQ(after.throttled, 0u);
  EXPECT_EQ(before.bytes_in_flight, isNaive() ? 0u : 4000u);
  EXPECT_EQ(after.bytes_in_flight, before.bytes_in_flight);
  gate.open();
  EXPECT_EQ(wait(tensor), MXRT_OK);
  EXPECT_EQ(sum, 100);
}

TEST_P(ReadyTest, LanesHaveWorkersOfTheirOwn) {
  Ref slow = make(MXRT_I32, {1}), sent = make(MXRT_I32, {1}), copied = make(MXRT_I32, {1});
  Gate gate;
  std::atomic<uint32_t> holds[3] = {7u, 7u, 7u};
  Body compute = [&](const mxrt_context *context, const mxrt_tensor *const *) -> mxrt_status {
    holds[0] = context->holds_thread;
    if (!isNaive())
      gate.pass();
    return nullptr;
  };
  Body send = [&](const mxrt_context *context, const mxrt_tensor *const *) -> mxrt_status {
    holds[1] = context->holds_thread;
    return nullptr;
  };
  Body copy = [&](const mxrt_context *context, const mxrt_tensor *const *) -> mxrt_status {
    holds[2] = context->holds_thread;
    return nullptr;
  };
  mxrt_call_options communication = onLane(MXRT_LANE_COMMUNICATION),
                    copies = onLane(MXRT_LANE_COPY);
  ASSERT_EQ(push(compute, {}, {slow.get()}, nullptr), nullptr);
  // The only worker of the device is busy.
  ASSERT_EQ(push(send, {}, {sent.get()}, &communication), nullptr);
  ASSERT_EQ(push(copy, {sent.get()}, {copied.get()}, &copies), nullptr);
  EXPECT_EQ(wait(copied), MXRT_OK);
  gate.open();
  EXPECT_EQ(wait(slow), MXRT_OK);
  EXPECT_EQ(holds[0], 1u);
  EXPECT_EQ(holds[1], 0u) << "these workers do not count in the budget";
  EXPECT_EQ(holds[2], 0u);
}

TEST_P(ReadyTest, BackwardPassAndExchangeOverlap) {
  // Gradients leave from the last layer to the first; each is exchanged on the
  // communication lane and applied in place, while the pass is at the next one.
  if (isNaive())
    return;
  constexpr int layers = 6;
  std::vector<Ref> gradients, weights;
  std::vector<mxrt_tensor *> results;
  for (int i = 0; i < layers; ++i) {
    gradients.push_back(make(MXRT_I32, {8}));
    weights.push_back(iota({8}));
    results.push_back(gradients.back().get());
  }
  Gate applied[layers];
  int applications = 0, seen = 0;
  Body backward = [&](const mxrt_context *context,
                      const mxrt_tensor *const *tensors) -> mxrt_status {
    for (int layer = layers; layer-- > 0;) {
      for (int i = 0; i < 8; ++i)
        dataOf(tensors[layer])[i] = layer + 1;
      if (mxrt_status failure = mxrt_ready(context, layer))
        return failure;
      applied[layer].pass(); // it is exchanged and applied while this runs
      ++seen;
    }
    return nullptr;
  };
  Body exchange = [&](const mxrt_context *, const mxrt_tensor *const *tensors) -> mxrt_status {
    for (int i = 0; i < 8; ++i)
      dataOf(tensors[0])[i] *= 2; // two workers, the same gradient
    return nullptr;
  };
  std::vector<Body> applies;
  for (int layer = 0; layer < layers; ++layer)
    applies.push_back(
        [&, layer](const mxrt_context *, const mxrt_tensor *const *tensors) -> mxrt_status {
          for (int i = 0; i < 8; ++i)
            dataOf(tensors[1])[i] -= dataOf(tensors[0])[i];
          ++applications;
          applied[layer].open();
          return nullptr;
        });
  mxrt_call_options options = announcing(), lane = onLane(MXRT_LANE_COMMUNICATION);
  ASSERT_EQ(push(backward, {}, results, &options), nullptr);
  for (int layer = layers; layer-- > 0;) {
    auto l = static_cast<size_t>(layer);
    ASSERT_EQ(push(exchange, {}, {gradients[l].get()}, &lane), nullptr);
    ASSERT_EQ(push(applies[l], {gradients[l].get()}, {weights[l].get()}, &lane), nullptr);
  }
  ASSERT_EQ(codeOf(mxrt_engine_wait_all(engine, here)), MXRT_OK);
  EXPECT_EQ(applications, layers);
  EXPECT_EQ(seen, layers);
  for (int layer = 0; layer < layers; ++layer)
    EXPECT_EQ(elementsOf(weights[static_cast<size_t>(layer)])[3], 3 - 2 * (layer + 1));
}

INSTANTIATE_TEST_SUITE_P(Kinds, ReadyTest, testing::Values(MXRT_ENGINE_NAIVE, MXRT_ENGINE_THREADED),
                         [](const testing::TestParamInfo<mxrt_engine_kind> &info) {
                           return info.param == MXRT_ENGINE_NAIVE ? "Naive" : "Threaded";
                         });

} // namespace
