// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules from text, and temporary folders.
#pragma once
#include "Target/Compile.h"
#include "Target/Jit.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <stdlib.h>
#include <string>

namespace mx::target {

/// A context that can translate, with the modules parsed in it.
class Modules {
public:
  Modules() {
    mlir::DialectRegistry registry;
    registerTranslations(registry);
    registry.insert<mlir::LLVM::LLVMDialect>();
    context = std::make_unique<mlir::MLIRContext>(registry);
    context->loadAllAvailableDialects();
  }

  mlir::ModuleOp parse(const std::string &text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get(), "kernel.mx");
    EXPECT_TRUE(module) << text;
    owned.push_back(std::move(module));
    return *owned.back();
  }

private:
  std::unique_ptr<mlir::MLIRContext> context;
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> owned;
};

inline TargetCpu native() {
  auto cpu = TargetCpu::parse("native");
  EXPECT_TRUE(cpu) << cpu.message();
  return cpu.take();
}

/// The object of a module in LLVM dialect; a failed test and "" if there is none.
inline std::string objectOf(const std::string &text, const TargetCpu &cpu = native()) {
  Modules modules;
  auto compiled = compileToObject(modules.parse(text), cpu);
  EXPECT_TRUE(compiled) << compiled.message();
  return compiled ? compiled->object : "";
}

/// A function that returns a constant; different constants make different functions.
inline std::string constantFunction(const std::string &name, int value) {
  return "llvm.func @" + name + "() -> i32 {\n  %0 = llvm.mlir.constant(" + std::to_string(value) +
         " : i32) : i32\n  llvm.return %0 : i32\n}\n";
}

/// c[i] = a[i] + b[i] for i below n.
inline constexpr const char *kAddArrays = R"(
llvm.func @add(%a: !llvm.ptr, %b: !llvm.ptr, %c: !llvm.ptr, %n: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^head(%zero : i64)
^head(%i: i64):
  %more = llvm.icmp "slt" %i, %n : i64
  llvm.cond_br %more, ^body, ^end
^body:
  %pa = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %pb = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %pc = llvm.getelementptr %c[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %pa : !llvm.ptr -> f32
  %y = llvm.load %pb : !llvm.ptr -> f32
  %z = llvm.fadd %x, %y : f32
  llvm.store %z, %pc : f32, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^head(%next : i64)
^end:
  llvm.return
}
)";

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "mx-target-XXXXXX").string();
    path = ::mkdtemp(pattern.data()) ? pattern : "";
    EXPECT_NE(path, "");
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path, ignored);
  }
  std::string operator/(const std::string &name) const { return path + "/" + name; }

  std::string path;
};

} // namespace mx::target
