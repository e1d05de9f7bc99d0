// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Failures of a GPU, and the messages that users read.
#include "GpuFixture.h"

namespace {

/// `write` stores one word at a byte offset from its tensor.
const std::string writeModule = mxemu::moduleText(R"(
.visible .entry write(.param .u64 out, .param .u32 offset)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd0, [out];
  ld.param.u32 %r0, [offset];
  cvt.u64.u32 %rd1, %r0;
  add.s64 %rd0, %rd0, %rd1;
  mov.u32 %r1, 7;
  st.global.u32 [%rd0], %r1;
  ret;
}
)");

class GpuFailureTest : public GpuTest {
protected:
  void setOptions(mxrt_options &options) override {
    options.check_launches = checks;
    options.gpu_memory_limit = limit;
  }
  void TearDown() override {
    MemoryTest::TearDown();
    runtime = nullptr;
    mxemu::cuda().mxemuReset(); // a GPU that failed frees nothing
  }
  mxrt_status writeAt(const Ref &out, uint32_t offset, mxrt_location location,
                      mxrt_device device = gpu0) {
    return launch({writeModule.c_str(), "write", {1, 1, 1}, {1, 1, 1}, 0, {offset}}, {}, {&out},
                  device, location);
  }
  Ref one(mxrt_device device = gpu0) { return moved(floats({0}), device); }
  static bool holds(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
  }
  bool checks = false;
  int64_t limit = 0;
};

#define EXPECT_HOLDS(TEXT, PART) EXPECT_TRUE(holds(TEXT, PART)) << TEXT

TEST_F(GpuFailureTest, AFaultEndsTheGpuAndNamesTheLaunch) {
  Ref out = one(), fine = one(), host = floats({1});
  MX_OK(wait(out));
  MX_OK(wait(fine));
  MX_OK(waitAll());
  MX_OK(writeAt(out, 1 << 20, {"fault.mx", 3, 9}));
  std::string text = textOf(wait(out));
  EXPECT_HOLDS(text, "error[R0403]: gpu:0 failed: CUDA_ERROR_ILLEGAL_ADDRESS (700)");
  EXPECT_HOLDS(text, "in flight: kernel `write`, grid 1x1x1, block 1x1x1, launched at fault.mx:3:9");
  EXPECT_HOLDS(text, "--> fault.mx:3:9");
  EXPECT_HOLDS(text, "wait.mx:40:1");
  // All further work on it fails with the same error.
  EXPECT_HOLDS(textOf(wait(fine)), "gpu:0 failed: CUDA_ERROR_ILLEGAL_ADDRESS");
  mxrt_tensor *more = nullptr;
  mxrt_location location = here;
  EXPECT_HOLDS(textOf(mxrt_tensor_move(runtime, host.get(), &gpu0, &location, &more)),
               "error[R0403]: gpu:0 failed: CUDA_ERROR_ILLEGAL_ADDRESS");
  MX_OK(writeAt(fine, 0, {"later.mx", 4, 1}));
  EXPECT_HOLDS(textOf(wait(fine)), "launched at fault.mx:3:9");
  // The other GPU works on.
  Ref second = one(gpu1);
  MX_OK(writeAt(second, 0, here, gpu1));
  EXPECT_EQ(elements<int32_t>(second), std::vector<int32_t>{7});
  MX_OK(waitAll());
}

TEST_F(GpuFailureTest, AFaultThatNobodySawIsReportedAtTheEnd) {
  Ref out = one();
  MX_OK(writeAt(out, 1 << 20, {"fault.mx", 3, 9}));
  std::string text = textOf(waitAll());
  EXPECT_HOLDS(text, "error[R0403]: gpu:0 failed: CUDA_ERROR_ILLEGAL_ADDRESS (700)");
  EXPECT_HOLDS(text, "launched at fault.mx:3:9");
  MX_OK(waitAll()); // noticed
}

TEST_F(GpuFailureTest, SeveralLaunchesInFlightAreListed) {
  Ref out = one();
  MX_OK(wait(out));
  MX_OK(waitAll());
  Gate gate(driver()); // nothing runs on the emulator before the host waits
  for (int32_t line = 1; line <= 3; ++line)
    MX_OK(writeAt(out, line == 2 ? 1 << 20 : 0, {"fault.mx", line, 1}));
  mxrt_engine *engine = nullptr;
  MX_OK(mxrt_runtime_engine(runtime, nullptr, &engine));
  mxrt_var variable;
  MX_OK(mxrt_tensor_variable(runtime, out.get(), &variable));
  MX_OK(mxrt_engine_wait(engine, variable, here)); // all are enqueued
  gate.open();
  std::string text = textOf(wait(out));
  EXPECT_HOLDS(text, "launched at fault.mx:2:1");
  EXPECT_HOLDS(text, "launched at fault.mx:3:1");
  EXPECT_HOLDS(text, "help: `--check=gpu` waits after each launch");
  (void)textOf(waitAll());
}

TEST_F(GpuFailureTest, CheckedLaunchesNameTheKernel) {
  checks = true;
  restart(0);
  Ref out = one();
  MX_OK(writeAt(out, 0, {"fine.mx", 1, 1}));
  MX_OK(writeAt(out, 1 << 20, {"fault.mx", 3, 9}));
  MX_OK(writeAt(out, 0, {"later.mx", 4, 1}));
  std::string text = textOf(wait(out));
  EXPECT_HOLDS(text, "--> fault.mx:3:9");
  EXPECT_FALSE(holds(text, "later.mx")) << text;
  EXPECT_FALSE(holds(text, "fine.mx")) << text;
  (void)textOf(waitAll());
}

