// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loading, calling and dropping code.
#include "Target/HostFunctions.h"
#include "TargetTestSupport.h"
#include "llvm/ADT/APFloat.h"
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <thread>
#include <unistd.h>

using namespace mx::target;

namespace {

int hostCalls = 0;
extern "C" int64_t hostTwice(int64_t value) {
  ++hostCalls;
  return 2 * value;
}

const std::vector<HostSymbol> kHost = {
    {"mx_host_twice", reinterpret_cast<const void *>(&hostTwice)}};

constexpr const char *kCallsHost = R"(
llvm.func @mx_host_twice(i64) -> i64
llvm.func @f(%x: i64) -> i64 {
  %0 = llvm.call @mx_host_twice(%x) : (i64) -> i64
  llvm.return %0 : i64
})";

Jit makeJit(const JitOptions &options = {}) {
  auto jit = Jit::create(kHost, options);
  EXPECT_TRUE(jit) << jit.message();
  return jit.take();
}

TEST(Jit, AddsArrays) {
  Jit jit = makeJit();
  auto unit = jit.add({objectOf(kAddArrays)});
  ASSERT_TRUE(unit) << unit.message();
  auto *add = unit->function<void(const float *, const float *, float *, int64_t)>("add");
  ASSERT_TRUE(add);
  std::vector<float> a(1003), b(1003), c(1003, -1);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = float(i), b[i] = float(3 * i);
  add(a.data(), b.data(), c.data(), int64_t(c.size()) - 1);
  for (size_t i = 0; i + 1 < c.size(); ++i)
    ASSERT_EQ(c[i], float(4 * i));
  EXPECT_EQ(c.back(), -1);
}

TEST(Jit, CallsTheHost) {
  Jit jit = makeJit();
  auto unit = jit.add({objectOf(kCallsHost)});
  ASSERT_TRUE(unit) << unit.message();
  hostCalls = 0;
  EXPECT_EQ(unit->function<int64_t(int64_t)>("f")(21), 42);
  EXPECT_EQ(hostCalls, 1);
}

TEST(Jit, AMissingNameIsAFaultThatSaysIt) {
  Jit jit = makeJit();
  // Both are in the process; neither is on the list.
  for (const char *name : {"mx_no_such_thing", "system", "malloc"}) {
    std::string text = std::string("llvm.func @") + name + "()\nllvm.func @f() {\n  llvm.call @" +
                       name + "() : () -> ()\n  llvm.return\n}";
    auto unit = jit.add({objectOf(text)});
    ASSERT_FALSE(unit) << name;
    EXPECT_NE(unit.message().find(std::string("'") + name + "'"), std::string::npos)
        << unit.message();
  }
  // The failed ones left nothing behind.
  EXPECT_EQ(jit.lookup("f"), nullptr);
  auto good = jit.add({objectOf(kCallsHost)});
  ASSERT_TRUE(good) << good.message();
  EXPECT_EQ(good->function<int64_t(int64_t)>("f")(4), 8);
}

TEST(Jit, ANameDefinedTwiceIsAFault) {
  Jit jit = makeJit();
  auto first = jit.add({objectOf(constantFunction("f", 1))});
  ASSERT_TRUE(first);
  auto second = jit.add({objectOf(constantFunction("f", 2))});
  ASSERT_FALSE(second);
  EXPECT_NE(second.message().find("f"), std::string::npos);
  EXPECT_EQ(first->function<int()>("f")(), 1);
  EXPECT_EQ(jit.lookup("f"), first->address("f"));
}

TEST(Jit, GarbageIsAFault) {
  Jit jit = makeJit();
  EXPECT_FALSE(jit.add({"not an object"}));
  EXPECT_FALSE(jit.add({""}));
  std::string object = objectOf(kAddArrays);
  EXPECT_FALSE(jit.add({std::string_view(object).substr(0, 100)}));
}

TEST(Jit, ANullAddressIsAFault) {
  auto jit = Jit::create({{"nothing", nullptr}});
  ASSERT_FALSE(jit);
  EXPECT_NE(jit.message().find("nothing"), std::string::npos);
}

