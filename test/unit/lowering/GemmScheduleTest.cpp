// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedules of GEMM: what holds for all problems and targets, and how they follow the target.
#include "Lowering/cpu/GemmSchedule.h"
#include <gtest/gtest.h>
#include <random>

namespace mx::lowering {
namespace {

TargetInfo with(unsigned vectorBits) {
  TargetInfo out;
  out.vectorBits = vectorBits;
  return out;
}

GemmProblem problem(int64_t m, int64_t k, int64_t n, const TargetInfo &target) {
  GemmProblem out;
  out.rows = m;
  out.steps = k;
  out.columns = n;
  out.depth = out.blockDepth = target.panelSteps();
  out.maxColumns = target.gemm.panelColumns;
  out.rowsInPlace = out.sumsInPlace = true;
  out.rowPitch = k;
  return out;
}

TEST(GemmSchedule, TilesFillTheRegisters) {
  // 6 x 4 sums, 4 columns and a factor of 32 registers; 6 x 2, 2 and 1 of 16.
  for (unsigned bits : {128u, 256u, 512u}) {
    TargetInfo target = with(bits);
    GemmSchedule got = GemmSchedule::choose(problem(1024, 1024, 1024, target), target);
    EXPECT_EQ(got.lanes, bits / 32);
    int64_t vectors = got.wide / got.lanes, rows = target.gemm.tileRows;
    EXPECT_EQ(vectors, bits == 512 ? 4 : 2);
    EXPECT_LE(rows * vectors + vectors + 1, target.vectorRegisters());
  }
}

TEST(GemmSchedule, FewRowsGetWideTiles) {
  TargetInfo target = with(256);
  EXPECT_EQ(GemmSchedule::choose(problem(6, 512, 1024, target), target).wide, 16);
  EXPECT_EQ(GemmSchedule::choose(problem(2, 512, 1024, target), target).wide, 48);
  GemmProblem prepacked = problem(2, 512, 1024, target);
  prepacked.isPrepacked = true; // the panel has the width of usual tiles
  EXPECT_EQ(GemmSchedule::choose(prepacked, target).wide, 16);
}

/// Rows 4 KiB apart are in the same sets of L1. A cache with more ways holds them beside the
/// columns.
TEST(GemmSchedule, ConflictingRowsArePacked) {
  TargetInfo target = with(256);
  EXPECT_TRUE(GemmSchedule::choose(problem(1024, 1024, 1024, target), target).areRowsPacked);
  // A K-block of a row takes 17 lines; rows 81 lines apart begin 17 sets after each other.
  EXPECT_FALSE(GemmSchedule::choose(problem(1024, 1296, 1024, target), target).areRowsPacked);
  EXPECT_FALSE(GemmSchedule::choose(problem(96, 1024, 1024, target), target).areRowsPacked);
  target.firstCache.ways = 64;
  EXPECT_FALSE(GemmSchedule::choose(problem(1024, 1024, 1024, target), target).areRowsPacked);
  // Rows that cannot be read where they are are always packed.
  GemmProblem apart = problem(96, 1024, 1024, target);
  apart.rowsInPlace = false;
  EXPECT_TRUE(GemmSchedule::choose(apart, target).areRowsPacked);
}

TEST(GemmSchedule, ChosenColumnsAreTaken) {
  TargetInfo target = with(256);
  GemmProblem chosen = problem(1024, 1040, 1024, target);
  chosen.maxColumns = 512;
  chosen.chosenColumns = 512;
  EXPECT_EQ(GemmSchedule::choose(chosen, target).panelColumns, 512);
  chosen.maxColumns = 256;
  EXPECT_EQ(GemmSchedule::choose(chosen, target).panelColumns, 256);
}

TEST(GemmSchedule, MoreThreadsGetMoreBlocks) {
  TargetInfo target = with(256);
  GemmProblem small = problem(256, 256, 256, target);
  auto blocks = [&](const GemmSchedule &s) {
    return (256 + s.blockRows - 1) / s.blockRows * ((256 + s.panelColumns - 1) / s.panelColumns);
  };
  EXPECT_GE(blocks(GemmSchedule::choose(small, target)), 4);
  target.parallelBlocks = 1;
  EXPECT_EQ(blocks(GemmSchedule::choose(small, target)), 1);
  // Matrices of a batch are blocks too.
  target.parallelBlocks = 4;
  small.batch = {8};
  EXPECT_EQ(blocks(GemmSchedule::choose(small, target)), 1);
}

TEST(GemmSchedule, UnknownSizesHaveASchedule) {
  TargetInfo target = with(512);
  GemmProblem open;
  open.depth = open.blockDepth = 512;
  GemmSchedule got = GemmSchedule::choose(open, target);
  EXPECT_EQ(got.tileCount, 0);
  EXPECT_EQ(got.blockRows, target.gemm.blockRows);
  EXPECT_EQ(got.panelColumns, target.gemm.panelColumns);
}

/// Tiles cover every row once, blocks hold whole tiles, and panels whole units.
TEST(GemmSchedule, HoldsForAllProblems) {
  std::mt19937 random(1);
  auto pick = [&](int64_t most) { return static_cast<int64_t>(random() % uint64_t(most + 1)); };
  for (int round = 0; round < 20000; ++round) {
    TargetInfo target = with(128u << (round % 3));
    GemmProblem p =
        problem(pick(round % 7 ? 700 : 9), pick(2000), pick(round % 5 ? 900 : 20), target);
    p.sumsInPlace = pick(1);
    p.rowsInPlace = pick(1);
    p.columnsInPlace = pick(1);
    p.bits = pick(1) ? 32 : 64;
    p.unit = pick(3) ? 1 : 1 + pick(300);
    if (pick(3) == 0)
      p.rowPitch.reset();
    p.maxColumns = 256 + 64 * pick(4);
    p.chosenColumns = pick(2) ? 0 : 64 * (1 + pick(7));
    GemmSchedule s = GemmSchedule::choose(p, target);
    ASSERT_GE(s.wide, 1);
    ASSERT_GE(s.panelColumns, 1);
    ASSERT_GE(s.pitch, s.panelColumns);
    if (p.unit > 1) {
      ASSERT_EQ(s.panelColumns % p.unit, 0);
    }
    if (*p.rows == 0)
      continue;
    ASSERT_EQ(s.tallTiles * (s.lowRows + 1) + (s.tileCount - s.tallTiles) * s.lowRows, *p.rows);
    ASSERT_LE(s.lowRows + (s.tallTiles > 0), target.gemm.tileRows);
    ASSERT_GE(s.blockTiles, 1);
    ASSERT_LE(s.blockTiles, s.tileCount);
    ASSERT_LE(s.blockRows, s.blockTiles * (s.lowRows + 1));
    ASSERT_TRUE(p.rowsInPlace || s.areRowsPacked);
  }
}

TEST(GemmSchedule, LinesPerSet) {
  CacheInfo cache{64, 8, 64};
  EXPECT_EQ(cache.bytes(), 32768);
  EXPECT_EQ(maxPerSet(6, 64, 4096, cache), 6);   // all in one set
  EXPECT_EQ(maxPerSet(6, 64, 4160, cache), 1);   // one set after the other
  EXPECT_EQ(maxPerSet(2, 4096, 4096, cache), 2); // both fill the sets
}

} // namespace
} // namespace mx::lowering
