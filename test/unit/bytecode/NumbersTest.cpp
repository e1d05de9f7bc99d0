// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What single ops on numbers of the host compute.
#include "BytecodeTestSupport.h"
#include <cmath>

namespace mx::bytecode {
namespace {

using host::Program;
using host::Value;

class NumbersTest : public BytecodeFixture {};

/// A function f of one op.
std::string function(const std::string &op, const std::string &in, const std::string &out,
                     int operands, const std::string &name = "f") {
  std::string parameters, names, types;
  for (int i = 0; i < operands; ++i) {
    std::string value = "%x" + std::to_string(i), comma = i ? ", " : "";
    parameters += comma + value + ": " + in;
    names += comma + value;
    types += comma + in;
  }
  return "mx.func @" + name + "(" + parameters + ") -> " + out + " {\n  %r = mx." + op + " " +
         names + " : (" + types + ") -> " + out + "\n  mx.return %r : " + out + "\n}\n";
}

TEST_F(NumbersTest, Integers) {
  struct {
    const char *op;
    int64_t x, y, expected;
  } cases[] = {{"add", INT64_MAX, 1, INT64_MIN},
               {"sub", 3, 5, -2},
               {"mul", -4, 6, -24},
               {"floordiv", -7, 2, -4},
               {"mod", -7, 3, 2},
               {"mod", 7, -3, -2},
               {"pow", 3, 4, 81},
               {"maximum", -3, 2, 2},
               {"minimum", -3, 2, -3},
               {"bit_and", 12, 10, 8},
               {"bit_or", 12, 10, 14},
               {"bit_xor", 12, 10, 6},
               {"shift_left", 3, 4, 48},
               {"shift_left", 3, 64, 0},
               {"shift_right", -16, 2, -4},
               {"shift_right", -16, 99, -1}};
  for (auto [op, x, y, expected] : cases)
    EXPECT_EQ(callInt(load(function(op, "!i64", "!i64", 2)), "f", {x, y}), expected)
        << op << ' ' << x << ' ' << y;
  struct {
    const char *op;
    int64_t x, expected;
  } unary[] = {{"neg", 5, -5},   {"abs", -5, 5},     {"abs", INT64_MIN, INT64_MIN},
               {"sign", -9, -1}, {"bit_not", 5, -6}, {"floor", 7, 7}};
  for (auto [op, x, expected] : unary)
    EXPECT_EQ(callInt(load(function(op, "!i64", "!i64", 1)), "f", {x}), expected) << op;
}

TEST_F(NumbersTest, SmallIntegersWrap) {
  EXPECT_EQ(callInt(load(function("add", "!i32", "!i32", 2)), "f", {INT32_MAX, 1}), INT32_MIN);
  EXPECT_EQ(callInt(load(function("mul", "!u8", "!u8", 2)), "f", {16, 17}), 16);
  EXPECT_EQ(callInt(load(function("bit_not", "!u8", "!u8", 1)), "f", {1}), 254);
  EXPECT_EQ(callInt(load(function("shift_left", "!i32", "!i32", 2)), "f", {1, 40}), 0);
  EXPECT_EQ(callInt(load(function("cast", "!i64", "!i32", 1)), "f", {(int64_t(1) << 32) + 5}), 5);
  EXPECT_EQ(callInt(load(function("cast", "!i64", "!u8", 1)), "f", {-1}), 255);
}

TEST_F(NumbersTest, Comparisons) {
  for (std::string type : {"!i64", "!f32"})
    for (auto [op, less, same, more] : {std::tuple("lt", true, false, false),
                                        {"le", true, true, false},
                                        {"gt", false, false, true},
                                        {"ge", false, true, true},
                                        {"eq", false, true, false},
                                        {"ne", true, false, true}}) {
      Program *program = load(function(op, type, "!bool", 2));
      auto holds = [&](int x, int y) {
        std::vector<Value> args = type == "!i64"
                                      ? std::vector{Value::integer(x), Value::integer(y)}
                                      : std::vector{Value::f32(float(x)), Value::f32(float(y))};
        return call(program, "f", args).i != 0;
      };
      EXPECT_EQ(holds(1, 2), less) << op;
      EXPECT_EQ(holds(2, 2), same) << op;
      EXPECT_EQ(holds(3, 2), more) << op;
    }
}

TEST_F(NumbersTest, Bools) {
  for (auto [op, table] : {std::pair("and", 8),
                           {"or", 14},
                           {"eq", 9},
                           {"ne", 6},
                           {"bit_xor", 6},
                           {"lt", 4},
                           {"le", 13},
                           {"gt", 2},
                           {"maximum", 14},
                           {"minimum", 8}}) {
    Program *program = load(function(op, "!bool", "!bool", 2));
    for (int i = 0; i < 4; ++i) {
      // Bit i of the table: x is bit 0 of i, y bit 1.
      std::vector<Value> args{Value::boolean(i & 1), Value::boolean(i & 2)};
      EXPECT_EQ(call(program, "f", args).i, (table >> i) & 1) << op << ' ' << i;
    }
  }
}

TEST_F(NumbersTest, Floats) {
  EXPECT_FLOAT_EQ(callFloat(load(function("exp", "!f32", "!f32", 1)), "f", {1}), 2.7182817f);
  EXPECT_FLOAT_EQ(callFloat(load(function("rsqrt", "!f32", "!f32", 1)), "f", {4}), 0.5f);
  EXPECT_EQ(callFloat(load(function("round", "!f32", "!f32", 1)), "f", {2.5f}), 2);
  EXPECT_EQ(callFloat(load(function("mod", "!f32", "!f32", 2)), "f", {-7, 3}), 2);
  EXPECT_TRUE(std::isnan(callFloat(load(function("maximum", "!f32", "!f32", 2)), "f", {NAN, 3})));
  EXPECT_EQ(callFloat(load(function("isnan", "!f32", "!bool", 1)), "f", {NAN}), 1);
  Program *isFinite = load(function("isfinite", "!f32", "!bool", 1));
  EXPECT_EQ(callFloat(isFinite, "f", {INFINITY}), 0);
  EXPECT_EQ(callFloat(isFinite, "f", {NAN}), 0);
  EXPECT_EQ(callFloat(isFinite, "f", {3}), 1);
  // Towards zero, within the type; NaN gives 0.
  Program *toInt =
      load(function("cast", "!f32", "!i32", 1) + function("cast", "!f32", "!u8", 1, "g"));
  EXPECT_EQ(callFloat(toInt, "f", {-2.9f}), -2);
  EXPECT_EQ(callFloat(toInt, "f", {1e20f}), INT32_MAX);
  EXPECT_EQ(callFloat(toInt, "f", {NAN}), 0);
  EXPECT_EQ(callFloat(toInt, "g", {-5}), 0);
  EXPECT_EQ(callFloat(toInt, "g", {300}), 255);
  EXPECT_EQ(callFloat(load(function("cast", "!f32", "!f64", 1)), "f", {0.5f}), 0.5);
  EXPECT_EQ(callFloat(load(function("cast", "!f32", "!bool", 1)), "f", {0.5f}), 1);
}

} // namespace
} // namespace mx::bytecode