TEST(Jit, UnitsReferToEachOther) {
  Jit jit = makeJit();
  auto kernel = jit.add({objectOf(constantFunction("kernel", 5))});
  ASSERT_TRUE(kernel);
  std::string calls = "llvm.func @kernel() -> i32\nllvm.func @outer() -> i32 {\n"
                      "  %0 = llvm.call @kernel() : () -> i32\n  llvm.return %0 : i32\n}";
  auto outer = jit.add({objectOf(calls)});
  ASSERT_TRUE(outer) << outer.message();
  EXPECT_EQ(outer->function<int()>("outer")(), 5);
}

TEST(Jit, DroppedUnitsFreeTheirNames) {
  Jit jit = makeJit();
  for (int i = 0; i < 50; ++i) {
    auto unit = jit.add({objectOf(constantFunction("f", i))});
    ASSERT_TRUE(unit) << unit.message();
    EXPECT_EQ(unit->function<int()>("f")(), i);
    EXPECT_EQ(jit.lookup("f"), unit->address("f"));
  }
  EXPECT_EQ(jit.lookup("f"), nullptr);
}

TEST(Jit, UnitsOutliveTheHandle) {
  JitUnit unit;
  {
    Jit jit = makeJit();
    unit = jit.add({objectOf(constantFunction("f", 9))}).take();
  }
  EXPECT_EQ(unit.function<int()>("f")(), 9);
}

TEST(Jit, SeveralShareNothing) {
  Jit one = makeJit(), two = makeJit();
  auto first = one.add({objectOf(constantFunction("f", 1))});
  auto second = two.add({objectOf(constantFunction("f", 2))});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->function<int()>("f")(), 1);
  EXPECT_EQ(second->function<int()>("f")(), 2);
}

TEST(Jit, AnyThreadMayAddAndLookUp) {
  Jit jit = makeJit();
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        std::string name = "f" + std::to_string(t) + "_" + std::to_string(i);
        auto unit = jit.add({objectOf(constantFunction(name, 10 * t + i))});
        if (unit && unit->function<int()>(name)() == 10 * t + i &&
            jit.lookup(name) == unit->address(name))
          ++good;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(good, 40);
}

TEST(Jit, KnowsTheFunctionsLlvmCalls) {
  Jit jit = makeJit();
  auto unit = jit.add({objectOf(R"(
llvm.func @f(%x: f32, %y: f32) -> f32 {
  %0 = llvm.intr.exp(%x) : (f32) -> f32
  %1 = llvm.intr.pow(%0, %y) : (f32, f32) -> f32
  %2 = llvm.intr.sin(%1) : (f32) -> f32
  %3 = llvm.intr.cos(%1) : (f32) -> f32
  %4 = llvm.fadd %2, %3 : f32
  llvm.return %4 : f32
}
llvm.func @copy(%to: !llvm.ptr, %from: !llvm.ptr, %n: i64) {
  "llvm.intr.memcpy"(%to, %from, %n) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  llvm.return
})")});
  ASSERT_TRUE(unit) << unit.message();
  const float inner = std::pow(std::exp(0.5f), 1.5f);
  EXPECT_NEAR(unit->function<float(float, float)>("f")(0.5f, 1.5f),
              std::sin(inner) + std::cos(inner), 1e-5);
  char to[6] = "-----";
  unit->function<void(char *, const char *, int64_t)>("copy")(to, "abc", 3);
  EXPECT_STREQ(to, "abc--");
}

/// Runs `bits(trunc(x))` compiled for the least CPU, which has to call our functions.
void checkNarrowing(const char *type, const llvm::fltSemantics &semantics) {
  Jit jit = makeJit();
  std::string text = std::string("llvm.func @down(%x: f32, %to: !llvm.ptr) {\n"
                                 "  %0 = llvm.fptrunc %x : f32 to ") +
                     type + "\n  llvm.store %0, %to : " + type +
                     ", !llvm.ptr\n  llvm.return\n}\n"
                     "llvm.func @downd(%x: f64, %to: !llvm.ptr) {\n"
                     "  %0 = llvm.fptrunc %x : f64 to " +
                     type + "\n  llvm.store %0, %to : " + type +
                     ", !llvm.ptr\n  llvm.return\n}\n"
                     "llvm.func @up(%from: !llvm.ptr) -> f32 {\n"
                     "  %0 = llvm.load %from : !llvm.ptr -> " +
                     type + "\n  %1 = llvm.fpext %0 : " + type +
                     " to f32\n  llvm.return %1 : f32\n}\n";
  auto unit = jit.add({objectOf(text, TargetCpu::parse("generic").take())});
  ASSERT_TRUE(unit) << unit.message();
  auto *down = unit->function<void(float, uint16_t *)>("down");
  auto *downDouble = unit->function<void(double, uint16_t *)>("downd");
  auto *up = unit->function<float(const uint16_t *)>("up");
  bool inexact;
  for (uint32_t i = 0; i <= 0xffff; ++i) {
    const uint16_t bits = uint16_t(i);
    llvm::APFloat exact(semantics, llvm::APInt(16, bits));
    const float wide = up(&bits);
    if (exact.isNaN()) {
      ASSERT_TRUE(std::isnan(wide)) << i;
      continue;
    }
    ASSERT_EQ(std::bit_cast<uint32_t>(wide), std::bit_cast<uint32_t>(exact.convertToFloat())) << i;
    // The number itself, its neighbours, and the middle to the next one and its neighbours.
    for (uint32_t offset : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0x0fffu, 0x1000u, 0x1001u}) {
      const float near = std::bit_cast<float>(std::bit_cast<uint32_t>(wide) + offset);
      if (std::isnan(near))
        continue;
      llvm::APFloat single(near), twice(double(near) * (1 + 0x1p-40));
      single.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &inexact);
      twice.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &inexact);
      uint16_t narrow = 0;
      down(near, &narrow);
      ASSERT_EQ(narrow, single.bitcastToAPInt().getZExtValue()) << near;
      downDouble(double(near) * (1 + 0x1p-40), &narrow);
      ASSERT_EQ(narrow, twice.bitcastToAPInt().getZExtValue()) << near;
    }
  }
  uint16_t narrow = 0;
  down(std::numeric_limits<float>::quiet_NaN(), &narrow);
  EXPECT_TRUE(llvm::APFloat(semantics, llvm::APInt(16, narrow)).isNaN());
}

