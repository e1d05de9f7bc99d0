// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tuning makes of the times that a clock tells it: the machine has no say in these tests.
#include "Pipeline/Tune.h"
#include "mlir/Parser/Parser.h"
#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace mx;
using namespace mx::pipeline;
using lowering::Tiling;

namespace {

/// Takes as long as it is told, by the code that is timed.
class TestClock : public KernelClock {
public:
  std::optional<double> time(const std::string &object, const std::string &,
                             llvm::ArrayRef<Room> buffers) override {
    rooms = buffers.vec();
    ++calls;
    ways.insert({object, ways.size()});
    return isBroken ? std::nullopt : std::optional(timeOf(ways.at(object), calls));
  }
  void found(const Found &kernel) override { last = kernel; }

  std::function<double(size_t way, int call)> timeOf = [](size_t, int) { return 100.0; };
  bool isBroken = false;
  int calls = 0;
  std::map<std::string, size_t> ways; ///< in the order in which they were first timed
  std::vector<Room> rooms;
  std::optional<Found> last;
};

class Tune : public testing::Test {
protected:
  Tune() {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    context = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
    target::CacheOptions where;
    where.folder = folder = std::filesystem::temp_directory_path() /
                            ("mx-tune-" + std::to_string(getpid()) + "-" +
                             testing::UnitTest::GetInstance()->current_test_info()->name());
    where.buildId = "test";
    cache = std::make_unique<target::ObjectCache>(where);
  }
  ~Tune() override { std::filesystem::remove_all(folder); }

  /// Of x[rows, 256] @ w[256, 1024], or of their sum over an axis.
  Tiling tilingOf(const std::string &rows, const std::string &op, const std::string &key) {
    std::string x = "!mx.tensor<f32[" + rows + ", 256]>", w = "!mx.tensor<f32[256, 1024]>",
                result = "!mx.tensor<f32[" + rows + ", 1024]>";
    std::string sizes = rows == "N" ? "\"N\"" : "";
    std::string text = "mx.graph @g(%x: " + x + ", %w: " + w + ") -> " + result +
                       " attributes {sizes = [" + sizes + "]} {\n" + "%r = mx.kernel(%x, %w) : (" +
                       x + ", " + w + ") -> " + result + " {\n" + "^bb0(%a: " + x + ", %b: " + w +
                       "):\n" + op + "\nmx.yield %p : " + result + "\n}\nmx.return %r : " + result +
                       "\n}";
    module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    EXPECT_TRUE(module) << text;
    ir::KernelOp kernel;
    module->walk([&](ir::KernelOp found) { kernel = found; });
    auto cpu = target::TargetCpu::parse("x86-64-v3");
    lowering::KernelOptions how;
    how.target.vectorBits = 256;
    how.target.hasFma = true;
    return pipeline::tilingOf(kernel, key, "a.mx:1:2", how, *cpu, *cache, options);
  }
  Tiling matmul(const std::string &rows = "32", const std::string &key = "k") {
    return tilingOf(rows,
                    "%p = mx.matmul %a, %b : (!mx.tensor<f32[" + rows +
                        ", 256]>, !mx.tensor<f32[256, 1024]>) -> !mx.tensor<f32[" + rows +
                        ", 1024]>",
                    key);
  }

