// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A compiler session: one checker, one compiler, one runtime, and how checked code becomes running
// code. What it is for is in classes derived from it: ProgramSession (run, test), InputSession (the
// REPL), OutsideSession (embedding), PlanSession and BuildSession, which run nothing. Two sessions
// share nothing but the cache on disk.
//
// Thread rule: one thread at a time. Only cancel() may be called from any thread, and from a signal
// handler.
#pragma once
#include "Driver/GraphHost.h"
#include "Driver/KernelStore.h"
#include "Driver/KernelTimer.h"
#include "IRGen/IRGen.h"
#include "Run/Interrupt.h"
#include "Run/Replicas.h"
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
  /// Prints this stage of the program instead of running it: mx or bytecode; empty: none.
  std::string emit;
  std::string cacheFolder;    ///< empty: the user's default
  std::string cpu = "native"; ///< target CPU; must be supported here
  bool compare = false;       ///< runs graphs both ways and compares the results
  bool countBytes = false;    ///< reports at the end the memory use of graph calls
  bool timing = false;        ///< reports at the end where the time went
  bool tune = false;          ///< autotunes matmuls and convolutions; reports the findings
  bool sync = false;          ///< synchronous: waits for every op before the next is issued
  bool checkNan = false;
  bool checkGradients = false; ///< compares each gradient with finite differences, in f64
  int64_t seed = 0;
  std::string profile; ///< a file for the trace; empty: none
  int64_t memoryLimit = 0;
  int32_t threads = 0;          ///< 0: $MX_NUM_THREADS, or all
  bool onTerminal = false;      ///< progress bars are redrawn on one line
  bool drawsOnTerminal = false; ///< a person sees what the program prints
  std::string logFolder;        ///< for `log`; created on first use
  bool showsProgress = true;
  run::Replica *replica = nullptr; ///< the rank that the program may become; null: it is alone
  /// Sessions that run the same program compile one after the other: the later ones find the code
  /// in the cache. Null: the session is alone.
  launch::CompileGate *compileGate = nullptr;
};

class Session {
public:
  Session(SessionOptions options, std::ostream &out, std::ostream &err);
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  /// False without a runtime; the reason has been reported.
  bool ready() const { return isReady; }

  /// Whether an error was a bug in mxc itself, not in a program.
  bool hadFault() const { return foundFault || reporter.sawFault(); }
  /// The exit code of a command with this outcome.
  int exitCode(bool fine);

  /// Writes the trace of `--profile`, once. Returns false on failure, which has been reported.
  bool writeProfile();

  /// Reports a runtime error, and takes ownership of it. `fromVm`: it came from the VM; `more` are
  /// note lines.
  void report(mxrt_status status, bool fromVm = true, const std::string &more = "");
  mxrt_runtime *runtimeOf() const { return runtime; }
  /// The machine that runs its programs; exists if the session is ready.
  run::Machine &runsOn() { return *base; }
  mxrt::host::Vm &machine() { return *vm; }

  /// Stops the running program at its next jump, call or kernel.
  void cancel();
  bool wasCancelled() const;
  void clearCancel();

  sema::Checker &checker() { return *names; }
  const SourceManager &sourceTexts() const { return sources; }
  GraphHost &graphHost() { return *host; }
  /// Settings that may change between inputs:
  const SessionOptions &settings() const { return options; }
  void setEager(bool eager) { options.code.eager = eager; }
  void setCheckNan(bool check);
  /// Inputs run op by op and mark the start of statements, for the VM's hook.
  void setStepping(bool steps) { options.code.statements = steps; }
  /// Graphs of inputs from now on run both ways, with results compared into `found`; null ends
  /// that.
  void compareInto(Comparison *found);

protected:
  struct Unit {
    std::shared_ptr<mlir::MLIRContext> context; ///< outlives its module
    mlir::OwningOpRef<mlir::ModuleOp> module;
    mxrt::host::Program *program = nullptr;
    bool isInput = false; ///< of the REPL: it may be freed when nothing holds its functions
  };
  bool prepare(mlir::ModuleOp module);
  bool load(irgen::Generated &generated);
  /// Reports an internal error of mxc; returns false.
  bool fault(const std::string &what);
  /// run::Machine::finish()
  bool finish(mxrt_status status, const std::function<std::string()> &more = nullptr) {
    return base->finish(status, more);
  }
  static std::shared_ptr<mlir::MLIRContext> newContext();
  void flushDiagnostics() { reporter.flush(); }
  bool prepareRng();
  irgen::Generated generateSeed();
  Comparison comparison;

  SessionOptions options;
  Timing timing;
  std::unique_ptr<KernelTimer> timer; ///< null: no autotuning
  std::ostream &out, &err;
  int compared = 0; ///< number of gradients compared with finite differences
  bool isReady = false, foundFault = false, isProfileWritten = false;
  SourceManager sources;
  Diagnostics diags;
  std::unique_ptr<sema::Checker> names;
  std::shared_ptr<mlir::MLIRContext> context; ///< of modules created from now on
  run::Reporter reporter;
  std::unique_ptr<run::Machine> base;
  mxrt_runtime *runtime = nullptr; ///< of `base`
  std::unique_ptr<KernelStore> kernels;
  std::unique_ptr<GraphHost> host;
  mxrt::host::Vm *vm = nullptr; ///< of `base`
  /// Programs stay loaded while values hold their functions, which call into their modules.
  std::vector<Unit> units;
  /// Types of variables on devices other than the default: later inputs use them.
  std::map<std::string, mlir::Type> elsewhere;
};

} // namespace mx::driver
