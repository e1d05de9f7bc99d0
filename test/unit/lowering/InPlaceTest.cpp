// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In-place kernels: every output over every input that the kernel lists gives the bits of the
// kernel whose outputs have their own memory, and nothing else is written. Buffers lie between
// guards.
#include "LoweringTestSupport.h"
#include "dialects/mx/Kernels.h"
#include "dialects/mx/Over.h"
#include "mlir/IR/Verifier.h"

namespace mx::lowering {
namespace {

constexpr size_t kGuard = 64;
constexpr uint8_t kPattern = 0xA5;

/// A buffer of bytes between guards.
struct Guarded {
  std::vector<uint8_t> memory;
  size_t bytes;
  explicit Guarded(size_t bytes) : memory(bytes + 2 * kGuard, kPattern), bytes(bytes) {}
  uint8_t *data() { return memory.data() + kGuard; }
  const uint8_t *data() const { return memory.data() + kGuard; }
  bool areGuardsWhole() const {
    auto isPattern = [](uint8_t byte) { return byte == kPattern; };
    return std::all_of(memory.begin(), memory.begin() + kGuard, isPattern) &&
           std::all_of(memory.end() - kGuard, memory.end(), isPattern);
  }
};

size_t bytesOf(mlir::Type type) {
  auto tensor = mlir::cast<ir::TensorType>(type);
  size_t bytes = static_cast<size_t>(elementInfo(ir::elementFromMlir(tensor.getElement())).bytes);
  for (int64_t size : tensor.numbers())
    bytes *= static_cast<size_t>(size);
  return bytes;
}

/// Small numbers; indices are below 4.
Guarded filled(mlir::Type type, size_t seed) {
  Guarded out(bytesOf(type));
  bool isIndex = mlir::cast<ir::TensorType>(type).getElement().isInteger(64);
  for (size_t i = 0; i < out.bytes / (isIndex ? 8 : 4); ++i) {
    size_t mixed = (i + 31 * seed) * 7919 % 1009;
    if (isIndex)
      reinterpret_cast<int64_t *>(out.data())[i] = static_cast<int64_t>(mixed % 4);
    else
      reinterpret_cast<float *>(out.data())[i] = float(mixed) / 128 - 4;
  }
  return out;
}

/// Runs the kernel; an output has the memory of the input that `over` names.
std::vector<Guarded> run(mlir::ModuleOp module, llvm::ArrayRef<int64_t> over) {
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  ir::KernelOp op = kernelOf(*copy);
  if (!over.empty())
    op->setAttr(ir::kOver, mlir::DenseI64ArrayAttr::get(op.getContext(), over));
  EXPECT_TRUE(succeeded(mlir::verify(*copy)));
  std::vector<Guarded> inputs, outputs, before;
  for (auto [i, input] : llvm::enumerate(op.getInputs()))
    inputs.push_back(filled(input.getType(), i));
  before = inputs;
  for (mlir::Type type : op.getResultTypes())
    outputs.emplace_back(bytesOf(type));
  std::vector<void *> buffers;
  for (Guarded &input : inputs)
    buffers.push_back(input.data());
  for (auto [i, output] : llvm::enumerate(outputs))
    buffers.push_back(!over.empty() && over[i] >= 0 ? inputs[static_cast<size_t>(over[i])].data()
                                                    : output.data());
  Guarded workspace(static_cast<size_t>(op.getWorkspace()));
  buffers.push_back(workspace.data());
  Kernel kernel = compiler().compile(*copy, {});
  EXPECT_TRUE(kernel);
  if (!kernel)
    return outputs;
  EXPECT_EQ(kernel(buffers, {}).code, 0);
  for (size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_TRUE(inputs[i].areGuardsWhole()) << "input " << i;
    if (!llvm::is_contained(over, static_cast<int64_t>(i))) {
      EXPECT_EQ(inputs[i].memory, before[i].memory) << "input " << i << " was written";
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!over.empty() && over[i] >= 0)
      outputs[i] = inputs[static_cast<size_t>(over[i])];
  for (const Guarded &output : outputs)
    EXPECT_TRUE(output.areGuardsWhole());
  return outputs;
}

/// Checks all pairs that the kernel lists, which are `pairs`.
void check(const std::string &types, const std::string &names, const std::string &body,
           size_t pairs, ir::KernelKind kind, int64_t workspace = 0) {
  std::string arguments;
  std::string in = types.substr(1, types.find(") -> ") - 1);
  llvm::SmallVector<llvm::StringRef> each, words;
  llvm::StringRef(in).split(each, "; ");
  llvm::StringRef(names).split(words, ", ");
  for (size_t i = 0; i < words.size(); ++i)
    arguments += (i ? ", " : "") + words[i].str() + ": " + each[i].str();
  std::string list = types;
  std::replace(list.begin(), list.end(), ';', ',');
  std::string text =
      "mx.func @k(" + arguments + ") attributes {sizes = []} {\n  %k:" +
      std::to_string(1 + llvm::StringRef(types.substr(types.find("->"))).count(';')) +
      " = mx.kernel(" + names + ") attributes {workspace = " + std::to_string(workspace) +
      " : i64} : " + list + " {\n" + body + "\n  }\n  mx.return\n}";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, compiler().context.get());
  ASSERT_TRUE(module) << text;
  ir::KernelOp op = kernelOf(*module);
  EXPECT_EQ(op.kind(), kind);
  std::vector<Guarded> want = run(*module, {});
  size_t found = 0;
  for (unsigned output = 0; output < op.getNumResults(); ++output)
    for (int64_t input : op.mayOverwrite(output)) {
      ++found;
      llvm::SmallVector<int64_t> over(op.getNumResults(), -1);
      over[output] = input;
      std::vector<Guarded> got = run(*module, over);
      for (size_t i = 0; i < want.size(); ++i)
        EXPECT_EQ(std::memcmp(got[i].data(), want[i].data(), want[i].bytes), 0)
            << "output " << i << " differs with output " << output << " over input " << input;
    }
  EXPECT_EQ(found, pairs);
}

const char *const kLevels[] = {"x86-64-v2", "native"};
/// For each CPU that runs here.
void onEach(llvm::function_ref<void()> test) {
  std::string usual = compiler().cpuName;
  for (const char *level : kLevels) {
    auto cpu = target::TargetCpu::parse(level);
    if (!cpu || !cpu->runsHere())
      continue;
    compiler().cpuName = level;
    test();
  }
  compiler().cpuName = usual;
}

#define M "!mx.tensor<f32[37, 130]>"
#define R "!mx.tensor<f32[37, 1]>"

TEST(InPlace, Elementwise) {
  onEach([] {
    check("(" M "; " M ") -> (" M "; " M ")", "%x, %y", R"(
  ^bb0(%a: )" M ", %b: " M R"():
    %0 = mx.mul %a, %b : ()" M ", " M ") -> " M R"(
    %1 = mx.sub %a, %b : ()" M ", " M ") -> " M R"(
    mx.yield %0, %1 : )" M ", " M,
          4, ir::KernelKind::Elementwise);
  });
}

/// A normalisation: the row is read by two reductions and by the outputs.
TEST(InPlace, Rows) {
  onEach([] {
    check("(" M "; " M ") -> (" M "; " R ")", "%x, %y", R"(
  ^bb0(%a: )" M ", %b: " M R"():
    %0 = mx.sum %a over [1] keep : )" M " -> " R R"(
    %1 = mx.sub %a, %0 : ()" M ", " R ") -> " M R"(
    %2 = mx.mul %1, %1 : ()" M ", " M ") -> " M R"(
    %3 = mx.sum %2 over [1] keep : )" M " -> " R R"(
    %4 = mx.div %1, %3 : ()" M ", " R ") -> " M R"(
    %5 = mx.add %4, %b : ()" M ", " M ") -> " M R"(
    mx.yield %5, %3 : )" M ", " R,
          2, ir::KernelKind::Rows);
  });
}

