// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the checked tree to the `mx` dialect. One way for eager and graph code: a function becomes
// an `mx.func`, a `graph fn` or `graph { }` an `mx.graph`, statements of the top level the function
// `main`.
//
// A generic function becomes one `mx.func` for each combination of element types, model types,
// static arguments and ranks of packs. Sizes are not among them: they are parameters of the
// function (its `sizes`), so that one body serves all; graphs are specialised for sizes later, when
// they are called.
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
  /// Every name of the top level is a variable that later inputs see, as in the REPL.
  bool keepNames = false;
  /// Only `test` blocks run, each as a function `test.N`.
  bool tests = false;
  /// The first op of each statement says so (mx.statement): a debugger stops there.
  bool statements = false;
  /// These are generated too, called or not; those with generic types cannot be.
  std::vector<sema::FunctionInfo *> also;
  /// Only graphs that are exported, with all they call; the top level is left out.
  bool exports = false;
};

/// An `export graph fn` of the program.
struct Exported {
  std::string name;   ///< as written
  std::string header; ///< with its parameters and result, as written
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
  /// With keepNames: the value of the input's last expression, stored in this global; empty if
  /// none.
  std::string result;
};

/// Generates the program or input `module` holds, with all it calls. Reports what cannot be
/// compiled to the checker's diagnostics; the module is null then.
Generated generate(mlir::MLIRContext &context, sema::Sema &sema, const sema::ModuleInfo &module,
                   const Options &options);

/// The VM's name of a variable of the top level. In a session a name may be defined again, perhaps
/// with another type, while functions still use the old one: then the place of the definition
/// tells them apart.
std::string globalName(const sema::Symbol &symbol, bool keepNames);

/// Whether a parameter is settled before the program runs and has no argument in the IR.
bool isSettled(const sema::ParamInfo &param);

} // namespace mx::irgen
