// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random programs give the same on the VM as by the reference, whichever registers they share and
// whatever is changed in place. Nothing is left alive.
#include "RandomPrograms.h"
#include "BytecodeTestSupport.h"
#include "Reference.h"
#include <cstdlib>

namespace mx::bytecode {
namespace {

class RandomProgramsTest : public BytecodeFixture {
protected:
  std::string showValue(const host::Value &value) {
    host::Text text(vm->heap());
    EXPECT_TRUE(vm->show(value, text).ok());
    return std::string(text.view());
  }

  bool agrees(uint64_t seed) {
    std::string text = randomProgram(seed);
    mlir::OwningOpRef<mlir::ModuleOp> module = parse(text);
    if (!module)
      return false;
    std::string name;
    mlir::TypeRange types;
    module->walk([&](ir::FuncOp function) {
      name = function.getSymName().str();
      types = function.getResultTypes();
    });
    std::string expected;
    Reference reference(*module);
    try {
      std::vector<Plain> out = reference.call(name, {});
      expected = "(";
      for (size_t i = 0; i < out.size(); ++i)
        expected += (i ? ", " : "") + show(out[i], types[i]);
      expected += ")";
    } catch (const Reference::Raised &raised) {
      expected = "raised " + raised.message;
    }
    host::Program *program = load(*module);
    if (!program)
      return false;
    fake.output.clear();
    std::vector<host::Value> none;
    host::Value result;
    mxrt::Status status = vm->call(program, name, none, result);
    std::string found = status.ok() ? showValue(result) : "raised " + std::string(status.message());
    release(vm->heap(), result);
    auto words = [](std::string printed) {
      // The VM prints bools as words.
      for (auto [word, number] : {std::pair("true", "1"), {"false", "0"}})
        for (size_t at; (at = printed.find(word)) != std::string::npos;)
          printed.replace(at, std::string_view(word).size(), number);
      return printed;
    };
    vm->unload(program);
    programs.pop_back();
    EXPECT_EQ(words(found), expected);
    EXPECT_EQ(words(fake.output), reference.output);
    EXPECT_EQ(FakeTensor::alive, 0);
    return !HasFailure();
  }
};

TEST_F(RandomProgramsTest, AgreeWithTheReference) {
  const char *runs = std::getenv("MX_RANDOM_PROGRAMS");
  uint64_t count = runs ? std::strtoull(runs, nullptr, 10) : 400;
  for (uint64_t seed = 1; seed <= count; ++seed)
    if (!agrees(seed)) {
      FAIL() << "seed " << seed << "\n" << randomProgram(seed);
    }
}

} // namespace
} // namespace mx::bytecode
