// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A compiler session: one checker, one compiler, one runtime. `mxc run` has one for its program,
// the REPL one for all its inputs. Two sessions share nothing but the cache on disk.
//
// Thread rule: one thread at a time. Only cancel() may be called from any thread, and from a signal
// handler.
#pragma once
#include "Build/Executable.h"
#include "Driver/GraphCalls.h"
#include "Driver/KernelStore.h"
#include "Driver/KernelTimer.h"
#include "Driver/OutsideCalls.h"
#include "Run/Interrupt.h"
#include "Run/Replicas.h"
#include "Sema/Checker.h"
#include "Support/Diagnostic.h"
#include <memory>
#include <ostream>
#include <set>

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

/// Arguments of `mxc plan`.
struct PlanRequest {
  std::string graph;
  std::vector<std::pair<std::string, int64_t>> sizes;
  bool asJson = false;
  std::string htmlFile;   ///< empty: none
  bool ofSession = false; ///< requested at the prompt
};

/// Adds the sizes of `N=32,T=7` to a request; returns an error message or an empty string.
std::string readSizes(const std::string &text, PlanRequest &request);
/// `step` names `step`, and what was derived from it: `step.f32`.
bool isNamed(llvm::StringRef symbol, llvm::StringRef name);

/// Result of an input of the REPL.
struct InputResult {
  bool complete = true; ///< false: the input is incomplete; nothing happened
  bool fine = false;
  sema::InputSummary summary;
  std::optional<std::string> shown; ///< its value as text; none if it has no value or is muted
};

/// The names of a session and their values, to rewind to.
struct Checkpoint {
  sema::NamesMark names;
  std::vector<std::pair<std::string, mxrt::host::Value>> values; ///< retained, by the VM's names
};

/// Total bytes of all tensors in a value.
int64_t tensorBytes(const mxrt::host::Value &value);

/// Arguments of `mxc build`.
struct BuildRequest {
  enum Kind : uint8_t { Object, Library, Python, Executable } kind = Object;
  std::string output, header;
  std::string library; ///< of a Python module, next to it
  std::string prefix;  ///< prefix of names in C
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

  /// False without a runtime; the reason has been reported.
  bool ready() const { return isReady; }

  /// Whether an error was a bug in mxc itself, not in a program.
  bool hadFault() const { return foundFault || reporter.sawFault(); }
  /// The exit code of a command with this outcome.
  int exitCode(bool fine);

  /// Writes the trace of `--profile`, once. Returns false on failure, which has been reported.
  bool writeProfile();

  /// Checks, compiles and runs a program. Errors are written to `err`.
  bool runProgram(const std::string &name, const std::string &path, std::string text);
  /// Runs the `test` blocks of a program: one line each. Counts failures. `isChecked`: the check
  /// found no error.
  bool runTests(const std::string &name, const std::string &path, std::string text,
                const std::string &filter, int &passed, int &failed, bool &isChecked);
  /// Prints the memory plan of a graph of a program, which is not run. False if it exceeds the
  /// limit (Plan.cpp).
  bool plan(const std::string &name, const std::string &path, std::string text,
            const PlanRequest &request);
  /// Compiles the graphs that a program exports, or the whole program, which is not run (Build.cpp,
  /// BuildExecutable.cpp).
  bool build(const std::string &name, const std::string &path, std::string text,
             const BuildRequest &request);
  // ---- Inputs.cpp
  /// Runs one input of the REPL and shows its value. `complete` is false if the input is
  /// incomplete.
  bool runInput(const std::string &name, std::string text, bool &complete);
  /// Runs one input of the REPL, or a file that is read like one. It is a transaction until its
  /// first op is issued; later failures poison names, and the message lists them. `isWhole`: no
  /// more lines will follow, so an incomplete input is an error.
  InputResult enter(const std::string &name, const std::string &path, std::string text,
                    bool isWhole = false);
  /// Checks and compiles an input; null on an error, which has been reported. Nothing has run, but
  /// names are as if it had. The session owns the program until collect().
  mxrt::host::Program *compileInput(const std::string &name, const std::string &path,
                                    std::string text, InputResult &result, bool isWhole = true);
  /// Runs the result of compileInput and waits for it; errors have been reported.
  bool runCompiled(mxrt::host::Program *program);
  /// Describes an input without changing names. False on an error, which has been reported.
  bool describeInput(const std::string &name, std::string text, sema::InputSummary &out);
  Checkpoint checkpoint(bool withValues);
  /// Rewinds to a checkpoint; newer ones become invalid. Takes its values.
  void rewind(Checkpoint &to);
  void release(Checkpoint &point);
  /// Garbage collection: frees programs that nothing can call any more, and variables without a
  /// name now or at one of the checkpoints. Returns the bytes of tensors that only checkpoints
  /// name.
  int64_t collect(const std::vector<const Checkpoint *> &kept);
  /// Periodically drops the compiler's state about inputs that no name comes from any more.
  /// The checkpoints stay valid.
  void renew(const std::vector<Checkpoint *> &checkpoints);
  /// Variables of the session by name, with their values (borrowed), in order.
  std::vector<std::pair<std::string, mxrt::host::Value>> variables() const;

