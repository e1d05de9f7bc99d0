// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Objects and texts from modules; faults instead of aborts.
#include "Target/CompileQueue.h"
#include "TargetTestSupport.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"

using namespace mx::target;

namespace {

TEST(Compile, GivesAnElfObjectAndNoTextUnasked) {
  Modules modules;
  auto compiled = compileToObject(modules.parse(kAddArrays), native());
  ASSERT_TRUE(compiled) << compiled.message();
  EXPECT_EQ(compiled->object.substr(0, 4), "\x7f"
                                           "ELF");
  EXPECT_EQ(compiled->irBefore + compiled->irAfter + compiled->assembly, "");
  EXPECT_GT(compiled->times.generateMs, 0);
}

TEST(Compile, ShowsEachStage) {
  Modules modules;
  CompileOptions options;
  options.wantIrBefore = options.wantIrAfter = options.wantAssembly = true;
  auto compiled = compileToObject(modules.parse(kAddArrays), native(), options);
  ASSERT_TRUE(compiled) << compiled.message();
  EXPECT_EQ(compiled->irBefore.find("vector.body"), std::string::npos);
  EXPECT_NE(compiled->irAfter.find("vector.body"), std::string::npos);
  EXPECT_NE(compiled->irBefore.find("\"target-cpu\"=\"" + native().cpu()), std::string::npos);
  EXPECT_NE(compiled->assembly.find("add:"), std::string::npos);
  EXPECT_FALSE(compiled->object.empty());

  options.wantObject = false;
  auto textOnly = compileToObject(modules.parse(kAddArrays), native(), options);
  ASSERT_TRUE(textOnly) << textOnly.message();
  EXPECT_TRUE(textOnly->object.empty());
  EXPECT_EQ(textOnly->assembly, compiled->assembly);
}

TEST(Compile, TheSameModuleGivesTheSameBytes) {
  EXPECT_EQ(objectOf(kAddArrays), objectOf(kAddArrays));
}

#if defined(__x86_64__)
TEST(Compile, UsesTheVectorsOfEachLevel) {
  for (auto [level, registers] :
       {std::pair("x86-64-v2", "%xmm"), {"x86-64-v3", "%ymm"}, {"x86-64-v4", "%zmm"}}) {
    Modules modules;
    CompileOptions options;
    options.wantAssembly = true;
    auto compiled =
        compileToObject(modules.parse(kAddArrays), TargetCpu::parse(level).take(), options);
    ASSERT_TRUE(compiled) << compiled.message();
    EXPECT_NE(compiled->assembly.find(registers), std::string::npos) << level;
  }
}

// Products and sums become one only where they are marked: what is fused with what must not change
// any bit.
TEST(Compile, ContractsWhatIsMarked) {
  for (bool marked : {false, true}) {
    Modules modules;
    CompileOptions options;
    options.wantAssembly = true;
    std::string flags = marked ? " {fastmathFlags = #llvm.fastmath<contract>}" : "";
    auto compiled = compileToObject(
        modules.parse(("llvm.func @f(%a: f32, %b: f32, %c: f32) -> f32 {\n"
                       "  %0 = llvm.fmul %a, %b" + flags + " : f32\n"
                       "  %1 = llvm.fadd %0, %c" + flags + " : f32\n"
                       "  llvm.return %1 : f32\n}").c_str()),
        TargetCpu::parse("x86-64-v3").take(), options);
    ASSERT_TRUE(compiled) << compiled.message();
    EXPECT_EQ(compiled->assembly.find("vfmadd") != std::string::npos, marked);
  }
}

TEST(Compile, RefusesAModuleForAnotherMachine) {
  Modules modules;
  auto compiled = compileToObject(
      modules.parse("module attributes {llvm.target_triple = \"nvptx64-nvidia-cuda\"} {}"),
      native());
  ASSERT_FALSE(compiled);
  EXPECT_NE(compiled.message().find("nvptx64"), std::string::npos) << compiled.message();
}

TEST(Compile, AssemblerErrorsAreFaults) {
  Modules modules;
  CompileOptions options;
  options.name = "strange";
  auto compiled = compileToObject(modules.parse(R"(
llvm.func @f() {
  llvm.inline_asm has_side_effects "no such instruction", "" : () -> ()
  llvm.return
})"),
                                  native(), options);
  ASSERT_FALSE(compiled);
  EXPECT_NE(compiled.message().find("strange"), std::string::npos) << compiled.message();
  EXPECT_NE(compiled.message().find("instruction"), std::string::npos) << compiled.message();
}
#endif

TEST(Compile, OperationsThatAreNotLlvmAreFaults) {
  mlir::MLIRContext context; // knows no translation
  context.loadDialect<mlir::LLVM::LLVMDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(constantFunction("f", 1), &context);
  ASSERT_TRUE(module);
  auto compiled = compileToObject(*module, native());
  ASSERT_FALSE(compiled);
  EXPECT_NE(compiled.message().find("LLVM"), std::string::npos);
}

TEST(Compile, AnUnknownPassIsAFault) {
  Modules modules;
  CompileOptions options;
  options.pipeline = "function(no-such-pass)";
  auto compiled = compileToObject(modules.parse(kAddArrays), native(), options);
  ASSERT_FALSE(compiled);
  EXPECT_NE(compiled.message().find("no-such-pass"), std::string::npos) << compiled.message();
}

TEST(Compile, InvalidIrIsAFault) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  // A block without an end can be built, but not parsed: build it.
  auto module = llvm::parseAssemblyString("define void @f() {\n  ret void\n}", problem, context);
  ASSERT_TRUE(module);
  module->getFunction("f")->begin()->begin()->eraseFromParent();
  auto compiled = compileToObject(std::move(module), native());
  ASSERT_FALSE(compiled);
  EXPECT_NE(compiled.message().find("not valid"), std::string::npos) << compiled.message();
}

