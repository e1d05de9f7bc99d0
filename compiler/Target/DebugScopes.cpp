// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DWARF line tables from the locations of operations.
#include "Target/DebugScopes.h"
#include "dialects/mx/Locations.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/Support/Path.h"

namespace mx::target {

using namespace mlir;

namespace {

LLVM::DIFileAttr fileOf(FileLineColLoc location) {
  StringRef path = location.getFilename().getValue();
  return LLVM::DIFileAttr::get(location.getContext(), llvm::sys::path::filename(path),
                               llvm::sys::path::parent_path(path));
}

LLVM::DICompileUnitAttr makeUnit(FileLineColLoc location) {
  MLIRContext *context = location.getContext();
  // DWARF has no code for mx; C makes gdb print addresses and call functions the usual way.
  return LLVM::DICompileUnitAttr::get(
      DistinctAttr::create(UnitAttr::get(context)), llvm::dwarf::DW_LANG_C, fileOf(location),
      StringAttr::get(context, "mxc"), /*isOptimized=*/true, LLVM::DIEmissionKind::LineTablesOnly);
}

/// The function's own location, or else the first inside it.
FileLineColLoc locationOfFunction(LLVM::LLVMFuncOp function) {
  FileLineColLoc found = ir::sourceLocation(function.getLoc());
  if (!found)
    function.walk([&](Operation *op) {
      found = ir::sourceLocation(op->getLoc());
      return found ? WalkResult::interrupt() : WalkResult::advance();
    });
  return found;
}

void addScope(LLVM::LLVMFuncOp function, FileLineColLoc start, LLVM::DICompileUnitAttr unit) {
  MLIRContext *context = function.getContext();
  LLVM::DIFileAttr file = fileOf(start);
  auto type = LLVM::DISubroutineTypeAttr::get(context, llvm::dwarf::DW_CC_normal, {});
  auto scope = LLVM::DISubprogramAttr::get(
      context, DistinctAttr::create(UnitAttr::get(context)), unit, file, function.getNameAttr(),
      function.getNameAttr(), file, start.getLine(), start.getLine(),
      LLVM::DISubprogramFlags::Definition | LLVM::DISubprogramFlags::Optimized, type,
      /*retainedNodes=*/{}, /*annotations=*/{});
  function->setLoc(FusedLoc::get({start}, scope, context));

  function.getBody().walk([&](Operation *op) {
    FileLineColLoc location = ir::sourceLocation(op->getLoc());
    // LLVM rejects a call without a location to a function that has them.
    if (!location)
      location = start;
    if (location.getFilename() == start.getFilename()) {
      op->setLoc(location);
    } else {
      auto block = LLVM::DILexicalBlockFileAttr::get(scope, fileOf(location), /*discriminator=*/0);
      op->setLoc(FusedLoc::get({location}, block, context));
    }
  });
}

} // namespace

void addDebugScopes(ModuleOp module) {
  LLVM::DICompileUnitAttr unit;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    if (function.isExternal() ||
        function.getLoc()->findInstanceOf<FusedLocWith<LLVM::DISubprogramAttr>>())
      continue;
    FileLineColLoc start = locationOfFunction(function);
    if (!start)
      continue;
    if (!unit)
      unit = makeUnit(start);
    addScope(function, start, unit);
  }
}

} // namespace mx::target