  // ---- Inspect.cpp
  /// Prints the plan of a graph of the session, as above.
  bool planGraph(const PlanRequest &request);
  /// Prints a stage of a function of the session: `mx`, `bytecode`, or of a graph one of
  /// pipeline::kPhases for these sizes; without any, for those it was called with last.
  bool showStage(const std::string &function, const std::string &stage, const PlanRequest &sizes);

  /// Checks and compiles a program and runs its top level. Its names persist, for calls from
  /// outside (OutsideCalls.cpp). Null on failure, which has been reported.
  const sema::ModuleInfo *loadProgram(const std::string &name, const std::string &path,
                                      std::string text);
  /// The function or type that a host names; neither if there is none, which has been reported.
  sema::OutsideCallee findCallee(const sema::ModuleInfo &module, const std::string &callee);
  /// Finds or generates the target of a call of such a program's function, graph or constructor.
  /// False if the call is invalid, which has been reported.
  bool resolve(const sema::ModuleInfo &module, const std::string &callee,
               const std::vector<OutsideArgument> &args, OutsideTarget &out);
  /// A variable of such a program, borrowed; unset if there is none.
  mxrt::host::Value variable(const sema::ModuleInfo &module, const std::string &name,
                             const sema::Type *&type) const;
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

private:
  struct Unit {
    std::shared_ptr<mlir::MLIRContext> context; ///< outlives its module
    mlir::OwningOpRef<mlir::ModuleOp> module;
    mxrt::host::Program *program = nullptr;
    bool isInput = false; ///< of the REPL: it may be freed when nothing holds its functions
  };
  bool planModule(irgen::Generated &generated, const PlanRequest &request);
  irgen::Generated generateFunction(const std::string &name);
  std::string settleNames(const sema::NamesMark &before, const std::set<std::string> &stored);
  uint64_t pushedSoFar();
  bool prepare(mlir::ModuleOp module);
  bool load(irgen::Generated &generated);
  /// Reports an internal error of mxc; returns false.
  bool fault(const std::string &what);
  bool call(const std::string &function);
  /// run::Machine::finish()
  bool finish(mxrt_status status, const std::function<std::string()> &more = nullptr) {
    return base->finish(status, more);
  }
  bool collectExports(const std::string &name, const std::string &path, std::string text,
                      mlir::OwningOpRef<mlir::ModuleOp> &module, std::vector<build::Export> &out);
  bool writeArtefact(const BuildRequest &request, const build::Interface &interface,
                     const std::vector<build::Cpu> &cpus, const std::string &object);
  struct Imports;
  bool buildExecutable(const std::string &name, const std::string &path, std::string text,
                       const BuildRequest &request);
  bool readImports(const std::vector<uint8_t> &bytes, uint32_t types, Imports &out);
  bool makeKernels(const std::set<std::string> &keys, const std::vector<build::Cpu> &cpus,
                   build::ExecutableParts &parts,
                   std::vector<std::pair<std::string, std::string>> &objects);
  bool linkExecutable(const std::string &path, const std::string &object,
                      const std::vector<std::pair<std::string, std::string>> &kernelObjects,
                      const std::set<std::string> &natives);
  static std::shared_ptr<mlir::MLIRContext> newContext();
  Diagnostic &planError(Span span, const std::string &message);
  bool needsSizes(const PlanRequest &request, const std::string &missing);
  void flushDiagnostics() { reporter.flush(); }
  bool prepareRng();
  irgen::Generated generateSeed();
  struct OutsideEntry;
  bool generateOutside(const sema::ModuleInfo &module, const sema::CallInfo &info,
                       std::unique_ptr<OutsideEntry> &out);
  static std::string outsideText(const std::string &callee,
                                 const std::vector<sema::ParamInfo> *params,
                                 const std::vector<OutsideArgument> &args,
                                 std::vector<sema::OutsideValue> &values);
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
  /// Variables of inputs, by the VM's names. Those that functions use are never dropped.
  struct KeptVariable {
    const sema::Symbol *symbol = nullptr; ///< null: it has none, or lost it
    bool isUsed = false;                  ///< by a function, when its symbol was released
  };
  std::map<std::string, KeptVariable> kept;
  int inputsSinceRenewal = 0;
  std::string inputResult; ///< the variable with the result of the last compiled input; or empty
  /// Types of variables on devices other than the default: later inputs use them.
  std::map<std::string, mlir::Type> elsewhere;
  struct OutsideEntries {
    OutsideEntries();
    ~OutsideEntries();
    std::map<std::string, std::unique_ptr<OutsideEntry>> byKey;
  } outside;
};

} // namespace mx::driver