TEST(Compile, TakesLlvmIrAsWell) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  auto module = llvm::parseAssemblyString("define i32 @f() {\n  ret i32 7\n}", problem, context);
  auto compiled = compileToObject(std::move(module), native());
  ASSERT_TRUE(compiled) << compiled.message();
  EXPECT_FALSE(compiled->object.empty());
}

TEST(CompileQueue, ResultsAreInTheOrderOfTheModules) {
  for (unsigned threads : {1u, 2u, 4u}) {
    Modules modules; // one context for all
    CompileQueue queue(native(), threads);
    for (int i = 0; i < 20; ++i)
      queue.add(modules.parse(kAddArrays + constantFunction("f" + std::to_string(i), i)));
    auto all = queue.finish();
    ASSERT_TRUE(all) << all.message();
    ASSERT_EQ(all->size(), 20u);
    for (int i = 0; i < 20; ++i) {
      auto jit = Jit::create({});
      ASSERT_TRUE(jit) << jit.message();
      auto unit = jit->add({(*all)[i].object});
      ASSERT_TRUE(unit) << unit.message();
      auto *function = unit->function<int()>("f" + std::to_string(i));
      ASSERT_TRUE(function);
      EXPECT_EQ(function(), i);
    }
  }
}

/// The passes that write code are used again for the next module.
TEST(CompileQueue, WhatWasCompiledBeforeChangesNoByte) {
  CompileOptions full, plain, read;
  plain.isPlain = true;
  plain.pipeline = "";
  read.wantAssembly = true;
  Modules modules;
  CompileQueue queue(native(), 1);
  std::vector<std::pair<std::string, CompileOptions>> jobs;
  for (int round = 0; round < 3; ++round)
    for (const CompileOptions &options : {full, plain, read, plain, full})
      jobs.push_back({kAddArrays + constantFunction("f", round % 2), options});
  for (auto &[text, options] : jobs)
    queue.add(modules.parse(text), options);
  auto all = queue.finish();
  ASSERT_TRUE(all) << all.message();
  for (size_t i = 0; i < jobs.size(); ++i) {
    auto alone = compileToObject(modules.parse(jobs[i].first), native(), jobs[i].second);
    ASSERT_TRUE(alone) << alone.message();
    EXPECT_EQ((*all)[i].object, alone->object) << i;
    EXPECT_EQ((*all)[i].assembly, alone->assembly) << i;
  }
}

TEST(CompileQueue, ModulesMayGoOnceTheyAreAdded) {
  Modules modules;
  CompileQueue queue(native(), 2);
  for (int i = 0; i < 6; ++i) {
    mlir::OwningOpRef<mlir::ModuleOp> own(
        modules.parse(constantFunction("f" + std::to_string(i), i)).clone());
    queue.add(*own);
  }
  auto all = queue.finish();
  ASSERT_TRUE(all) << all.message();
  EXPECT_EQ(all->size(), 6u);
}

TEST(CompileQueue, TheFirstFaultByOrderWins) {
  for (unsigned threads : {1u, 3u}) {
    Modules modules;
    CompileQueue queue(native(), threads);
    for (int i = 0; i < 12; ++i) {
      CompileOptions options;
      options.name = "job" + std::to_string(i);
      if (i == 5 || i == 6 || i == 11)
        options.pipeline = "function(no-such-pass)";
      queue.add(modules.parse(kAddArrays), options);
    }
    auto all = queue.finish();
    ASSERT_FALSE(all);
    EXPECT_NE(all.message().find("'job5'"), std::string::npos) << all.message();
  }
}

TEST(CompileQueue, WhatIsNotWantedAnyMoreIsLeft) {
  Modules modules;
  CompileQueue queue(native(), 2);
  for (int i = 0; i < 8; ++i)
    queue.add(modules.parse(kAddArrays));
  // It goes without finish().
}

TEST(CompileQueue, NothingToDoIsDone) {
  auto all = CompileQueue(native(), 4).finish();
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->empty());
}

} // namespace
