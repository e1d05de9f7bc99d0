// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fixture of the tests of libmxc: options with a cache of their own, and a small program.
#pragma once
#include <filesystem>
#include <gtest/gtest.h>
#include <mxc/mxc.hpp>
#include <unistd.h>

/// A session with a cache of its own, and its recorded output.
class Embedded : public testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() /
             ("mx-embed-" + std::to_string(getpid()) + "-" +
              testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  mx::Options options() {
    mx::Options made;
    made.stdlibFolder = MX_SOURCE_DIR "/stdlib";
    made.cacheFolder = folder.string();
    made.print = [this](std::string_view text) { printed += text; };
    made.notice = [this](std::string_view text) { noticed += text; };
    return made;
  }

  std::filesystem::path folder;
  std::string printed, noticed;
};

/// A regression that learns y = 2 x1 - 3 x2 + 1, and functions of all sorts.
inline const char *kProgram = R"(
model Linear[D, C] {
  param w: f32[D, C] = zeros()
  param b: f32[C] = zeros()
  fn call(x: f32[B, D]) -> f32[B, C] { x @ w + b }
}

graph fn step(mut m: Linear[D, C], x: f32[B, D], y: f32[B, C], lr: f32) -> f32 {
  let (loss, g) = grad(m) { ((m(x) - y) ** 2).mean() }
  m -= lr * g
  loss
}

graph fn predict(m: Linear[D, C], x: f32[dyn N <= 1000, D]) -> f32[N, C] { m(x) }

fn train(mut m: Linear[D, C], x: f32[B, D], y: f32[B, C], steps: i64) -> f32 {
  var loss = f32(0)
  for i in 0..steps { loss = step(mut m, x, y, 0.1) }
  loss
}

fn make() -> Linear[2, 1] { Linear[2, 1]() }

fn scaled(x: f32[N], static twice: bool = false, by: f32 = 3.0) -> f32[N] {
  if twice { x * by * 2.0 } else { x * by }
}

fn halves(x: f32[N]) -> (f32[N], f32) { (x / 2.0, x.sum()) }

fn greet(name: str) -> str { "hello " + name }

fn checked(x: f32[N]) -> f32 {
  assert x.sum() > 0.0, "not positive"
  x.sum()
}

graph fn doubled(x: i32[N]) -> i32[N] { x + x }
)";

inline std::vector<float> floats(std::initializer_list<float> values) { return values; }
