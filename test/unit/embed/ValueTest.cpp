// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values: memory of the host, parts, DLPack, and values that outlive their session.
#include "Embedded.h"
#include <cstring>

using mx::Value;

namespace {

/// The layout of DLPack, as a consumer knows it.
struct DlTensor {
  void *data;
  int32_t device, deviceId, rank;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t offset;
};
struct DlManaged {
  DlTensor tensor;
  void *manager;
  void (*deleter)(DlManaged *);
};

class Values : public Embedded {};

TEST_F(Values, MemoryIsGivenBackOnce) {
  int released = 0;
  std::vector<float> x = {1, 2, 3};
  {
    mx::Session session(options());
    auto half = session.loadSource("graph fn half(x: f32[N]) -> f32[N] { x / 2.0 }\n")
                    .value()
                    .function("half")
                    .value();
    Value given = Value::tryBorrow(x.data(), {3}, [&] { ++released; }).value();
    Value y = half(given).value(), later = half.start(given).value();
    EXPECT_EQ(y.elements<float>().value()[2], 1.5f);
    given = Value();
    EXPECT_EQ(later.elements<float>().value()[2], 1.5f);
  }
  EXPECT_EQ(released, 1);
}

TEST_F(Values, WhatIsWrongWithMemory) {
  alignas(8) char bytes[64] = {};
  auto *odd = reinterpret_cast<float *>(bytes + 1);
  EXPECT_EQ(Value::tryBorrow(odd, {2}).error().code(), "R0002");
  auto *fine = reinterpret_cast<float *>(bytes);
  EXPECT_EQ(Value::tryBorrow(fine, {-1}).error().code(), "R0201");
  mx::Error many = Value::tryBorrow(fine, mx::Shape(17, 1)).error();
  EXPECT_EQ(many.code(), "R0202");
  EXPECT_EQ(many.text(), "error[R0202]: a tensor of rank 17; 0 to 16 are possible\n");
  EXPECT_EQ(Value::tryBorrow(fine, {int64_t(1) << 40, int64_t(1) << 40}).error().code(), "R0103");
  EXPECT_EQ(Value::tryBorrow(static_cast<float *>(nullptr), {2}).error().code(), "R0002");
  EXPECT_TRUE(Value::tryBorrow(static_cast<float *>(nullptr), {0, 3}).ok());
}

TEST_F(Values, PartsByPath) {
  mx::Session session(options());
  mx::Module program = session
                           .loadSource("model In { param w: f32[2] = ones() }\n"
                                       "model Out { sub first: In\n  sub rest: [In; 2] }\n"
                                       "var net = Out()\nlet n = 3\n"
                                       "fn total(m: In) -> f32 { m.w.sum() }\n")
                           .value();
  Value net = program.value("net").value();
  EXPECT_EQ(net.type(), "Out");
  EXPECT_EQ(net.size(), 2u);
  EXPECT_EQ(net.fieldName(1), "rest");
  EXPECT_EQ(net.field("rest.1.w").value().type(), "f32[2]");
  EXPECT_EQ(program.value("n").value().asInt().value(), 3);
  // A part is a value of its own.
  Value part = net.field("rest.0").value();
  EXPECT_EQ(part.type(), "In");
  EXPECT_EQ(program.function("total").value()(part).value().asFloat().value(), 2);
  auto missing = net.field("frist");
  EXPECT_EQ(missing.error().code(), "E0209");
  EXPECT_NE(missing.error().text().find("`first`"), std::string::npos) << missing.error().text();
  EXPECT_EQ(net.field("rest.2").error().code(), "E0209");
  EXPECT_EQ(net.field("first.w.x").error().code(), "E0209");
}

TEST_F(Values, DlpackBothWays) {
  mx::Session session(options());
  auto half = session.loadSource("graph fn half(x: f32[N, 2]) -> f32[N, 2] { x / 2.0 }\n")
                  .value()
                  .function("half")
                  .value();
  std::vector<float> x = {1, 2, 3, 4};
  Value y = half(Value::borrow(x.data(), {2, 2})).value();
  auto *out = static_cast<DlManaged *>(y.toDlpack().value());
  y = Value(); // the consumer keeps the elements
  ASSERT_EQ(out->tensor.rank, 2);
  EXPECT_EQ(out->tensor.shape[0], 2);
  EXPECT_EQ(out->tensor.bits, 32);
  EXPECT_EQ(static_cast<float *>(out->tensor.data)[3], 2);
  // And back in, which owns it from then on.
  Value again = session.fromDlpack(out).value();
  Value z = half(again).value();
  EXPECT_EQ(z.elements<float>().value()[3], 1);
  EXPECT_FALSE(Value::borrow(x.data(), {4}).toDlpack().ok());
}

TEST_F(Values, OutliveTheirSession) {
  std::vector<float> x = {1, 2, 3};
  Value waited, pending, net;
  {
    mx::Session session(options());
    mx::Module program =
        session
            .loadSource("model M { param w: f32[3] = ones() }\n"
                        "graph fn half(x: f32[N]) -> f32[N] { x / 2.0 }\nfn make() -> M { M() }\n")
            .value();
    mx::Function half = program.function("half").value();
    waited = half(Value::borrow(x.data(), {3})).value();
    pending = half.start(Value::borrow(x.data(), {3})).value();
    net = program.function("make").value()().value();
  }
  EXPECT_EQ(waited.elements<float>().value()[2], 1.5f);
  EXPECT_EQ(pending.elements<float>().error().code(), "R0002");
  EXPECT_EQ(net.field("w").value().elements<float>().value()[0], 1);
}

TEST_F(Values, TensorsGoFromSessionToSession) {
  mx::Session one(options()), two(options());
  const char *text = "graph fn half(x: f32[N]) -> f32[N] { x / 2.0 }\n"
                     "fn eager(x: f32[N]) -> f32[N] { x / 2.0 }\n"
                     "model M { param w: f32[3] = ones() }\nfn make() -> M { M() }\n"
                     "fn total(m: M) -> f32 { m.w.sum() }\n";
  mx::Module first = one.loadSource(text).value(), second = two.loadSource(text).value();
  std::vector<float> x = {1, 2, 4};
  Value y = first.function("half").value().start(Value::borrow(x.data(), {3})).value();
  EXPECT_EQ(second.function("half").value()(y).value().elements<float>().value()[2], 1);
  EXPECT_EQ(second.function("half").value().start(y).value().elements<float>().value()[2], 1);
  EXPECT_EQ(second.function("eager").value()(y).value().elements<float>().value()[2], 1);
  // Types belong to their session.
  Value net = first.function("make").value()().value();
  EXPECT_EQ(second.function("total").value()(net).error().code(), "R0002");
}

} // namespace
