// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device placement, gradients, verification and bytecode generation for a checked program.
#include "Driver/MakeCode.h"
#include "Bytecode/Bytecode.h"
#include "Pipeline/Pipeline.h"
#include "dialects/mx/Locations.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include <set>

namespace mx::driver {
Span spanOf(mlir::Location location, const SourceManager &sources) {
  mlir::FileLineColLoc source = ir::sourceLocation(location);
  return source ? sources.find(source.getFilename().str(), source.getLine(), source.getColumn())
                : Span();
}

bool prepareModule(mlir::ModuleOp module, const SourceManager &sources, Diagnostics &diags,
                   llvm::StringRef mistake) {
  std::set<std::pair<uint32_t, std::string>> warned; // a body may exist for several sizes
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &found) {
    Span span = spanOf(found.getLocation(), sources);
    if (found.getSeverity() == mlir::DiagnosticSeverity::Warning &&
        warned.insert({span.begin, found.str()}).second)
      diags.report(Code::W0503, span, found.str())
          .caret("the gradient is zeros")
          .help("use it in the block, or leave it out of `grad(…)`");
    if (found.getSeverity() == mlir::DiagnosticSeverity::Error) {
      Diagnostic &d = diags.report(Code::E0504, span, found.str());
      mlir::Location location = found.getLocation();
      while (auto call = mlir::dyn_cast<mlir::CallSiteLoc>(location)) {
        location = call.getCaller();
        if (mlir::FileLineColLoc caller = ir::sourceLocation(location))
          d.note("called from " + ir::locationText(caller));
      }
    }
    return mlir::success();
  });
  return pipeline::prepareModule(module, mistake);
}

std::optional<std::string> faultIn(mlir::ModuleOp module) {
  std::string problem;
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &d) {
    if (d.getSeverity() == mlir::DiagnosticSeverity::Error && problem.empty()) {
      llvm::raw_string_ostream text(problem);
      text << d.getLocation() << ": " << d;
    }
    return mlir::success();
  });
  if (mlir::succeeded(mlir::verify(module)))
    return std::nullopt;
  return "in the generated code: " + problem;
}

std::optional<std::vector<uint8_t>> makeBytecode(mlir::ModuleOp module, const std::string &entry,
                                                 const SourceManager &sources, Diagnostics &diags,
                                                 std::string &fault) {
  bool isLimit = false;
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &d) {
    if (d.getSeverity() != mlir::DiagnosticSeverity::Error || isLimit || !fault.empty())
      return mlir::success();
    std::string text = d.str();
    isLimit = text.rfind("E0002 ", 0) == 0;
    if (isLimit) {
      diags.report(Code::E0002, spanOf(d.getLocation(), sources), text.substr(6))
          .help("read data from a file, and put statements that are alike into a function or a loop");
      return mlir::success();
    }
    llvm::raw_string_ostream out(fault);
    out << "in the bytecode: " << d.getLocation() << ": " << d;
    return mlir::success();
  });
  auto bytes = bytecode::emitBytecode(module, {entry, true});
  if (!bytes && !isLimit && fault.empty())
    fault = "in the bytecode";
  return bytes;
}

} // namespace mx::driver
