// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// raise, try, locations.

#include "VmTestSupport.h"

namespace mxrt::host {
namespace {

class ErrorTest : public VmFixture {};

// divide(x, y) at a.mx:2:7, called by middle at a.mx:5:3.
const std::string library = "func divide(i64, i64) -> i64 in \"a.mx\" {\n reg i64\n line 2:7\n"
                            " floordiv.i r2, r0, r1\n ret r2\n}\n"
                            "func middle(i64) -> i64 in \"a.mx\" {\n reg i64, i64\n int r1, 10\n"
                            " line 5:3\n call r2, divide, [r1, r0]\n ret r2\n}\n";

TEST_F(ErrorTest, UncaughtErrorHasItsStackOfLocations) {
  EXPECT_EQ(run(library + "entry m\nfunc m() in \"b.mx\" {\n reg i64\n line 9:1\n"
                          " call r0, middle, [r0]\n retu\n}\n"),
            "integer division by zero");
  EXPECT_EQ(locationsOf(*vm), "2:7 divide; 5:3 middle; 9:1 m");
  EXPECT_EQ(vm->traceback()[2].file->view(), "b.mx");
  EXPECT_EQ(vm->depth(), 0u);
}

TEST_F(ErrorTest, TheStatusKnowsWhereItWasRaised) {
  Program *program = load(library);
  Value args[] = {Value::integer(0)};
  Value result;
  Status status = vm->call(program, "middle", args, result);
  EXPECT_EQ(status.location().line, 2);
  EXPECT_STREQ(status.location().file, "a.mx");
}

TEST_F(ErrorTest, CatchBindsMessageCodeAndLocation) {
  EXPECT_EQ(output(library + "entry m\nfunc m() {\n reg i64, error, str, str, str\nbegin:\n"
                             " call r0, middle, [r0]\nend:\n retu\ncaught:\n err.message r2, r1\n"
                             " err.code r3, r1\n err.location r4, r1\n print [r2, r3, r4]\n retu\n"
                             " try begin, end, caught, r1\n}\n"),
            "integer division by zero R0301 a.mx:2:7\n");
}

TEST_F(ErrorTest, TheInnerHandlerComesFirst) {
  EXPECT_EQ(output("entry m\nfunc m() {\n reg i64, str, error\na:\nb:\n mod.i r0, r0, r0\nc:\n"
                   " mod.i r0, r0, r0\nd:\n retu\ninner:\n const r1, \"inner\"\n print [r1]\n jmp c\n"
                   "outer:\n const r1, \"outer\"\n print [r1]\n retu\n"
                   " try b, c, inner, _\n try a, d, outer, r2\n}\n"),
            "inner\nouter\n");
}

TEST_F(ErrorTest, RaisedAgainAnErrorKeepsItsLocations) {
  EXPECT_EQ(run(library + "entry m\nfunc m() {\n reg i64, error\n line 30:1\nbegin:\n"
                          " call r0, middle, [r0]\nend:\n retu\ncaught:\n line 33:1\n raise r1\n"
                          " try begin, end, caught, r1\n}\n"),
            "integer division by zero");
  EXPECT_EQ(locationsOf(*vm), "2:7 divide; 5:3 middle; 30:1 m");
}

TEST_F(ErrorTest, AProgramsOwnError) {
  EXPECT_EQ(run("entry m\nfunc m() in \"c.mx\" {\n reg str, error\n const r0, \"unknown mode %s%n\"\n"
                " error r1, r0, R0303\n line 4:5\n raise r1\n}\n"),
            "unknown mode %s%n");
  EXPECT_EQ(locationsOf(*vm), "4:5 m");
}

TEST_F(ErrorTest, MutArgumentsComeBackWhenTheCallFails) {
  EXPECT_EQ(output("entry m\nfunc grow(mut array, i64) {\n push r0, r1\n mod.i r1, r1, r1\n retu\n}\n"
                   "func outer(mut array, i64) {\n call _, grow, [mut r0, r1]\n retu\n}\n"
                   "func m() {\n reg array, i64\n array r0, []\nbegin:\n call _, outer, [mut r0, r1]\n"
                   "end:\n retu\ncaught:\n print [r0]\n retu\n try begin, end, caught, _\n}\n"),
            "[0]\n");
}

TEST_F(ErrorTest, MutHostArgumentsComeBackToo) {
  Program *program = load("func f(mut str, i64) {\n mod.i r1, r1, r1\n retu\n}\n");
  Value args[] = {Value(Kind::Str, makeStr(vm->heap(), "kept")), Value::integer(0)};
  Value result;
  EXPECT_FALSE(vm->call(program, "f", args, result).ok());
  ASSERT_EQ(args[0].kind, Kind::Str);
  EXPECT_EQ(args[0].str()->view(), "kept");
  release(vm->heap(), args[0]);
}

TEST_F(ErrorTest, StackOverflowCanBeCaught) {
  EXPECT_EQ(output("entry m\nfunc deep(i64) {\n call _, deep, [r0]\n retu\n}\nfunc m() {\n"
                   " reg i64, error, str\na:\n call _, deep, [r0]\nb:\n retu\nc:\n err.code r2, r1\n"
                   " print [r2]\n retu\n try a, b, c, r1\n}\n"),
            "R0801\n");
}

TEST_F(ErrorTest, AnErrorOutlivesItsProgram) {
  ASSERT_EQ(run("global e: error\nentry m\nfunc m() in \"gone.mx\" {\n reg i64, error\n line 3:4\na:\n"
                " mod.i r0, r0, r0\nb:\n retu\nc:\n gset e, r1\n retu\n try a, b, c, r1\n}\n"),
            "");
  vm->unload(programs.back());
  programs.pop_back();
  EXPECT_EQ(output("global e: error\nentry m\nfunc m() {\n reg error, str\n gget r0, e\n"
                   " err.location r1, r0\n print [r1, r0]\n retu\n}\n"),
            "gone.mx:3:4 integer division by zero\n");
}

TEST_F(ErrorTest, PoisonKeepsIssueAndNoticeLocation) {
  auto fail = [](void *, Invocation &call) -> Status {
    return error(call.vm.heap().baseAllocator(), MXRT_SHAPE, {"issue.mx", 12, 3}, "poisoned");
  };
  ASSERT_TRUE(vm->registerNative("wait", {}, fail, nullptr).ok());
  Program *program = load("native wait()\nentry m\nfunc m() in \"notice.mx\" {\n line 40:2\n"
                          " native _, wait, []\n retu\n}\n");
  Status status = vm->run(program);
  EXPECT_EQ(status.location().line, 12);
  EXPECT_EQ(status.noticedLocation().line, 40);
}

} // namespace
} // namespace mxrt::host
