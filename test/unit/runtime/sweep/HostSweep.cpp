// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host VM: loading, refusing, running, and values of every kind.

#include "../host/VmTestSupport.h"
#include "AllocationSweep.h"

namespace mxrt::test {
namespace {

using namespace mxrt::host;

/// A handler that expects R0303 raises again what is none.
const char *const everything = R"(
type Net(a, b)
native twice(fn, any) -> any
native many(any, ...) -> i64
tensor fill(f32) -> tensor
graph step(mut tensor, tensor) -> tensor
global kept: struct
global number: i64
global text: str
global more: array
global last: any
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
func deep(i64, str) -> i64 {
  reg i64, bool, i64, tuple
  int r2, 0
  eq.i r3, r0, r2
  jt r3, done
  addk.i r4, r0, -1
  call r2, deep, [r4, r1]
done:
  addk.i r2, r2, 1
  ret r2
}
func deepValue(fn, i64) -> i64 {
  reg i64, bool, i64
  int r2, 0
  eq.i r3, r1, r2
  jt r3, done
  addk.i r4, r1, -1
  callv r2, r0, [r0, r4]
done:
  addk.i r2, r2, 1
  ret r2
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
  reg f32, tensor, tensor, error, str, tuple, bool, str
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
  gset text, r1
  gset last, r4
  take r0, r4, 0
  set r4, 0, r0
  setat r0, r2, r1
  gset more, r0
  closure r6, next, []
  copy r7, r2
  native r7, twice, [r6, r7]
  native r2, many, [r2, r2, r2, r2, r2, r2, r2, r2, r2, r2, r2, r2, r2, r2, r2, r2, r2, r2]
  int r3, 2000
  call r3, deep, [r3, r1]
  print [r3]
  closure r6, deepValue, []
  int r3, 5000
  callv r3, r6, [r6, r3]
  print [r3]
  const r8, 2.5f
  tensor r9, fill, [r8]
  tensor r10, fill, [r8]
  graph r10, step, [mut r9, r10]
  fmt r12, r8, "300.3f"
  join r12, [r12, r1, r12]
  fmt r15, r4, ">900"
  tuple r13, [r12, r9, r7]
  takeat r7, r13, r2
  print [r7, r0, r15]
try0:
  call _, fail, [r2]
try1:
  retu
caught:
  err.code r12, r11
  const r15, "R0303"
  eq.s r14, r12, r15
  jf r14, unexpected
  err.message r12, r11
  print [r12, r2, r7]
  err.location r12, r11
  print [r12]
  retu
unexpected:
  raise r11
  try try0, try1, caught, r11
}
)";

Status applyTwice(void *, Invocation &call) {
  Value once;
  MXRT_CHECK(call.vm.call(call.args[0], call.args.subspan(1, 1), once));
  Value again[] = {once};
  Status status = call.vm.call(call.args[0], again, call.result);
  release(call.vm.heap(), again[0]);
  return status;
}

Status countArguments(void *, Invocation &call) {
  // 18 arguments, so the index 0 of the tuple is what is taken later.
  call.result = Value::integer(int64_t(call.args.size()) - 18);
  return success();
}

/// A VM on the runtime of the stage.
class VmUse {
public:
  ~VmUse() {
    if (vm)
      vm->unload(program);
    Vm::destroy(vm);
    EXPECT_EQ(FakeTensor::alive, 0);
  }
  Status open(Stage &stage, size_t limit = SIZE_MAX / 2) {
    VmOptions options;
    options.runtime = stage.runtime;
    options.host = &host;
    options.memoryLimit = limit;
    vm = MXRT_TRY(Vm::create(options));
    const ParamData two[] = {{Kind::Fn, false}, {Kind::Any, false}};
    const ParamData one[] = {{Kind::Any, false}};
    MXRT_CHECK(vm->registerNative("twice", {two, false, Kind::Any}, applyTwice, nullptr));
    return vm->registerNative("many", {one, true, Kind::Int}, countArguments, nullptr);
  }
  Status load(std::string_view text) {
    std::vector<uint8_t> bytes;
    std::string message;
    EXPECT_TRUE(assemble(text, bytes, message)) << message;
    program = MXRT_TRY(vm->load(bytes));
    return success();
  }

