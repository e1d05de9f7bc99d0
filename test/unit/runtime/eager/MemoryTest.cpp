// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every allocation fails once: an error or a right result, and no leak.

#include "EagerFixture.h"
#include "host/text/Assembler.h"

namespace mxrt::eager {
namespace {

using host::Value;

/// Natives that allocate.
const char *const natives = R"mx(
native mx.rng.split(i64, i64, i64) -> array
entry main
func main() {
  reg i64, i64, array
  int r0, 7
  int r1, 2
  native r2, mx.rng.split, [r0, r0, r1]
  retu
}
)mx";

/// A few operations of each family; ends at the first error.
class Session {
public:
  Session(const mxrt_allocator *alloc, int32_t engineKind) : alloc(alloc), kind(engineKind) {}
  ~Session() {
    for (Value &value : values)
      if (vm)
        release(vm->heap(), value);
    host::Vm::destroy(vm);
    delete host;
    mxrt_runtime_destroy(runtime);
  }

  Status run() {
    mxrt_options options;
    mxrt_options_init(&options);
    options.allocator = alloc;
    options.threads = 1;
    MXRT_CHECK(Status(mxrt_runtime_create(&options, &runtime)));
    mxrt_engine_options engineOptions = {};
    engineOptions.kind = kind;
    mxrt_engine *engine = nullptr;
    MXRT_CHECK(Status(mxrt_runtime_engine(runtime, &engineOptions, &engine)));
    host = new EagerHost({runtime, &kernels});
    host::VmOptions vmOptions;
    vmOptions.runtime = runtime;
    vmOptions.host = host;
    vm = MXRT_TRY(host::Vm::create(vmOptions));
    MXRT_CHECK(host->registerNatives(*vm));

    Value x =
        MXRT_TRY(op("literal:f32(shape=2/3)", {num(1), num(2), num(3), num(4), num(5), num(6)}));
    Value y =
        MXRT_TRY(op("literal:f32(shape=3/2)", {num(1), num(2), num(3), num(4), num(5), num(6)}));
    Value turned = MXRT_TRY(op("transpose(order=1/0)", {y}));
    Value sum = MXRT_TRY(op("add:f32", {x, turned}));
    (void)MXRT_TRY(op("sum:f32(axes=0)", {turned}));
    (void)MXRT_TRY(op("matmul:f32", {x, y}));
    (void)MXRT_TRY(op("reshape", {turned, num(6)}));
    Value index = MXRT_TRY(op("iota", {num(2)}));
    (void)MXRT_TRY(op("index(t/rs)", {turned, index, num(-1)}));
    (void)MXRT_TRY(op("concat(axis=0)", {x, turned}));
    (void)MXRT_TRY(op("update(i)", {x, num(0), num(9)}));
    Value there = MXRT_TRY(op("to(device=cpu:1)", {sum}));
    (void)MXRT_TRY(op("uniform:f16", {num(1), num(0), num(0), num(1), num(4)}));
    (void)MXRT_TRY(op("categorical:f32", {num(1), num(0), x}));
    MXRT_CHECK(runNatives());
    MXRT_CHECK(Status(mxrt_engine_wait_all(engine, noLocation)));
    host::Text text(vm->heap());
    MXRT_CHECK(host->show(there, {}, text));
    EXPECT_EQ(text.view(), "f32[2, 3]\n[[ 2.  5.  8.]\n [ 6.  9. 12.]]");
    return success();
  }

private:
  Status runNatives() {
    std::vector<uint8_t> bytes;
    std::string message;
    EXPECT_TRUE(host::assemble(natives, bytes, message)) << message;
    host::Program *program = MXRT_TRY(vm->load(bytes));
    Status status = vm->run(program);
    vm->unload(program);
    return status;
  }
  Result<Value> op(const char *name, std::vector<Value> args) {
    void *target = nullptr;
    MXRT_CHECK(
        host->resolve(host::ImportKind::TensorOp, name, {{}, true, host::Kind::Tensor}, target));
    host::Invocation call = {*vm, name, args, Value::unit(), {"memory.mx", 1, 1}};
    MXRT_CHECK(host->invoke(host::ImportKind::TensorOp, target, call));
    values.push_back(call.result);
    return call.result;
  }

  const mxrt_allocator *alloc;
  int32_t kind;
  TestKernels kernels;
  mxrt_runtime *runtime = nullptr;
  EagerHost *host = nullptr;
  host::Vm *vm = nullptr;
  std::vector<Value> values;
};

class EagerMemoryTest : public ::testing::TestWithParam<mxrt_engine_kind> {};
MX_BOTH_ENGINES(EagerMemoryTest);

TEST_P(EagerMemoryTest, EveryAllocationFailsOnce) {
  long failed = 0, clean = 0;
  for (long n = 1; clean < 3 && n < 5000; ++n) {
    TestAllocator alloc(TestAllocator::Fail::Once, n);
    {
      Session session(alloc.get(), GetParam());
      Status status = session.run();
      if (status.failed()) {
        EXPECT_EQ(status.code(), MXRT_OUT_OF_MEMORY) << n << ": " << status.message();
        ++failed;
      }
    }
    clean += alloc.failures() == 0;
    ASSERT_EQ(alloc.liveBlocks(), 0) << n;
    ASSERT_EQ(alloc.mistake(), "") << n;
  }
  EXPECT_GT(failed, 50);
}

} // namespace
} // namespace mxrt::eager
