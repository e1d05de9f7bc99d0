// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fails every allocation once, and every one from some point on: an error each
// time, nothing leaked, and the VM works afterwards.

#include "VmTestSupport.h"

namespace mxrt::host {
namespace {

const char *const program = R"(
type Net(a, b)
native twice(fn, any) -> any
tensor fill(f32) -> tensor
graph step(mut tensor, tensor) -> tensor
global kept: struct
entry main
func next(any) -> any {
  reg i64
  cast r1, r0
  addk.i r1, r1, 1
  copy r0, r1
  ret r0
}
func grow(mut array, str) {
  push r0, r1
  cat r1, r1, r1
  push r0, r1
  retu
}
func fail(i64) in "fail.mx" {
  reg str, error
  line 3:4
  str r1, r0
  error r2, r1, R0303
  raise r2
}
func main() in "main.mx" {
  reg array, str, i64, i64, struct, struct, fn, any
  reg f32, tensor, tensor, error, str, tuple
  array r0, []
  const r1, "text that is long enough to need memory of its own when it is joined"
  int r3, 10
more:
  call _, grow, [mut r0, r1]
  next.i r2, r3, more
  struct r4, Net, [r0, r1]
  copy r5, r4
  set r5, 1, r0
  take r0, r5, 0
  push r0, r1
  set r5, 0, r0
  gset kept, r5
  closure r6, next, []
  copy r7, r2
  native r7, twice, [r6, r7]
  const r8, 2.5f
  tensor r9, fill, [r8]
  tensor r10, fill, [r8]
  graph r10, step, [mut r9, r10]
  fmt r12, r8, "300.3f"
  join r12, [r12, r1, r12]
  tuple r13, [r12, r9, r7]
try0:
  call _, fail, [r2]
try1:
  retu
caught:
  err.message r12, r11
  print [r12, r2, r7]
  err.place r12, r11
  print [r12, r13]
  retu
  try try0, try1, caught, r11
}
)";

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

struct Outcome {
  bool ok = false;
  mxrt_code code = MXRT_OK;
  std::string output;
};

/// The whole life of a VM, with allocation number `failAt` failing.
Outcome live(const std::vector<uint8_t> &bytes, CountingAllocator &allocator) {
  Outcome outcome;
  TestHost host;
  VmOptions options;
  options.allocator = &allocator.interface;
  options.host = &host;
  Result<Vm *> made = Vm::create(options);
  if (made.failed()) {
    outcome.code = made.takeStatus().code();
    return outcome;
  }
  Vm *vm = made.take();
  const ParamData params[] = {{Kind::Fn, false}, {Kind::Any, false}};
  auto attempt = [&]() -> Status {
    MXRT_CHECK(vm->registerNative("twice", {params, false, Kind::Any}, applyTwice, nullptr));
    Program *loaded = MXRT_TRY(vm->load(bytes));
    Status status = vm->run(loaded);
    vm->unload(loaded);
    return status;
  };
  Status status = attempt();
  outcome.code = status.code();
  outcome.ok = status.ok();
  outcome.output = host.output;
  if (!outcome.ok) {
    // Memory is back: the same VM runs the same program to its end.
    allocator.failAt = 0;
    host.output.clear();
    (void)vm->registerNative("twice", {params, false, Kind::Any}, applyTwice, nullptr);
    Result<Program *> again = vm->load(bytes);
    EXPECT_TRUE(again.ok());
    if (again.ok()) {
      Program *loaded = again.take();
      EXPECT_TRUE(vm->run(loaded).ok());
      vm->unload(loaded);
    }
    EXPECT_NE(host.output.find("main.mx"), 0u);
    EXPECT_NE(host.output.find("fail.mx:3:4"), std::string::npos);
  }
  status = success();
  Vm::destroy(vm);
  return outcome;
}

void failEach(bool failOn) {
  std::vector<uint8_t> bytes;
  std::string message;
  ASSERT_TRUE(assemble(program, bytes, message)) << message;
  CountingAllocator plain;
  Outcome good = live(bytes, plain);
  ASSERT_TRUE(good.ok);
  ASSERT_EQ(plain.live, 0);
  ASSERT_GT(plain.calls, 50);
  long failures = 0;
  for (long n = 1; n <= plain.calls; ++n) {
    CountingAllocator allocator;
    allocator.failAt = n;
    allocator.failOn = failOn;
    Outcome outcome = live(bytes, allocator);
    EXPECT_EQ(allocator.live, 0) << "leak after failing allocation " << n;
    EXPECT_EQ(FakeTensor::alive, 0);
    // An error while an error is made or caught may only lose detail.
    if (outcome.ok)
      continue;
    ++failures;
    EXPECT_EQ(outcome.code, MXRT_OUT_OF_MEMORY) << n;
  }
  EXPECT_GT(failures, plain.calls / 2);
  ::testing::Test::RecordProperty("allocations", std::to_string(plain.calls));
}

TEST(MemoryTest, FailingEachAllocationOnce) { failEach(false); }
TEST(MemoryTest, FailingEachAllocationAndAllAfterIt) { failEach(true); }

TEST(MemoryTest, OutOfMemoryCanBeCaught) {
  std::vector<uint8_t> bytes;
  std::string message;
  ASSERT_TRUE(assemble("entry m\nfunc grow() {\n reg array\n array r0, []\nmore:\n"
                       " array r0, [r0, r0, r0, r0]\n jmp more\n}\n"
                       "func m() {\n reg error, str\nbegin:\n call _, grow, []\nend:\n retu\ncaught:\n"
                       " err.code r1, r0\n print [r1]\n retu\n try begin, end, caught, r0\n}\n",
                       bytes, message))
      << message;
  for (bool byLimit : {true, false}) {
    CountingAllocator allocator;
    TestHost host;
    VmOptions options;
    options.allocator = &allocator.interface;
    options.host = &host;
    if (byLimit)
      options.memoryLimit = 300000;
    Vm *vm = Vm::create(options).take();
    Program *loaded = vm->load(bytes).take();
    if (!byLimit)
      allocator.failAt = allocator.calls + 500;
    EXPECT_TRUE(vm->run(loaded).ok());
    EXPECT_EQ(host.output, byLimit ? "R0102\n" : "R0101\n");
    vm->unload(loaded);
    Vm::destroy(vm);
    EXPECT_EQ(allocator.live, 0);
  }
}

TEST(MemoryTest, LongLifeDoesNotGrow) {
  CountingAllocator allocator;
  TestHost host;
  VmOptions options;
  options.allocator = &allocator.interface;
  options.host = &host;
  Vm *vm = Vm::create(options).take();
  std::vector<uint8_t> bytes;
  std::string message;
  ASSERT_TRUE(assemble("global n: i64\nentry m\nfunc m() {\n reg i64, error, str, array\n gget r0, n\n"
                       " addk.i r0, r0, 1\n gset n, r0\n array r3, [r0, r0]\na:\n mod.i r0, r0, r0\n"
                       " int r0, 0\n mod.i r0, r0, r0\nb:\n retu\nc:\n err.message r2, r1\n raise r1\n"
                       " try a, b, c, r1\n}\n",
                       bytes, message))
      << message;
  long after = 0;
  for (int i = 0; i < 10000; ++i) {
    Program *loaded = vm->load(bytes).take();
    EXPECT_FALSE(vm->run(loaded).ok());
    vm->unload(loaded);
    if (i == 10)
      after = allocator.liveBytes;
  }
  EXPECT_EQ(vm->global("n").i, 10000);
  EXPECT_EQ(allocator.liveBytes, after);
  Vm::destroy(vm);
  EXPECT_EQ(allocator.live, 0);
}

} // namespace
} // namespace mxrt::host
