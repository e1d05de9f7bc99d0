// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sessions: their options, several at once, cancelled, ended; nothing is printed, no signal is taken.
#include "Embedded.h"
#include <csignal>
#include <fstream>
#include <malloc.h>
#include <thread>

using mx::Value;

namespace {

class Sessions : public Embedded {};

constexpr const char *kSpin = R"(
fn spin(n: i64) -> f32 {
  var x = ones([64])
  for i in 0..n { x = x * 1.0 }
  x.sum()
}
graph fn long(x: f32[N], n: i64) -> f32 {
  var y = x
  var i = 0
  while i < n limit 4000000000 { y = y * 1.0 + 0.0
    i += 1 }
  y.sum()
}
)";

int64_t residentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST_F(Sessions, ErrorsOfProgramsAreRendered) {
  mx::Session session(options());
  auto wrong = session.loadSource("let a: f32[3] = ones([4])\n", "wrong.mx");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code()[0], 'E');
  EXPECT_NE(wrong.error().text().find(" --> wrong.mx:1:"), std::string::npos)
      << wrong.error().text();
  EXPECT_EQ(session.loadFile("/nowhere/net.mx").error().code(), "R0601");
  auto raised = session.loadSource("let x = ones([2])\nassert x.sum() > 5.0\n", "raise.mx");
  EXPECT_EQ(raised.error().code(), "R0302") << raised.error().text();
  EXPECT_EQ(session.loadSource("let broken = (\n").ok(), false);
  // The session goes on.
  EXPECT_TRUE(session.loadSource("let fine = 1\n").ok());
}

TEST_F(Sessions, FilesAndTheirImports) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "layers.mx") << "fn twice(x: f32[N]) -> f32[N] { x * 2.0 }\n";
  std::ofstream(folder / "net.mx") << "import nn\nfrom layers import twice\n"
                                      "graph fn f(x: f32[N]) -> f32[N] { nn.relu(twice(x)) }\n";
  mx::Session session(options());
  mx::Function f = session.loadFile((folder / "net.mx").string()).value().function("f").value();
  std::vector<float> x = {-1, 2};
  Value y = f(Value::borrow(x.data(), {2})).value();
  EXPECT_EQ(y.elements<float>().value()[1], 4);
  EXPECT_EQ(y.elements<float>().value()[0], 0);
}

TEST_F(Sessions, AKVStoreHasOneWorker) {
  mx::Session session(options());
  mx::Module module = session.loadSource(R"(
import dist
graph fn total(kv: dist.KVStore, x: f32[N]) -> f32[N] { kv.sum(x) + f32(kv.size) }
fn alone(x: f32[N]) -> f32[N] { total(dist.local(workers=1), x) }
fn two(x: f32[N]) -> f32[N] { total(dist.local(workers=2), x) }
)").value();
  mx::Function alone = module.function("alone").value();
  std::vector<float> x = {1, 2};
  Value y = alone(Value::borrow(x.data(), {2})).value();
  EXPECT_EQ(y.elements<float>().value()[1], 3);
  mx::Function two = module.function("two").value();
  auto refused = two(Value::borrow(x.data(), {2}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), "R0705") << refused.error().text();
  EXPECT_TRUE(alone(Value::borrow(x.data(), {2})).ok()); // the session goes on
}

TEST_F(Sessions, PrintsGoToTheHost) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    mx::Session session(options());
    (void)session.loadSource("print(1 + 1)\nfn unused(a: f32[N]) { print(a) }\n").value();
    mx::Options silent = options();
    silent.print = nullptr;
    silent.notice = nullptr;
    mx::Session other(std::move(silent));
    (void)other.loadSource("print(3)\n").value();
    (void)other.loadSource("let a: f32[3] = ones([4])\n").ok();
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(printed, "2\n");
}

TEST_F(Sessions, NotesGoToTheHost) {
  mx::Session session(options());
  mx::Function f = session.loadSource("graph fn f(x: f32[N]) -> f32[N] { x + 1.0 }\n", "f.mx")
                       .value()
                       .function("f")
                       .value();
  std::vector<float> x(4);
  (void)f(Value::borrow(x.data(), {2})).value();
  EXPECT_EQ(noticed, "");
  (void)f(Value::borrow(x.data(), {3})).value();
  EXPECT_NE(noticed.find("N0501"), std::string::npos) << noticed;
}

TEST_F(Sessions, ProductsAreTunedOnceAndSaidToTheHost) {
  const char *text = "graph fn f(x: f32[N, N]) -> f32[N, N] { x @ x }\n";
  std::vector<float> x(64 * 64, 0.5f);
  for (int turn = 0; turn < 2; ++turn) {
    noticed.clear();
    mx::Options tuned = options();
    tuned.tune = true;
    mx::Session session(std::move(tuned));
    mx::Function f = session.loadSource(text, "f.mx").value().function("f").value();
    std::vector<float> y(x.size());
    ASSERT_TRUE(f.into(std::span<float>(y), Value::borrow(x.data(), {64, 64})).ok());
    EXPECT_EQ(y.back(), 16.0f);
    EXPECT_EQ(noticed.find("tuned f.mx:1:") != std::string::npos, turn == 0) << noticed;
  }
}

