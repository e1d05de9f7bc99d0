// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// IR generation: from the checked AST to the `mx` dialect. Eager and graph code share one path: a
// function becomes an `mx.func`, a `graph fn` or `graph { }` an `mx.graph`, and top-level
// statements the function `main`.
//
// Monomorphisation: a generic function becomes one `mx.func` for each combination of element types,
// model types, static arguments and ranks of packs. Sizes are not part of it: they are parameters
// of the function (its `sizes`), so that one body serves all; graphs are specialised for sizes
// later, when they are called.
#pragma once
#include "Sema/Sema.h"
#include "dialects/mx/Mx.h"
#include "mlir/IR/BuiltinOps.h"
#include <memory>

namespace mx::irgen {

struct Options {
  /// `graph fn` and `graph { }` become plain functions: the program runs op by op.
  bool eager = false;
  /// Each graph has a twin that runs op by op, named by its attribute `mx.eager`.
  bool twins = false;
  /// Every top-level name is a variable visible to later inputs, as in the REPL.
  bool keepNames = false;
  /// Only `test` blocks run, each as a function `test.N`.
  bool tests = false;
  /// The first op of each statement is marked (mx.statement): a debugger stops there.
  bool statements = false;
  /// Functions generated even if they are not called; not possible for those with generic types.
  std::vector<sema::FunctionInfo *> also;
  /// Only exported graphs and their callees; the top level is omitted.
  bool exports = false;
};

/// An `export graph fn` of the program.
struct Exported {
  std::string name;   ///< as written
  std::string header; ///< signature with parameters and result, as written
  std::string symbol; ///< its graph
  Span span;          ///< of the name
};

/// A `test "…" { }` of the program.
struct TestBlock {
  std::string name;   ///< as written
  std::string symbol; ///< its function
  Span span;
};

struct Generated {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string entry; ///< the function of the top level
  std::vector<TestBlock> tests;
  std::vector<Exported> exports; ///< with Options::exports
  /// With keepNames: the global that holds the value of the input's last expression; empty if none.
  std::string result;
};

/// Generates the program or input in `module`, with all its callees. Reports code that cannot be
/// compiled to the checker's diagnostics; the module is null then.
Generated generate(mlir::MLIRContext &context, sema::CheckedProgram &sema, const sema::ModuleInfo &module,
                   const Options &options);

/// The VM's name of a top-level variable. In a session a name may be redefined, perhaps with
/// another type, while functions still use the old one: then the source location of the definition
/// distinguishes them.
std::string globalName(const sema::Symbol &symbol, bool keepNames);

/// Whether a parameter is a compile-time parameter and has no argument in the IR.
bool isSettled(const sema::ParamInfo &param);

} // namespace mx::irgen
