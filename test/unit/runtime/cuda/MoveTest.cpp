// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors moved between CPUs and GPUs, in every schedule of the emulator.
#include "GpuFixture.h"

#include <numeric>

namespace {

constexpr uint64_t seeds[] = {0, 1, 2, 3, 4, 5};

class MoveTest : public GpuTest {
protected:
  Ref counting(mxrt_dtype type, const Shape &shape) {
    Ref made = make(type, shape);
    auto *bytes = static_cast<unsigned char *>(mxrt_tensor_data(made.get()));
    for (int64_t i = 0; i < mxrt_tensor_bytes(made.get()); ++i)
      bytes[i] = static_cast<unsigned char>(i * 7 + i / 251);
    return made;
  }
  std::vector<char> bytesOf(const Ref &tensor) {
    auto *bytes = static_cast<const char *>(mxrt_tensor_data(tensor.get()));
    return std::vector<char>(bytes, bytes + mxrt_tensor_bytes(tensor.get()));
  }
  Ref transposed(const Ref &tensor) {
    mxrt_tensor *out = nullptr;
    std::vector<int32_t> axes(size_t(mxrt_tensor_rank(tensor.get())));
    std::iota(axes.rbegin(), axes.rend(), 0);
    EXPECT_EQ(mxrt_tensor_permute(tensor.get(), axes.data(), &here, &out), nullptr);
    return Ref(out);
  }
};

TEST_F(MoveTest, ThereAndBackOfEveryTypeAndSize) {
  for (uint64_t seed : seeds) {
    restart(seed);
    for (int type = 0; type < MXRT_DTYPE_COUNT; ++type)
      for (const Shape &shape : {Shape{}, Shape{0}, Shape{1}, Shape{7}, Shape{3, 0, 2},
                                 Shape{5, 3, 7}, Shape{1, 1, 1, 1, 1, 1, 1, 2}}) {
        Ref from = counting(mxrt_dtype(type), shape);
        Ref on = moved(from, gpu0);
        Ref back = moved(on, cpu1);
        MX_OK(wait(back));
        EXPECT_EQ(bytesOf(back), bytesOf(from));
        EXPECT_EQ(mxrt_tensor_device(on.get()).kind, MXRT_CUDA);
      }
    MX_OK(waitAll());
  }
}

/// More pieces than there are pinned buffers, several at once.
TEST_F(MoveTest, LargeTensorsInPieces) {
  for (uint64_t seed : seeds) {
    restart(seed);
    Ref large = counting(MXRT_F32, {7, 512, 517}), small = counting(MXRT_U8, {3});
    Ref exact = counting(MXRT_U8, {1 << 20});
    std::vector<Ref> backs;
    for (int i = 0; i < 2; ++i)
      for (const Ref *from : {&large, &small, &exact})
        backs.push_back(moved(moved(*from, gpu0), cpu0));
    for (size_t i = 0; i < backs.size(); ++i) {
      MX_OK(wait(backs[i]));
      const Ref &from = i % 3 == 0 ? large : i % 3 == 1 ? small : exact;
      EXPECT_TRUE(bytesOf(backs[i]) == bytesOf(from)) << i << " seed " << seed;
    }
  }
}

TEST_F(MoveTest, TheSourceMayChangeAfterTheCopyWasMade) {
  for (uint64_t seed : seeds) {
    restart(seed);
    Ref from = floats({1, 2, 3});
    Ref on = moved(from, gpu0);
    mxrt_engine *engine = nullptr;
    MX_OK(mxrt_runtime_engine(runtime, nullptr, &engine));
    // The engine lets a writer in as soon as the elements are in pinned memory.
    mxrt_var variable;
    MX_OK(mxrt_tensor_variable(runtime, from.get(), &variable));
    mxrt_op op = {};
    op.run = [](mxrt_op_context *, void *data) -> mxrt_status {
      static_cast<float **>(data)[0][1] = 99;
      return nullptr;
    };
    void *data = mxrt_tensor_data(from.get());
    op.payload = &data;
    op.payload_bytes = sizeof(data);
    op.writes = &variable;
    op.write_count = 1;
    MX_OK(mxrt_engine_push(engine, &op));
    MX_OK(wait(from));
    EXPECT_EQ(elements<float>(on), (std::vector<float>{1, 2, 3}));
  }
}

TEST_F(MoveTest, ViewsOnEitherSide) {
  for (uint64_t seed : seeds) {
    restart(seed);
    Ref from = iota({6, 35});
    Ref there = moved(transposed(from), gpu0); // strided on the host
    EXPECT_EQ(elements<int32_t>(there), elementsOf(transposed(from)));
    Ref on = moved(from, gpu0);
    EXPECT_EQ(elements<int32_t>(transposed(on)), elementsOf(transposed(from))); // on the GPU
    mxrt_tensor *raw = nullptr;
    ASSERT_EQ(mxrt_tensor_slice(on.get(), 1, 33, -1, -3, &here, &raw), nullptr);
    Ref slice(raw);
    ASSERT_EQ(mxrt_tensor_slice(from.get(), 1, 33, -1, -3, &here, &raw), nullptr);
    Ref same(raw);
    EXPECT_EQ(elements<int32_t>(slice), elementsOf(same));
    EXPECT_EQ(elements<int32_t>(moved(transposed(slice), gpu1)), elementsOf(transposed(same)));
    int64_t wide[] = {3, 6, 35};
    ASSERT_EQ(mxrt_tensor_broadcast(on.get(), 3, wide, &here, &raw), nullptr);
    Ref repeated(raw);
    ASSERT_EQ(mxrt_tensor_broadcast(from.get(), 3, wide, &here, &raw), nullptr);
    EXPECT_EQ(elements<int32_t>(repeated), elementsOf(Ref(raw)));
  }
}

/// Against plain loops, for each size of elements and ranks up to the maximum.
TEST_F(MoveTest, StridedCopiesOnTheGpu) {
  for (mxrt_dtype type : {MXRT_U8, MXRT_BF16, MXRT_F32, MXRT_F64})
    for (const Shape &shape :
         {Shape{3, 5}, Shape{300, 3}, Shape{2, 3, 4, 5}, Shape(MXRT_MAX_RANK, 2), Shape{1, 9}}) {
      if (type != MXRT_U8 && shape.size() == MXRT_MAX_RANK)
        continue;
      Ref from = counting(type, shape), view = transposed(from);
      Ref copy = make(type, shapeOf(view)), on = moved(from, gpu0);
      mxrt_context context;
      ASSERT_EQ(mxrt_runtime_context(runtime, &cpu0, &here, &context), nullptr);
      ASSERT_EQ(mxrt_tensor_copy(&context, view.get(), copy.get()), nullptr);
      Ref seen = moved(moved(transposed(on), gpu0), cpu0);
      MX_OK(wait(seen));
      EXPECT_EQ(bytesOf(seen), bytesOf(copy));
    }
}

TEST_F(MoveTest, BetweenTwoGpus) {
  for (uint64_t seed : seeds) {
    restart(seed);
    Ref from = counting(MXRT_F32, {3, 999});
    Ref first = moved(from, gpu0), second = moved(first, gpu1), third = moved(second, gpu0);
    first = Ref(), second = Ref(); // freed while their copies may not have run
    EXPECT_EQ(elements<int32_t>(third), elements<int32_t>(from)); // the bits
  }
}

TEST_F(MoveTest, CopyOnWriteStaysOnTheGpu) {
  for (uint64_t seed : seeds) {
    restart(seed);
    Ref a = moved(floats({1, 2, 3, 4}), gpu0), x = moved(floats({1, 1, 1, 1}), gpu0);
    Ref b(mxrt_tensor_retain(a.get()));
    mxrt_tensor *raw = b.release();
    MX_OK(mxrt_call_prepare_write(runtime, &raw, &here));
    b = Ref(raw);
    MX_OK(saxpy(x, b, 10));
    EXPECT_EQ(elements<float>(a), (std::vector<float>{1, 2, 3, 4}));
    EXPECT_EQ(elements<float>(b), (std::vector<float>{11, 12, 13, 14}));
  }
}

TEST_F(MoveTest, TensorsMayOutliveTheirRuntime) {
  Ref on = moved(floats({1, 2, 3}), gpu0), other = moved(on, gpu1);
  MX_OK(waitAll());
  closeRuntime();
  EXPECT_NE(std::string(mxemu::cuda().mxemuLeaks()).find("device 0"), std::string::npos);
  other = Ref();
  on = Ref();
  EXPECT_STREQ(mxemu::cuda().mxemuLeaks(), "");
}

TEST_F(MoveTest, TheNaiveEngineGivesTheSame) {
  mxrt_engine_options options = {};
  options.kind = MXRT_ENGINE_NAIVE;
  mxrt_engine *engine = nullptr;
  MX_OK(mxrt_runtime_engine(runtime, &options, &engine));
  Ref x = moved(floats({1, 2, 3}), gpu0), y = moved(floats({4, 5, 6}), gpu0);
  MX_OK(saxpy(x, y, 2));
  EXPECT_EQ(elements<float>(y), (std::vector<float>{6, 9, 12}));
  MX_OK(waitAll());
}

TEST_F(MoveTest, HostWorkOnGpuMemoryIsRefused) {
  Ref on = moved(floats({1, 2}), gpu0), host = floats({1, 2});
  mxrt_tensor *writes[] = {on.get()};
  mxrt_call call = {};
  call.run = [](const mxrt_context *, const mxrt_tensor *const *, const void *) -> mxrt_status {
    return nullptr;
  };
  call.name = "fill";
  call.writes = writes;
  call.write_count = 1;
  call.device = gpu0;
  call.location = here;
  EXPECT_NE(textOf(mxrt_call_push(runtime, &call))
                .find("error[R0005]: `fill` computes on the host, which cannot access the memory "
                      "of gpu:0"),
            std::string::npos);
  call.device = cpu0;
  EXPECT_EQ(codeOf(mxrt_call_push(runtime, &call)), MXRT_WRONG_DEVICE);
  mxrt_context context;
  ASSERT_EQ(mxrt_runtime_context(runtime, &cpu0, &here, &context), nullptr);
  EXPECT_EQ(codeOf(mxrt_tensor_copy(&context, on.get(), host.get())), MXRT_WRONG_DEVICE);
  EXPECT_EQ(codeOf(mxrt_tensor_copy(&context, host.get(), on.get())), MXRT_WRONG_DEVICE);
  float data = 0;
  int64_t size = 1;
  mxrt_tensor *out = nullptr;
  EXPECT_EQ(codeOf(mxrt_tensor_borrow(runtime, &gpu0, MXRT_F32, 1, &size, nullptr, &data, 0,
                                      nullptr, nullptr, &here, &out)),
            MXRT_UNSUPPORTED);
}

} // namespace
