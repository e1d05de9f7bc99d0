// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that runs out is an error like any other; a long life does not grow.
// (Every allocation that can fail: test/unit/runtime/sweep.)

#include "VmTestSupport.h"

namespace mxrt::host {
namespace {

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
    TestAllocator allocator;
    TestHost host;
    VmOptions options;
    options.allocator = allocator.get();
    options.host = &host;
    if (byLimit)
      options.memoryLimit = 300000;
    Vm *vm = Vm::create(options).take();
    Program *loaded = vm->load(bytes).take();
    if (!byLimit)
      allocator.refuseNth(500);
    EXPECT_TRUE(vm->run(loaded).ok());
    EXPECT_EQ(host.output, byLimit ? "R0102\n" : "R0101\n");
    vm->unload(loaded);
    Vm::destroy(vm);
    EXPECT_EQ(allocator.liveBlocks(), 0);
  }
}

TEST(MemoryTest, LongLifeDoesNotGrow) {
  TestAllocator allocator;
  TestHost host;
  VmOptions options;
  options.allocator = allocator.get();
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
      after = allocator.liveBytes();
  }
  EXPECT_EQ(vm->global("n").i, 10000);
  EXPECT_EQ(allocator.liveBytes(), after);
  Vm::destroy(vm);
  EXPECT_EQ(allocator.liveBlocks(), 0);
}

} // namespace
} // namespace mxrt::host