/// The epilogue's operand and the accumulator.
TEST(InPlace, Matmul) {
  onEach([] {
    check("(!mx.tensor<f32[37, 600]>; !mx.tensor<f32[600, 130]>; " M "; " M ") -> (" M ")",
          "%x, %w, %i, %z",
          R"(
  ^bb0(%a: !mx.tensor<f32[37, 600]>, %b: !mx.tensor<f32[600, 130]>, %c: )" M ", %d: " M R"():
    %0 = mx.matmul %a, %b from %c : (!mx.tensor<f32[37, 600]>, !mx.tensor<f32[600, 130]>, )" M
          ") -> " M R"(
    %1 = mx.maximum %0, %d : ()" M ", " M ") -> " M R"(
    mx.yield %1 : )" M,
          2, ir::KernelKind::Matmul);
  });
}

#define C "!mx.tensor<f32[2, 48, 14, 14]>"
TEST(InPlace, Conv) {
  onEach([] {
    check("(!mx.tensor<f32[2, 4, 14, 14]>; !mx.tensor<f32[48, 4, 3, 3]>; " C ") -> (" C ")",
          "%x, %w, %z",
          R"(
  ^bb0(%a: !mx.tensor<f32[2, 4, 14, 14]>, %b: !mx.tensor<f32[48, 4, 3, 3]>, %c: )" C R"():
    %0 = mx.conv %a, %b {dilation = [#mx.size<1>, #mx.size<1>], groups = #mx.size<1>, lhs_dilation = [#mx.size<1>, #mx.size<1>], padding_low = [#mx.size<1>, #mx.size<1>], stride = [#mx.size<1>, #mx.size<1>]} : (!mx.tensor<f32[2, 4, 14, 14]>, !mx.tensor<f32[48, 4, 3, 3]>) -> )" C
          R"(
    %1 = mx.add %0, %c : ()" C ", " C ") -> " C R"(
    mx.yield %1 : )" C,
          1, ir::KernelKind::Conv);
  });
}

#define T "!mx.tensor<f32[16, 33]>"
TEST(InPlace, ScatterIntoAnInput) {
  onEach([] {
    check("(" T "; !mx.tensor<i64[5]>; !mx.tensor<f32[5, 33]>) -> (" T ")", "%x, %i, %y",
          R"(
  ^bb0(%a: )" T R"(, %b: !mx.tensor<i64[5]>, %c: !mx.tensor<f32[5, 33]>):
    %0 = mx.scatter_add %a, %b, %c along 0 : ()" T
          ", !mx.tensor<i64[5]>, !mx.tensor<f32[5, 33]>) -> " T R"(
    mx.yield %0 : )" T,
          1, ir::KernelKind::Scatter);
  });
}

