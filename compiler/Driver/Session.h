// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A session: one checker, one compiler, one runtime. `mxc run` has one for its program, the REPL
// one for all its inputs. Two sessions share nothing but the cache on disk.
//
// Thread rule: one thread at a time; only cancel() may be called from anywhere, also from a signal
// handler.
#pragma once
#include "Build/Artefact.h"
#include "Driver/GraphCalls.h"
#include "Driver/KernelStore.h"
#include "Driver/OutsideCalls.h"
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
  std::string cpu = "native"; ///< what code is made for; must run here
  bool compare = false;    ///< graphs run both ways, and results are compared
  bool countBytes = false; ///< says at the end what calls of graphs took
  bool sync = false;       ///< every op is waited for before the next is issued
  bool checkNan = false;
  bool checkGradients = false; ///< in f64, each gradient is compared with differences
  int64_t seed = 0;
  std::string profile; ///< a file for the trace; empty: none
  int64_t memoryLimit = 0;
  int32_t threads = 0;          ///< 0: $MX_NUM_THREADS, or all
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

/// What `mxc build` was asked.
struct BuildRequest {
  enum Kind : uint8_t { Object, Library, Python } kind = Object;
  std::string output, header;
  std::string library; ///< of a Python module, beside it
  std::string prefix; ///< of names in C
  build::Shapes shapes;
  std::string cpus;       ///< a list of names
  std::string parameters; ///< a file; empty: none is embedded
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
  /// Makes code of the graphs that a program exports, which is not run (Build.cpp).
  bool build(const std::string &name, const std::string &path, std::string text,
             const BuildRequest &request);
  /// One input of the REPL. `complete` is false if more lines could finish it.
  bool runInput(const std::string &name, std::string text, bool &complete);

  /// Checks and compiles a program and runs its top level. Its names stay, for calls from outside
  /// (OutsideCalls.cpp). Null, and why was written, on failure.
  const sema::ModuleInfo *loadProgram(const std::string &name, const std::string &path,
                                      std::string text);
  /// The function or type that a host names; neither, and why was written, if there is none.
  sema::OutsideCallee findCallee(const sema::ModuleInfo &module, const std::string &callee);
  /// Finds what a call of such a program's function, graph or constructor runs, or makes it. False,
  /// and why was written, if the call is wrong.
  bool resolve(const sema::ModuleInfo &module, const std::string &callee,
               const std::vector<OutsideArgument> &args, OutsideTarget &out);
  /// A variable of such a program, borrowed; unset if there is none.
  mxrt::host::Value variable(const sema::ModuleInfo &module, const std::string &name,
                             const sema::Type *&type) const;
  /// Writes an error of a run, and takes it over. `fromVm`: it came out of the VM.
  void report(mxrt_status status, bool fromVm = true);
  mxrt_runtime *runtimeOf() const { return runtime; }
  mxrt::host::Vm &machine() { return *vm; }

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
  bool collectExports(const std::string &name, const std::string &path, std::string text,
                      mlir::OwningOpRef<mlir::ModuleOp> &module, std::vector<build::Export> &out);
  bool writeArtefact(const BuildRequest &request, const build::Interface &interface,
                     const std::vector<build::Cpu> &cpus, const std::string &object);
  Diagnostic &planError(Span span, const std::string &message);
  void flushDiagnostics();
  bool prepareRng();
  struct OutsideEntry;
  bool generateOutside(const sema::ModuleInfo &module, const sema::CallInfo &info,
                       std::unique_ptr<OutsideEntry> &out);
  static std::string outsideText(const std::string &callee,
                                 const std::vector<sema::ParamInfo> *params,
                                 const std::vector<OutsideArgument> &args,
                                 std::vector<sema::OutsideValue> &values);
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
  struct OutsideEntries {
    OutsideEntries();
    ~OutsideEntries();
    std::map<std::string, std::unique_ptr<OutsideEntry>> byKey;
  } outside;
};

} // namespace mx::driver
