// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MemoryFixture.h"

namespace {

class TensorTest : public MemoryTest {
protected:
  /// What the eager executor does for a write, without the engine.
  bool writeFirst(Ref &tensor, int32_t value) {
    mxrt_tensor *raw = tensor.release(), *from = nullptr;
    EXPECT_EQ(mxrt_tensor_prepare_write(runtime, &raw, &here, &from), nullptr);
    tensor = Ref(raw);
    bool copied = from != nullptr;
    if (copied) {
      EXPECT_EQ(mxrt_tensor_copy(&context, from, raw), nullptr);
      mxrt_tensor_release(from);
    }
    static_cast<int32_t *>(mxrt_tensor_data(raw))[0] = value;
    return copied;
  }
  static Ref share(const Ref &tensor) {
    return Ref(mxrt_tensor_retain(tensor.get()));
  }
  static int32_t first(const Ref &tensor) {
    return static_cast<int32_t *>(mxrt_tensor_data(tensor.get()))[0];
  }
};

TEST_F(TensorTest, EveryElementTypeAndAlignment) {
  const int64_t sizes[] = {1, 1, 1, 4, 8, 2, 2, 4, 8};
  const char *names[] = {"bool", "i8",   "u8",  "i32", "i64",
                         "f16",  "bf16", "f32", "f64"};
  for (int type = 0; type < MXRT_DTYPE_COUNT; ++type) {
    EXPECT_EQ(mxrt_dtype_size(mxrt_dtype(type)), sizes[type]);
    EXPECT_STREQ(mxrt_dtype_name(mxrt_dtype(type)), names[type]);
    for (int64_t n : {0, 1, 3, 100, 100000}) {
      Ref tensor = make(mxrt_dtype(type), {n});
      EXPECT_EQ(mxrt_tensor_bytes(tensor.get()), n * sizes[type]);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(mxrt_tensor_data(tensor.get())) %
                    MXRT_ALIGNMENT,
                0u);
    }
  }
  EXPECT_STREQ(mxrt_dtype_name(mxrt_dtype(77)), "?");
  EXPECT_EQ(mxrt_dtype_size(mxrt_dtype(-1)), 0);
}

TEST_F(TensorTest, RankZeroAndEmptyTensors) {
  Ref scalar = make(MXRT_I32, {});
  EXPECT_EQ(mxrt_tensor_elements(scalar.get()), 1);
  EXPECT_EQ(mxrt_tensor_rank(scalar.get()), 0);
  EXPECT_TRUE(mxrt_tensor_is_dense(scalar.get()));
  EXPECT_FALSE(writeFirst(scalar, 5));
  Ref empty = make(MXRT_F32, {3, 0, 4});
  EXPECT_EQ(mxrt_tensor_elements(empty.get()), 0);
  EXPECT_EQ(mxrt_tensor_bytes(empty.get()), 0);
  EXPECT_EQ(shapeOf(empty), (Shape{3, 0, 4}));
  char text[64];
  EXPECT_EQ(mxrt_tensor_describe(scalar.get(), text, sizeof(text)), 5u);
  EXPECT_STREQ(text, "i32[]");
  mxrt_tensor_describe(empty.get(), text, sizeof(text));
  EXPECT_STREQ(text, "f32[3, 0, 4]");
  mxrt_tensor_describe(empty.get(), text, 9);
  EXPECT_STREQ(text, "f32[3...");
}

TEST_F(TensorTest, AWriteToAnUnsharedTensorIsInPlace) {
  Ref a = iota({4});
  void *before = mxrt_tensor_data(a.get());
  EXPECT_FALSE(writeFirst(a, 9));
  EXPECT_EQ(mxrt_tensor_data(a.get()), before);
}