  std::filesystem::path folder;
  std::unique_ptr<mlir::MLIRContext> context;
  std::unique_ptr<target::ObjectCache> cache;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  TestClock clock;
  Options options;
};

TEST_F(Tune, WithoutClockNothingIsTimed) {
  EXPECT_EQ(matmul(), Tiling());
  EXPECT_EQ(clock.calls, 0);
}

TEST_F(Tune, TakesTheFastestAndKeepsIt) {
  options.clock = &clock;
  clock.timeOf = [](size_t way, int) { return way == 2 ? 50.0 : 100.0; };
  Tiling found = matmul();
  EXPECT_NE(found, Tiling());
  ASSERT_TRUE(clock.last);
  EXPECT_EQ(clock.last->location, "a.mx:1:2");
  EXPECT_EQ(clock.last->tiling, found);
  EXPECT_EQ(clock.last->before, 100.0);
  EXPECT_EQ(clock.last->now, 50.0);
  // The buffers of the kernel: two operands and the result.
  ASSERT_EQ(clock.rooms.size(), 3u);
  EXPECT_EQ(clock.rooms[0].bytes, 32 * 256 * 4);
  EXPECT_EQ(clock.rooms[2].bytes, 32 * 1024 * 4);
  EXPECT_TRUE(clock.rooms[1].isFloat);
  // Found again, with and without a clock; another kernel is another matter.
  int calls = clock.calls;
  EXPECT_EQ(matmul(), found);
  EXPECT_EQ(clock.calls, calls);
  options.clock = nullptr;
  EXPECT_EQ(matmul(), found);
  EXPECT_EQ(matmul("32", "other"), Tiling());
}

TEST_F(Tune, StepsAreTriedWithTheBestColumns) {
  options.clock = &clock;
  // The usual way is the first, then some columns; what is timed after them are steps.
  size_t columns = 0;
  clock.timeOf = [&](size_t way, int call) {
    if (call <= 5)
      columns = std::max(columns, way + 1);
    return way == 1 ? 80.0 : way == columns ? 60.0 : 100.0;
  };
  Tiling found = matmul();
  EXPECT_NE(found.columns, 0);
  EXPECT_NE(found.steps, 0);
}

TEST_F(Tune, WhatIsNotFasterIsNotTaken) {
  options.clock = &clock;
  clock.timeOf = [](size_t way, int) { return way == 1 ? 98.0 : 100.0; };
  EXPECT_EQ(matmul(), Tiling());
  ASSERT_TRUE(clock.last);
  EXPECT_EQ(clock.last->now, 100.0);
  // That nothing was found is kept too.
  int calls = clock.calls;
  EXPECT_EQ(matmul(), Tiling());
  EXPECT_EQ(clock.calls, calls);
}

TEST_F(Tune, PhasesOfTheMachineAreNotAResult) {
  options.clock = &clock;
  // It gets slower and faster, whatever runs.
  clock.timeOf = [](size_t, int call) { return call / 20 % 2 ? 160.0 : 100.0; };
  EXPECT_EQ(matmul(), Tiling());
}

TEST_F(Tune, WhatCannotBeTunedIsLeftAlone) {
  options.clock = &clock;
  clock.timeOf = [](size_t way, int) { return way == 1 ? 50.0 : 100.0; };
  EXPECT_EQ(matmul("N"), Tiling()) << "a size of the call";
  EXPECT_EQ(matmul("0"), Tiling()) << "nothing to compute";
  EXPECT_EQ(tilingOf("256",
                     "%p = mx.add %b, %b : (!mx.tensor<f32[256, 1024]>, !mx.tensor<f32[256, "
                     "1024]>) -> !mx.tensor<f32[256, 1024]>",
                     "k"),
            Tiling())
      << "no matmul";
  EXPECT_EQ(clock.calls, 0);
}

TEST_F(Tune, FailuresChangeNothing) {
  options.clock = &clock;
  clock.isBroken = true;
  EXPECT_EQ(matmul(), Tiling());
  EXPECT_FALSE(clock.last);
  clock.isBroken = false;
  clock.timeOf = [](size_t way, int) { return way == 1 ? 50.0 : 100.0; };
  EXPECT_NE(matmul(), Tiling()) << "nothing was kept";
  bool isStopped = false;
  options.isStopped = [&] { return isStopped; };
  isStopped = true;
  EXPECT_EQ(matmul("32", "stopped"), Tiling());
}

TEST(Tiling, Text) {
  EXPECT_EQ(Tiling::parse("128,256"), (Tiling{128, 256}));
  EXPECT_EQ(Tiling::parse("0,0"), Tiling());
  EXPECT_EQ((Tiling{64, 0}).text(), "64,0");
  for (const char *wrong : {"", "64", "64,", ",64", "-64,0", "63,0", "1024,0", "0,8", "0,1024",
                            "0,100", "64,64,64", "a,b", "99999999999999999999,0"})
    EXPECT_FALSE(Tiling::parse(wrong)) << wrong;
}

} // namespace
