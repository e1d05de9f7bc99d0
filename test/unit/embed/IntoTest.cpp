// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results in memory of the host: the same bits, what does not fit is refused, and a call that was
// made before allocates nothing and takes no lock. To see that, the allocator and the locks of the
// process are this file's, which count for one thread at a time.
#include "Embedded.h"
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MX_HAS_OWN_ALLOCATOR
#endif
#endif

namespace {
/// Of the thread that asks for them.
thread_local bool isCounting = false;
thread_local int allocations = 0, locks = 0;
} // namespace

#ifndef MX_HAS_OWN_ALLOCATOR
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t bytes) {
  allocations += isCounting;
  return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
  allocations += isCounting;
  return __libc_calloc(count, bytes);
}
void *realloc(void *memory, size_t bytes) {
  allocations += isCounting;
  return __libc_realloc(memory, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  allocations += isCounting;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void **out, size_t alignment, size_t bytes) {
  allocations += isCounting;
  *out = __libc_memalign(alignment, bytes);
  return *out ? 0 : 12 /* ENOMEM */;
}
int pthread_mutex_lock(pthread_mutex_t *mutex) noexcept {
  static auto *real =
      reinterpret_cast<int (*)(pthread_mutex_t *)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  locks += isCounting;
  return real(mutex);
}
}
#endif

namespace {

using mx::Value;

class Into : public Embedded {
protected:
  void SetUp() override {
    Embedded::SetUp();
    session.emplace(options());
    program = session
                  ->loadSource(R"(
import nn
model Mlp {
  sub fc1: nn.Dense[64, 32]
  sub fc2: nn.Dense[32, 8]
  fn call(x: f32[N, 64]) -> f32[N, 8] { x |> fc1 |> nn.relu |> fc2 }
}
var mlp = Mlp()
graph fn predict(net: Mlp, x: f32[N, 64]) -> f32[N, 8] { net(x) }
graph fn both(x: f32[N]) -> (f32[N], i32) { (x * 2.0, x.argmax()) }
graph fn change(mut x: f32[N]) -> f32[N] {
  x = x + 1.0
  x * 2.0
}
fn plain(x: f32[N]) -> f32[N] { x + 1.0 }
)",
                               "into.mx")
                  .value();
  }
  void TearDown() override {
    program = {};
    session.reset();
    Embedded::TearDown();
  }
  mx::Function function(const char *name) { return program.function(name).value(); }

  std::optional<mx::Session> session;
  mx::Module program;
};

TEST_F(Into, ResultsAreThoseOfACall) {
  Value mlp = program.value("mlp").value();
  for (int64_t rows : {1, 3, 17}) {
    std::vector<float> x(static_cast<size_t>(rows) * 64), out(static_cast<size_t>(rows) * 8);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(i % 13) - 6;
    Value given = Value::borrow(x.data(), {rows, 64});
    Value called = function("predict")(mlp, given).value();
    auto wanted = called.elements<float>().value();
    ASSERT_TRUE(function("predict").into(std::span<float>(out), mlp, given).ok());
    ASSERT_EQ(wanted.size(), out.size());
    EXPECT_EQ(std::memcmp(wanted.data(), out.data(), out.size() * sizeof(float)), 0);
  }
}

TEST_F(Into, EachTensorOfAResultHasItsRoom) {
  std::vector<float> x = {1, 5, 2}, twice(3);
  int32_t at = -1;
  mxc_room rooms[] = {{twice.data(), 12}, {&at, 4}};
  ASSERT_TRUE(function("both").into(std::span<const mxc_room>(rooms),
                                    Value::borrow(x.data(), {3})).ok());
  EXPECT_EQ(twice, floats({2, 10, 4}));
  EXPECT_EQ(at, 1);
}

TEST_F(Into, WhatDoesNotFitIsRefused) {
  std::vector<float> x = {1, 5, 2}, out(4);
  Value given = Value::borrow(x.data(), {3});
  auto refused = [&](const char *name, std::vector<mxc_room> rooms) {
    auto result = function(name).into(std::span<const mxc_room>(rooms), given);
    EXPECT_FALSE(result.ok());
    if (result.ok())
      return std::string();
    EXPECT_EQ(result.error().code(), "R0002");
    return std::string(result.error().text());
  };
  int32_t at = 0;
  EXPECT_NE(refused("both", {{out.data(), 12}}).find("has 2 tensors, but there are 1 rooms"),
            std::string::npos);
  EXPECT_NE(refused("both", {{out.data(), 16}, {&at, 4}}).find("has 16 bytes, but its tensor 12"),
            std::string::npos);
  char *odd = reinterpret_cast<char *>(out.data()) + 1;
  EXPECT_NE(refused("both", {{odd, 12}, {&at, 4}}).find("is not aligned to 4 bytes, or NULL"),
            std::string::npos);
  EXPECT_NE(refused("both", {{nullptr, 12}, {&at, 4}}).find("or NULL"), std::string::npos);
  EXPECT_NE(refused("plain", {{out.data(), 12}}).find("`plain` is not a graph"), std::string::npos);
  auto changed = function("change").into(std::span<float>(out.data(), 3), mx::mut(given));
  ASSERT_FALSE(changed.ok());
  EXPECT_NE(changed.error().text().find("changes an argument"), std::string::npos);
  EXPECT_EQ(given.elements<float>().value()[1], 5); // it is still there
}

TEST_F(Into, ACallThatWasMadeBeforeAllocatesNothingAndTakesNoLock) {
#ifdef MX_HAS_OWN_ALLOCATOR
  GTEST_SKIP() << "a sanitizer has the allocator";
#endif
  Value mlp = program.value("mlp").value();
  std::vector<float> x(64, 0.5f), out(8);
  Value one = Value::borrow(x.data(), {1, 64});
  mx::Function predict = function("predict");
  auto count = [&](auto call) {
    call();
    call();
    allocations = locks = 0;
    isCounting = true;
    for (int i = 0; i < 100; ++i)
      call();
    isCounting = false;
  };
  int64_t before = session->memory().value().live_bytes;
  count([&] { (void)predict.into(std::span<float>(out), mlp, one).ok(); });
  EXPECT_EQ(allocations, 0);
  EXPECT_EQ(locks, 0);
  // The arena stays with the graph: its pool, whose locks are its own, is not asked again.
  EXPECT_GT(session->memory().value().live_bytes, before);
  // Values have to be made of something, and host code has one VM: this is what it is spared.
  count([&] { (void)predict(mlp, one).ok(); });
  EXPECT_GT(allocations, 0);
  mx::Function plain = function("plain");
  count([&] { (void)plain(Value::borrow(x.data(), {4})).ok(); });
  EXPECT_GT(locks, 0);
}

} // namespace