TEST_F(Sessions, OptionsDoNotDisturbEachOther) {
  mx::Options small = options(), seeded = options();
  small.memoryLimit = 1 << 20;
  small.threads = 1;
  small.settings = {{"width", "8"}};
  seeded.seed = 7;
  seeded.eager = true;
  seeded.settings = {{"width", "300"}};
  mx::Session one(std::move(small)), two(std::move(seeded)), three(options());
  const char *text = R"(
const width = option("width", 4)
fn noise() -> f32[width] { normal([width]) }
graph fn big(x: f32[N]) -> f32[N, N] { x[:, new] * x[new, :] }
)";
  mx::Module a = one.loadSource(text).value(), b = two.loadSource(text).value(),
             c = three.loadSource(text).value();
  EXPECT_EQ(a.function("noise").value()().value().shape()[0], 8);
  EXPECT_EQ(b.function("noise").value()().value().shape()[0], 300);
  Value drawn = c.function("noise").value()().value();
  EXPECT_EQ(drawn.shape()[0], 4);
  // Seeds are the session's own: the same again in a new session with the same seed.
  mx::Session four(options());
  Value again = four.loadSource(text).value().function("noise").value()().value();
  EXPECT_EQ(drawn.elements<float>().value()[0], again.elements<float>().value()[0]);
  Value other = b.function("noise").value()().value();
  EXPECT_NE(drawn.elements<float>().value()[0], other.elements<float>().value()[0]);
  std::vector<float> x(1024, 1);
  auto refused = a.function("big").value()(Value::borrow(x.data(), {1024}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), "R0102") << refused.error().text();
  EXPECT_TRUE(b.function("big").value()(Value::borrow(x.data(), {1024})).ok());
  EXPECT_EQ(one.memory().value().limit_bytes, 1 << 20);
  EXPECT_EQ(two.memory().value().limit_bytes, 0);
}

TEST_F(Sessions, CancelEndsWhatRuns) {
  mx::Session session(options()), other(options());
  mx::Module program = session.loadSource(kSpin).value();
  mx::Function spin = program.function("spin").value(), loop = program.function("long").value();
  mx::Function fine = other.loadSource(kSpin).value().function("spin").value();
  std::vector<float> x(8, 1);
  for (int round = 0; round < 2; ++round) {
    std::atomic<bool> started{false}, ended{false};
    std::thread stopper([&] {
      while (!started)
        std::this_thread::yield();
      while (!ended) { // whenever the call has begun
        session.cancel();
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    });
    started = true;
    auto result = round == 0 ? spin(int64_t(1) << 60)
                             : loop(Value::borrow(x.data(), {8}), int64_t(3000000000));
    ended = true;
    stopper.join();
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code(), "R0004") << result.error().text();
    session.resume();
  }
  EXPECT_TRUE(fine(int64_t(3)).ok());
  EXPECT_TRUE(spin(int64_t(3)).ok());
  EXPECT_TRUE(loop(Value::borrow(x.data(), {8}), int64_t(3)).ok());
}

TEST_F(Sessions, SignalsAreTheHosts) {
  std::vector<struct sigaction> before;
  auto look = [](std::vector<struct sigaction> &out) {
    for (int number = 1; number < 32; ++number) {
      struct sigaction action {};
      sigaction(number, nullptr, &action);
      out.push_back(action);
    }
  };
  look(before);
  std::vector<struct sigaction> during, after;
  {
    mx::Session session(options());
    mx::Function f = session.loadSource("graph fn f(x: f32[N]) -> f32[N] { x + 1.0 }\n")
                         .value()
                         .function("f")
                         .value();
    std::vector<float> x(4);
    (void)f(Value::borrow(x.data(), {4})).value();
    look(during);
  }
  look(after);
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i].sa_handler, during[i].sa_handler) << "signal " << i + 1;
    EXPECT_EQ(before[i].sa_handler, after[i].sa_handler) << "signal " << i + 1;
  }
}

/// Sanitizers keep memory that was freed for a while.
#if defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

/// How many sessions to make and end: more at night (MX_EMBED_CYCLES).
int cycles() {
  const char *asked = std::getenv("MX_EMBED_CYCLES");
  return asked ? std::atoi(asked) : kSanitized ? 12 : 150;
}

TEST_F(Sessions, MemoryIsFlat) {
  int count = cycles();
  auto once = [&] {
    mx::Options own = options();
    own.cacheFolder = "/dev/null/none"; // nothing is kept, so each session compiles
    mx::Session session(std::move(own));
    mx::Module program =
        session
            .loadSource("model M { param w: f32[64, 64] = ones() }\nvar net = M()\n"
                        "graph fn f(m: M, x: f32[N, 64]) -> f32[N, 64] { x @ m.w + 1.0 }\n")
            .value();
    std::vector<float> x(256, 1);
    Value y = program.function("f")
                  .value()(program.value("net").value(), Value::borrow(x.data(), {4, 64}))
                  .value();
    ASSERT_EQ(y.elements<float>().value()[0], 65.0f);
  };
  auto inUse = [] { return static_cast<int64_t>(mallinfo2().uordblks); };
  int number = 0;
  for (; number < count / 3; ++number)
    once();
  int64_t early = inUse(), resident = residentBytes();
  for (; number < count; ++number)
    once();
  int64_t late = inUse();
  std::printf("%d sessions: %lld bytes in use after a third, %lld at the end; resident %lld KB, "
              "then %lld KB\n",
              count, static_cast<long long>(early), static_cast<long long>(late),
              static_cast<long long>(resident >> 10),
              static_cast<long long>(residentBytes() >> 10));
  // Tables of the C library and of LLVM may still double once; nothing adds up.
  if (!kSanitized) {
    EXPECT_LT(late - early, 64 << 10);
    EXPECT_LT(residentBytes() - resident, 8 << 20);
  }
}

} // namespace
