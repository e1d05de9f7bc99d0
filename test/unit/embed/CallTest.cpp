// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of graphs, functions and constructors: arguments, results, what is changed, what is wrong.
#include "Embedded.h"

using mx::Value;

namespace {

class Calls : public Embedded {
protected:
  void SetUp() override {
    Embedded::SetUp();
    session.emplace(options());
    program = session->loadSource(kProgram, "net.mx").value();
  }
  void TearDown() override {
    session.reset();
    Embedded::TearDown();
  }
  mx::Function function(const char *name) { return program.function(name).value(); }
  static std::vector<float> elements(const Value &value) {
    auto all = value.elements<float>().value();
    return {all.begin(), all.end()};
  }

  std::optional<mx::Session> session;
  mx::Module program;
};

TEST_F(Calls, TrainAndPredict) {
  Value net = function("make")().value();
  EXPECT_EQ(net.type(), "Linear[2, 1]");
  std::vector<float> x = {1, 0, 0, 1, 1, 1, 2, 1}, y = {3, -2, 0, 2};
  mx::Function step = function("step");
  double loss = 0;
  for (int i = 0; i < 400; ++i)
    loss = step(mx::mut(net), Value::borrow(x.data(), {4, 2}), Value::borrow(y.data(), {4, 1}), 0.1)
               .value()
               .asFloat()
               .value();
  EXPECT_LT(loss, 1e-4);
  auto weights = elements(net.field("w").value());
  EXPECT_NEAR(weights[0], 2, 0.05);
  EXPECT_NEAR(weights[1], -3, 0.05);
  std::vector<float> asked = {10, 10};
  Value answer = function("predict")(net, Value::borrow(asked.data(), {1, 2})).value();
  EXPECT_EQ(answer.type(), "f32[1, 1]");
  EXPECT_NEAR(elements(answer)[0], -9, 0.3);
}

TEST_F(Calls, AsynchronousIsTheSame) {
  std::vector<float> x = {1, 0, 0, 1, 1, 1, 2, 1}, y = {3, -2, 0, 2};
  Value one = function("make")().value(), two = one;
  mx::Function step = function("step");
  for (int i = 0; i < 20; ++i) {
    (void)step(mx::mut(one), Value::borrow(x.data(), {4, 2}), Value::borrow(y.data(), {4, 1}), 0.1)
        .value();
    (void)step
        .start(mx::mut(two), Value::borrow(x.data(), {4, 2}), Value::borrow(y.data(), {4, 1}), 0.1)
        .value();
  }
  EXPECT_EQ(elements(one.field("w").value()), elements(two.field("w").value()));
  Value later = function("predict").start(two, Value::borrow(x.data(), {4, 2})).value();
  Value now = function("predict")(one, Value::borrow(x.data(), {4, 2})).value();
  EXPECT_EQ(elements(later), elements(now));
}

TEST_F(Calls, WhatNobodyElseHoldsIsChangedInPlace) {
  mx::Module more =
      session->loadSource("graph fn add(mut w: f32[N], x: f32[N]) { w = w + x }\n", "add.mx")
          .value();
  mx::Function add = more.function("add").value();
  std::vector<float> ones(256, 1);
  Value x = Value::borrow(ones.data(), {256}), w = x;
  (void)add(mx::mut(w), x).value(); // from now on it is the session's
  auto address = [&] { return w.elements<float>().value().data(); };
  const float *before = address();
  for (bool isAsync : {false, true}) {
    (void)(isAsync ? add.start(mx::mut(w), x) : add(mx::mut(w), x)).value();
    EXPECT_EQ(address(), before);
  }
  EXPECT_EQ(*address(), 4);
  Value held = w;
  (void)add(mx::mut(w), x).value();
  EXPECT_NE(address(), before);
  EXPECT_EQ(held.elements<float>().value()[0], 4);
}

TEST_F(Calls, SharedValuesAreNotChanged) {
  Value net = function("make")().value(), kept = net;
  std::vector<float> x = {1, 0}, y = {3};
  (void)function("step")(mx::mut(net), Value::borrow(x.data(), {1, 2}),
                         Value::borrow(y.data(), {1, 1}), 0.1)
      .value();
  EXPECT_EQ(elements(kept.field("b").value()), floats({0}));
  EXPECT_NE(elements(net.field("b").value()), floats({0}));
}

TEST_F(Calls, HostFunctions) {
  Value net = function("make")().value();
  std::vector<float> x = {1, 0, 0, 1, 1, 1, 2, 1}, y = {3, -2, 0, 2};
  double loss = function("train")(mx::mut(net), Value::borrow(x.data(), {4, 2}),
                                  Value::borrow(y.data(), {4, 1}), int64_t(400))
                    .value()
                    .asFloat()
                    .value();
  EXPECT_LT(loss, 1e-4);
  EXPECT_EQ(function("greet")("you").value().asText(), "hello you");
  Value both = function("halves")(Value::borrow(y.data(), {4})).value();
  EXPECT_EQ(both.kind(), MXC_TUPLE);
  EXPECT_EQ(elements(both.item(0).value()), floats({1.5, -1, 0, 1}));
  EXPECT_EQ(both.item(1).value().asFloat().value(), 3);
}

TEST_F(Calls, DefaultsNamesAndStatics) {
  std::vector<float> x = {1, 2};
  mx::Function scaled = function("scaled");
  Value given = Value::borrow(x.data(), {2});
  EXPECT_EQ(elements(scaled(given).value()), floats({3, 6}));
  EXPECT_EQ(elements(scaled(given, true).value()), floats({6, 12}));
  EXPECT_EQ(elements(scaled(given, false, 5.0).value()), floats({5, 10}));
  EXPECT_EQ(elements(scaled(given, mx::named("by", 7)).value()), floats({7, 14}));
  EXPECT_EQ(elements(scaled(given, mx::named("by", 8.5), mx::named("twice", true)).value()),
            floats({17, 34}));
}

TEST_F(Calls, Constructors) {
  Value net = function("Linear[3, 2]")().value();
  EXPECT_EQ(net.type(), "Linear[3, 2]");
  EXPECT_EQ(net.field("w").value().type(), "f32[3, 2]");
  std::vector<float> x = {1, 2, 3};
  EXPECT_EQ(elements(function("predict")(net, Value::borrow(x.data(), {1, 3})).value()),
            floats({0, 0}));
}

TEST_F(Calls, Signatures) {
  EXPECT_EQ(program.functions(),
            (std::vector<std::string>{"step", "predict", "train", "make", "scaled", "halves",
                                      "greet", "checked", "doubled"}));
  mx::Function predict = function("predict");
  EXPECT_TRUE(predict.isGraph());
  EXPECT_EQ(predict.signature(),
            "graph fn predict(m: Linear[D, C], x: f32[dyn N <= 1000, D]) -> f32[N, C]");
  EXPECT_EQ(predict.result(), "f32[N, C]");
  auto params = function("scaled").params();
  ASSERT_EQ(params.size(), 3u);
  EXPECT_EQ(params[1].name, "twice");
  EXPECT_EQ(params[1].type, "bool");
  EXPECT_TRUE(params[1].isStatic && params[1].isOptional && !params[1].isMut);
  EXPECT_TRUE(function("step").params()[0].isMut);
  EXPECT_FALSE(function("make").isGraph());
}

TEST_F(Calls, EmptyOddAndOpenSizes) {
  mx::Function doubled = function("doubled"), predict = function("predict");
  Value net = function("make")().value();
  for (int64_t size : {0, 1, 2, 3, 7, 17, 1000}) {
    std::vector<int32_t> x(static_cast<size_t>(size) + 1, 21);
    Value y = doubled(Value::borrow(x.data(), {size})).value();
    auto all = y.elements<int32_t>().value();
    EXPECT_EQ(all.size(), static_cast<size_t>(size));
    for (int32_t each : all)
      EXPECT_EQ(each, 42);
    std::vector<float> rows(static_cast<size_t>(2 * size) + 2);
    Value z = predict(net, Value::borrow(rows.data(), {size, 2})).value();
    EXPECT_EQ(z.shape()[0], size);
  }
}

TEST_F(Calls, StridedMemory) {
  // Every second column of a wider matrix.
  std::vector<float> wide = {1, 9, 2, 9, 3, 9, 4, 9};
  int64_t shape[] = {2, 2}, strides[] = {4, 2};
  mxc_value *raw = nullptr;
  ASSERT_EQ(mxc_tensor_borrow(MXC_F32, 2, shape, strides, wide.data(), 0, nullptr, nullptr, &raw),
            nullptr);
  Value net = function("Linear[2, 2]")().value();
  Value given = Value::adopt(raw);
  std::vector<float> y = {1, 2, 3, 4};
  mx::Function step = function("step");
  for (int i = 0; i < 300; ++i)
    (void)step(mx::mut(net), given, Value::borrow(y.data(), {2, 2}), 0.1).value();
  auto out = elements(function("predict")(net, given).value());
  for (size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(out[i], y[i], 0.2);
}

TEST_F(Calls, WritableMemoryIsChangedInPlace) {
  mx::Module more =
      session->loadSource("graph fn add(mut w: f32[N], x: f32[N]) { w = w + x }\n", "add.mx")
          .value();
  alignas(64) float w[16] = {1, 2, 3}, x[16] = {10, 10, 10};
  Value changed = Value::borrowMut(w, {16});
  Value result = more.function("add").value()(mx::mut(changed), Value::borrow(x, {16})).value();
  EXPECT_FALSE(result);
  EXPECT_EQ(elements(changed)[2], 13);
  EXPECT_EQ(w[2], 13);
  // Without leave to write, the memory stays as it is.
  Value kept = Value::borrow(w, {16});
  (void)more.function("add").value()(mx::mut(kept), Value::borrow(x, {16})).value();
  EXPECT_EQ(elements(kept)[2], 23);
  EXPECT_EQ(w[2], 13);
}

TEST_F(Calls, WritableMemoryIsChangedWhateverItsAlignmentAndTheCallee) {
  mx::Module more = session
                        ->loadSource(R"(
graph fn step(mut w: f32[N], x: f32[N]) { w = w + x }
fn eager(mut w: f32[N], x: f32[N]) -> f32[N] {
  let old = w * 2.0
  w = w + x
  old
}
fn part(mut w: f32[N], x: f32[N]) { w[1] = x[0] }
fn both(mut w: f32[N], x: f32[N]) { step(mut w, x) }
fn swap(mut a: f32[N], mut b: f32[N]) {
  let c = a
  a = b
  b = c
}
fn reverse(mut w: f32[N]) { w = flip(w, 0) }
)",
                                     "changes.mx")
                        .value();
  alignas(64) float room[80];
  float x[3] = {10, 20, 30};
  for (size_t offset = 0; offset < 20; ++offset) {
    float *w = room + offset;
    std::fill(room, room + 80, -1.f);
    for (int i = 0; i < 3; ++i)
      w[i] = float(i + 1);
    Value changed = Value::borrowMut(w, {3}), given = Value::borrow(x, {3});
    auto now = [&] { return floats({w[0], w[1], w[2]}); };
    // Each call finds the memory as the one before left it.
    (void)more.function("step").value()(mx::mut(changed), given).value();
    EXPECT_EQ(now(), floats({11, 22, 33})) << offset;
    Value old = more.function("eager").value()(mx::mut(changed), given).value();
    EXPECT_EQ(now(), floats({21, 42, 63})) << offset;
    EXPECT_EQ(elements(old), floats({22, 44, 66})) << offset;
    (void)more.function("part").value()(mx::mut(changed), given).value();
    EXPECT_EQ(now(), floats({21, 10, 63})) << offset;
    (void)more.function("both").value()(mx::mut(changed), given).value();
    EXPECT_EQ(now(), floats({31, 30, 93})) << offset;
    (void)more.function("reverse").value()(mx::mut(changed)).value();
    EXPECT_EQ(now(), floats({93, 30, 31})) << offset;
    EXPECT_EQ(elements(changed), now()) << offset;
    float *v = w + 5;
    v[0] = v[1] = v[2] = 7;
    Value other = Value::borrowMut(v, {3});
    (void)more.function("swap").value()(mx::mut(changed), mx::mut(other)).value();
    EXPECT_EQ(now(), floats({7, 7, 7})) << offset;
    EXPECT_EQ(floats({v[0], v[1], v[2]}), floats({93, 30, 31})) << offset;
    for (size_t i = 0; i < 80; ++i)
      if (i < offset || (i >= offset + 3 && i < offset + 5) || i >= offset + 8) {
        EXPECT_EQ(room[i], -1.f) << i << " beside " << offset;
      }
  }
}

TEST_F(Calls, WritableStridedMemoryIsChanged) {
  mx::Module more = session
                        ->loadSource("fn twice(mut w: f32[N, M]) { w = w * 2.0 }\n"
                                     "graph fn more(mut w: f32[N, M]) { w = w + 1.0 }\n",
                                     "strided.mx")
                        .value();
  std::vector<float> wide = {1, 9, 2, 9, 3, 9, 4, 9};
  int64_t shape[] = {2, 2}, strides[] = {4, 2};
  mxc_value *raw = nullptr;
  ASSERT_EQ(mxc_tensor_borrow(MXC_F32, 2, shape, strides, wide.data(), MXC_WRITABLE, nullptr,
                              nullptr, &raw),
            nullptr);
  Value given = Value::adopt(raw);
  (void)more.function("twice").value()(mx::mut(given)).value();
  EXPECT_EQ(wide, floats({2, 9, 4, 9, 6, 9, 8, 9}));
  (void)more.function("more").value()(mx::mut(given)).value();
  EXPECT_EQ(wide, floats({3, 9, 5, 9, 7, 9, 9, 9}));
}

TEST_F(Calls, SharedWritableMemoryIsNotChanged) {
  mx::Module more =
      session->loadSource("fn twice(mut w: f32[N]) { w = w * 2.0 }\n", "shared.mx").value();
  alignas(64) float w[4] = {1, 2, 3, 4};
  Value one = Value::borrowMut(w, {4}), two = one;
  (void)more.function("twice").value()(mx::mut(one)).value();
  EXPECT_EQ(elements(one), floats({2, 4, 6, 8}));
  EXPECT_EQ(elements(two), floats({1, 2, 3, 4}));
  EXPECT_EQ(w[0], 1);
}

TEST_F(Calls, GraphsOnTwoDevices) {
  mx::Module more = session
                        ->loadSource(R"(
const far = device("cpu:1")
graph fn apart(x: f32[N]) -> f32[N] {
  let y = on far { x * 2.0 }
  on device("cpu:0") { y + 1.0 }
}
graph fn away(x: f32[N]) -> f32[N] { on far { x * 2.0 } }
graph fn near(x: f32[N]) -> f32[N] { x + 1.0 }
)",
                                     "far.mx")
                        .value();
  std::vector<float> x = {1, 2};
  Value given = Value::borrow(x.data(), {2});
  EXPECT_EQ(elements(more.function("apart").value()(given).value()), floats({3, 5}));
  Value far = more.function("away").value()(given).value();
  EXPECT_EQ(elements(far), floats({2, 4}));
  mx::Error error = more.function("near").value()(far).error();
  EXPECT_EQ(error.code(), "R0402");
  EXPECT_EQ(error.text(), "error[R0402]: f32[2] is on cpu:1, but `near` runs on cpu:0\n");
}