  TestHost host;
  Vm *vm = nullptr;
  Program *program = nullptr;
};

Status run(Stage &stage) {
  VmUse use;
  MXRT_CHECK(use.open(stage));
  MXRT_CHECK(use.load(everything));
  MXRT_CHECK(use.vm->run(use.program));
  stage.saw(use.host.output);
  Text text(use.vm->heap());
  MXRT_CHECK(use.vm->show(use.vm->global("kept"), text));
  stage.saw("shown", int64_t(text.view().size()));
  return success();
}

/// A VM that has seen memory run out goes on: the loads and runs that fail are
/// repeated on it.
Status goesOn(Stage &stage) {
  VmUse use;
  MXRT_CHECK(use.open(stage));
  Status first = use.load(everything);
  if (first.ok())
    first = use.vm->run(use.program);
  use.vm->unload(std::exchange(use.program, nullptr));
  use.host.output.clear();
  MXRT_CHECK(use.load(everything));
  MXRT_CHECK(use.vm->run(use.program));
  stage.saw(use.host.output);
  return first;
}

/// Every table larger than a block of the arena that holds it, so that each
/// asks for memory of its own. Rows repeat: they cost nothing else.
std::string largeModule() {
  auto repeat = [](int times, const std::string &text) {
    std::string out;
    for (int i = 0; i < times; ++i)
      out += text;
    return out;
  };
  std::string text = "type Wide(f" + repeat(1100, ", f") + ")\n" +
                     repeat(200, "native many(any, ...) -> i64\n") +
                     repeat(600, "global number: i64\n") + "entry main\n";
  for (int i = 0; i < 60; ++i)
    text += "func f" + std::to_string(i) + "(i64) {\n retu\n}\n";
  text +=
      "func main() {\n reg str\n const r0, \"" + repeat(5000, "x") + "\"\n print [r0]\n retu\n}\n";
  text += "func large(i64) in \"large.mx\" {\n reg tuple, error" + repeat(4200, ", i64") +
          "\nbegin:\n" + repeat(300, " line 3:4\n tuple r1, [r0]\n") + " tuple r1, [r0" +
          repeat(2100, ", r0") + "]\n";
  for (int i = 0; i < 300; ++i)
    text += " const r0, " + std::to_string(1000000 + i) + "\n";
  return text + "end:\n retu\n" + repeat(300, " try begin, end, end, r2\n") + "}\n";
}

Status large(Stage &stage) {
  static const std::string text = largeModule();
  VmUse use;
  MXRT_CHECK(use.open(stage));
  MXRT_CHECK(use.load(text));
  MXRT_CHECK(use.vm->run(use.program));
  stage.saw("printed", int64_t(use.host.output.size()));
  return success();
}

/// Errors that leave the VM: out of a program, of a call, of a refused module.
Status errors(Stage &stage) {
  VmUse use;
  MXRT_CHECK(use.open(stage));
  MXRT_CHECK(stage.provoked(use.vm->registerNative("many", {}, countArguments, nullptr),
                            MXRT_INVALID_ARGUMENT));
  const uint8_t garbage[] = {1, 2, 3};
  auto refused = use.vm->load(garbage);
  MXRT_CHECK(stage.provoked(refused.takeStatus(), MXRT_HOST_BYTECODE));
  MXRT_CHECK(
      stage.provoked(use.load("native unknown()\nfunc f() {\n retu\n}\n"), MXRT_HOST_BYTECODE));
  MXRT_CHECK(
      stage.provoked(use.load("func f(i64) {\n add.i r0, r0, r9\n retu\n}\n"), MXRT_HOST_BYTECODE));
  MXRT_CHECK(use.load("func f(i64) -> i64 in \"f.mx\" {\n line 7:8\n mod.i r0, r0, r0\n"
                      " call r0, f, [r0]\n ret r0\n}\n"));
  Value arg[] = {Value::integer(0)}, result;
  MXRT_CHECK(stage.provoked(use.vm->call(use.program, "f", arg, result), MXRT_DIVISION_BY_ZERO));
  stage.saw(locationsOf(*use.vm));
  return stage.provoked(use.vm->call(use.program, "g", arg, result), MXRT_INVALID_ARGUMENT);
}

/// The limit of a VM is an error of its own and is not mixed up with this one.
Status limit(Stage &stage) {
  VmUse use;
  MXRT_CHECK(use.open(stage, 100000));
  MXRT_CHECK(use.load("entry m\nfunc m() {\n reg str\n const r0, \"0123456789\"\nmore:\n"
                      " cat r0, r0, r0\n jmp more\n}\n"));
  return stage.provoked(use.vm->run(use.program), MXRT_MEMORY_LIMIT);
}

const char *const anError = "an error needs no memory: the reserve of the runtime holds it";

const SweepProgram programs[] = {
    {"Run", run, anError},       {"GoesOn", goesOn, anError}, {"Large", large},
    {"Errors", errors, anError}, {"Limit", limit, anError},
};
INSTANTIATE_TEST_SUITE_P(Host, AllocationSweep, ::testing::ValuesIn(programs), nameOfProgram);

} // namespace
} // namespace mxrt::test