TEST(Jit, NarrowsToHalf) { checkNarrowing("f16", llvm::APFloat::IEEEhalf()); }
TEST(Jit, NarrowsToBrainFloat) { checkNarrowing("bf16", llvm::APFloat::BFloat()); }

TEST(Jit, WritesAMapForPerf) {
  TemporaryFolder folder;
  JitOptions options;
  options.perfMap = true;
  options.perfMapFolder = folder.path;
  Jit jit = makeJit(options);
  auto unit = jit.add({objectOf(constantFunction("named_function", 1))});
  ASSERT_TRUE(unit) << unit.message();
  std::ifstream map(folder / ("perf-" + std::to_string(::getpid()) + ".map"));
  uintptr_t address = 0, size = 0;
  std::string name;
  map >> std::hex >> address >> size >> name;
  EXPECT_EQ(address, reinterpret_cast<uintptr_t>(unit->address("named_function")));
  EXPECT_GT(size, 0u);
  EXPECT_EQ(name, "named_function");

  options.perfMapFolder = folder / "missing";
  EXPECT_FALSE(Jit::create({}, options));
}

} // namespace

// What gdb reads; LLVM's library has it.
extern "C" struct {
  uint32_t version, action;
  void *relevant;
  struct Entry {
    Entry *next, *previous;
    const char *object;
    uint64_t bytes;
  } * first;
} __jit_debug_descriptor;

namespace {

TEST(Jit, TellsGdbWhenAsked) {
  auto entries = [] {
    int count = 0;
    for (auto *entry = __jit_debug_descriptor.first; entry; entry = entry->next)
      ++count;
    return count;
  };
  const int before = entries();
  Jit quiet = makeJit();
  auto unseen = quiet.add({objectOf(constantFunction("f", 1))});
  EXPECT_EQ(entries(), before);
  JitOptions options;
  options.gdb = true;
  Jit jit = makeJit(options);
  for (int i = 0; i < 3; ++i) {
    auto unit = jit.add({objectOf(constantFunction("f", i))});
    ASSERT_TRUE(unit) << unit.message();
    EXPECT_EQ(unit->function<int()>("f")(), i);
  }
  EXPECT_EQ(entries(), before + 3);
  EXPECT_EQ(std::memcmp(__jit_debug_descriptor.first->object,
                        "\x7f"
                        "ELF",
                        4),
            0);
}

} // namespace
