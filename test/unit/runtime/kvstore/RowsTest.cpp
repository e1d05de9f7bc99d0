// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of tables: the bits of dense means in every topology, the choice of a form, numbers that are
// no rows, and what ranks announce.

#include "../TestAllocator.h"
#include "Cases.h"
#include "kvstore/Exchange.h"
#include "kvstore/Rows.h"
#include "net/Local.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <memory>
#include <thread>

namespace mxrt::test {
namespace {

using namespace kvstore;

const mxrt_allocator *const alloc = mxrt_system_allocator();

template <typename T> struct RankRows {
  std::vector<T> rows;
  std::vector<int64_t> index;
  double weight = 1;
  OwnRows own() const { return {rows.data(), index.data(), MXRT_I64, index.size()}; }
};

template <typename T> std::vector<T> densely(const TableShape &table, const RankRows<T> &rank) {
  std::vector<T> dense(table.rows * table.width);
  for (size_t i = 0; i < rank.index.size(); ++i)
    for (size_t j = 0; j < table.width; ++j) {
      int64_t row = rank.index[i] < 0 ? rank.index[i] + int64_t(table.rows) : rank.index[i];
      dense[size_t(row) * table.width + j] =
          dense[size_t(row) * table.width + j] + rank.rows[i * table.width + j];
    }
  return dense;
}

/// `style`: 0 any rows, 1 all ranks the same row, 2 one rank has none, 3 numbers that are -0, or
/// are it once they are multiplied.
template <typename T> std::vector<RankRows<T>> ranksOf(int ranks, const TableShape &table, int style) {
  std::minstd_rand random(unsigned(ranks * 100 + style));
  std::vector<RankRows<T>> out(static_cast<size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    size_t count = style == 2 && r == ranks / 2 ? 0 : random() % 9;
    RankRows<T> &rank = out[size_t(r)];
    rank.rows = gradient<T>(r + 40 * style, count * table.width);
    if (style == 3)
      for (T &value : rank.rows)
        value = random() % 2 ? -std::numeric_limits<T>::denorm_min() : -T(0);
    for (size_t i = 0; i < count; ++i) {
      auto row = int64_t(style == 1 ? 2 : random() % table.rows);
      rank.index.push_back(random() % 2 ? row - int64_t(table.rows) : row);
    }
    rank.weight = style == 3 ? 0.25 : r == 1 ? 0 : 1 + 0.3 * r;
  }
  return out;
}

template <typename T> void compare(mxrt_dtype dtype) {
  for (int ranks : {1, 2, 3, 4, 7})
    for (const Layout &layout : allLayouts(256))
      for (int style : {0, 1, 2, 3}) {
        TableShape table = {11, size_t(1 + 4 * style), dtype};
        std::vector<RankRows<T>> given = ranksOf<T>(ranks, table, style);
        std::vector<std::vector<double>> messages;
        std::vector<PackedRows> packed;
        std::vector<std::vector<T>> dense;
        std::vector<const T *> inputs;
        std::vector<double> weights;
        double total = 0;
        for (const RankRows<T> &rank : given) {
          ASSERT_TRUE(checkRows(alloc, table, rank.own()).ok());
          messages.emplace_back(rank.index.size() * table.entryBytes() / 8 + 1);
          packRows(table, rank.own(), messages.back().data());
          packed.push_back({messages.back().data(), rank.weight == 0 ? 0 : rank.index.size(),
                            rank.weight});
          dense.push_back(densely(table, rank));
          weights.push_back(rank.weight);
          total += rank.weight;
          std::vector<T> added(table.rows * table.width);
          addRows(table, rank.own(), added.data());
          ASSERT_EQ(std::memcmp(added.data(), dense.back().data(), added.size() * sizeof(T)), 0);
        }
        for (const std::vector<T> &each : dense)
          inputs.push_back(each.data());
        std::vector<T> wanted(table.rows * table.width), got(wanted.size());
        referenceMean(layout, ranks, inputs.data(), weights.data(), wanted.size(), wanted.data());
        ASSERT_TRUE(averageRows(alloc, layout, table, packed, total, got.data()).ok());
        ASSERT_EQ(std::memcmp(got.data(), wanted.data(), got.size() * sizeof(T)), 0)
            << nameOf(layout) << ", " << ranks << " ranks, style " << style;
      }
}
TEST(Rows, MeansHaveTheBitsOfDenseOnes) {
  compare<float>(MXRT_F32);
  compare<double>(MXRT_F64);
}

TEST(Rows, AnUnderflowKeepsItsSign) {
  TableShape table = {4, 1, MXRT_F32};
  float row = -std::numeric_limits<float>::denorm_min();
  int32_t at = 3;
  uint64_t message = 0;
  packRows(table, {&row, &at, MXRT_I32, 1}, &message);
  PackedRows rank = {&message, 1, 0.25};
  std::vector<float> dense(4);
  ASSERT_TRUE(averageRows(alloc, {}, table, {&rank, 1}, 0.25, dense.data()).ok());
  EXPECT_TRUE(std::signbit(dense[3])) << "as -tiny * 0.25 / 0.25";
  EXPECT_FALSE(std::signbit(dense[0]));
}

TEST(Rows, NumbersOfOtherTablesAreRefused) {
  TableShape table = {4, 2, MXRT_F32};
  std::vector<float> rows(4);
  for (int64_t number : {int64_t(4), int64_t(-5), INT64_MAX, INT64_MIN}) {
    int64_t index[2] = {0, number};
    Status status = checkRows(alloc, table, {rows.data(), index, MXRT_I64, 2});
    EXPECT_EQ(status.code(), MXRT_INDEX);
    EXPECT_EQ(std::string(status.message()), "index " + std::to_string(number) +
                                                 " is out of range for axis 0 of size 4");
  }
  // From another rank: a malformed message.
  uint32_t message[3] = {0, 0, 4};
  PackedRows rank = {message, 1, 1};
  Status status = averageRows(alloc, {}, table, {&rank, 1}, 1, rows.data());
  EXPECT_EQ(status.code(), MXRT_KVSTORE);
  EXPECT_STREQ(status.message(), "rank 0 sent a row that the table does not have");
}

TEST(Rows, FailedAllocationsAreErrors) {
  TableShape table = {100, 4, MXRT_F32};
  std::vector<RankRows<float>> given = ranksOf<float>(3, table, 0);
  std::vector<std::vector<double>> messages;
  std::vector<PackedRows> packed;
  for (const RankRows<float> &rank : given) {
    messages.emplace_back(rank.index.size() * table.entryBytes() / 8 + 1);
    packRows(table, rank.own(), messages.back().data());
    packed.push_back({messages.back().data(), rank.index.size(), 1});
  }
  std::vector<float> dense(400);
  for (int failing = 1;; ++failing) {
    TestAllocator limited(TestAllocator::Fail::Once, failing);
    Status status = averageRows(limited.get(), {}, table, packed, 3, dense.data());
    if (status.ok()) {
      EXPECT_GT(failing, 2);
      break;
    }
    ASSERT_EQ(status.code(), MXRT_OUT_OF_MEMORY);
  }
}

// -- tables of keys -----------------------------------------------------------

KeySpec spec(const std::vector<int64_t> &shape, Form form, mxrt_dtype dtype = MXRT_F32) {
  return {"net.e", dtype, shape, form};
}

TEST(Forms, OnlyAveragesOfFloatsHaveThem) {
  auto code = [](Action action, const std::vector<int64_t> &shape, Form form, mxrt_dtype dtype) {
    KeyTable table(alloc);
    KeySpec key = spec(shape, form, dtype);
    return table.make(action, {&key, 1}, {}, 0, 2).code();
  };
  EXPECT_EQ(code(Action::Average, {5, 3}, Form::Rows, MXRT_F32), MXRT_OK);
  EXPECT_EQ(code(Action::Average, {5}, Form::Rows, MXRT_F64), MXRT_OK);
  EXPECT_EQ(code(Action::Average, {}, Form::Rows, MXRT_F32), MXRT_UNSUPPORTED);
  EXPECT_EQ(code(Action::Average, {5, 3}, Form::Rows, MXRT_F16), MXRT_UNSUPPORTED);
  EXPECT_EQ(code(Action::Sum, {5, 3}, Form::Rows, MXRT_F32), MXRT_UNSUPPORTED);
  EXPECT_EQ(code(Action::Average, {5, 3}, Form::Factors, MXRT_F32), MXRT_OK);
  EXPECT_EQ(code(Action::Average, {5}, Form::Cheaper, MXRT_F32), MXRT_UNSUPPORTED);
}

TEST(Forms, TheFewestBytesTravel) {
  auto travels = [](const std::vector<int64_t> &shape, Form form, std::vector<uint64_t> counts) {
    KeyTable table(alloc);
    KeySpec key = spec(shape, form);
    EXPECT_TRUE(table.make(Action::Average, {&key, 1}, {}, 0, int(counts.size())).ok());
    return table.travels(table.keys[0], counts);
  };
  // Rows of 16 bytes and a number: 20. Half of the table is 800 bytes.
  EXPECT_EQ(travels({100, 4}, Form::Rows, {20, 20}), Form::Rows);
  EXPECT_EQ(travels({100, 4}, Form::Rows, {20, 21}), Form::Dense);
  EXPECT_EQ(travels({100, 4}, Form::Rows, {0, 0, 0}), Form::Rows);
  EXPECT_EQ(travels({100, 4}, Form::Rows, {0, allElements}), Form::Dense);
  EXPECT_EQ(travels({100, 4}, Form::Rows, {UINT64_MAX / 8, 5}), Form::Dense);
  // W B (M + N) against 2 M N.
  EXPECT_EQ(travels({64, 64}, Form::Cheaper, {32, 31}), Form::Factors);
  EXPECT_EQ(travels({64, 64}, Form::Cheaper, {32, 32}), Form::Dense);
  EXPECT_EQ(travels({64, 64}, Form::Factors, {320, 320}), Form::Factors);
}

TEST(Forms, AKeyIsABucketByItself) {
  KeyTable table(alloc);
  std::vector<int64_t> shape = {4, 2};
  std::vector<KeySpec> keys = {{"a", MXRT_F32, shape, Form::Dense},
                               {"b", MXRT_F32, shape, Form::Rows},
                               {"c", MXRT_F32, shape, Form::Dense},
                               {"d", MXRT_F32, shape, Form::Dense}};
  ASSERT_TRUE(table.make(Action::Average, keys, {}, 0, 2).ok());
  ASSERT_EQ(table.buckets.size(), 3u);
  EXPECT_EQ(table.buckets[0].count, 2u);
  EXPECT_EQ(table.counted, 1u);
  EXPECT_EQ(table.keys[1].bucket, 1u);
  uint64_t hash = table.hash;
  keys[1].form = Form::Dense;
  EXPECT_FALSE(table.matches(Action::Average, keys));
  ASSERT_TRUE(table.make(Action::Average, keys, {}, 0, 2).ok());
  EXPECT_NE(hash, table.hash) << "the form is part of what ranks compare";
}

TEST(Forms, RanksWithOtherFormsAreTold) {
  std::vector<int64_t> shape = {10, 2};
  KeyTable own(alloc), other(alloc);
  KeySpec rows = spec(shape, Form::Rows), dense = spec(shape, Form::Dense);
  ASSERT_TRUE(own.make(Action::Average, {&rows, 1}, {}, 0, 2).ok());
  ASSERT_TRUE(other.make(Action::Average, {&dense, 1}, {}, 1, 2).ok());
  Vec<char> bytes(alloc);
  ASSERT_TRUE(other.describe(bytes).ok());
  EXPECT_STREQ(own.difference(0, 1, {bytes.data(), bytes.size()}).message(),
               "the ranks `average` different keys: number 1 is `net.e: f32[10, 2]` as rows at rank 0, "
               "`net.e: f32[10, 2]` at rank 1");
}

TEST(Forms, PartsOfAnySizeArriveEverywhere) {
  constexpr int ranks = 4;
  std::vector<Part> parts = {{0, {0, 5}}, {2, {8, 700}}, {3, {712, 1}}, {1, {720, 0}}, {0, {720, 64}}};
  net::LocalHub hub(alloc, ranks);
  ASSERT_TRUE(hub.open().ok());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      net::Local transport(alloc, hub, rank);
      ASSERT_TRUE(transport.open().ok());
      std::vector<uint8_t> memory(784, 0xEE);
      uint64_t own = 0;
      for (const Part &part : parts)
        for (size_t i = 0; i < part.range.count && part.owner == rank; ++i, ++own)
          memory[part.range.begin + i] = uint8_t(i * 3 + part.range.begin);
      Plan plan(alloc);
      ASSERT_TRUE(plan.makeParts(rank, ranks, memory.size(), parts, 100).ok());
      EXPECT_EQ(plan.sentBytes(), own * (ranks - 1));
      Reduction reduction;
      reduction.dtype = MXRT_U8;
      reduction.data = memory.data();
      Collective collective(transport, plan, reduction);
      ASSERT_TRUE(collective.start().ok());
      ASSERT_TRUE(waitFor(transport, collective).ok());
      for (const Part &part : parts)
        for (size_t i = 0; i < part.range.count; ++i)
          ASSERT_EQ(memory[part.range.begin + i], uint8_t(i * 3 + part.range.begin));
      EXPECT_EQ(memory[5], 0xEE);
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace
} // namespace mxrt::test
