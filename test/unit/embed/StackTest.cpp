// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hosts call from threads with small stacks.
#include "Embedded.h"
#include <pthread.h>

using mx::Value;

namespace {

class Stacks : public Embedded {};

/// Runs `body` on a thread with a stack of this size.
void onStackOf(size_t bytes, std::function<void()> body) {
  pthread_attr_t attributes;
  pthread_t thread;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
  auto run = [](void *given) -> void * {
    (*static_cast<std::function<void()> *>(given))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &body), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST_F(Stacks, SmallOnesAreEnough) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "frames of instrumented code are larger";
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "frames of instrumented code are larger";
#endif
#endif
  // 128 KiB is what musl gives a thread.
  for (size_t bytes : {size_t(128) << 10, size_t(512) << 10, size_t(2) << 20}) {
    onStackOf(bytes, [&] {
      mx::Session session(options());
      mx::Module program =
          session
              .loadSource("import nn\n"
                          "model Net { sub fc: nn.Dense[3, 2] }\n"
                          "graph fn f(x: f32[N, 3]) -> f32[N, 3] { nn.relu(x) * 2.0 }\n"
                          "fn g(n: i64) -> f32 { f(ones([n, 3])).sum() }\n"
                          "fn deep(n: i64) -> i64 { if n == 0 { 0 } else { deep(n - 1) + 1 } }\n")
              .value();
      mx::Function f = program.function("f").value(), g = program.function("g").value();
      for (int64_t rows : {1, 2, 1}) {
        std::vector<float> x(size_t(rows) * 3, 1);
        Value y = f(Value::borrow(x.data(), {rows, 3})).value();
        EXPECT_EQ(y.elements<float>().value()[0], 2.0f);
        EXPECT_EQ(g(rows + 3).value().asFloat().value(), 6.0 * double(rows + 3));
      }
      EXPECT_EQ(program.function("deep").value()(200).value().asInt().value(), 200);
      EXPECT_FALSE(session.loadSource("let broken = (\n").ok());
    });
  }
}

} // namespace