TEST_F(GpuFailureTest, EveryKindOfFaultIsADiagnostic) {
  const struct {
    const char *body, *name;
  } faults[] = {
      {"st.global.u32 [%rd0+1], %r0;", "CUDA_ERROR_MISALIGNED_ADDRESS (716)"},
      {"st.global.u32 [%rd0+4096], %r0;", "CUDA_ERROR_ILLEGAL_ADDRESS (700)"},
      {"trap;", "CUDA_ERROR_LAUNCH_FAILED (719)"},
      {"LOOP: bra LOOP;", "CUDA_ERROR_LAUNCH_TIMEOUT (702)"},
  };
  for (auto &fault : faults) {
    setenv("MXEMU_STEPS", "10000", 1);
    restart(0);
    unsetenv("MXEMU_STEPS");
    Ref out = one();
    std::string module = mxemu::moduleText(
        ".visible .entry k(.param .u64 out)\n{\n  .reg .b32 %r<1>;\n  .reg .b64 %rd<1>;\n"
        "  ld.param.u64 %rd0, [out];\n  mov.u32 %r0, 1;\n  " +
        std::string(fault.body) + "\n  ret;\n}\n");
    MX_OK(launch({module.c_str(), "k", {1, 1, 1}, {1, 1, 1}, 0, {}}, {}, {&out}));
    std::string text = textOf(wait(out));
    EXPECT_HOLDS(text, std::string("error[R0403]: gpu:0 failed: ") + fault.name);
    EXPECT_HOLDS(text, "kernel `k`");
    (void)textOf(waitAll());
  }
}

TEST_F(GpuFailureTest, RefusedModulesEntriesAndLaunches) {
  auto failing = [&](Kernel kernel) {
    Ref out = one();
    EXPECT_EQ(textOf(launch(kernel, {}, {&out}, gpu0, {"launch.mx", 8, 2})), "");
    std::string text = textOf(wait(out));
    EXPECT_HOLDS(text, "error[R0403]: gpu:0: kernel `" + std::string(kernel.entry) + "`: ");
    EXPECT_HOLDS(text, "--> launch.mx:8:2");
    return text;
  };
  std::string wrong = mxemu::moduleText(".visible .entry k() { nonsense.u32 %r1; ret; }");
  EXPECT_HOLDS(failing({wrong.c_str(), "k"}), "the driver refuses a module: CUDA_ERROR_INVALID_PTX");
  EXPECT_HOLDS(failing({writeModule.c_str(), "none"}), "a module has no such entry");
  EXPECT_HOLDS(failing({writeModule.c_str(), "write", {1, 1, 1}, {2000, 1, 1}, 0, {0}}),
               "the launch: ");
  // None of them ends the GPU.
  Ref out = one();
  MX_OK(writeAt(out, 0, here));
  EXPECT_EQ(elements<int32_t>(out), std::vector<int32_t>{7});
  (void)textOf(waitAll());
}

TEST_F(GpuFailureTest, ALaunchOnACpuIsRefused) {
  Ref out = floats({0});
  MX_OK(writeAt(out, 0, here, cpu0));
  EXPECT_HOLDS(textOf(wait(out)),
               "error[R0005]: kernel `write` is code for GPUs, but the call is on cpu:0");
}

TEST_F(GpuFailureTest, MemoryOfTheGpuRunsOut) {
  setenv("MXEMU_MEMORY_MB", "8", 1);
  restart(0);
  Ref kept = make(MXRT_F32, {1 << 20}, gpu0);
  unsetenv("MXEMU_MEMORY_MB");
  int64_t size = 5 << 20;
  mxrt_tensor *tensor = nullptr;
  std::string text =
      textOf(mxrt_tensor_create(runtime, &gpu0, MXRT_U8, 1, &size, &here, &tensor));
  EXPECT_HOLDS(text, "error[R0101]: out of memory on gpu:0: u8[5242880] needs 5 MiB (5242880 "
                     "bytes); the device has 8 MiB of memory, and 4 MiB are live here");
  EXPECT_HOLDS(text, "--> test.mx:12:5");
  // Released memory is used again, also while the GPU works on it, and caches make room.
  for (int i = 0; i < 10; ++i) {
    Ref a = make(MXRT_F32, {1000 * (i + 1) * 40}, gpu0);
    MX_OK(writeAt(a, 0, here));
  }
  MX_OK(waitAll());
}

TEST_F(GpuFailureTest, AMemoryLimitOfTheGpu) {
  limit = 1 << 20;
  restart(0);
  Ref fits = make(MXRT_U8, {1000000}, gpu0), host = make(MXRT_U8, {3000000}, cpu0);
  int64_t size = 100000;
  mxrt_tensor *tensor = nullptr;
  std::string text =
      textOf(mxrt_tensor_create(runtime, &gpu0, MXRT_U8, 1, &size, &here, &tensor));
  EXPECT_HOLDS(text, "error[R0102]: memory limit reached on gpu:0");
  EXPECT_EQ(stats(gpu0).limit_bytes, 1 << 20);
  MX_OK(mxrt_tensor_create(runtime, &gpu1, MXRT_U8, 1, &size, &here, &tensor)); // each has its own
  mxrt_tensor_release(tensor);
}

} // namespace
