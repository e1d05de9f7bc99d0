// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole programs of bytecode: operations, natives, printing, locations.

#include "EagerFixture.h"
#include "host/text/Assembler.h"

namespace mxrt::eager {
namespace {

class EagerProgramTest : public EagerTest {
protected:
  /// Runs the entry; the error as the user would see it, or what was printed.
  std::string run(const std::string &text) {
    std::vector<uint8_t> bytes;
    std::string message;
    EXPECT_TRUE(host::assemble(text, bytes, message)) << message;
    auto program = vm->load(bytes);
    if (program.failed())
      return program.takeStatus().message();
    printed.clear();
    Status status = vm->run(*program);
    vm->unload(*program);
    if (status.ok())
      return printed;
    char buffer[1000];
    mxrt_status_format(status.get(), buffer, sizeof(buffer));
    return buffer;
  }
};
MX_BOTH_ENGINES(EagerProgramTest);

TEST_P(EagerProgramTest, Prints) {
  EXPECT_EQ(run(R"mx(
tensor "literal:f32(shape=2/2)"(...) -> tensor
tensor "add:f32"(tensor, f32) -> tensor
tensor "sum:f32(axes=all)"(tensor) -> tensor
tensor "update(i)"(mut tensor, i64, f32)
native mx.shape(tensor) -> array
native mx.dim(tensor, i64) -> i64
entry main
func main() {
  reg f32, f32, tensor, tensor, array, i64, tensor, tuple, tensor
  const r0, 1.5f
  const r1, 2.0f
  tensor r2, "literal:f32(shape=2/2)", [r0, r1, r0, r1]
  tensor r3, "add:f32", [r2, r0]
  print [r3]
  copy r8, r3
  int r5, 1
  tensor _, "update(i)", [mut r3, r5, r0]
  print [r3]
  native r4, mx.shape, [r3]
  int r5, -1
  native r5, mx.dim, [r3, r5]
  tensor r6, "sum:f32(axes=all)", [r8]
  tuple r7, [r6, r5]
  print [r4, r5, r6, r7]
  retu
}
)mx"),
            "f32[2, 2]\n[[3.  3.5]\n [3.  3.5]]\nf32[2, 2]\n[[3.  3.5]\n [1.5 1.5]]\n"
            "[2, 2] 2 13.0 (13.0, 2)\n");
}

TEST_P(EagerProgramTest, LocationsOfLateErrors) {
  EXPECT_EQ(run(R"mx(
tensor "iota"(i64) -> tensor
tensor "index(t)"(tensor, tensor) -> tensor
entry main
func main() in "late.mx" {
  reg i64, tensor, tensor, tensor
  line 3:5 stmt
  int r0, 3
  tensor r1, iota, [r0]
  int r0, 4
  tensor r2, iota, [r0]
  line 5:9 stmt
  tensor r3, "index(t)", [r1, r2]
  line 7:1 stmt
  print [r3]
  retu
}
)mx"),
            "error[R0204]: take: index 3 is out of range for 3\n --> late.mx:5:9\n"
            " noticed at late.mx:7:1\n = note: in op 'index'");
}

TEST_P(EagerProgramTest, LocationsOfErrorsAtIssue) {
  EXPECT_EQ(run(R"mx(
tensor "iota"(i64) -> tensor
tensor "add:i32"(tensor, tensor) -> tensor
entry main
func main() in "now.mx" {
  reg i64, tensor, tensor
  line 3:5 stmt
  int r0, 3
  tensor r1, iota, [r0]
  int r0, 4
  tensor r2, iota, [r0]
  line 5:9 stmt
  tensor r2, "add:i32", [r1, r2]
  retu
}
)mx"),
            "error[R0201]: add: i32[3] and i32[4] do not fit\n --> now.mx:5:9");
}

TEST_P(EagerProgramTest, WaitsReadsAndFormats) {
  EXPECT_EQ(run(R"mx(
tensor "full:f32"(f32) -> tensor
tensor "wait"(tensor) -> tensor
native mx.sync()
native mx.wait(any)
native mx.exists(str) -> bool
entry main
func main() {
  reg f32, tensor, tuple, f32, str, bool, i64
  const r0, 0.125f
  tensor r1, "full:f32", [r0]
  tensor r1, wait, [r1]
  tuple r2, [r1, r1]
  native _, mx.wait, [r2]
  native _, mx.sync, []
  read r3, r1
  read r6, r1
  fmt r4, r1, ".2f"
  const r4, "/"
  native r5, mx.exists, [r4]
  print [r3, r5, r6]
  fmt r4, r1, ".2f"
  print [r4]
  const r4, "/no such file"
  native r5, mx.exists, [r4]
  print [r5]
  retu
}
)mx"),
            "0.125 true 0\n0.12\nfalse\n");
}

TEST_P(EagerProgramTest, UnknownOperationsRefuseTheProgram) {
  EXPECT_EQ(run("tensor \"add:f99\"(tensor) -> tensor\nentry m\nfunc m() {\n retu\n}\n"),
            "tensor operation 'add:f99': it does not take this element type");
}

TEST_P(EagerProgramTest, OperationsAreKeptOnce) {
  long before = 0;
  for (int i = 0; i < 20; ++i) {
    run("tensor \"add:f32\"(tensor, tensor) -> tensor\nentry m\nfunc m() {\n retu\n}\n");
    if (i == 1)
      before = alloc.liveBlocks();
  }
  EXPECT_EQ(alloc.liveBlocks(), before);
}

} // namespace
} // namespace mxrt::eager
