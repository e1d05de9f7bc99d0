// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MemoryFixture.h"

namespace {

using Numbers = std::vector<int32_t>;

class ViewsTest : public MemoryTest {
protected:
  Ref slice(const Ref &base, int32_t axis, int64_t begin, int64_t end,
            int64_t step) {
    mxrt_tensor *out = nullptr;
    mxrt_status status =
        mxrt_tensor_slice(base.get(), axis, begin, end, step, &here, &out);
    EXPECT_EQ(status, nullptr) << mxrt_status_message(status);
    mxrt_status_release(status);
    return Ref(out);
  }
  mxrt_code sliceCode(const Ref &base, int32_t axis, int64_t begin, int64_t end,
                      int64_t step) {
    mxrt_tensor *out = nullptr;
    mxrt_code code = codeOf(
        mxrt_tensor_slice(base.get(), axis, begin, end, step, &here, &out));
    EXPECT_EQ(out == nullptr, code != MXRT_OK);
    mxrt_tensor_release(out);
    return code;
  }
  Ref permute(const Ref &base, std::vector<int32_t> axes) {
    mxrt_tensor *out = nullptr;
    EXPECT_EQ(mxrt_tensor_permute(base.get(), axes.data(), &here, &out),
              nullptr);
    return Ref(out);
  }
  Ref reshape(const Ref &base, Shape shape) {
    mxrt_tensor *out = nullptr;
    EXPECT_EQ(mxrt_tensor_reshape(base.get(), int32_t(shape.size()),
                                  shape.data(), &here, &out),
              nullptr);
    return Ref(out);
  }
};

TEST_F(ViewsTest, Slices) {
  Ref a = iota({2, 5});
  EXPECT_EQ(elementsOf(slice(a, 1, 1, 4, 1)), (Numbers{1, 2, 3, 6, 7, 8}));
  EXPECT_EQ(elementsOf(slice(a, -1, 0, 5, 2)), (Numbers{0, 2, 4, 5, 7, 9}));
  EXPECT_EQ(elementsOf(slice(a, 1, 4, -1, -2)), (Numbers{4, 2, 0, 9, 7, 5}));
  EXPECT_EQ(elementsOf(slice(a, 0, 1, 2, 7)), (Numbers{5, 6, 7, 8, 9}));
  Ref none = slice(a, 1, 5, 5, 1);
  EXPECT_EQ(shapeOf(none), (Shape{2, 0}));
  EXPECT_EQ(mxrt_tensor_elements(none.get()), 0);
  EXPECT_EQ(elementsOf(slice(a, 1, 0, 5, INT64_MAX)), (Numbers{0, 5}));
  // A slice of a slice of a reversed view.
  Ref reversed = slice(a, 1, 4, -1, -1);
  EXPECT_EQ(elementsOf(slice(reversed, 1, 1, 5, 2)), (Numbers{3, 1, 8, 6}));
}

TEST_F(ViewsTest, SlicesAreNeverClamped) {
  Ref a = iota({5});
  for (auto [begin, end, step] :
       {std::tuple<int64_t, int64_t, int64_t>{-1, 3, 1},
        {0, 6, 1},
        {3, 2, 1},
        {6, 6, 1},
        {0, 5, 0},
        {5, 0, -1},
        {0, 1, -1},
        {4, -2, -1},
        {4, -1, INT64_MIN},
        {INT64_MIN, INT64_MAX, 1},
        {0, INT64_MAX, 1}})
    EXPECT_EQ(sliceCode(a, 0, begin, end, step), MXRT_INDEX)
        << begin << ":" << end << ":" << step;
  EXPECT_EQ(sliceCode(a, 1, 0, 1, 1), MXRT_INDEX);
  EXPECT_EQ(sliceCode(a, -2, 0, 1, 1), MXRT_INDEX);
  mxrt_tensor *out = nullptr;
  mxrt_status status = mxrt_tensor_slice(a.get(), 0, 2, 9, 1, &here, &out);
  EXPECT_STREQ(mxrt_status_message(status),
               "slice 2:9:1 of axis 0 of i32[5] is out of range");
  EXPECT_EQ(mxrt_status_location(status).line, 12);
  mxrt_status_release(status);
  Ref scalar = iota({});
  EXPECT_EQ(sliceCode(scalar, 0, 0, 1, 1), MXRT_INDEX);
}

TEST_F(ViewsTest, SelectAndExpand) {
  Ref a = iota({2, 3});
  mxrt_tensor *out = nullptr;
  ASSERT_EQ(mxrt_tensor_select(a.get(), -1, 2, &here, &out), nullptr);
  Ref column(out);
  EXPECT_EQ(elementsOf(column), (Numbers{2, 5}));
  ASSERT_EQ(mxrt_tensor_select(column.get(), 0, 1, &here, &out), nullptr);
  Ref scalar(out);
  EXPECT_EQ(shapeOf(scalar), Shape{});
  EXPECT_EQ(elementsOf(scalar), Numbers{5});
  for (int64_t index : {int64_t(-1), int64_t(2), INT64_MAX})
    EXPECT_EQ(codeOf(mxrt_tensor_select(a.get(), 0, index, &here, &out)),
              MXRT_INDEX);
  EXPECT_EQ(codeOf(mxrt_tensor_select(scalar.get(), 0, 0, &here, &out)),
            MXRT_INDEX);
  for (auto [axis, shape] :
       {std::pair<int32_t, Shape>{0, {1, 2, 3}}, {2, {2, 3, 1}},
        {-1, {2, 3, 1}}, {-3, {1, 2, 3}}, {1, {2, 1, 3}}}) {
    ASSERT_EQ(mxrt_tensor_expand(a.get(), axis, &here, &out), nullptr);
    Ref wide(out);
    EXPECT_EQ(shapeOf(wide), shape);
    EXPECT_EQ(elementsOf(wide), elementsOf(a));
  }
  EXPECT_EQ(codeOf(mxrt_tensor_expand(a.get(), 3, &here, &out)), MXRT_INDEX);
}

TEST_F(ViewsTest, Permute) {
  Ref a = iota({2, 3, 2});
  Ref t = permute(a, {2, 0, 1});
  EXPECT_EQ(shapeOf(t), (Shape{2, 2, 3}));
  EXPECT_EQ(elementsOf(t), (Numbers{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11}));
  EXPECT_FALSE(mxrt_tensor_is_dense(t.get()));
  mxrt_tensor *out = nullptr;
  for (std::vector<int32_t> bad :
       {std::vector<int32_t>{0, 0, 1}, {0, 1, 3}, {-1, 0, 1}})
    EXPECT_EQ(codeOf(mxrt_tensor_permute(a.get(), bad.data(), &here, &out)),
              MXRT_INDEX);
}

TEST_F(ViewsTest, Broadcast) {
  Ref a = iota({3, 1});
  mxrt_tensor *out = nullptr;
  int64_t wide[] = {2, 3, 2};
  ASSERT_EQ(mxrt_tensor_broadcast(a.get(), 3, wide, &here, &out), nullptr);
  Ref b(out);
  EXPECT_EQ(elementsOf(b), (Numbers{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}));
  int64_t zero[] = {3, 0};
  ASSERT_EQ(mxrt_tensor_broadcast(a.get(), 2, zero, &here, &out), nullptr);
  Ref none(out);
  EXPECT_EQ(mxrt_tensor_elements(none.get()), 0);
  int64_t wrong[] = {4, 1};
  mxrt_status status = mxrt_tensor_broadcast(a.get(), 2, wrong, &here, &out);
  EXPECT_STREQ(mxrt_status_message(status),
               "i32[3, 1] cannot be broadcast to i32[4, 1]");
  EXPECT_EQ(codeOf(status), MXRT_SHAPE);
  EXPECT_EQ(codeOf(mxrt_tensor_broadcast(a.get(), 1, wide, &here, &out)),
            MXRT_SHAPE);
}

TEST_F(ViewsTest, ReshapeSharesWhereStridesAllow) {
  Ref a = iota({4, 6});
  for (Shape shape : {Shape{24}, {2, 2, 6}, {4, 2, 3}, {8, 3}, {1, 24, 1, 1}}) {
    Ref b = reshape(a, shape);
    ASSERT_TRUE(b);
    EXPECT_EQ(elementsOf(b), elementsOf(a));
    EXPECT_EQ(mxrt_tensor_data(b.get()), mxrt_tensor_data(a.get()));
  }
  Ref t = permute(a, {1, 0});
  EXPECT_FALSE(reshape(t, {24}));
  Ref split = reshape(t, {2, 3, 4});
  ASSERT_TRUE(split);
  EXPECT_EQ(elementsOf(split), elementsOf(t));
  Ref left = slice(a, 1, 0, 4, 1);
  EXPECT_FALSE(reshape(left, {16}));
  Ref halves = reshape(left, {4, 2, 2});
  ASSERT_TRUE(halves);
  EXPECT_EQ(elementsOf(halves), elementsOf(left));
  Ref reversed = slice(a, 0, 3, -1, -1);
  EXPECT_FALSE(reshape(reversed, {24}));
  ASSERT_TRUE(reshape(reversed, {4, 3, 2}));
}

TEST_F(ViewsTest, ReshapeAtTheEdges) {
  Ref scalar = iota({});
  Ref one = reshape(scalar, {1, 1});
  EXPECT_EQ(shapeOf(one), (Shape{1, 1}));
  EXPECT_EQ(shapeOf(reshape(one, {})), Shape{});
  Ref empty = iota({0, 3});
  EXPECT_EQ(shapeOf(reshape(empty, {7, 0})), (Shape{7, 0}));
  mxrt_tensor *out = nullptr;
  int64_t five[] = {5}, negative[] = {-1};
  mxrt_status status = mxrt_tensor_reshape(one.get(), 1, five, &here, &out);
  EXPECT_STREQ(mxrt_status_message(status),
               "i32[1, 1] has 1 elements and cannot become i32[5] with 5");
  EXPECT_EQ(codeOf(status), MXRT_SHAPE);
  EXPECT_EQ(codeOf(mxrt_tensor_reshape(one.get(), 1, negative, &here, &out)),
            MXRT_SHAPE);
}

TEST_F(ViewsTest, DenseIgnoresAxesOfSizeOne) {
  Ref a = iota({4, 6});
  EXPECT_TRUE(mxrt_tensor_is_dense(a.get()));
  Ref row = slice(a, 0, 2, 3, 1);
  EXPECT_TRUE(mxrt_tensor_is_dense(row.get()));
  Ref column = slice(a, 1, 2, 3, 1);
  EXPECT_FALSE(mxrt_tensor_is_dense(column.get()));
  EXPECT_TRUE(mxrt_tensor_is_dense(slice(a, 1, 2, 2, 1).get()));
}

} // namespace
