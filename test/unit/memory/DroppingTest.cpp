// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values that are dropped and rematerialised: every order that is found is checked by running it in
// thought once more, with nothing but the tasks.
#include "Memory/Dropping.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace mx::memory;

namespace {

/// Each task finds what it reads, and no more than `budget` is in use. A value is there from a run
/// of its maker to the last read before the next; so what is in use is known from the order alone.
void expectValid(const Schedulable &problem, const Rerun &found, int64_t budget) {
  size_t values = problem.bytes.size(), steps = found.order.size();
  std::vector<std::vector<std::pair<size_t, size_t>>> lives(values); // made at, last read at
  std::vector<size_t> firstRuns;
  std::vector<bool> wasRun(problem.tasks.size(), false);
  double cost = 0;
  for (size_t step = 0; step < steps; ++step) {
    uint32_t t = found.order[step];
    const Task &task = problem.tasks[t];
    for (uint32_t v : task.reads) {
      ASSERT_FALSE(lives[v].empty()) << "value " << v << " is not made yet";
      lives[v].back().second = step;
    }
    for (uint32_t v : task.writes)
      lives[v].push_back({step, step});
    if (wasRun[t]) {
      ASSERT_TRUE(task.canRepeat);
      cost += task.cost;
    } else {
      firstRuns.push_back(t);
    }
    wasRun[t] = true;
  }
  EXPECT_DOUBLE_EQ(cost, found.cost);
  ASSERT_EQ(firstRuns.size(), problem.tasks.size());
  for (size_t i = 0; i < firstRuns.size(); ++i)
    EXPECT_EQ(firstRuns[i], i); // the order of the program
  for (size_t step = 0; step < steps; ++step) {
    int64_t inUse = problem.tasks[found.order[step]].extra;
    for (size_t v = 0; v < values; ++v)
      for (auto [from, to] : lives[v])
        inUse += from <= step && step <= to ? problem.bytes[v] : 0;
    ASSERT_LE(inUse, budget) << "step " << step;
    EXPECT_LE(inUse, found.peak);
  }
}

/// `layers` values of `bytes`, each made of the one before, and then read from the last to the
/// first: a net and its gradient.
Schedulable chain(uint32_t layers, int64_t bytes) {
  Schedulable out;
  out.bytes.assign(2 * layers, bytes);
  out.isHeld.assign(2 * layers, false);
  for (uint32_t i = 0; i < layers; ++i) {
    Task task;
    if (i > 0)
      task.reads = {i - 1};
    task.writes = {i};
    task.cost = 100;
    task.canRepeat = true;
    out.tasks.push_back(task);
  }
  for (uint32_t i = layers; i-- > 0;) {
    Task task;
    task.reads = {i};
    if (i + 1 < layers)
      task.reads.push_back(layers + i + 1);
    task.writes = {layers + i};
    task.cost = 300;
    task.canRepeat = true;
    out.tasks.push_back(task);
  }
  return out;
}

} // namespace

TEST(Dropping, WhatFitsIsLeftAlone) {
  Schedulable problem = chain(20, 10);
  int64_t peak = peakOf(problem);
  EXPECT_EQ(peak, 21 * 10);
  auto found = dropToFit(problem, peak);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->order.size(), problem.tasks.size());
  EXPECT_EQ(found->cost, 0);
  EXPECT_FALSE(dropToFit(problem, 20)); // a task alone needs three
  EXPECT_FALSE(dropToFit(problem, 0));
  Schedulable nothing;
  EXPECT_TRUE(dropToFit(nothing, 0));
}

TEST(Dropping, LongChainsInLittle) {
  Schedulable problem = chain(1000, 10);
  for (int64_t part : {2, 6, 12, 25}) {
    int64_t budget = peakOf(problem) / part;
    auto found = dropToFit(problem, budget);
    ASSERT_TRUE(found) << part;
    expectValid(problem, *found, budget);
    // In a sixth of the memory each value is rematerialised once at most, as with segments.
    if (part <= 6)
      EXPECT_LE(found->cost, 1000 * 100.0) << part;
    else
      EXPECT_LE(found->cost, 2 * 1000 * 100.0) << part;
  }
}

TEST(Dropping, WhatIsCheapGoesFirst) {
  // Two values wait for the end; one is a constant.
  Schedulable problem;
  problem.bytes = {10, 10, 10, 10};
  problem.isHeld.assign(4, false);
  auto task = [&](std::vector<uint32_t> reads, std::vector<uint32_t> writes, double cost) {
    Task out;
    out.reads = std::move(reads);
    out.writes = std::move(writes);
    out.cost = cost;
    out.canRepeat = true;
    problem.tasks.push_back(out);
  };
  task({}, {0}, 1000);
  task({}, {1}, 1);
  task({}, {2}, 50);
  task({2}, {3}, 50);
  task({0, 1, 3}, {}, 50);
  auto found = dropToFit(problem, 30);
  ASSERT_TRUE(found);
  expectValid(problem, *found, 30);
  EXPECT_EQ(found->cost, 1);
}

TEST(Dropping, WhatCannotRepeatStays) {
  Schedulable problem = chain(10, 10);
  problem.tasks[4].canRepeat = false; // and so value 4 is kept until nobody needs it
  auto found = dropToFit(problem, 60);
  ASSERT_TRUE(found);
  expectValid(problem, *found, 60);
  for (Task &task : problem.tasks)
    task.canRepeat = false;
  EXPECT_FALSE(dropToFit(problem, 60));
}

TEST(Dropping, RandomProblems) {
  size_t found = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    std::mt19937_64 random(seed);
    auto below = [&](uint64_t n) { return static_cast<uint32_t>(random() % n); };
    Schedulable problem;
    uint32_t tasks = 3 + below(60);
    for (uint32_t t = 0; t < tasks; ++t) {
      Task task;
      auto made = static_cast<uint32_t>(problem.bytes.size());
      for (uint32_t k = below(4); made > 0 && k > 0; --k) {
        uint32_t v = below(2) ? below(made) : made - 1 - below(std::min(made, 5u));
        if (std::find(task.reads.begin(), task.reads.end(), v) == task.reads.end())
          task.reads.push_back(v);
      }
      for (uint32_t k = 1 + below(2); k > 0; --k) {
        task.writes.push_back(static_cast<uint32_t>(problem.bytes.size()));
        problem.bytes.push_back(below(40));
      }
      task.cost = 1 + below(100);
      task.extra = below(4) ? 0 : below(20);
      task.canRepeat = below(5) > 0;
      problem.tasks.push_back(task);
    }
    problem.isHeld.assign(problem.bytes.size(), false);
    int64_t peak = peakOf(problem);
    for (int64_t percent : {95, 80, 60, 40}) {
      auto rerun = dropToFit(problem, peak * percent / 100);
      if (!rerun)
        continue;
      ++found;
      expectValid(problem, *rerun, peak * percent / 100);
      if (HasFatalFailure())
        FAIL() << "seed " << seed << ", " << percent << " %";
    }
  }
  EXPECT_GT(found, 200u);
}
