// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MemoryFixture.h"
#include "mxrt/dlpack.h"

namespace {

class DlpackTest : public MemoryTest {
protected:
  template <typename Managed> Managed *exported(const Ref &tensor) {
    void *out = nullptr;
    constexpr bool versioned =
        std::is_same_v<Managed, mxrt_dl_managed_versioned>;
    mxrt_status status =
        mxrt_tensor_to_dlpack(tensor.get(), versioned, &here, &out);
    EXPECT_EQ(status, nullptr) << mxrt_status_message(status);
    mxrt_status_release(status);
    return static_cast<Managed *>(out);
  }
};

TEST_F(DlpackTest, BothFormsGoOutAndComeBack) {
  Ref a = iota({3, 4});
  mxrt_tensor *raw = nullptr;
  int32_t swap[] = {1, 0};
  ASSERT_EQ(mxrt_tensor_permute(a.get(), swap, &here, &raw), nullptr);
  Ref t(raw);
  a = Ref();
  auto *plain = exported<mxrt_dl_managed>(t);
  EXPECT_EQ(plain->tensor.data, mxrt_tensor_data(t.get()));
  EXPECT_EQ(plain->tensor.rank, 2);
  EXPECT_EQ(plain->tensor.dtype.code, MXRT_DL_INT);
  EXPECT_EQ(plain->tensor.dtype.bits, 32);
  EXPECT_EQ(plain->tensor.shape[0], 4);
  EXPECT_EQ(plain->tensor.strides[0], 1);
  EXPECT_EQ(plain->tensor.device.type, MXRT_DL_CPU);
  auto *modern = exported<mxrt_dl_managed_versioned>(t);
  EXPECT_EQ(modern->version.major, 1u);
  EXPECT_EQ(modern->flags & MXRT_DL_FLAG_READ_ONLY,
            uint64_t(MXRT_DL_FLAG_READ_ONLY)); // shared with `plain`

  ASSERT_EQ(mxrt_tensor_from_dlpack(runtime, plain, 0, &here, &raw), nullptr);
  Ref b(raw);
  ASSERT_EQ(mxrt_tensor_from_dlpack(runtime, modern, 1, &here, &raw), nullptr);
  Ref c(raw);
  EXPECT_EQ(elementsOf(b), elementsOf(t));
  EXPECT_EQ(elementsOf(c), elementsOf(t));
  t = Ref(); // the imports keep the elements alive
  EXPECT_EQ(elementsOf(b)[1], 4);
  EXPECT_TRUE(mxrt_tensor_is_shared(b.get()));
}

TEST_F(DlpackTest, OnlyTheVersionedFormCanSayReadOnly) {
  Ref a = iota({3});
  Ref b(mxrt_tensor_retain(a.get()));
  void *out = nullptr;
  EXPECT_EQ(codeOf(mxrt_tensor_to_dlpack(a.get(), 0, &here, &out)),
            MXRT_UNSUPPORTED);
  EXPECT_EQ(out, nullptr);
  b = Ref();
  auto *modern = exported<mxrt_dl_managed_versioned>(a);
  EXPECT_EQ(modern->flags & MXRT_DL_FLAG_READ_ONLY, 0u);
  // While it is out, our own writes copy.
  EXPECT_TRUE(mxrt_tensor_is_shared(a.get()));
  modern->deleter(modern);
  EXPECT_FALSE(mxrt_tensor_is_shared(a.get()));
}

TEST_F(DlpackTest, EveryElementTypeHasItsCounterpart) {
  for (int type = 0; type < MXRT_DTYPE_COUNT; ++type) {
    Ref a = make(mxrt_dtype(type), {2, 0});
    auto *managed = exported<mxrt_dl_managed>(a);
    EXPECT_EQ(managed->tensor.dtype.bits, 8 * mxrt_dtype_size(mxrt_dtype(type)));
    mxrt_tensor *raw = nullptr;
    ASSERT_EQ(mxrt_tensor_from_dlpack(runtime, managed, 0, &here, &raw),
              nullptr);
    Ref b(raw);
    EXPECT_EQ(mxrt_tensor_dtype(b.get()), mxrt_dtype(type));
    EXPECT_EQ(shapeOf(b), (Shape{2, 0}));
  }
}

TEST_F(DlpackTest, ForeignStructsAreChecked) {
  float values[4] = {1, 2, 3, 4};
  int64_t shape[] = {2, 2};
  static int deleted;
  deleted = 0;
  mxrt_dl_managed good = {};
  good.tensor = {values, {MXRT_DL_CPU, 0}, 2,      {MXRT_DL_FLOAT, 32, 1},
                 shape,  nullptr,          0};
  good.deleter = [](mxrt_dl_managed *) { ++deleted; };
  mxrt_tensor *raw = nullptr;
  auto codeWith = [&](auto change) {
    mxrt_dl_managed changed = good;
    change(changed.tensor);
    mxrt_code code =
        codeOf(mxrt_tensor_from_dlpack(runtime, &changed, 0, &here, &raw));
    mxrt_tensor_release(raw);
    return code;
  };
  EXPECT_EQ(codeWith([](mxrt_dl_tensor &t) { t.dtype.lanes = 4; }), MXRT_DTYPE);
  EXPECT_EQ(codeWith([](mxrt_dl_tensor &t) { t.dtype.bits = 4; }), MXRT_DTYPE);
  EXPECT_EQ(codeWith([](mxrt_dl_tensor &t) { t.dtype.code = 5; }), MXRT_DTYPE);
  EXPECT_EQ(codeWith([](mxrt_dl_tensor &t) { t.device.type = 2; }),
            MXRT_NO_DEVICE);
  EXPECT_EQ(codeWith([](mxrt_dl_tensor &t) { t.rank = 17; }), MXRT_RANK_LIMIT);
  EXPECT_EQ(codeWith([](mxrt_dl_tensor &t) { t.rank = -1; }), MXRT_RANK_LIMIT);
  EXPECT_EQ(codeWith([](mxrt_dl_tensor &t) { t.shape = nullptr; }),
            MXRT_INVALID_ARGUMENT);
  EXPECT_EQ(codeWith([](mxrt_dl_tensor &t) { t.byte_offset = 2; }),
            MXRT_INVALID_ARGUMENT);
  EXPECT_EQ(codeWith([](mxrt_dl_tensor &t) { t.data = nullptr; }),
            MXRT_INVALID_ARGUMENT);
  EXPECT_EQ(deleted, 0); // on error the caller still owns it
  EXPECT_EQ(codeWith([](mxrt_dl_tensor &t) {
              t.byte_offset = 8;
              t.rank = 1;
            }),
            MXRT_OK);
  EXPECT_EQ(deleted, 1);

  mxrt_dl_managed_versioned modern = {};
  modern.version = {2, 0};
  modern.tensor = good.tensor;
  EXPECT_EQ(codeOf(mxrt_tensor_from_dlpack(runtime, &modern, 1, &here, &raw)),
            MXRT_UNSUPPORTED);
  modern.version = {1, 7}; // later minors are compatible; no deleter is fine
  EXPECT_EQ(codeOf(mxrt_tensor_from_dlpack(runtime, &modern, 1, &here, &raw)),
            MXRT_OK);
  mxrt_tensor_release(raw);
}

} // namespace