/// A table's gradient is subtracted from its parameters.
TEST(InPlace, SparseTable) {
  onEach([] {
    check("(" T "; !mx.tensor<i64[5]>; !mx.tensor<f32[5, 33]>) -> (" T ")", "%x, %i, %y",
          R"(
  ^bb0(%a: )" T R"(, %b: !mx.tensor<i64[5]>, %c: !mx.tensor<f32[5, 33]>):
    %zero = mx.constant dense<0.0> : tensor<16x33xf32> -> )" T R"(
    %0 = mx.scatter_add %zero, %b, %c along 0 : ()" T
          ", !mx.tensor<i64[5]>, !mx.tensor<f32[5, 33]>) -> " T R"(
    %1 = mx.sub %a, %0 : ()" T ", " T ") -> " T R"(
    mx.yield %1 : )" T,
          1, ir::KernelKind::Scatter, /*workspace=*/4096);
  });
}

TEST(InPlace, Update) {
  onEach([] {
    check("(" T "; !mx.tensor<f32[33]>; !mx.tensor<i64[]>) -> (" T ")", "%x, %y, %i",
          R"(
  ^bb0(%a: )" T R"(, %b: !mx.tensor<f32[33]>, %c: !mx.tensor<i64[]>):
    %0 = mx.update %a, %b ["i", ":"] at (%c) : ()" T
          ", !mx.tensor<f32[33]>, !mx.tensor<i64[]>) -> " T R"(
    mx.yield %0 : )" T,
          1, ir::KernelKind::Move);
  });
}

/// Its twin: two nests, one after the other, so nothing may be overwritten.
TEST(InPlace, NotAReduction) {
  onEach([] {
    check("(" M ") -> (" M "; " R ")", "%x", R"(
  ^bb0(%a: )" M R"():
    %0 = mx.neg %a : ()" M ") -> " M R"(
    %1 = mx.sum %0 over [1] keep : )" M " -> " R R"(
    mx.yield %0, %1 : )" M ", " R,
          0, ir::KernelKind::Reduce);
  });
}

} // namespace
} // namespace mx::lowering