// ---- what is wrong

TEST_F(Calls, WrongSizeIsTheCheckersError) {
  Value net = function("make")().value();
  std::vector<float> x(6);
  auto result = function("predict")(net, Value::borrow(x.data(), {2, 3}));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), "E0303");
  EXPECT_NE(result.error().text().find("predict(m, x)"), std::string::npos)
      << result.error().text();
  // And nothing is broken by it.
  EXPECT_TRUE(function("predict")(net, Value::borrow(x.data(), {3, 2})).ok());
}

TEST_F(Calls, AboveABound) {
  Value net = function("make")().value();
  std::vector<float> x(2002);
  auto result = function("predict")(net, Value::borrow(x.data(), {1001, 2}));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), "E0316") << result.error().text();
}

TEST_F(Calls, WrongTypesAndArguments) {
  std::vector<float> x = {1, 2};
  Value floats = Value::borrow(x.data(), {2});
  EXPECT_EQ(function("doubled")(floats).error().code(), "E0202");
  EXPECT_EQ(function("doubled")().error().code(), "E0207");
  EXPECT_EQ(function("doubled")(Value()).error().code(), "R0002");
  EXPECT_EQ(function("greet")(3).ok(), false);
  Value net = function("make")().value();
  std::vector<float> y = {1};
  auto unchanged =
      function("step")(net, Value::borrow(x.data(), {1, 2}), Value::borrow(y.data(), {1, 1}), 0.1);
  ASSERT_FALSE(unchanged.ok());
  EXPECT_EQ(unchanged.error().code(), "E0203") << unchanged.error().text();
}

