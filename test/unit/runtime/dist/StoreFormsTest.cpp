// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows and factors on tensors, through both engines: values against dense means, what is counted,
// and numbers of rows that the table does not have.

#include "StoreFixture.h"

#include "kvstore/Rows.h"

#include <algorithm>

namespace mxrt::test {
namespace {

using dist::Item;
using kvstore::Action;
using kvstore::Form;

/// The rows of a rank: of a table of 50 x 3.
struct Rows {
  std::vector<int64_t> index;
  std::vector<float> rows;
};
Rows rowsOf(int rank) {
  Rows out;
  if (rank != 1) // it has none
    out.index = {3, 7 + rank, 3, -1};
  out.rows = gradient<float>(rank, out.index.size() * 3);
  return out;
}
std::vector<float> meanOf(int ranks, const std::vector<double> &weights) {
  std::vector<std::vector<float>> dense;
  std::vector<const float *> inputs;
  for (int rank = 0; rank < ranks; ++rank) {
    Rows rows = rowsOf(rank);
    dense.emplace_back(150);
    for (size_t i = 0; i < rows.index.size(); ++i)
      for (size_t j = 0; j < 3; ++j)
        dense.back()[size_t(rows.index[i] < 0 ? 49 : rows.index[i]) * 3 + j] += rows.rows[i * 3 + j];
  }
  for (auto &each : dense)
    inputs.push_back(each.data());
  std::vector<float> out(150);
  kvstore::referenceMean({}, ranks, inputs.data(), weights.data(), out.size(), out.data());
  return out;
}

Status issueRows(Peer &peer, const TensorRef &index, const TensorRef &rows, double weight,
                 TensorRef &result, mxrt_location location = noLocation) {
  Item item;
  item.name = "net.e";
  item.form = Form::Rows;
  item.tensor = rows.get();
  item.second = index.get();
  item.rows = 50;
  return peer.store->issue(Action::Average, weight, {&item, 1}, location, {&result, 1});
}

class StoreForms : public ::testing::TestWithParam<std::tuple<int, int>> {};
INSTANTIATE_TEST_SUITE_P(Ranks, StoreForms,
                         ::testing::Combine(::testing::Values(1, 2, 3, 5),
                                            ::testing::Values(int(MXRT_ENGINE_THREADED),
                                                              int(MXRT_ENGINE_NAIVE))));

TEST_P(StoreForms, RowsHaveTheBitsOfTheDenseMean) {
  auto [ranks, kind] = GetParam();
  World world;
  world.ranks = ranks;
  world.kind = kind;
  std::vector<double> weights;
  for (int rank = 0; rank < ranks; ++rank)
    weights.push_back(rank == 2 ? 0 : 1.5 + rank);
  std::vector<float> wanted = meanOf(ranks, weights);
  meet(world, [&](Peer &peer) {
    Rows own = rowsOf(peer.rank);
    auto count = static_cast<int64_t>(own.index.size());
    TensorRef index = peer.tensor(std::vector<int64_t>{count}, own.index, MXRT_I64);
    TensorRef rows = peer.floats({count, 3}, own.rows);
    for (int step = 0; step < 3; ++step) {
      TensorRef result;
      Status status = issueRows(peer, index, rows, weights[size_t(peer.rank)], result);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(peer.values(result), wanted);
    }
    // A row and its number are 16 bytes.
    uint64_t sent = weights[size_t(peer.rank)] == 0 ? 0 : uint64_t(count) * 16;
    Vec<char> text(mxrt_runtime_allocator(peer.runtime));
    ASSERT_TRUE(peer.store->describe("net.e", text).ok());
    std::string table(text.data(), text.size());
    EXPECT_NE(table.find("rows "), table.npos) << table;
    std::string bytes = " " + std::to_string(3 * sent * uint64_t(peer.ranks - 1)) + " ";
    EXPECT_NE(table.find(bytes), table.npos) << table << bytes;
  });
}

TEST_P(StoreForms, ARankMayHaveThemDensely) {
  auto [ranks, kind] = GetParam();
  World world;
  world.ranks = ranks;
  world.kind = kind;
  std::vector<float> wanted = meanOf(ranks, std::vector<double>(size_t(ranks), 1));
  meet(world, [&](Peer &peer) {
    Rows own = rowsOf(peer.rank);
    auto count = static_cast<int64_t>(own.index.size());
    TensorRef index, rows = peer.floats({count, 3}, own.rows), result;
    if (peer.rank == 0) {
      std::vector<float> dense(150);
      kvstore::addRows({50, 3, MXRT_F32}, {own.rows.data(), own.index.data(), MXRT_I64, 4},
                       dense.data());
      rows = peer.floats({50, 3}, dense);
    } else {
      index = peer.tensor(std::vector<int64_t>{count}, own.index, MXRT_I64);
    }
    Status status = issueRows(peer, index, rows, 1, result);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(peer.values(result), wanted);
  });
}

TEST(StoreFormErrors, ANumberThatIsNoRowIsAnErrorAtItsRank) {
  World world;
  world.ranks = 2;
  meet(world, [&](Peer &peer) {
    TensorRef index = peer.tensor(std::vector<int64_t>{2}, std::vector<int64_t>{0, peer.rank ? 50 : 1},
                                  MXRT_I64);
    TensorRef rows = peer.floats({2, 3}, std::vector<float>(6, 1)), result;
    mxrt_location location = {"net.mx", 7, 3};
    ASSERT_TRUE(issueRows(peer, index, rows, 1, result, location).ok());
    Status status = peer.wait(result);
    if (peer.rank == 1) {
      EXPECT_EQ(status.code(), MXRT_INDEX) << status.message();
      EXPECT_STREQ(status.message(), "index 50 is out of range for axis 0 of size 50\nnote: in op 'average'");
      EXPECT_EQ(status.location().line, 7);
    } else {
      EXPECT_EQ(status.code(), MXRT_KVSTORE) << status.message();
    }
  });
}

} // namespace
} // namespace mxrt::test
