// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles kernels from text or keys, and calls them in this process.
#pragma once
#include "Elements.h"
#include "Lowering/EagerKernel.h"
#include "Lowering/Kernels.h"
#include "Target/Compile.h"
#include "Target/Jit.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "mxrt/cpu.h"
#include "mxrt/parallel.h"
#include "mxrt/random.h"
#include <gtest/gtest.h>
#include <memory>

namespace mx::lowering {

using KernelFunction = mxrt_status(const mxrt_context *, void *const *, const int64_t *);

/// A call's error: its code and message; 0 and "" if there is none.
struct Outcome {
  int code = 0;
  std::string message;
  int line = 0;
};

class Kernel {
public:
  explicit operator bool() const { return function; }
  Outcome operator()(const std::vector<void *> &buffers, const std::vector<int64_t> &sizes) const {
    mxrt_context context;
    mxrt_context_init(&context);
    mxrt_status status = function(&context, buffers.data(), sizes.data());
    Outcome out{static_cast<int>(mxrt_status_code(status)), mxrt_status_message(status),
                mxrt_status_location(status).line};
    mxrt_status_release(status);
    return out;
  }

  KernelFunction *function = nullptr;
  target::JitUnit unit;
};

class Compiler {
public:
  Compiler() {
    mlir::DialectRegistry registry;
    target::registerTranslations(registry);
    registerLoweringDialects(registry);
    context = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
#define MX_HOST(NAME)                                                                              \
  { #NAME, reinterpret_cast < const void *>(&NAME) }
    auto made = target::Jit::create(
        {MX_HOST(mxrt_status_text), MX_HOST(mxrt_parallel_for), MX_HOST(mxrt_may_use_state),
         MX_HOST(mxrt_rng_seed), MX_HOST(mxrt_random_uniform_f32), MX_HOST(mxrt_random_uniform_f64),
         MX_HOST(mxrt_random_uniform_i32), MX_HOST(mxrt_random_uniform_i64),
         MX_HOST(mxrt_random_normal_f32), MX_HOST(mxrt_random_normal_f64),
         MX_HOST(mxrt_random_bernoulli), MX_HOST(mxrt_random_categorical_logits_f32),
         MX_HOST(mxrt_random_permutation_i32), MX_HOST(mxrt_random_permutation_i64)});
#undef MX_HOST
    EXPECT_TRUE(made) << made.message();
    jit = std::make_unique<target::Jit>(made.take());
  }

  Kernel fromKey(const std::string &key, const KernelOptions &options = {}) {
    std::string error;
    mlir::OwningOpRef<mlir::ModuleOp> module = buildEagerKernel(context.get(), key, &error);
    EXPECT_TRUE(module) << error;
    return module ? compile(*module, options) : Kernel();
  }
  /// `body` is the text of an mx.kernel op and of the ops before it that it needs.
  Kernel fromText(const std::string &text, const KernelOptions &options = {}) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get(), "kernel.mx");
    EXPECT_TRUE(module) << text;
    return module ? compile(*module, options) : Kernel();
  }
  Kernel compile(mlir::ModuleOp module, const KernelOptions &options) {
    Kernel out;
    std::string name = "k" + std::to_string(count++);
    auto cpu = target::TargetCpu::parse(cpuName);
    KernelOptions forCpu = options;
    // The test chooses the bf16 instructions.
    Bf16Unit bf16 = options.target.bf16;
    if (cpu)
      forCpu.target = cpu->info();
    forCpu.target.bf16 = bf16;
    mlir::OwningOpRef<mlir::ModuleOp> lowered = lowerKernel(kernelOf(module), name, forCpu);
    EXPECT_TRUE(lowered);
    if (!lowered || !cpu)
      return out;
    target::CompileOptions compileOptions;
    compileOptions.lineTables = false;
    compileOptions.wantIrAfter = true;
    auto compiled = target::compileToObject(*lowered, *cpu, compileOptions);
    EXPECT_TRUE(compiled) << compiled.message();
    if (!compiled)
      return out;
    code = compiled->irAfter;
    auto unit = jit->add({compiled->object});
    EXPECT_TRUE(unit) << unit.message();
    if (!unit)
      return out;
    out.unit = unit.take();
    out.function = out.unit.function<KernelFunction>(name);
    return out;
  }

  std::unique_ptr<mlir::MLIRContext> context;
  std::unique_ptr<target::Jit> jit;
  std::string code; ///< LLVM IR of the kernel compiled last
  std::string cpuName = "native";
  unsigned count = 0;
};

/// One for all tests of the process.
inline Compiler &compiler() {
  static Compiler shared;
  return shared;
}

template <class T> void *address(std::vector<T> &v) { return v.data(); }

/// `count` elements laid out with a stride; `at0` is where element 0 is.
template <class T> struct Strided {
  std::vector<T> memory;
  T *at0;
  Strided(const std::vector<T> &dense, int64_t stride) {
    auto n = static_cast<int64_t>(dense.size());
    int64_t step = stride < 0 ? -stride : stride;
    memory.resize(static_cast<size_t>(n * step + 1));
    at0 = memory.data() + (stride < 0 && n ? (n - 1) * step : 0);
    for (int64_t i = 0; i < n; ++i)
      at0[i * stride] = dense[static_cast<size_t>(i)];
  }
};

} // namespace mx::lowering
