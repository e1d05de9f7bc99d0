// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers, jumps, calls.

#include "VmTestSupport.h"

#include <cmath>
#include <limits>

namespace mxrt::host {
namespace {

class InterpreterTest : public VmFixture {};

constexpr int64_t smallest = std::numeric_limits<int64_t>::min();
constexpr int64_t largest = std::numeric_limits<int64_t>::max();

std::string binary(std::string_view op, std::string_view out = "i64",
                   std::string_view in = "i64") {
  return "func f(" + std::string(in) + ", " + std::string(in) + ") -> " + std::string(out) +
         " {\n reg " + std::string(out) + "\n " + std::string(op) + " r2, r0, r1\n ret r2\n}\n";
}

TEST_F(InterpreterTest, IntegersWrap) {
  EXPECT_EQ(callInt(load(binary("add.i")), "f", {largest, 1}), smallest);
  EXPECT_EQ(callInt(load(binary("sub.i")), "f", {smallest, 1}), largest);
  EXPECT_EQ(callInt(load(binary("mul.i")), "f", {largest, 2}), -2);
  EXPECT_EQ(callInt(load(binary("pow.i")), "f", {3, 41}), -420491770248316829);
  EXPECT_EQ(callInt(load(binary("pow.i")), "f", {0, 0}), 1);
  EXPECT_EQ(callInt(load(binary("pow.i")), "f", {2, largest}), 0);
}

TEST_F(InterpreterTest, DivisionRoundsDown) {
  Program *div = load(binary("floordiv.i"));
  Program *mod = load(binary("mod.i"));
  const int64_t cases[][4] = {{7, 2, 3, 1},    {-7, 2, -4, 1},  {7, -2, -4, -1},
                              {-7, -2, 3, -1}, {6, 3, 2, 0},    {-6, 3, -2, 0},
                              {0, -5, 0, 0},   {smallest, -1, smallest, 0},
                              {smallest, 1, smallest, 0}, {largest, smallest, -1, -1}};
  for (auto [x, y, quotient, rest] : cases) {
    EXPECT_EQ(callInt(div, "f", {x, y}), quotient) << x << " // " << y;
    EXPECT_EQ(callInt(mod, "f", {x, y}), rest) << x << " % " << y;
  }
}

TEST_F(InterpreterTest, DivisionByZeroRaises) {
  for (const char *op : {"floordiv.i", "mod.i", "div.i"}) {
    Program *program = load(binary(op, op == std::string("div.i") ? "f32" : "i64"));
    Value args[] = {Value::integer(1), Value::integer(0)};
    Value result;
    Status status = vm->call(program, "f", args, result);
    EXPECT_EQ(status.code(), MXRT_DIVISION_BY_ZERO) << op;
    EXPECT_FALSE(result.isSet());
  }
}

TEST_F(InterpreterTest, UncheckedDivisionGivesZero) {
  VmOptions options;
  options.uncheckedDivision = true;
  restart(options);
  EXPECT_EQ(callInt(load(binary("floordiv.i")), "f", {5, 0}), 0);
  EXPECT_EQ(callInt(load(binary("mod.i")), "f", {5, 0}), 0);
}

TEST_F(InterpreterTest, NegativePowerRaises) {
  Program *program = load(binary("pow.i"));
  Value args[] = {Value::integer(2), Value::integer(-1)};
  Value result;
  EXPECT_EQ(vm->call(program, "f", args, result).code(), MXRT_INVALID_ARGUMENT);
}

TEST_F(InterpreterTest, NarrowIntegers) {
  EXPECT_EQ(output("entry m\nfunc m() {\n reg i64, i64, i64\n const r0, 300\n"
                   " wrap.i8 r1, r0\n wrap.u8 r2, r0\n print [r1, r2]\n"
                   " const r0, 2147483648\n wrap.i32 r1, r0\n neg.i r2, r1\n print [r1, r2]\n"
                   " const r0, 200\n wrap.i8 r1, r0\n print [r1]\n retu\n}\n"),
            "44 44\n-2147483648 2147483648\n-56\n");
}

TEST_F(InterpreterTest, FloatsRoundToTheirType) {
  EXPECT_EQ(output("entry m\nfunc m() {\n reg f32, f32, f32, f64, f64, f64\n"
                   " const r0, 0.1f\n const r1, 0.2f\n add.f r2, r0, r1\n"
                   " const r3, 0.1d\n const r4, 0.2d\n add.d r5, r3, r4\n"
                   " print [r2, r5]\n f2d r5, r2\n print [r5]\n d2f r2, r5\n print [r2]\n"
                   " retu\n}\n"),
            "0.3 0.30000000000000004\n0.30000001192092896\n0.3\n");
}

TEST_F(InterpreterTest, FloatDivisionAsInPython) {
  Program *div = load(binary("floordiv.d", "f64", "f64"));
  Program *mod = load(binary("mod.d", "f64", "f64"));
  const double inf = std::numeric_limits<double>::infinity();
  // x, y, Python's x // y, Python's x % y
  const double cases[][4] = {{7.5, 2, 3, 1.5},   {-7.5, 2, -4, 0.5},  {7.5, -2, -4, -0.5},
                             {5, -inf, -1, -inf}, {-0.0, 3, -0.0, 0.0}, {1, 0.1, 9, 0.09999999999999995}};
  for (auto [x, y, quotient, rest] : cases) {
    Value args[] = {Value::f64(x), Value::f64(y)};
    Value result;
    ASSERT_TRUE(vm->call(div, "f", args, result).ok());
    EXPECT_EQ(result.d, quotient) << x << " // " << y;
    EXPECT_EQ(std::signbit(result.d), std::signbit(quotient)) << x << " // " << y;
    ASSERT_TRUE(vm->call(mod, "f", args, result).ok());
    EXPECT_EQ(result.d, rest) << x << " % " << y;
  }
}

TEST_F(InterpreterTest, FloatToIntChecksItsRange) {
  Program *program = load("func f(f64) -> i64 {\n reg i64\n d2i r1, r0\n ret r1\n}\n");
  auto convert = [&](double number, int64_t &out) {
    Value args[] = {Value::f64(number)};
    Value result;
    Status status = vm->call(program, "f", args, result);
    out = result.i;
    return status.ok();
  };
  int64_t out = 0;
  EXPECT_TRUE(convert(-2.9, out));
  EXPECT_EQ(out, -2);
  EXPECT_TRUE(convert(-9223372036854775808.0, out));
  EXPECT_EQ(out, smallest);
  EXPECT_FALSE(convert(9223372036854775808.0, out));
  EXPECT_FALSE(convert(std::nan(""), out));
}

TEST_F(InterpreterTest, Comparisons) {
  EXPECT_EQ(output("entry m\nfunc m() {\n reg i64, i64, bool, f64, str, str, bool\n"
                   " int r0, -1\n int r1, 1\n lt.i r2, r0, r1\n le.i r6, r1, r0\n print [r2, r6]\n"
                   " const r3, #7ff8000000000000d\n eq.d r2, r3, r3\n ne.d r6, r3, r3\n"
                   " print [r2, r6]\n const r4, \"a\"\n const r5, \"b\"\n lt.s r2, r4, r5\n"
                   " le.s r6, r5, r4\n print [r2, r6]\n eq.s r2, r4, r4\n not r6, r2\n"
                   " print [r2, r6]\n ne.b r2, r2, r6\n print [r2]\n retu\n}\n"),
            "true false\nfalse true\ntrue false\ntrue false\ntrue\n");
}

TEST_F(InterpreterTest, ElementTypesAreValues) {
  EXPECT_EQ(output("entry m\nfunc m() {\n reg dtype, dtype, bool, any\n dtype r0, i32\n"
                   " dtype r1, bf16\n eq.t r2, r0, r1\n copy r3, r1\n print [r0, r1, r2, r3]\n"
                   " retu\n}\n"),
            "i32 bf16 false bf16\n");
}

TEST_F(InterpreterTest, LoopSumsTheNumbersBelow) {
  Program *program = load("func sum(i64) -> i64 {\n reg i64, i64\n jmp test\nbody:\n"
                          " add.i r2, r2, r1\n addk.i r1, r1, 1\ntest:\n jlt.i r1, r0, body\n"
                          " ret r2\n}\n");
  EXPECT_EQ(callInt(program, "sum", {1000}), 499500);
  EXPECT_EQ(callInt(program, "sum", {0}), 0);
}

TEST_F(InterpreterTest, RecursionAndItsLimit) {
  Program *program = load("func fib(i64) -> i64 {\n reg i64, i64, i64\n int r1, 2\n"
                          " jle.i r1, r0, deep\n ret r0\ndeep:\n addk.i r2, r0, -1\n"
                          " call r2, fib, [r2]\n addk.i r3, r0, -2\n call r3, fib, [r3]\n"
                          " add.i r2, r2, r3\n ret r2\n}\n"
                          "func endless(i64) -> i64 {\n line 7:3\n call r0, endless, [r0]\n ret r0\n}\n");
  EXPECT_EQ(callInt(program, "fib", {20}), 6765);
  Value args[] = {Value::integer(1)};
  Value result;
  Status status = vm->call(program, "endless", args, result);
  EXPECT_EQ(status.code(), MXRT_HOST_STACK);
  EXPECT_EQ(status.location().line, 7);
  EXPECT_EQ(vm->traceback().size(), 32u);
  EXPECT_EQ(vm->elidedLocations(), 10000u - 32u);
  EXPECT_EQ(callInt(program, "fib", {10}), 55) << "the VM is usable afterwards";
}

TEST_F(InterpreterTest, MutParametersAreMovedInAndOut) {
  EXPECT_EQ(output("entry m\n"
                   "func add(mut array, mut i64, i64) -> i64 {\n push r0, r2\n"
                   " add.i r1, r1, r2\n ret r2\n}\n"
                   "func m() {\n reg array, i64, i64, array\n array r0, []\n int r2, 5\n"
                   " copy r3, r0\n call r2, add, [mut r0, mut r1, r2]\n"
                   " call _, add, [mut r0, mut r1, r2]\n print [r0, r1, r2, r3]\n retu\n}\n"),
            "[5, 5] 10 5 []\n");
}

TEST_F(InterpreterTest, HostArgumentsThatAreMut) {
  Program *program = load("func f(mut str) {\n cat r0, r0, r0\n retu\n}\n");
  Value args[] = {Value(Kind::Str, makeStr(vm->heap(), "ab"))};
  Value result;
  ASSERT_TRUE(vm->call(program, "f", args, result).ok());
  EXPECT_EQ(args[0].str()->view(), "abab");
  release(vm->heap(), args[0]);
}

TEST_F(InterpreterTest, WrongArgumentsFromTheHost) {
  Program *program = load("func f(i64) {\n retu\n}\n");
  Value result;
  EXPECT_EQ(vm->call(program, "f", {}, result).code(), MXRT_HOST_TYPE);
  Value args[] = {Value::f64(1)};
  EXPECT_EQ(vm->call(program, "f", args, result).code(), MXRT_HOST_TYPE);
  EXPECT_EQ(vm->call(program, "g", args, result).code(), MXRT_INVALID_ARGUMENT);
  EXPECT_EQ(vm->call(Value::unit(), args, result).code(), MXRT_HOST_TYPE);
}

TEST_F(InterpreterTest, ManyRegistersAndDeepCalls) {
  std::string kinds = "i64";
  for (int i = 1; i < 6000; ++i)
    kinds += i % 2 ? ", any" : ", i64";
  Program *program = load("func deep(i64) -> i64 {\n reg " + kinds +
                          "\n int r1, 0\n jeq.i r0, r1, end\n addk.i r3, r0, -1\n"
                          " call r3, deep, [r3]\n addk.i r3, r3, 1\n ret r3\nend:\n ret r0\n}\n");
  EXPECT_EQ(callInt(program, "deep", {50}), 50);
}

} // namespace
} // namespace mxrt::host
