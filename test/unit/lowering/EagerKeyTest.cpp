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
                          "select f32:1c,f32:1c,f32:1c -> f32:1c"})
    errorOf(key);
  EXPECT_EQ(errorOf("add f32:1c,f32:7c -> f32:1c"),
            "kernel key `add f32:1c,f32:7c -> f32:1c`: `f32:7c` has a rank above 4");
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
  }
}

} // namespace
} // namespace mx::lowering
