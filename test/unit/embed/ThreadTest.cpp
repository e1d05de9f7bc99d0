// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One graph from many threads: the same bits as one after the other. Also what ThreadSanitizer
// looks at.
#include "Embedded.h"
#include <cstring>
#include <thread>

using mx::Value;

namespace {

class Threads : public Embedded {};

constexpr const char *kNet = R"(
import nn
model Net {
  sub fc1: nn.Dense[32, 64]
  sub fc2: nn.Dense[64, 8]
  fn call(x: f32[N, 32]) -> f32[N, 8] { (x |> fc1 |> nn.relu |> fc2).softmax(axis=1) }
}
var net = Net()
graph fn predict(net: Net, x: f32[N, 32]) -> f32[N, 8] { net(x) }
fn eager(net: Net, x: f32[N, 32]) -> f32[N, 8] { net(x) }
graph fn step(mut net: Net, x: f32[N, 32]) -> f32 {
  let (loss, g) = grad(net) { (net(x) ** 2).mean() }
  net -= 0.1 * g
  loss
}
)";

std::vector<float> inputs(size_t rows, size_t salt) {
  std::vector<float> out(rows * 32);
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>((i * 7919 + salt * 104729) % 1000) / 500.0f - 1.0f;
  return out;
}

std::vector<float> elements(const Value &value) {
  auto all = value.elements<float>().value();
  return {all.begin(), all.end()};
}

constexpr size_t kThreads = 8, kCalls = 40;

TEST_F(Threads, EightCallOneGraph) {
  mx::Session session(options());
  mx::Module program = session.loadSource(kNet).value();
  mx::Function predict = program.function("predict").value();
  Value net = program.value("net").value();
  ASSERT_TRUE(net.wait().ok());
  // Three sizes, none of them compiled yet when the threads begin.
  std::vector<std::vector<float>> given, results[kThreads];
  for (size_t i = 0; i < kCalls; ++i)
    given.push_back(inputs(1 + i % 3 * 8, i));
  auto call = [&](size_t i, bool isAsync) {
    Value x = Value::borrow(given[i].data(), {static_cast<int64_t>(given[i].size() / 32), 32});
    return elements((isAsync ? predict.start(net, x) : predict(net, x)).value());
  };
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < kCalls; ++i)
        results[t].push_back(call(i, t % 2 == 1));
    });
  for (std::thread &thread : threads)
    thread.join();
  for (size_t i = 0; i < kCalls; ++i) {
    std::vector<float> serial = call(i, false);
    for (size_t t = 0; t < kThreads; ++t) {
      ASSERT_EQ(results[t][i].size(), serial.size());
      EXPECT_EQ(std::memcmp(results[t][i].data(), serial.data(), serial.size() * sizeof(float)), 0)
          << "call " << i << " of thread " << t;
    }
  }
}

TEST_F(Threads, EachTrainsItsOwnCopy) {
  mx::Session session(options());
  mx::Module program = session.loadSource(kNet).value();
  mx::Function step = program.function("step").value();
  const Value start = program.value("net").value();
  std::vector<float> x = inputs(8, 1);
  auto train = [&](bool isAsync) {
    Value net = start;
    for (int i = 0; i < 10; ++i) {
      Value given = Value::borrow(x.data(), {8, 32});
      (void)(isAsync ? step.start(mx::mut(net), given) : step(mx::mut(net), given)).value();
    }
    return elements(net.field("fc1.w").value());
  };
  std::vector<float> serial = train(false), results[kThreads];
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] { results[t] = train(t % 2 == 1); });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::vector<float> &result : results)
    EXPECT_EQ(result, serial);
}

TEST_F(Threads, FunctionsLoadsAndLookupsTakeTurns) {
  mx::Session session(options());
  mx::Module program = session.loadSource(kNet).value();
  Value net = program.value("net").value();
  std::vector<float> x = inputs(4, 3);
  std::vector<float> serial =
      elements(program.function("eager").value()(net, Value::borrow(x.data(), {4, 32})).value());
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        Value given = Value::borrow(x.data(), {4, 32});
        if (t % 3 == 0) {
          std::string text =
              "fn own" + std::to_string(t) + "() -> i64 { " + std::to_string(i) + " }\n";
          mx::Module own = session.loadSource(text).value();
          std::string name = "own" + std::to_string(t);
          wrong += own.function(name).value()().value().asInt().value() != i;
        } else if (t % 3 == 1) {
          wrong += elements(program.function("eager").value()(net, given).value()) != serial;
        } else {
          wrong += program.function("nothing").ok();
          wrong += elements(program.function("predict").value()(net, given).value()).size() != 32;
        }
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Threads, SeveralSessionsAtOnce) {
  std::vector<std::thread> threads;
  std::vector<float> results[4];
  std::vector<float> x = inputs(4, 9);
  for (size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      mx::Options own = options();
      own.threads = static_cast<int>(t % 2 + 1);
      own.print = own.notice = nullptr;
      mx::Session session(std::move(own));
      mx::Module program = session.loadSource(kNet).value();
      results[t] =
          elements(program.function("predict")
                       .value()(program.value("net").value(), Value::borrow(x.data(), {4, 32}))
                       .value());
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::vector<float> &result : results)
    EXPECT_EQ(result, results[0]);
}

} // namespace
