// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A session: one checker, one compiler, one runtime. `mxc run` has one for its program, the REPL
// one for all its inputs. Two sessions share nothing but the cache on disk.
//
// Thread rule: one thread at a time; only cancel() may be called from anywhere, also from a signal
// handler.
#pragma once
#include "Driver/GraphCalls.h"
#include "Driver/KernelStore.h"
#include "IRGen/IRGen.h"
#include "Sema/Checker.h"
#include "Support/Diagnostic.h"
#include <memory>
#include <ostream>

namespace mx::driver {

struct SessionOptions {
  sema::CheckOptions check;
  irgen::Options code;
  pipeline::Options compile;
  RenderOptions render;
  std::vector<Code> silenced;
  /// Prints this stage of the program and does not run it: mx or bytecode; empty: none.
  std::string emit;
  std::string cacheFolder; ///< empty: the user's
  bool compare = false;    ///< graphs run both ways, and results are compared
  bool countBytes = false; ///< says at the end what calls of graphs took
  bool sync = false;       ///< every op is waited for before the next is issued
  bool checkNan = false;
  bool checkGradients = false; ///< in f64, each gradient is compared with differences
  int64_t seed = 0;
  std::string profile; ///< a file for the trace; empty: none
  int64_t memoryLimit = 0;
  bool onTerminal = false;      ///< bars are redrawn on one line
  bool drawsOnTerminal = false; ///< what the program prints is seen by a person
  std::string logFolder;        ///< for `log`; made when a program uses it
};

/// What `mxc plan` was asked.
struct PlanRequest {
  std::string graph;
  std::vector<std::pair<std::string, int64_t>> sizes;
  bool asJson = false;
  std::string htmlFile; ///< empty: none
};

class Session {
public:
  Session(SessionOptions options, std::ostream &out, std::ostream &err);
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  /// False, and the reason was written, if there is no runtime to work with.
  bool ready() const { return isReady; }

  /// Checks, compiles and runs a program. What goes wrong is written to `err`.
  bool runProgram(const std::string &name, const std::string &path, std::string text);
  /// The `test` blocks of a program: one line each. Counts what failed.
  bool runTests(const std::string &name, const std::string &path, std::string text,
                const std::string &filter, int &passed, int &failed);
  /// Prints the memory plan of a graph of a program, which is not run. False above the limit
  /// (Plan.cpp).
  bool plan(const std::string &name, const std::string &path, std::string text,
            const PlanRequest &request);
  /// One input of the REPL. `complete` is false if more lines could finish it.
  bool runInput(const std::string &name, std::string text, bool &complete);

  /// Ends the running program at its next jump, call or kernel.
  void cancel();
  bool wasCancelled() const;
  void clearCancel();

  sema::Checker &checker() { return *names; }

private:
  bool prepare(mlir::ModuleOp module);
  bool load(irgen::Generated &generated);
  bool call(const std::string &function);
  bool finish(mxrt_status status);
  bool finishLog();
  void report(mxrt_status status);
  Diagnostic &planError(Span span, const std::string &message);
  void flushDiagnostics();
  bool prepareRng();
  Comparison comparison;

  SessionOptions options;
  std::ostream &out, &err;
  int compared = 0; ///< gradients that are compared with differences
  bool isReady = false;
  SourceManager sources;
  Diagnostics diags;
  std::unique_ptr<sema::Checker> names;
  mlir::MLIRContext context;
  mxrt_runtime *runtime = nullptr;
  std::unique_ptr<KernelStore> kernels;
  std::unique_ptr<mxrt::data::DataHost> data;
  std::unique_ptr<GraphHost> host;
  mxrt::host::Vm *vm = nullptr;
  /// Programs stay: their functions and graphs may be called by later inputs.
  std::vector<mxrt::host::Program *> programs;
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules;
  /// Types of variables on other devices than the default: later inputs use them.
  std::map<std::string, mlir::Type> elsewhere;
};

} // namespace mx::driver