TEST_F(Calls, UnknownNames) {
  auto missing = program.function("predct");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), "E0801");
  EXPECT_NE(missing.error().text().find("predict"), std::string::npos) << missing.error().text();
  EXPECT_FALSE(program.function("3 + 4").ok());
  EXPECT_FALSE(program.function("").ok());
  EXPECT_FALSE(program.function("(").ok());
  EXPECT_EQ(program.value("nothing").error().code(), "E0801");
}

TEST_F(Calls, ErrorsOfARunHaveTheirPlace) {
  std::vector<float> x = {-1};
  auto result = function("checked")(Value::borrow(x.data(), {1}));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), "R0302");
  EXPECT_NE(result.error().text().find("net.mx:"), std::string::npos) << result.error().text();
  EXPECT_NE(result.error().text().find("not positive"), std::string::npos);
  x[0] = 1;
  EXPECT_EQ(function("checked")(Value::borrow(x.data(), {1})).value().asFloat().value(), 1);
}

TEST_F(Calls, AGraphThatFailsPoisonsWhatItChanged) {
  mx::Module more = session
                        ->loadSource(R"(
graph fn fill(mut w: f32[N], x: f32[N]) -> f32 {
  w = w + x
  assert w.sum() < 10.0, "too much"
  w.sum()
}
)",
                                     "fill.mx")
                        .value();
  mx::Function fill = more.function("fill").value();
  std::vector<float> w = {1, 2}, x = {100, 100};
  Value changed = Value::copy(w, {2}), kept = changed;
  auto result = fill(mx::mut(changed), Value::borrow(x.data(), {2}));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), "R0302") << result.error().text();
  EXPECT_NE(result.error().text().find("fill.mx:4"), std::string::npos) << result.error().text();
  EXPECT_EQ(changed.wait().error().code(), "R0302");
  EXPECT_EQ(elements(kept), w);
  // Issued, the same comes out where somebody looks.
  Value again = Value::copy(w, {2});
  Value sum = fill.start(mx::mut(again), Value::borrow(x.data(), {2})).value();
  EXPECT_EQ(sum.asFloat().error().code(), "R0302");
  EXPECT_EQ(again.elements<float>().error().code(), "R0302");
}

} // namespace
