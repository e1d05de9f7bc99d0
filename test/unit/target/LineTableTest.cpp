// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lines of the program in the code.
#include "TargetTestSupport.h"
#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/Object/ObjectFile.h"
#include <set>

using namespace mx::target;

namespace {

/// "file:line" of every row of the object's line tables, or "" for line 0.
std::set<std::string> linesOf(const std::string &object) {
  std::set<std::string> lines;
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "test.o"));
  if (!file) {
    ADD_FAILURE() << llvm::toString(file.takeError());
    return lines;
  }
  auto context = llvm::DWARFContext::create(**file);
  for (const auto &unit : context->compile_units()) {
    const auto *table = context->getLineTableForUnit(unit.get());
    if (!table)
      continue;
    for (const auto &row : table->Rows) {
      std::string name;
      table->getFileNameByIndex(row.File, unit->getCompilationDir(),
                                llvm::DILineInfoSpecifier::FileLineInfoKind::AbsoluteFilePath,
                                name);
      lines.insert(row.Line ? name + ":" + std::to_string(row.Line) : "");
    }
  }
  return lines;
}

/// Two sums and a call, with the locations that are put in.
std::string program(const std::string &first, const std::string &second,
                    const std::string &function) {
  return "llvm.func @g(f32) -> f32\n"
         "llvm.func @f(%a: f32, %b: f32) -> f32 {\n"
         "  %0 = llvm.fadd %a, %b : f32 " +
         first +
         "\n"
         "  %1 = llvm.call @g(%0) : (f32) -> f32 " +
         second +
         "\n"
         "  %2 = llvm.fmul %1, %b : f32\n"
         "  llvm.return %2 : f32 " +
         first +
         "\n"
         "} " +
         function + "\n";
}

TEST(LineTables, HaveTheLinesOfOperations) {
  auto lines =
      linesOf(objectOf(program("loc(\"/home/u/net.mx\":12:3)", "loc(\"/home/u/net.mx\":14:5)",
                               "loc(\"/home/u/net.mx\":10:1)")));
  EXPECT_TRUE(lines.count("/home/u/net.mx:10"));
  EXPECT_TRUE(lines.count("/home/u/net.mx:12"));
  EXPECT_TRUE(lines.count("/home/u/net.mx:14"));
}

TEST(LineTables, KeepFilesApart) {
  auto lines = linesOf(objectOf(program("loc(\"/home/u/net.mx\":12:3)", "loc(\"/lib/nn.mx\":140:5)",
                                        "loc(\"/home/u/net.mx\":10:1)")));
  EXPECT_TRUE(lines.count("/home/u/net.mx:12"));
  EXPECT_TRUE(lines.count("/lib/nn.mx:140"));
  EXPECT_FALSE(lines.count("/home/u/net.mx:140"));
}

TEST(LineTables, FusedAndDerivedLocationsHaveALine) {
  auto lines = linesOf(
      objectOf(program("loc(fused[\"/a/net.mx\":12:3, \"/a/net.mx\":13:3])",
                       "loc(callsite(\"gradient\"(\"/a/net.mx\":14:5) at \"/a/net.mx\":99:1))",
                       "loc(\"forward\"(\"/a/net.mx\":10:1))")));
  EXPECT_TRUE(lines.count("/a/net.mx:12"));
  EXPECT_TRUE(lines.count("/a/net.mx:14"));
  EXPECT_FALSE(lines.count("")) << "a row with line 0";
}

TEST(LineTables, CodeWithoutLocationsCompilesWithoutThem) {
  std::string text = "llvm.func @f(%a: f32) -> f32 {\n  %0 = llvm.fadd %a, %a : f32 loc(unknown)\n"
                     "  llvm.return %0 : f32 loc(unknown)\n} loc(unknown)\n";
  EXPECT_TRUE(linesOf(objectOf(text)).empty());
}

TEST(LineTables, CanBeLeftOut) {
  Modules modules;
  CompileOptions options;
  options.lineTables = false;
  auto compiled = compileToObject(modules.parse(kAddArrays), native(), options);
  ASSERT_TRUE(compiled) << compiled.message();
  EXPECT_TRUE(linesOf(compiled->object).empty());
}

TEST(LineTables, CallsWithoutALocationAreAllowedBesideThoseWithOne) {
  std::string text = "llvm.func internal @h(%a: f32) -> f32 {\n  llvm.return %a : f32\n}"
                     " loc(\"/a/net.mx\":3:1)\n"
                     "llvm.func @f(%a: f32) -> f32 {\n"
                     "  %0 = llvm.call @h(%a) : (f32) -> f32 loc(unknown)\n"
                     "  llvm.return %0 : f32 loc(unknown)\n} loc(\"/a/net.mx\":5:1)\n";
  EXPECT_TRUE(linesOf(objectOf(text)).count("/a/net.mx:5"));
}

} // namespace
