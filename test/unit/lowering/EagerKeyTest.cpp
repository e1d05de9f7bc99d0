// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys of eager kernels: those that are served, and how others are refused.
#include "LoweringTestSupport.h"

namespace mx::lowering {
namespace {

std::string errorOf(const std::string &key) {
  std::string error;
  auto module = buildEagerKernel(compiler().context.get(), key, &error);
  EXPECT_FALSE(module) << key;
  EXPECT_NE(error, "") << key;
  return error;
}

TEST(EagerKey, Served) {
  for (const char *key :
       {"add f32:1c,f32:0 -> f32:1c", "add f32:2s,f32:2c -> f32:2c", "neg i8:4s -> i8:4c",
        "sum f32:3s -> f32:2c", "argmax bf16:3c -> i32:2c", "any i8:3c -> bool:2c",
        "matmul f32:3s,f32:3s -> f32:3c", "iota -> i32:1c", "take f32:3s,i32:1c -> f32:3c",
        "cast f32:1c -> i32:1c", "select bool:1c,f32:1c,f32:0 -> f32:1c",
        "add f32:0,f32:0 -> f32:0", "div i32:1c,i32:1c -> f32:1c", "lt f32:1c,f32:1c -> bool:1c"}) {
    std::string error;
    auto module = buildEagerKernel(compiler().context.get(), key, &error);
    ASSERT_TRUE(module) << error;
    EXPECT_TRUE(kernelOf(*module));
  }
}

TEST(EagerKey, SizesAndStrides) {
  auto module = buildEagerKernel(compiler().context.get(), "matmul f32:3s,f32:3c -> f32:3c");
  ASSERT_TRUE(module);
  ir::KernelOp kernel = kernelOf(*module);
  ASSERT_EQ(kernel.getSizes().size(), 4u);
  EXPECT_EQ(llvm::cast<mlir::StringAttr>(kernel.getSizes()[3]).getValue(), "K");
  ASSERT_TRUE(kernel.getStrided());
  EXPECT_TRUE((*kernel.getStrided())[0]);
  EXPECT_FALSE((*kernel.getStrided())[1]);
}

TEST(EagerKey, Refused) {
  for (const char *key : {"",
                          "->",
                          " -> ",
                          "add",
                          "add f32:1c,f32:1c",
                          "add f32:1c,f32:1c -> ",
                          "add f32:1c,f32:1c -> f32:1s",
                          "add f32:1c,f32:1c -> f32",
                          "add f32:1c -> f32:1c",
                          "add f32:5c,f32:5c -> f32:5c",
                          "add f32:1c,f32:1c -> f32:2c",
                          "add f32:1x,f32:1c -> f32:1c",
                          "add q8:1c,q8:1c -> q8:1c",
                          "add f32:1c,i32:1c -> f32:1c",
                          "add(f32:1c -> f32:1c",
                          "add(=) f32:1c,f32:1c -> f32:1c",
                          "add(a=1) f32:1c,f32:1c -> f32:1c",
                          "sum f32:2c -> f32:1c",
                          "sum f32:3c -> i32:2c",
                          "iota f32:1c -> i32:1c",
                          "matmul f32:2c,f32:2c -> f32:2c",
                          "constant -> f32:0",
                          "print f32:1c -> f32:1c",
                          "func f32:1c -> f32:1c",
                          "kernel f32:1c -> f32:1c",
                          "nothing f32:1c -> f32:1c",
                          "a.b f32:1c -> f32:1c",
                          "add f32:1c,,f32:1c -> f32:1c",
                          "add f32:0c,f32:1c -> f32:1c",
                          "add f32:,f32:1c -> f32:1c",
                          "add :1c,f32:1c -> f32:1c",
                          "select f32:1c,f32:1c -> f32:1c",
                          "and f32:1c,f32:1c -> f32:1c",
                          "exp i32:1c -> i32:1c",
                          "bit_and f32:1c,f32:1c -> f32:1c",
                          "pow bool:1c,bool:1c -> bool:1c",
                          "sum bool:3c -> bool:2c",
                          "take f32:3c,f32:1c -> f32:3c",
                          "select f32:1c,f32:1c,f32:1c -> f32:1c"})
    errorOf(key);
  EXPECT_EQ(errorOf("add f32:1c,f32:8c -> f32:1c"),
            "kernel key `add f32:1c,f32:8c -> f32:1c`: `f32:8c` has a rank above 7");
  EXPECT_EQ(errorOf("neg f32:5c -> f32:5c"),
            "kernel key `neg f32:5c -> f32:5c`: `neg` has a rank above 4");
  EXPECT_EQ(
      errorOf("conv(outputs=2) f32:5c,f32:5c -> f32:5c"),
      "kernel key `conv(outputs=2) f32:5c,f32:5c -> f32:5c`: `conv` has no attribute `outputs`");
  EXPECT_EQ(errorOf("conv(sizes=1/2) f32:3c,f32:3c -> f32:3c"),
            "kernel key `conv(sizes=1/2) f32:3c,f32:3c -> f32:3c`: there are 11 sizes, not 2");
  for (const char *sizes : {"1/2/1/2/5/1/5/1/1/0/x", "1/2/1/2/-5/1/5/1/1/0/1",
                            "1/2/1/2/5/1/5/0/1/0/1", "1/2/1/2/5/1/5/1/0/0/1",
                            "1/2/1/2/5/1/5/1/1/0/0", "", "1/9223372036854775807/2/2/5/1/5/1/1/0/1"})
    errorOf("conv(sizes=" + std::string(sizes) + ") f32:3c,f32:3c -> f32:3c");
  errorOf("conv(sizes=1/2/1/2) f32:1c,f32:1c -> f32:1c");
  EXPECT_EQ(errorOf("fold f32:7c -> f32:5c"),
            "kernel key `fold f32:7c -> f32:5c`: `fold` has other ranks");
}

/// Whatever the text, the answer is a kernel or an error.
TEST(EagerKey, RandomText) {
  const char letters[] = "add sum f32:i8013cs,->() =_matmul";
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    std::string key = i % 2 ? "add f32:1c,f32:1c -> f32:1c" : "";
    for (unsigned n = random() % 12; n; --n)
      key.insert(random() % (key.size() + 1), 1, letters[random() % (sizeof letters - 1)]);
    std::string error;
    auto module = buildEagerKernel(compiler().context.get(), key, &error);
    EXPECT_EQ(static_cast<bool>(module), error.empty()) << key;
    if (module && i % 8 == 1)
      EXPECT_TRUE(lowerKernel(kernelOf(*module), "k", {})) << key;
  }
}

/// Every op with every element type is code or a refusal, also where the op makes no sense.
TEST(EagerKey, AllOpsAndTypes) {
  const char *unary[] = {"neg",   "abs",   "sign",  "exp", "log",     "log1p", "expm1",
                         "sqrt",  "rsqrt", "sin",   "cos", "tan",     "tanh",  "erf",
                         "floor", "ceil",  "round", "not", "bit_not", "isnan", "isfinite"};
  const char *binary[] = {"add",        "sub",         "mul",     "div",     "floordiv",
                          "mod",        "pow",         "maximum", "minimum", "atan2",
                          "and",        "or",          "bit_and", "bit_or",  "bit_xor",
                          "shift_left", "shift_right", "eq",      "lt"};
  const char *reductions[] = {"sum", "prod", "max", "min", "any", "all", "argmax", "argmin"};
  int served = 0;
  auto attempt = [&](const std::string &key) {
    std::string error;
    auto module = buildEagerKernel(compiler().context.get(), key, &error);
    if (module)
      EXPECT_TRUE(lowerKernel(kernelOf(*module), "k", {})) << key;
    served += static_cast<bool>(module);
  };
  for (const ElementInfo &from : kElements)
    for (std::string to :
         {std::string(from.name), std::string("bool"), std::string("f32"), std::string("i32")}) {
      std::string t(from.name);
      for (std::string op : unary)
        attempt(op + " " + t + ":1c -> " + to + ":1c");
      for (std::string op : binary)
        attempt(op + " " + t + ":1c," + t + ":0 -> " + to + ":1c");
      for (std::string op : reductions)
        attempt(op + " " + t + ":3c -> " + to + ":2c");
      attempt("matmul " + t + ":3c," + t + ":3c -> " + to + ":3c");
      attempt("iota -> " + t + ":1c");
      attempt("take f32:3c," + t + ":1c -> f32:3c");
    }
  EXPECT_GT(served, 250);
}

} // namespace
} // namespace mx::lowering
