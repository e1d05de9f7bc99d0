// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Target/TargetCpu.h"
#include "llvm/Target/TargetMachine.h"
#include <gtest/gtest.h>
#include <set>

using namespace mx;
using namespace mx::target;

namespace {

TEST(TargetCpu, EveryNameOfTheListIsTaken) {
  std::set<std::string> texts;
  for (const std::string &name : TargetCpu::names()) {
    auto cpu = TargetCpu::parse(name);
    ASSERT_TRUE(cpu) << name << ": " << cpu.message();
    EXPECT_TRUE(cpu->makeMachine()) << name;
    texts.insert(cpu->text());
  }
  EXPECT_EQ(texts.size(), TargetCpu::names().size());
}

TEST(TargetCpu, TextIsTheSameEachTime) {
  auto first = TargetCpu::parse("native"), second = TargetCpu::parse("native");
  EXPECT_EQ(first->text(), second->text());
  EXPECT_NE(first->text().find(first->cpu()), std::string::npos);
}

TEST(TargetCpu, NativeAndGenericRunHere) {
  EXPECT_TRUE(TargetCpu::parse("native")->runsHere());
  EXPECT_TRUE(TargetCpu::parse("generic")->runsHere());
}

TEST(TargetCpu, UnknownNamesAreFaultsThatListTheKnown) {
  auto cpu = TargetCpu::parse("pentium-9");
  ASSERT_FALSE(cpu);
  EXPECT_NE(cpu.message().find("pentium-9"), std::string::npos);
  EXPECT_NE(cpu.message().find("native"), std::string::npos);
  EXPECT_FALSE(TargetCpu::parse(""));
}

#if defined(__x86_64__)
TEST(TargetCpu, LevelsHaveTheirVectors) {
  EXPECT_EQ(TargetCpu::parse("x86-64-v2")->vectorBits(), 128u);
  EXPECT_EQ(TargetCpu::parse("x86-64-v3")->vectorBits(), 256u);
  EXPECT_EQ(TargetCpu::parse("x86-64-v4")->vectorBits(), 512u);
}

TEST(TargetCpu, InfoFollowsTheName) {
  TargetInfo narrow = TargetCpu::parse("x86-64-v2")->info();
  TargetInfo wide = TargetCpu::parse("x86-64-v4")->info();
  EXPECT_EQ(narrow.vectorRegisters(), 16);
  EXPECT_EQ(wide.vectorRegisters(), 32);
  EXPECT_FALSE(narrow.hasFma);
  EXPECT_TRUE(wide.hasFma);
  EXPECT_EQ(wide.lanes(32), 16);
  EXPECT_EQ(wide.lanes(1024), 1);
  EXPECT_LT(narrow.secondCache().bytes(), wide.secondCache().bytes());
  EXPECT_FALSE(wide.isGpu());
  EXPECT_EQ(wide.bf16.kind, Bf16Unit::None);
  EXPECT_EQ(TargetCpu::parse("sapphirerapids")->info().bf16.kind, Bf16Unit::Amx);
}

TEST(TargetCpu, NamesOfBf16Units) {
  for (const char *name : {"none", "avx512bf16", "amx", "emulated-avx512bf16", "emulated-amx",
                           "refused-amx"})
    EXPECT_TRUE(Bf16Unit::parse(name)) << name;
  EXPECT_FALSE(Bf16Unit::parse("dots"));
  EXPECT_TRUE(Bf16Unit::parse("emulated-amx")->isEmulated);
  EXPECT_NE(Bf16Unit::parse("emulated-amx")->text(), Bf16Unit::parse("refused-amx")->text());
}

TEST(TargetCpu, Bf16InstructionsDependOnTheCpu) {
  for (const char *level : {"generic", "x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    EXPECT_FALSE(TargetCpu::parse(level)->hasAmxBf16()) << level;
    EXPECT_FALSE(TargetCpu::parse(level)->hasAvx512Bf16()) << level;
  }
  EXPECT_TRUE(TargetCpu::parse("sapphirerapids")->hasAmxBf16());
  EXPECT_TRUE(TargetCpu::parse("sapphirerapids")->hasAvx512Bf16());
  EXPECT_EQ(TargetCpu::parse("sapphirerapids")->vectorBits(), 512u);
  __builtin_cpu_init();
  EXPECT_EQ(TargetCpu::parse("native")->hasAvx512Bf16(), __builtin_cpu_supports("avx512bf16") != 0);
}

TEST(TargetCpu, LevelsRunWhereTheirFeaturesAre) {
  __builtin_cpu_init();
  EXPECT_EQ(TargetCpu::parse("x86-64-v3")->runsHere(), __builtin_cpu_supports("avx2") &&
                                                           __builtin_cpu_supports("fma") &&
                                                           __builtin_cpu_supports("bmi2"));
  EXPECT_EQ(TargetCpu::parse("x86-64-v4")->runsHere(),
            __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512cd"));
}
#endif

} // namespace
