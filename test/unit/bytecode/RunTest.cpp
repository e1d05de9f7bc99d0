// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What compiled programs compute.
#include "BytecodeTestSupport.h"

namespace mx::bytecode {
namespace {

using host::Program;
using host::Value;

class RunTest : public BytecodeFixture {};

const char *fib = R"(
mx.func @fib(%n: !i64) -> !i64 {
  %two = mx.constant 2 : i64 -> !i64
  %one = mx.constant 1 : i64 -> !i64
  %c = mx.lt %n, %two : (!i64, !i64) -> !bool
  %r = mx.if %c : (!bool) -> !i64 {
    mx.yield %n : !i64
  } else {
    %a = mx.sub %n, %one : (!i64, !i64) -> !i64
    %b = mx.sub %n, %two : (!i64, !i64) -> !i64
    %x = mx.call @fib(%a) : (!i64) -> !i64
    %y = mx.call @fib(%b) : (!i64) -> !i64
    %s = mx.add %x, %y : (!i64, !i64) -> !i64
    mx.yield %s : !i64
  }
  mx.return %r : !i64
}
)";

TEST_F(RunTest, Recursion) { EXPECT_EQ(callInt(load(fib), "fib", {20}), 6765); }

TEST_F(RunTest, Loops) {
  Program *program = load(R"(
mx.func @table(%n: !i64) -> !i64 {
  %zero = mx.constant 0 : i64 -> !i64
  %r = mx.for %zero to %n carries (%zero) : (!i64, !i64, !i64) -> !i64 {
  ^bb0(%i: !i64, %v: !i64):
    %s = mx.for %i to %n carries (%v) : (!i64, !i64, !i64) -> !i64 {
    ^bb1(%k: !i64, %w: !i64):
      %p = mx.mul %i, %k : (!i64, !i64) -> !i64
      %q = mx.add %w, %p : (!i64, !i64) -> !i64
      mx.yield %q : !i64
    }
    mx.yield %s : !i64
  }
  mx.return %r : !i64
}
mx.func @fibonacci(%n: !i64) -> !i64 {
  %zero = mx.constant 0 : i64 -> !i64
  %one = mx.constant 1 : i64 -> !i64
  %a, %b = mx.for %zero to %n carries (%zero, %one) : (!i64, !i64, !i64, !i64) -> (!i64, !i64) {
  ^bb0(%i: !i64, %x: !i64, %y: !i64):
    %z = mx.add %x, %y : (!i64, !i64) -> !i64
    mx.yield %y, %z : !i64, !i64
  }
  mx.return %a : !i64
}
mx.func @collatz(%n: !i64, %limit: !i64) -> !i64 {
  %zero = mx.constant 0 : i64 -> !i64
  %one = mx.constant 1 : i64 -> !i64
  %two = mx.constant 2 : i64 -> !i64
  %three = mx.constant 3 : i64 -> !i64
  %r, %turns = mx.while carries (%n, %zero) limit %limit : !i64 : (!i64, !i64) -> (!i64, !i64) {
  ^bb0(%a: !i64, %b: !i64):
    %g = mx.ne %a, %one : (!i64, !i64) -> !bool
    mx.yield %g : !bool
  } do {
  ^bb0(%a: !i64, %b: !i64):
    %m = mx.mod %a, %two : (!i64, !i64) -> !i64
    %e = mx.eq %m, %zero : (!i64, !i64) -> !bool
    %h = mx.if %e : (!bool) -> !i64 {
      %d = mx.floordiv %a, %two : (!i64, !i64) -> !i64
      mx.yield %d : !i64
    } else {
      %d = mx.mul %a, %three : (!i64, !i64) -> !i64
      %f = mx.add %d, %one : (!i64, !i64) -> !i64
      mx.yield %f : !i64
    }
    %z = mx.add %b, %one : (!i64, !i64) -> !i64
    mx.yield %h, %z : !i64, !i64
  } loc("loop.mx":9:5)
  mx.return %turns : !i64
} loc("loop.mx":8:1)
)");
  EXPECT_EQ(callInt(program, "table", {5}), 65);
  EXPECT_EQ(callInt(program, "table", {0}), 0);
  EXPECT_EQ(callInt(program, "fibonacci", {50}), 12586269025);
  EXPECT_EQ(callInt(program, "collatz", {27, 111}), 111);
  EXPECT_EQ(callInt(program, "collatz", {1, 0}), 0);
  EXPECT_EQ(failure(program, "collatz", {27, 110}), "loop limit reached");
  EXPECT_EQ(locations(), "9:5 collatz");
}

/// Loops whose body is longer than a short jump.
TEST_F(RunTest, LongLoops) {
  std::string body;
  for (int i = 0; i < 40000; ++i)
    body += "    %v" + std::to_string(i + 1) + " = mx.mul %v" + std::to_string(i) +
            ", %x : (!i64, !i64) -> !i64\n";
  Program *program = load(R"(
mx.func @f(%x: !i64, %n: !i64) -> !i64 {
  %zero = mx.constant 0 : i64 -> !i64
  %r = mx.for %zero to %n carries (%x) : (!i64, !i64, !i64) -> !i64 {
  ^bb0(%i: !i64, %v0: !i64):
)" + body + R"(
    mx.yield %v40000 : !i64
  }
  mx.return %r : !i64
}
mx.func @g(%x: !i64, %n: !i64) -> !i64 {
  %one = mx.constant 1 : i64 -> !i64
  %r, %m = mx.while carries (%x, %n) : (!i64, !i64) -> (!i64, !i64) {
  ^bb0(%a: !i64, %b: !i64):
    %c = mx.gt %b, %one : (!i64, !i64) -> !bool
    mx.yield %c : !bool
  } do {
  ^bb0(%v0: !i64, %b: !i64):
)" + body + R"(
    %c = mx.sub %b, %one : (!i64, !i64) -> !i64
    mx.yield %v40000, %c : !i64, !i64
  }
  mx.return %r : !i64
}
)");
  EXPECT_EQ(callInt(program, "f", {-1, 3}), -1);
  EXPECT_EQ(callInt(program, "g", {-1, 3}), -1);
}

TEST_F(RunTest, MutArguments) {
  Program *program = load(R"(
mx.func @bump(%x: !i64 {mx.mut}, %y: !i64) -> (!i64, !i64) {
  %r = mx.mul %x, %y : (!i64, !i64) -> !i64
  mx.return %r, %x : !i64, !i64
}
mx.func @exchange(%x: !i64 {mx.mut}, %y: !i64 {mx.mut}) -> (!i64, !i64) {
  mx.return %y, %x : !i64, !i64
}
mx.func @f(%x: !i64) -> !i64 {
  %ten = mx.constant 10 : i64 -> !i64
  %new, %old = mx.call @bump(%x, %ten) : (!i64, !i64) -> (!i64, !i64)
  %a, %b = mx.call @exchange(%new, %ten) : (!i64, !i64) -> (!i64, !i64)
  %p = mx.mul %b, %ten : (!i64, !i64) -> !i64
  %q = mx.add %p, %a : (!i64, !i64) -> !i64
  %s = mx.mul %q, %ten : (!i64, !i64) -> !i64
  %r = mx.add %s, %old : (!i64, !i64) -> !i64
  mx.return %r : !i64
}
)");
  // new = 30, old = 3; exchanged a = 10, b = 30.
  EXPECT_EQ(callInt(program, "f", {3}), (30 * 10 + 10) * 10 + 3);
  std::vector<Value> args{Value::integer(7), Value::integer(6)};
  EXPECT_EQ(call(program, "bump", args).i, 7);
  EXPECT_EQ(args[0].i, 42);
}

TEST_F(RunTest, UpdatesInPlace) {
  Program *program = load(R"(
mx.func @set(%x: !t {mx.mut}, %i: !i64) -> !t {
  %v = mx.constant 9.0 : f32 -> !f32
  %y = mx.update %x, %v ["i"] at (%i) : (!t, !f32, !i64) -> !t
  mx.return %y : !t
}
mx.func @in_place() {
  %one = mx.constant 1.0 : f32 -> !f32
  %zero = mx.constant 0 : i64 -> !i64
  %four = mx.constant 4 : i64 -> !i64
  %x = mx.full %one : !f32 -> !t
  %y = mx.for %zero to %four carries (%x) : (!i64, !i64, !t) -> !t {
  ^bb0(%i: !i64, %v: !t):
    %w = mx.call @set(%v, %i) : (!t, !i64) -> !t
    mx.yield %w : !t
  }
  mx.print %y : !t
  mx.return
}
mx.func @copied() {
  %one = mx.constant 1.0 : f32 -> !f32
  %two = mx.constant 2 : i64 -> !i64
  %x = mx.full %one : !f32 -> !t
  %y = mx.call @set(%x, %two) : (!t, !i64) -> !t
  mx.print %x, %y : !t, !t
  mx.return
}
!p = !mx.aggregate<"P" ["a", "b"] (!mx.tensor<f32[4]>, !mx.tensor<f32[4]>)>
mx.func @parts() {
  %one = mx.constant 1.0 : f32 -> !f32
  %two = mx.constant 2 : i64 -> !i64
  %x = mx.full %one : !f32 -> !t
  %y = mx.full %one : !f32 -> !t
  %p = mx.make(%x, %y) : (!t, !t) -> !p
  %a = mx.get %p 0 : !p -> !t
  %b = mx.call @set(%a, %two) : (!t, !i64) -> !t
  %q = mx.set %p 0 = %b : (!p, !t) -> !p
  mx.print %q : !p
  mx.return
}
)");
  std::vector<Value> none;
  call(program, "in_place", none);
  EXPECT_EQ(fake.output, "[ 9 9 9 9 ]\n");
  EXPECT_EQ(fake.copies, 0);
  fake.output.clear();
  call(program, "copied", none);
  EXPECT_EQ(fake.output, "[ 1 1 1 1 ] [ 1 1 9 1 ]\n");
  EXPECT_EQ(fake.copies, 1);
  fake.output.clear();
  call(program, "parts", none);
  EXPECT_EQ(fake.output, "P(a=[ 1 1 9 1 ], b=[ 1 1 1 1 ])\n");
  EXPECT_EQ(fake.copies, 1);
}

TEST_F(RunTest, ErrorsAndPlaces) {
  Program *program = load(R"(
mx.func @inner(%n: !i64) {
  %zero = mx.constant 0 : i64 -> !i64
  %c = mx.ge %n, %zero : (!i64, !i64) -> !bool loc("e.mx":2:3)
  mx.assert %c "n >= 0" : !bool loc("e.mx":3:3)
  %m = mx.text "too small" : !mx.str loc("e.mx":4:3)
  %e = mx.make_error %m : (!mx.str) -> !mx.error loc("e.mx":4:5)
  %d = mx.lt %n, %zero : (!i64, !i64) -> !bool loc("e.mx":4:7)
  %f = mx.not %d : (!bool) -> !bool loc("e.mx":4:7)
  mx.if %f : (!bool) -> () {
    mx.raise %e : !mx.error loc("e.mx":5:9)
    mx.yield
  } else {
    mx.yield
  } loc("e.mx":5:1)
  mx.return
} loc("e.mx":1:1)
mx.func @outer(%n: !i64) {
  mx.call @inner(%n) : (!i64) -> () loc("e.mx":8:2)
  mx.return
} loc("e.mx":7:1)
mx.func @caught(%n: !i64) -> !i64 {
  %one = mx.constant 1 : i64 -> !i64
  %cell = mx.cell %one : (!i64) -> !mx.cell<!i64>
  %r = mx.try : () -> !i64 {
    %ten = mx.constant 10 : i64 -> !i64
    mx.store %ten to %cell : !i64, !mx.cell<!i64>
    mx.call @inner(%n) : (!i64) -> () loc("e.mx":12:4)
    mx.yield %one : !i64
  } catch {
  ^bb0(%e: !mx.error):
    %p = mx.error_part "location" %e : (!mx.error) -> !mx.str
    %c = mx.error_part "code" %e : (!mx.error) -> !mx.str
    %m = mx.error_part "message" %e : (!mx.error) -> !mx.str
    mx.print %p, %c, %m : !mx.str, !mx.str, !mx.str
    %v = mx.load %cell : (!mx.cell<!i64>) -> !i64
    mx.yield %v : !i64
  }
  mx.return %r : !i64
} loc("e.mx":10:1)
mx.func @again(%n: !i64) {
  mx.try : () -> () {
    mx.call @outer(%n) : (!i64) -> () loc("e.mx":20:4)
    mx.yield
  } catch {
  ^bb0(%e: !mx.error):
    mx.raise %e : !mx.error loc("e.mx":22:1)
    mx.yield
  }
  mx.return
} loc("e.mx":19:1)
)");
  EXPECT_EQ(failure(program, "outer", {-1}), "assertion failed: n >= 0");
  EXPECT_EQ(locations(), "3:3 inner; 8:2 outer");
  EXPECT_EQ(failure(program, "outer", {1}), "too small");
  EXPECT_EQ(locations(), "5:9 inner; 8:2 outer");
  EXPECT_EQ(callInt(program, "caught", {1}), 10);
  EXPECT_EQ(fake.output, "e.mx:5:9 R0303 too small\n");
  // An error that is raised again keeps its locations.
  EXPECT_EQ(failure(program, "again", {-1}), "assertion failed: n >= 0");
  EXPECT_EQ(locations(), "3:3 inner; 8:2 outer; 20:4 again");
}

TEST_F(RunTest, Sizes) {
  Program *program = load(R"(
mx.func @f() -> !i64 attributes {sizes = ["N", "M"]} {
  %a = mx.size <2*N*M + N*N - 3*M + 7> -> !i64
  %b = mx.size <(N + M) / / 3 - M> -> !i64
  %r = mx.mul %a, %b : (!i64, !i64) -> !i64
  mx.return %r : !i64
}
mx.func @g(%n: !i64) -> !i64 {
  mx.bind_size "K" = %n : !i64
  %r = mx.call @f() sizes [#mx.size<2*K>, #mx.size<K + 1>] : () -> !i64
  mx.return %r : !i64
}
)");
  for (int64_t n : {0, 1, 5, 100})
    for (int64_t m : {0, 2, 9})
      EXPECT_EQ(callInt(program, "f", {n, m}), (2 * n * m + n * n - 3 * m + 7) * ((n + m) / 3 - m));
  EXPECT_EQ(callInt(program, "g", {4}), callInt(program, "f", {8, 5}));
}

TEST_F(RunTest, FunctionsAndVariables) {
  Program *program = load(R"(
!fn = !mx.fn<(!mx.tensor<i64[] on host>) -> !mx.tensor<i64[] on host>>
mx.graph @double(%x: !i64) -> !i64 {
  %y = mx.add %x, %x : (!i64, !i64) -> !i64
  mx.return %y : !i64
}
mx.func @add(%x: !i64, %y: !i64) -> !i64 attributes {sizes = ["N"]} {
  %n = mx.size <N> -> !i64
  %a = mx.add %x, %y : (!i64, !i64) -> !i64
  %r = mx.mul %a, %n : (!i64, !i64) -> !i64
  mx.return %r : !i64
}
mx.func @apply(%f: !fn, %x: !i64) -> !i64 {
  %y = mx.call_value %f(%x) : (!fn, !i64) -> !i64
  %z = mx.call_value %f(%y) : (!fn, !i64) -> !i64
  mx.return %z : !i64
}
mx.func @main() {
  %five = mx.constant 5 : i64 -> !i64
  %f = mx.closure @add(%five) sizes [#mx.size<3>] : (!i64) -> !fn
  %g = mx.closure @double() : () -> !fn
  %a = mx.call @apply(%f, %five) : (!fn, !i64) -> !i64
  %b = mx.call @apply(%g, %five) : (!fn, !i64) -> !i64
  mx.global_store "total" = %a : !i64
  %c = mx.global_load "total" : !i64
  %s = mx.format %c "5d" : !i64 -> !mx.str
  mx.print %s, %b : !mx.str, !i64
  mx.return
}
)",
                          "main");
  EXPECT_TRUE(vm->run(program).ok());
  EXPECT_EQ(fake.output, "  105 20\n");
  EXPECT_EQ(vm->global("total").i, 105);
}

/// x[i] = v of a cell or a module's variable changes the tensor itself, and an error loses nothing.
TEST_F(RunTest, VariablesChangeInPlace) {
  Program *program = load(R"(
mx.graph @step(%x: !t {mx.mut}, %y: !t) -> (!t, !t) {
  mx.return %x, %y : !t, !t
}
mx.func @start() {
  %one = mx.constant 1.0 : f32 -> !f32
  %x = mx.full %one : !f32 -> !t
  mx.global_store "x" = %x : !t
  mx.return
}
mx.func @set(%i: !i64) {
  %v = mx.constant 7.0 : f32 -> !f32
  %x = mx.global_load "x" : !t
  %y = mx.update %x, %v ["i"] at (%i) : (!t, !f32, !i64) -> !t
  mx.global_store "x" = %y : !t
  mx.return
}
mx.func @steps() {
  %one = mx.constant 1.0 : f32 -> !f32
  %d = mx.full %one : !f32 -> !t
  %x = mx.global_load "x" : !t
  %y, %old = mx.call @step(%x, %d) : (!t, !t) -> (!t, !t)
  mx.global_store "x" = %y : !t
  mx.print %old : !t
  mx.return
}
mx.func @cell(%i: !i64) {
  %v = mx.constant 7.0 : f32 -> !f32
  %one = mx.constant 1.0 : f32 -> !f32
  %x = mx.full %one : !f32 -> !t
  %c = mx.cell %x : (!t) -> !mx.cell<!t>
  mx.try : () -> () {
    %y = mx.load %c : (!mx.cell<!t>) -> !t
    %z = mx.update %y, %v ["i"] at (%i) : (!t, !f32, !i64) -> !t
    mx.store %z to %c : !t, !mx.cell<!t>
    mx.yield
  } catch {
  ^bb0(%e: !mx.error):
    mx.yield
  }
  %r = mx.load %c : (!mx.cell<!t>) -> !t
  mx.print %r : !t
  mx.return
}
)");
  std::vector<Value> none;
  call(program, "start", none);
  callInt(program, "set", {2});
  EXPECT_EQ(failure(program, "set", {9}), "index 9 is outside");
  EXPECT_EQ(numbersOf(vm->global("x")), (std::vector<double>{1, 1, 7, 1}));
  call(program, "steps", none);
  EXPECT_EQ(numbersOf(vm->global("x")), (std::vector<double>{2, 2, 8, 2}));
  callInt(program, "cell", {0});
  callInt(program, "cell", {-3});
  EXPECT_EQ(fake.output, "[ 1 1 7 1 ]\n[ 7 1 1 1 ]\n[ 1 1 1 1 ]\n");
  EXPECT_EQ(fake.copies, 0);
  vm->dropGlobal("x");
}

/// Numbers of a device where the program needs them on the host: they are read.
TEST_F(RunTest, DeviceNumbersInControlFlow) {
  Program *program = load(R"(
!n = !mx.tensor<i64[]>
!b = !mx.tensor<bool[]>
mx.func @f(%from: !i64, %to: !i64) -> !i64 {
  %zero = mx.constant 0 : i64 -> !n
  %one = mx.constant 1 : i64 -> !n
  %a = mx.to %from : !i64 -> !n
  %b = mx.to %to : !i64 -> !n
  // The sum of the numbers from .. to, counted on the device.
  %sum = mx.for %a to %b carries (%zero) : (!n, !n, !n) -> !n {
  ^bb0(%i: !n, %s: !n):
    %t = mx.add %s, %i : (!n, !n) -> !n
    mx.yield %t : !n
  }
  // Doubled until it is not below 100.
  %c = mx.constant 100 : i64 -> !n
  %r, %turns = mx.while carries (%sum, %zero) limit %c : !n : (!n, !n) -> (!n, !n) {
  ^bb0(%x: !n, %k: !n):
    %g = mx.lt %x, %c : (!n, !n) -> !b
    mx.yield %g : !b
  } do {
  ^bb0(%x: !n, %k: !n):
    %y = mx.add %x, %x : (!n, !n) -> !n
    %l = mx.add %k, %one : (!n, !n) -> !n
    mx.yield %y, %l : !n, !n
  }
  %d = mx.lt %turns, %c : (!n, !n) -> !b
  mx.assert %d "turns < 100" : !b
  %p = mx.read %r : !n -> !i64
  mx.return %p : !i64
}
)");
  EXPECT_EQ(callInt(program, "f", {1, 5}), 160);
  EXPECT_EQ(callInt(program, "f", {3, 3 + 12}), 102);
  EXPECT_EQ(failure(program, "f", {5, 5}), "loop limit reached");
}

TEST_F(RunTest, LargeLiterals) {
  // More different numbers than one literal takes: pieces, joined.
  std::string numbers;
  for (int i = 0; i < 20000; ++i)
    numbers += (i ? ", " : "") + std::to_string(i);
  Program *program =
      load("mx.func @f() -> !mx.tensor<i32[20000]> {\n  %c = mx.constant dense<[" + numbers +
           "]> : tensor<20000xi32> -> !mx.tensor<i32[20000]>\n"
           "  mx.return %c : !mx.tensor<i32[20000]>\n}\n");
  std::vector<Value> none;
  Value result = call(program, "f", none);
  ASSERT_EQ(numbersOf(result).size(), 20000u);
  for (int i = 0; i < 20000; ++i)
    ASSERT_EQ(numbersOf(result)[size_t(i)], i);
}

TEST_F(RunTest, TooManyRegisters) {
  std::string text = "mx.func @f(%x: !i64) -> !i64 {\n", sum;
  for (int i = 0; i < 33000; ++i)
    text += "  %a" + std::to_string(i) + " = mx.neg %x : (!i64) -> !i64\n";
  for (int i = 0; i < 33000; ++i)
    text += "  mx.print %a" + std::to_string(i) + " : !i64\n";
  mlir::OwningOpRef<mlir::ModuleOp> module = parse(text + "  mx.return %x : !i64\n}\n");
  std::string message;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    message = diagnostic.str();
    return mlir::success();
  });
  EXPECT_FALSE(emitBytecode(*module, {}));
  EXPECT_NE(message.find("more than 32767 values at once"), std::string::npos) << message;
}

} // namespace
} // namespace mx::bytecode