TEST_F(TensorTest, AWriteToASharedTensorCopiesFirst) {
  Ref a = iota({4});
  Ref b = share(a);
  EXPECT_TRUE(mxrt_tensor_is_shared(a.get()));
  EXPECT_TRUE(writeFirst(b, 9));
  EXPECT_EQ(first(a), 0);
  EXPECT_EQ(first(b), 9);
  EXPECT_FALSE(writeFirst(a, 7)); // now nobody shares
  EXPECT_FALSE(writeFirst(b, 8));
}

TEST_F(TensorTest, ViewsShareWithoutVisibleAliasing) {
  Ref a = iota({4, 3});
  mxrt_tensor *raw = nullptr;
  ASSERT_EQ(mxrt_tensor_slice(a.get(), 0, 1, 3, 1, &here, &raw), nullptr);
  Ref row(raw);
  EXPECT_TRUE(writeFirst(row, 100)); // through the view
  EXPECT_EQ(elementsOf(a)[3], 3);
  EXPECT_EQ(first(row), 100);
  int32_t swap[] = {1, 0};
  ASSERT_EQ(mxrt_tensor_permute(a.get(), swap, &here, &raw), nullptr);
  Ref transposed(raw);
  EXPECT_TRUE(writeFirst(a, 200)); // under the view
  EXPECT_EQ(first(transposed), 0);
  EXPECT_EQ(first(a), 200);
  EXPECT_FALSE(writeFirst(transposed, 300)); // the last one left
}

TEST_F(TensorTest, WorkInFlightDoesNotMakeATensorShared) {
  Ref a = iota({4});
  mxrt_buffer *buffer = mxrt_buffer_retain(mxrt_tensor_buffer(a.get()));
  EXPECT_FALSE(writeFirst(a, 1));
  // ... but it keeps the memory.
  a = Ref();
  EXPECT_EQ(static_cast<int32_t *>(mxrt_buffer_data(buffer))[0], 1);
  EXPECT_EQ(mxrt_buffer_bytes(buffer), 16);
  EXPECT_EQ(stats().live_blocks, 1);
  mxrt_buffer_release(buffer);
  EXPECT_EQ(stats().live_blocks, 0);
}

TEST_F(TensorTest, TargetsOfAWriteAreNotOwners) {
  Ref a = iota({4, 3});
  mxrt_tensor *raw = nullptr;
  ASSERT_EQ(mxrt_tensor_target(a.get(), &raw), nullptr);
  Ref target(raw);
  ASSERT_EQ(mxrt_tensor_select(target.get(), 0, 2, &here, &raw), nullptr);
  Ref row(raw);
  EXPECT_FALSE(mxrt_tensor_is_shared(a.get()));
  EXPECT_EQ(elementsOf(row), (std::vector<int32_t>{6, 7, 8}));
  EXPECT_FALSE(writeFirst(a, 50));
}

TEST_F(TensorTest, AViewThatRepeatsElementsIsNeverWrittenInPlace) {
  Ref a = iota({1});
  mxrt_tensor *raw = nullptr;
  int64_t wide[] = {5};
  ASSERT_EQ(mxrt_tensor_broadcast(a.get(), 1, wide, &here, &raw), nullptr);
  a = Ref();
  Ref b(raw);
  EXPECT_TRUE(writeFirst(b, 9));
  EXPECT_EQ(elementsOf(b), (std::vector<int32_t>{9, 0, 0, 0, 0}));
}

TEST_F(TensorTest, SelfOverlapIsRecognised) {
  auto overlaps = [](Shape sizes, Shape strides) {
    return mxrt::overlapsItself(int32_t(sizes.size()), sizes.data(),
                                strides.data());
  };
  EXPECT_FALSE(overlaps({}, {}));
  EXPECT_FALSE(overlaps({3, 4}, {4, 1}));
  EXPECT_FALSE(overlaps({4, 3}, {1, 4}));
  EXPECT_FALSE(overlaps({3, 4}, {-4, -1}));
  EXPECT_FALSE(overlaps({3, 1}, {1, 0}));
  EXPECT_FALSE(overlaps({0, 5}, {0, 0}));
  EXPECT_TRUE(overlaps({2}, {0}));
  EXPECT_TRUE(overlaps({3, 4}, {3, 1}));
  EXPECT_TRUE(overlaps({3, 4}, {0, 1}));
}

