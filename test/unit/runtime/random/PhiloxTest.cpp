// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RandomFixture.h"

#include <set>
#include <string>

namespace {

struct KnownAnswer {
  uint32_t counter[4], key[2], expected[4];
};

TEST(Philox, KnownAnswersOfRandom123) {
  // The "philox4x32 10" lines of kat_vectors in Random123.
  const KnownAnswer answers[] = {
      {{0, 0, 0, 0},
       {0, 0},
       {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const KnownAnswer &answer : answers) {
    uint32_t out[4];
    mxrt_philox(answer.counter, answer.key, out);
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(out[i], answer.expected[i]);
  }
}

TEST(Rng, ASeedIsTheKey) {
  mxrt_rng rng = seeded(0x0123456789abcdefull);
  EXPECT_EQ(rng.key, 0x0123456789abcdefull);
  EXPECT_EQ(rng.position, 0u);
}

TEST(Rng, SplitGivesDistinctStreamsAndMovesOn) {
  Machine machine(1);
  mxrt_rng parent = seeded(1);
  std::vector<mxrt_rng> first(1000), second(1000);
  ASSERT_EQ(mxrt_rng_split(&machine.context, &parent, 1000, first.data()),
            nullptr);
  EXPECT_EQ(parent.position, 1u);
  ASSERT_EQ(mxrt_rng_split(&machine.context, &parent, 1000, second.data()),
            nullptr);
  std::set<uint64_t> keys = {parent.key};
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_TRUE(keys.insert(first[i].key).second);
    EXPECT_TRUE(keys.insert(second[i].key).second);
    EXPECT_EQ(first[i].position, 0u);
  }
  // The first n children do not depend on how many there are.
  mxrt_rng again = seeded(1);
  std::vector<mxrt_rng> few(3);
  ASSERT_EQ(mxrt_rng_split(&machine.context, &again, 3, few.data()), nullptr);
  EXPECT_EQ(few[2].key, first[2].key);
}

TEST(Rng, SplitRefusesCountsOutOfRange) {
  Machine machine(1);
  mxrt_rng rng = seeded(1);
  EXPECT_EQ(codeOf(mxrt_rng_split(&machine.context, &rng, -1, nullptr)),
            MXRT_INVALID_ARGUMENT);
  EXPECT_EQ(codeOf(mxrt_rng_split(&machine.context, &rng,
                                  (int64_t(1) << 48) + 1, nullptr)),
            MXRT_INVALID_ARGUMENT);
  EXPECT_EQ(rng.position, 0u);
  EXPECT_EQ(mxrt_rng_split(&machine.context, &rng, 0, nullptr), nullptr);
}

TEST(Rng, ForksDifferByNameAndPosition) {
  std::set<uint64_t> keys;
  for (std::string name :
       {std::string(), std::string("dropout"), std::string("dropou"),
        std::string("dropout1"), std::string("12345678"),
        std::string("123456789"), std::string("\0", 1), std::string("\0\0", 2),
        std::string("ab\0cd", 5), std::string("ab\0ce", 5)}) {
    mxrt_rng rng = seeded(7), child;
    mxrt_rng_fork(&rng, name.data(), static_cast<int64_t>(name.size()), &child);
    EXPECT_TRUE(keys.insert(child.key).second) << name;
    EXPECT_EQ(rng.position, 1u);
    mxrt_rng sibling;
    mxrt_rng_fork(&rng, name.data(), static_cast<int64_t>(name.size()),
                  &sibling);
    EXPECT_TRUE(keys.insert(sibling.key).second) << name;
    mxrt_rng same = seeded(7), twin;
    mxrt_rng_fork(&same, name.data(), static_cast<int64_t>(name.size()), &twin);
    EXPECT_EQ(twin.key, child.key);
  }
}

TEST(Rng, DerivedStreamsAreNotPartOfTheParent) {
  // A child's key must not be what the parent draws at the same position.
  Machine machine(1);
  mxrt_rng parent = seeded(3), drawing = seeded(3), child, fork;
  mxrt_rng copy = parent;
  ASSERT_EQ(mxrt_rng_split(&machine.context, &parent, 1, &child), nullptr);
  mxrt_rng_fork(&copy, "", 0, &fork);
  int64_t drawn = 0;
  ASSERT_EQ(mxrt_random_uniform_i64(&machine.context, &drawing, INT64_MIN,
                                    INT64_MAX, 1, &drawn),
            nullptr);
  EXPECT_NE(child.key, fork.key);
  EXPECT_NE(child.key, static_cast<uint64_t>(drawn));
}

} // namespace
