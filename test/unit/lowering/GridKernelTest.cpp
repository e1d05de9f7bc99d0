// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels through the frame of GridKernel.h: what kernels of all targets share gives the bits that
// it gives in the frame for CPUs, however many blocks share the work.
#include "GridKernel.h"
#include "Lowering/kernels/LowerToLlvm.h"
#include "LoweringTestSupport.h"
#include "mlir/IR/Diagnostics.h"

namespace mx::lowering {
namespace {

using GridFunction = void(void *const *, const int64_t *, int64_t, int64_t, Failure *);

struct Grid {
  GridFunction *function = nullptr;
  target::JitUnit unit;

  Failure run(const std::vector<void *> &buffers, const std::vector<int64_t> &sizes,
              int64_t blocks) const {
    Failure failure = 0;
    // In any order: blocks do not wait for each other.
    for (int64_t block = blocks; block-- > 0;)
      function(buffers.data(), sizes.data(), block, blocks, &failure);
    return failure;
  }
};

Grid grid(const std::string &text) {
  Grid out;
  auto source = mlir::parseSourceString<mlir::ModuleOp>(text, compiler().context.get());
  EXPECT_TRUE(source) << text;
  if (!source)
    return out;
  auto cpu = target::TargetCpu::parse(compiler().cpuName).take();
  KernelOptions options;
  options.target = cpu.info();
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(source->getLoc());
  std::string name = "grid" + std::to_string(compiler().count++);
  loadLoweringDialects(compiler().context.get());
  GridKernel kernel(kernelOf(*source), name, options, *module);
  if (failed(emitKernel(kernel)))
    return out;
  // No function of the runtime is called.
  module->walk([](mlir::LLVM::LLVMFuncOp function) { EXPECT_FALSE(function.isExternal()); });
  expandHalfs(*module, options.target.hasHalf);
  EXPECT_TRUE(succeeded(lowerToLlvm(*module)));
  auto compiled = target::compileToObject(*module, cpu, {});
  EXPECT_TRUE(compiled) << compiled.message();
  auto unit = compiler().jit->add({compiled->object});
  EXPECT_TRUE(unit) << unit.message();
  out.unit = unit.take();
  out.function = out.unit.function<GridFunction>(name);
  return out;
}

/// A kernel with open sizes M and N; `types` are those of its inputs and, after `->`, outputs.
std::string kernelText(const std::string &names, const std::string &types,
                       const std::string &arguments, const std::string &body) {
  std::string sizes = " attributes {sizes = [\"M\", \"N\"]}";
  std::string in = types.substr(0, types.find(" -> ")), out = types.substr(types.find(" -> ") + 4);
  return "!m = !mx.tensor<f32[M, N]>\n!h = !mx.tensor<f16[M, N]>\n!i = !mx.tensor<i64[M, N]>\n"
         "!r = !mx.tensor<f32[M, 1]>\n!s = !mx.tensor<f32[]>\n!c = !mx.tensor<i64[M]>\n"
         "!t = !mx.tensor<f32[M]>\n"
         "mx.func @k(" +
         arguments + ")" + sizes +
         " {\n  %k:" + std::to_string(std::count(out.begin(), out.end(), '!')) +
         " = mx.kernel(" + names + ")" + sizes + " : " + in + " -> " + out + " {\n" + body +
         "\n  }\n  mx.return\n}";
}

/// Both frames give the same bits; `inputs` come first in `buffers` of each.
template <class T>
void expectSame(const std::string &text, const std::vector<void *> &inputs,
                const std::vector<size_t> &outputs, const std::vector<int64_t> &sizes) {
  Kernel reference = compiler().fromText(text);
  Grid other = grid(text);
  ASSERT_TRUE(reference && other.function);
  auto fresh = [&] {
    std::vector<std::vector<T>> out;
    for (size_t count : outputs)
      out.emplace_back(count, T(7));
    return out;
  };
  auto with = [&](std::vector<std::vector<T>> &out) {
    std::vector<void *> buffers = inputs;
    for (std::vector<T> &each : out)
      buffers.push_back(each.data());
    return buffers;
  };
  std::vector<std::vector<T>> want = fresh();
  ASSERT_EQ(reference(with(want), sizes).code, 0);
  for (int64_t blocks : {1, 3, 64}) {
    std::vector<std::vector<T>> got = fresh();
    ASSERT_EQ(other.run(with(got), sizes, blocks), 0);
    for (size_t i = 0; i < outputs.size(); ++i)
      EXPECT_EQ(std::memcmp(got[i].data(), want[i].data(), outputs[i] * sizeof(T)), 0)
          << "output " << i << " with " << blocks << " blocks";
  }
}

/// Finite numbers between -8 and 8.
template <class T> std::vector<T> numbers(size_t count, size_t from = 0) {
  std::vector<T> out;
  for (size_t i = from; i < count + from; ++i)
    out.push_back(T(double(i * 7919 % 2001) / 125 - 8));
  return out;
}

struct Shape {
  size_t m, n;
};
constexpr Shape kShapes[] = {{5, 70}, {1, 1}, {3, 4097}, {0, 4}, {257, 3}};

TEST(GridKernel, Elementwise) {
  std::string text = kernelText("%x, %y", "(!m, !m) -> (!m, !m)", "%x: !m, %y: !m", R"(
  ^bb0(%a: !m, %b: !m):
    %0 = mx.mul %a, %b : (!m, !m) -> !m
    %1 = mx.tanh %0 : (!m) -> !m
    %2 = mx.exp %1 : (!m) -> !m
    %3 = mx.erf %b : (!m) -> !m
    %4 = mx.div %3, %2 : (!m, !m) -> !m
    mx.yield %2, %4 : !m, !m)");
  for (auto [m, n] : kShapes) {
    std::vector<float> x = numbers<float>(m * n), y = numbers<float>(m * n, 5);
    expectSame<float>(text, {address(x), address(y)}, {m * n, m * n}, {int64_t(m), int64_t(n)});
  }
}

TEST(GridKernel, SixteenBits) {
  std::string text = kernelText("%x", "(!h) -> !h", "%x: !h", R"(
  ^bb0(%a: !h):
    %0 = mx.exp %a : (!h) -> !h
    %1 = mx.add %0, %a : (!h, !h) -> !h
    mx.yield %1 : !h)");
  std::vector<F16> x = numbers<F16>(5 * 70);
  expectSame<F16>(text, {address(x)}, {5 * 70}, {5, 70});
}

/// Softmax, and the max of each row.
TEST(GridKernel, Rows) {
  std::string text = kernelText("%x", "(!m) -> (!m, !r)", "%x: !m", R"(
  ^bb0(%a: !m):
    %0 = mx.max %a over [1] keep : !m -> !r
    %1 = mx.sub %a, %0 : (!m, !r) -> !m
    %2 = mx.exp %1 : (!m) -> !m
    %3 = mx.sum %2 over [1] keep : !m -> !r
    %4 = mx.div %2, %3 : (!m, !r) -> !m
    mx.yield %4, %0 : !m, !r)");
  for (auto [m, n] : kShapes) {
    std::vector<float> x = numbers<float>(m * n);
    expectSame<float>(text, {address(x)}, {m * n, m}, {int64_t(m), int64_t(n)});
  }
}

/// The mean of squares: a reduction of all rows.
TEST(GridKernel, ReductionOfRows) {
  std::string text = kernelText("%x", "(!m) -> !s", "%x: !m", R"(
  ^bb0(%a: !m):
    %0 = mx.mul %a, %a : (!m, !m) -> !m
    %1 = mx.sum %0 over [1] keep : !m -> !r
    %2 = mx.sqrt %1 : (!r) -> !r
    %3 = mx.sum %2 over [0, 1] : !r -> !s
    mx.yield %3 : !s)");
  for (auto [m, n] : kShapes) {
    std::vector<float> x = numbers<float>(m * n);
    expectSame<float>(text, {address(x)}, {1}, {int64_t(m), int64_t(n)});
  }
}

TEST(GridKernel, Reduction) {
  std::string text = kernelText("%x", "(!m) -> !t", "%x: !m", R"(
  ^bb0(%a: !m):
    %0 = mx.sum %a over [1] : !m -> !t
    mx.yield %0 : !t)");
  for (auto [m, n] : kShapes) {
    std::vector<float> x = numbers<float>(m * n);
    expectSame<float>(text, {address(x)}, {m}, {int64_t(m), int64_t(n)});
  }
}

/// A failing element is recorded with the code that the status of the CPU's kernel has.
TEST(GridKernel, FailuresAreRecorded) {
  std::string text = kernelText("%x, %y", "(!i, !i) -> !i", "%x: !i, %y: !i", R"(
  ^bb0(%a: !i, %b: !i):
    %0 = mx.floordiv %a, %b : (!i, !i) -> !i
    mx.yield %0 : !i)");
  Kernel reference = compiler().fromText(text);
  Grid other = grid(text);
  ASSERT_TRUE(reference && other.function);
  std::vector<int64_t> x(12, 6), y(12, 2), out(12);
  EXPECT_EQ(other.run({address(x), address(y), address(out)}, {3, 4}, 2), 0);
  EXPECT_EQ(out, std::vector<int64_t>(12, 3));
  y[7] = 0;
  int code = reference({address(x), address(y), address(out)}, {3, 4}).code;
  EXPECT_EQ(code, int(Code::DIVISION_BY_ZERO));
  EXPECT_EQ(other.run({address(x), address(y), address(out)}, {3, 4}, 2), code);
}

/// A kind without an emitter is refused, not half emitted.
TEST(GridKernel, OtherKindsAreRefused) {
  std::string said;
  mlir::ScopedDiagnosticHandler handler(compiler().context.get(), [&](mlir::Diagnostic &d) {
    said = d.str();
    return mlir::success();
  });
  Grid none = grid(kernelText("%x, %y", "(!m, !mx.tensor<f32[N, M]>) -> !mx.tensor<f32[M, M]>",
                              "%x: !m, %y: !mx.tensor<f32[N, M]>", R"(
  ^bb0(%a: !m, %b: !mx.tensor<f32[N, M]>):
    %0 = mx.matmul %a, %b : (!m, !mx.tensor<f32[N, M]>) -> !mx.tensor<f32[M, M]>
    mx.yield %0 : !mx.tensor<f32[M, M]>)"));
  EXPECT_FALSE(none.function);
  EXPECT_NE(said.find("of the kind matmul has no emitter for grids"), std::string::npos) << said;
}

} // namespace
} // namespace mx::lowering