TEST_F(TensorTest, BorrowedMemoryIsReleasedOnceAtTheEnd) {
  static int released;
  released = 0;
  int32_t values[] = {1, 2, 3};
  int64_t shape = 3;
  mxrt_tensor *raw = nullptr;
  auto release = [](void *user) { released += *static_cast<int32_t *>(user); };
  ASSERT_EQ(mxrt_tensor_borrow(runtime, &cpu0, MXRT_I32, 1, &shape, nullptr,
                               values, 0, release, values, &here, &raw),
            nullptr);
  Ref a(raw);
  EXPECT_EQ(mxrt_tensor_data(a.get()), values);
  ASSERT_EQ(mxrt_tensor_slice(a.get(), 0, 2, -1, -1, &here, &raw), nullptr);
  Ref reversed(raw);
  a = Ref();
  EXPECT_EQ(released, 0);
  EXPECT_EQ(elementsOf(reversed), (std::vector<int32_t>{3, 2, 1}));
  EXPECT_TRUE(writeFirst(reversed, 70)); // read-only: copies, then lets go
  EXPECT_EQ(released, 1);
  EXPECT_EQ(values[2], 3);
}

TEST_F(TensorTest, WritableBorrowedMemoryIsWritten) {
  int32_t values[] = {1, 2, 3};
  int64_t shape = 3;
  mxrt_tensor *raw = nullptr;
  ASSERT_EQ(mxrt_tensor_borrow(runtime, &cpu0, MXRT_I32, 1, &shape, nullptr,
                               values, MXRT_BORROW_WRITABLE, nullptr, nullptr,
                               &here, &raw),
            nullptr);
  Ref a(raw);
  EXPECT_FALSE(writeFirst(a, 70));
  EXPECT_EQ(values[0], 70);
}

TEST_F(TensorTest, BorrowRefusesWhatItCannotUse) {
  alignas(8) char bytes[64] = {};
  int64_t shape = 3;
  mxrt_tensor *raw = nullptr;
  static int released;
  released = 0;
  auto release = [](void *) { ++released; };
  auto borrow = [&](void *data, mxrt_device device) {
    return codeOf(mxrt_tensor_borrow(runtime, &device, MXRT_F64, 1, &shape,
                                     nullptr, data, 0, release, nullptr, &here,
                                     &raw));
  };
  EXPECT_EQ(borrow(bytes + 4, cpu0), MXRT_INVALID_ARGUMENT);
  EXPECT_EQ(borrow(nullptr, cpu0), MXRT_INVALID_ARGUMENT);
  EXPECT_EQ(borrow(bytes, {MXRT_CPU, 5}), MXRT_NO_DEVICE);
  EXPECT_EQ(raw, nullptr);
  EXPECT_EQ(released, 0);
  shape = 0;
  EXPECT_EQ(borrow(nullptr, cpu0), MXRT_OK);
  mxrt_tensor_release(raw);
  EXPECT_EQ(released, 1);
}

TEST_F(TensorTest, TheEnginesVariableLivesWithTheBuffer) {
  static int dropped;
  dropped = 0;
  int first, second;
  auto drop = [](void *) { ++dropped; };
  Ref a = iota({4});
  mxrt_buffer *buffer = mxrt_tensor_buffer(a.get());
  EXPECT_EQ(mxrt_buffer_variable(buffer), nullptr);
  EXPECT_EQ(mxrt_buffer_set_variable(buffer, &first, drop), &first);
  EXPECT_EQ(mxrt_buffer_set_variable(buffer, &second, drop), &first);
  EXPECT_EQ(mxrt_buffer_variable(buffer), &first);
  Ref b = share(a);
  a = Ref();
  EXPECT_EQ(dropped, 0);
  b = Ref();
  EXPECT_EQ(dropped, 1);
}

} // namespace
