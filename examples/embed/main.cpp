// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A C++ program that trains a network written in mx and asks it questions. The points are memory
// of this program; the network lives in the session.
//
//   example-embed spiral.mx

#include <mxc/mxc.hpp>

#include <cmath>
#include <cstdio>
#include <thread>

namespace {

constexpr int64_t kArms = 3, kPerArm = 100, kPoints = kArms * kPerArm;

struct Points {
  std::vector<float> at;     // kPoints x 2
  std::vector<int32_t> arms; // which arm each is on
};

Points spiral() {
  Points points;
  for (int64_t arm = 0; arm < kArms; ++arm)
    for (int64_t i = 0; i < kPerArm; ++i) {
      double radius = double(i) / kPerArm;
      double angle = double(arm) * 2.1 + radius * 4.0 + 0.1 * std::sin(double(i * 37 + arm));
      points.at.push_back(float(radius * std::cos(angle)));
      points.at.push_back(float(radius * std::sin(angle)));
      points.arms.push_back(int32_t(arm));
    }
  return points;
}

/// How many of the points the network puts on the right arm.
int64_t hits(mx::Function predict, const mx::Value &net, const Points &points) {
  mx::Value x = mx::Value::borrow(points.at.data(), {kPoints, 2});
  mx::Value answer = predict(net, x).value();
  auto arms = answer.elements<int32_t>().value();
  int64_t right = 0;
  for (size_t i = 0; i < arms.size(); ++i)
    right += arms[i] == points.arms[i];
  return right;
}

void run(const char *path) {
  mx::Options options;
  options.notice = [](std::string_view text) { std::fprintf(stderr, "%s", text.data()); };
  mx::Session session(options);
  mx::Module program = session.loadFile(path).value();
  mx::Function step = program.function("step").value();
  mx::Function predict = program.function("predict").value();
  std::printf("%s\n", predict.signature().c_str());

  mx::Value made = program.function("start").value()().value();
  mx::Value net = made.item(0).value(), opt = made.item(1).value();
  made = mx::Value(); // net and opt are ours alone: steps change them in place
  Points points = spiral();
  mx::Value x = mx::Value::borrow(points.at.data(), {kPoints, 2});
  mx::Value y = mx::Value::borrow(points.arms.data(), {kPoints});
  for (int i = 0; i <= 300; ++i) {
    mx::Value loss = step.start(mx::mut(net), mx::mut(opt), x, y).value(); // does not wait
    if (i % 100 == 0)
      std::printf("step %3d  loss %.3f\n", i, loss.asFloat().value());
  }

  // A trained network may be asked by many threads at once.
  int64_t right[4];
  std::vector<std::thread> threads;
  for (int64_t &each : right)
    threads.emplace_back([&] { each = hits(predict, net, points); });
  for (std::thread &thread : threads)
    thread.join();
  bool same = right[0] == right[1] && right[1] == right[2] && right[2] == right[3];
  std::printf("right: %s 95 of 100, %s on all threads\n",
              right[0] * 100 >= 95 * kPoints ? "at least" : "less than",
              same ? "the same" : "different");

  // What is wrong is a value, with the text that `mxc` would print.
  std::vector<float> flat(6);
  auto wrong = predict(net, mx::Value::borrow(flat.data(), {2, 3}));
  std::printf("%s", wrong.ok() ? "no error\n" : wrong.error().text().c_str());
}

} // namespace

int main(int argc, char **argv) {
  try {
    run(argc > 1 ? argv[1] : "spiral.mx");
    return 0;
  } catch (const mx::Failure &failure) {
    std::fprintf(stderr, "%s", failure.what());
    return 1;
  }
}
