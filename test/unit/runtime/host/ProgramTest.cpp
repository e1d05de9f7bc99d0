// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Aggregates, text, function values, globals, calls out of the VM.

#include "VmTestSupport.h"

#include "host/Math.h"

namespace mxrt::host {
namespace {

class ProgramTest : public VmFixture {};

TEST_F(ProgramTest, PrintsEveryKind) {
  EXPECT_EQ(output("type Point(x, y)\nentry m\nfunc m() {\n"
                   " reg i64, f32, f64, bool, str, tuple, array, struct\n"
                   " reg any, fn, tuple, error\n"
                   " int r0, -7\n const r1, 1.5f\n const r2, 1e22d\n bool r3, true\n"
                   " const r4, \"a \\\"b\\\"\"\n tuple r5, [r0, r4]\n array r6, [r1, r1]\n"
                   " struct r7, Point, [r0, r5]\n unit r8\n closure r9, m, []\n tuple r10, [r0]\n"
                   " error r11, r4, R0303\n"
                   " print [r0, r1, r2, r3, r4]\n print [r5, r6, r7]\n print [r8, r9, r10, r11]\n"
                   " print []\n retu\n}\n"),
            "-7 1.5 1e+22 true a \"b\"\n"
            "(-7, \"a \\\"b\\\"\") [1.5, 1.5] Point(x=-7, y=(-7, \"a \\\"b\\\"\"))\n"
            "() <fn m> (-7,) a \"b\"\n\n");
}

TEST_F(ProgramTest, WritingToASharedAggregateCopies) {
  EXPECT_EQ(output("type P(x, y)\nentry m\nfunc m() {\n reg i64, array, array, struct, struct\n"
                   " int r0, 1\n array r1, [r0, r0]\n copy r2, r1\n int r0, 9\n set r1, 0, r0\n"
                   " struct r3, P, [r1, r0]\n copy r4, r3\n set r4, 1, r2\n"
                   " print [r1, r2, r3, r4]\n retu\n}\n"),
            "[9, 1] [1, 1] P(x=[9, 1], y=9) P(x=[9, 1], y=[1, 1])\n");
}

TEST_F(ProgramTest, NestedUpdateInLocation) {
  // net.a[1] = 7, without copying the array: taken out, changed, put back.
  EXPECT_EQ(output("type Net(a)\nentry m\nfunc m() {\n reg i64, i64, array, struct, struct\n"
                   " int r0, 1\n array r2, [r0, r0]\n struct r3, Net, [r2]\n copy r4, r3\n"
                   " int r0, 7\n int r1, -1\n"
                   " take r2, r3, 0\n setat r2, r1, r0\n set r3, 0, r2\n print [r3, r4]\n"
                   " take r2, r3, 0\n print [r3]\n retu\n}\n"),
            "Net(a=[1, 7]) Net(a=[1, 1])\nNet(a=<moved>)\n");
}

TEST_F(ProgramTest, AnAggregateCanHoldItsOldSelf) {
  EXPECT_EQ(output("entry m\nfunc m() {\n reg array, i64\n array r0, [r1]\n set r0, 0, r0\n"
                   " push r0, r0\n print [r0]\n retu\n}\n"),
            "[[0], [[0]]]\n");
}

TEST_F(ProgramTest, IndicesAreChecked) {
  std::string text = "entry m\nfunc m() {\n reg array, i64, i64\n array r0, [r1, r1]\n int r1, ";
  EXPECT_EQ(run(text + "2\n at r2, r0, r1\n retu\n}\n"), "index 2 is outside of 2 parts");
  EXPECT_EQ(run(text + "-3\n setat r0, r1, r1\n retu\n}\n"), "index -3 is outside of 2 parts");
  EXPECT_EQ(run(text + "-2\n at r2, r0, r1\n retu\n}\n"), "");
}

TEST_F(ProgramTest, PartsAreCheckedAgainstTheirRegister) {
  EXPECT_EQ(run("entry m\nfunc m() {\n reg i64, tuple, str\n tuple r1, [r0]\n get r2, r1, 0\n"
                " retu\n}\n"),
            "a value of str is needed here, this one is i64");
  EXPECT_EQ(run("entry m\nfunc m() {\n reg any, str\n unit r0\n cast r1, r0\n retu\n}\n"),
            "a value of str is needed here, this one is unit");
}

TEST_F(ProgramTest, UnsetAndMovedValuesAreErrors) {
  EXPECT_NE(run("entry m\nfunc m() {\n reg str\n print [r0]\n retu\n}\n").find("before it is set"),
            std::string::npos);
  EXPECT_NE(run("entry m\nfunc m() {\n reg str, str\n const r0, \"x\"\n move r1, r0\n"
                " len.s r2, r0\n reg i64\n retu\n}\n")
                .find("moved away"),
            std::string::npos);
}

TEST_F(ProgramTest, DroppedValuesAreGone) {
  EXPECT_NE(run("entry m\nfunc m() {\n reg str\n const r0, \"x\"\n drop r0\n drop r0\n"
                " print [r0]\n retu\n}\n")
                .find("before it is set"),
            std::string::npos);
  // The tensor ends at once, and the register can be used again.
  auto alive = [](void *, Invocation &call) {
    call.result = Value::integer(FakeTensor::alive);
    return success();
  };
  ASSERT_TRUE(vm->registerNative("alive", {{}, false, Kind::Int}, alive, nullptr).ok());
  Program *program = load("tensor fill(f32) -> tensor\nnative alive() -> i64\nentry m\n"
                          "func m() {\n reg f32, tensor, i64, i64, any\n tensor r1, fill, [r0]\n"
                          " copy r4, r1\n native r2, alive, []\n drop r1\n drop r4\n"
                          " native r3, alive, []\n tensor r1, fill, [r0]\n print [r2, r3, r1]\n"
                          " retu\n}\n");
  EXPECT_TRUE(vm->run(program).ok());
  EXPECT_EQ(host.output, "1 0 tensor(0)\n");
}

TEST_F(ProgramTest, TextInstructions) {
  EXPECT_EQ(output("entry m\nfunc m() {\n reg str, str, i64, str, f32, bool\n const r0, \"épo\"\n"
                   " const r1, \"ch \"\n cat r0, r0, r1\n len.s r2, r0\n fmt r3, r2, \"3\"\n"
                   " const r4, 0.25f\n fmt r1, r4, \".3f\"\n join r0, [r0, r3, r1]\n print [r0]\n"
                   " str r0, r4\n bool r5, true\n fmt r1, r5, \">6\"\n print [r0, r1]\n retu\n}\n"),
            "époch   60.250\n0.25   true\n");
}

TEST_F(ProgramTest, FormatThatDoesNotFitTheValue) {
  EXPECT_EQ(run("entry m\nfunc m() {\n reg str\n const r0, \"x\"\n fmt r0, r0, \".2f\"\n retu\n}\n"),
            "format '.2f' for a value of str: this type is not for strings");
}

TEST_F(ProgramTest, FunctionValuesCaptureByValue) {
  EXPECT_EQ(output("entry m\nfunc add(i64, i64) -> i64 {\n reg i64\n add.i r2, r0, r1\n ret r2\n}\n"
                   "func m() {\n reg fn, i64, i64\n int r1, 10\n closure r0, add, [r1]\n"
                   " int r1, 99\n int r2, 5\n callv r2, r0, [r2]\n print [r2, r0]\n retu\n}\n"),
            "15 <fn add>\n");
}

TEST_F(ProgramTest, CallsThroughFunctionValuesAreChecked) {
  std::string add = "entry m\nfunc add(i64, mut i64) -> i64 {\n ret r0\n}\n"
                    "func m() {\n reg fn, i64, str, any\n closure r0, add, []\n";
  EXPECT_EQ(run(add + " callv r1, r0, [r1]\n retu\n}\n"), "add takes 2 arguments, 1 were given");
  EXPECT_EQ(run(add + " const r2, \"\"\n callv r1, r0, [r1, r2]\n retu\n}\n"),
            "argument 2 of add is mut i64, not str");
  EXPECT_EQ(run(add + " reg i64\n callv r2, r0, [r4, mut r1]\n retu\n}\n"),
            "a value of str is needed here, this one is i64");
  EXPECT_EQ(run(add + " reg i64\n callv r3, r0, [r4, mut r1]\n retu\n}\n"), "");
}

TEST_F(ProgramTest, AFunctionValueOutlivesItsProgram) {
  Program *program = load("global g: fn\nentry m\nfunc f() -> str {\n reg str\n const r0, \"alive\"\n"
                          " ret r0\n}\nfunc m() {\n reg fn\n closure r0, f, []\n gset g, r0\n retu\n}\n");
  ASSERT_TRUE(vm->run(program).ok());
  programs.clear();
  vm->unload(program);
  EXPECT_EQ(output("global g: fn\nentry m\nfunc m() {\n reg fn, str\n gtake r0, g\n"
                   " callv r1, r0, []\n print [r1]\n retu\n}\n"),
            "alive\n");
}

TEST_F(ProgramTest, GlobalsAreSharedByName) {
  ASSERT_EQ(run("global n: i64\nentry m\nfunc m() {\n reg i64\n int r0, 41\n gset n, r0\n retu\n}\n"), "");
  EXPECT_EQ(output("global n: i64\nentry m\nfunc m() {\n reg i64\n gget r0, n\n addk.i r0, r0, 1\n"
                   " gset n, r0\n print [r0]\n retu\n}\n"),
            "42\n");
  EXPECT_EQ(vm->global("n").i, 42);
  EXPECT_TRUE(vm->setGlobal("n", Value::integer(1)).ok());
  EXPECT_FALSE(vm->setGlobal("n", Value::f64(1)).ok());
  EXPECT_FALSE(vm->setGlobal("m", Value::integer(1)).ok());
  Finding finding;
  EXPECT_FALSE(vm->load(bytesOf("global n: str\n"), &finding).ok());
  EXPECT_EQ(finding.rule, Rule::GlobalKind);
  vm->dropGlobal("n");
  EXPECT_FALSE(vm->global("n").isSet());
  EXPECT_EQ(run("global n: str\n"), "");
}

Status repeatText(void *, Invocation &call) {
  Text text(call.vm.heap());
  text.repeat(call.args[0].str()->view(), size_t(call.args[1].i));
  StrObject *str = text.failed() ? nullptr : makeStr(call.vm.heap(), text.view());
  if (!str)
    return call.vm.heap().exhausted();
  call.result = Value(Kind::Str, str);
  return success();
}

Status increment(void *context, Invocation &call) {
  ++*static_cast<int *>(context);
  call.args[0].i += 1;
  return success();
}

Status applyTwice(void *, Invocation &call) {
  Value once;
  Status status = call.vm.call(call.args[0], call.args.subspan(1, 1), once);
  if (status.failed())
    return status;
  Value again[] = {once};
  status = call.vm.call(call.args[0], again, call.result);
  release(call.vm.heap(), again[0]);
  return status;
}

TEST_F(ProgramTest, NativeFunctions) {
  int calls = 0;
  const ParamData repeatParams[] = {{Kind::Str, false}, {Kind::Int, false}};
  const ParamData incrementParams[] = {{Kind::Int, true}};
  ASSERT_TRUE(vm->registerNative("repeat", {repeatParams, false, Kind::Str}, repeatText, nullptr).ok());
  ASSERT_TRUE(vm->registerNative("increment", {incrementParams, false, Kind::Unit}, increment, &calls).ok());
  EXPECT_FALSE(vm->registerNative("increment", {}, increment, nullptr).ok());
  EXPECT_EQ(output("native repeat(str, i64) -> str\nnative increment(mut i64)\nentry m\n"
                   "func m() {\n reg str, i64\n const r0, \"ab\"\n int r1, 2\n"
                   " native _, increment, [mut r1]\n native r0, repeat, [r0, r1]\n print [r0, r1]\n"
                   " retu\n}\n"),
            "ababab 3\n");
  EXPECT_EQ(calls, 1);
  Finding finding;
  EXPECT_FALSE(vm->load(bytesOf("native repeat(str, str) -> str\n"), &finding).ok());
  EXPECT_EQ(finding.rule, Rule::ImportType);
  EXPECT_FALSE(vm->load(bytesOf("native nothing()\n"), &finding).ok());
  EXPECT_EQ(finding.rule, Rule::UnknownImport);
}

TEST_F(ProgramTest, NativesTakeWhatFits) {
  const ParamData params[] = {{Kind::Any, false}};
  auto count = [](void *, Invocation &call) {
    call.result = Value::integer(int64_t(call.args.size()));
    return success();
  };
  ASSERT_TRUE(vm->registerNative("one", {params, false, Kind::Int}, count, nullptr).ok());
  ASSERT_TRUE(vm->registerNative("more", {params, true, Kind::Int}, count, nullptr).ok());
  EXPECT_EQ(output("native one(str) -> i64\nnative more(str, i64) -> any\nentry m\n"
                   "func m() {\n reg str, i64, any\n const r0, \"a\"\n native r1, one, [r0]\n"
                   " native r2, more, [r0, r1]\n print [r1, r2]\n retu\n}\n"),
            "1 2\n");
  Finding finding;
  for (const char *wrong :
       {"native one(str, str) -> i64\n", "native one() -> i64\n", "native one(mut str) -> i64\n",
        "native one(str) -> str\n", "native one(str, ...) -> i64\n", "native more() -> i64\n"}) {
    EXPECT_FALSE(vm->load(bytesOf(wrong), &finding).ok()) << wrong;
    EXPECT_EQ(finding.rule, Rule::ImportType) << wrong;
  }
}

TEST_F(ProgramTest, NumbersWithoutAnInstruction) {
  ASSERT_TRUE(registerMath(*vm).ok());
  EXPECT_EQ(output("native mx.math.sqrt.d(f64) -> f64\nnative mx.math.maximum.f(f32, f32) -> f32\n"
                   "native mx.math.abs.i(i64) -> i64\nnative mx.math.to_u8.d(f64) -> i64\nentry m\n"
                   "func m() {\n reg f64, f32, f32, i64, i64\n const r0, 6.25d\n const r1, 2f\n"
                   " int r3, -7\n native r0, mx.math.sqrt.d, [r0]\n"
                   " native r2, mx.math.maximum.f, [r1, r2]\n native r3, mx.math.abs.i, [r3]\n"
                   " native r4, mx.math.to_u8.d, [r0]\n print [r0, r2, r3, r4]\n retu\n}\n"),
            "2.5 2.0 7 2\n");
}

TEST_F(ProgramTest, NativesCallBack) {
  const ParamData params[] = {{Kind::Fn, false}, {Kind::Any, false}};
  ASSERT_TRUE(vm->registerNative("twice", {params, false, Kind::Any}, applyTwice, nullptr).ok());
  EXPECT_EQ(output("native twice(fn, any) -> any\nentry m\n"
                   "func double(i64) -> i64 {\n add.i r0, r0, r0\n ret r0\n}\n"
                   "func m() {\n reg fn, i64, any\n closure r0, double, []\n int r1, 3\n"
                   " native r2, twice, [r0, r1]\n print [r2]\n retu\n}\n"),
            "12\n");
  EXPECT_EQ(run("native twice(fn, any) -> any\nentry m\n"
                "func bad(i64) -> i64 {\n line 3:9\n mod.i r0, r0, r0\n ret r0\n}\n"
                "func m() {\n reg fn, i64, any\n closure r0, bad, []\n line 8:1\n"
                " native r2, twice, [r0, r1]\n retu\n}\n"),
            "integer division by zero");
  EXPECT_EQ(locationsOf(*vm), "3:9 bad; 8:1 m");
  // A callback that calls back for ever meets a limit, not the end of the C++ stack.
  EXPECT_NE(run("native twice(fn, any) -> any\nentry m\nglobal g: fn\n"
                "func again(any) -> any {\n reg fn\n gget r1, g\n native r0, twice, [r1, r0]\n ret r0\n}\n"
                "func m() {\n reg fn, i64, any\n closure r0, again, []\n gset g, r0\n"
                " native r2, twice, [r0, r1]\n retu\n}\n")
                .find("call back deeper"),
            std::string::npos);
  vm->dropGlobal("g");
}

TEST_F(ProgramTest, TensorOperationsAndGraphs) {
  EXPECT_EQ(output("tensor fill(f32) -> tensor\ntensor add(tensor, tensor) -> tensor\n"
                   "graph step(mut tensor, tensor) -> tensor\nentry m\n"
                   "func m() {\n reg f32, tensor, tensor, tensor, bool, i64, str\n const r0, 2.0f\n"
                   " tensor r1, fill, [r0]\n tensor r2, add, [r1, r1]\n"
                   " graph r3, step, [mut r1, r2]\n print [r1, r2, r3]\n read r4, r1\n read r5, r1\n"
                   " fmt r6, r1, \".6f\"\n print [r4, r5, r6]\n retu\n}\n"),
            "tensor(6) tensor(4) tensor(2)\ntrue 6 tensor(6:.6f)\n");
  EXPECT_EQ(host.invoked, (std::vector<std::string>{"tensor fill", "tensor add", "graph step"}));
  EXPECT_EQ(run("tensor broken()\nentry m\nfunc m() {\n line 2:4\n tensor _, broken, []\n retu\n}\n"),
            "shapes do not fit");
  EXPECT_EQ(locationsOf(*vm), "2:4 m");
  EXPECT_FALSE(vm->load(bytesOf("tensor nothing()\n")).ok());
}

TEST_F(ProgramTest, AnyValuesCompareByTheirParts) {
  EXPECT_EQ(output("entry m\nfunc m() {\n reg i64, str, tuple, tuple, bool, f64\n const r1, \"a\"\n"
                   " tuple r2, [r0, r1]\n const r1, \"a\"\n tuple r3, [r0, r1]\n eq.v r4, r2, r3\n"
                   " print [r4]\n int r0, 1\n set r3, 0, r0\n eq.v r4, r2, r3\n print [r4]\n"
                   " eq.v r4, r2, r1\n print [r4]\n eq.v r4, r0, r5\n print [r4]\n retu\n}\n"),
            "true\nfalse\nfalse\nfalse\n");
}

TEST_F(ProgramTest, DeeplyNestedValues) {
  // A million levels are made and freed without a million C++ frames; showing
  // and comparing them is refused.
  std::string nest = "entry m\nfunc m() {\n reg array, array, i64, i64, bool\n array r0, []\n"
                     " array r1, []\n const r3, 1000000\nmore:\n array r0, [r0]\n array r1, [r1]\n"
                     " next.i r2, r3, more\n";
  EXPECT_EQ(run(nest + " retu\n}\n"), "");
  EXPECT_EQ(run(nest + " print [r0]\n retu\n}\n"), "values are nested deeper than 200");
  EXPECT_EQ(run(nest + " eq.v r4, r0, r1\n retu\n}\n"), "values are nested deeper than 200");
}

TEST_F(ProgramTest, MemoryLimit) {
  VmOptions options;
  options.memoryLimit = 1 << 20;
  restart(options);
  std::string grow = "entry m\nfunc m() {\n reg str\n const r0, \"xxxxxxxx\"\nmore:\n"
                     " cat r0, r0, r0\n jmp more\n}\n";
  EXPECT_EQ(run(grow), "host values would need more than the limit of 1048576 bytes");
  EXPECT_EQ(output("entry m\nfunc m() {\n reg i64\n print [r0]\n retu\n}\n"), "0\n");
}

} // namespace
} // namespace mxrt::host
