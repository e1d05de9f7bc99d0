// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A session: one checker, one compiler, one runtime. `mxc run` has one for its program, the REPL
// one for all its inputs. Two sessions share nothing but the cache on disk.
//
// Thread rule: one thread at a time; only cancel() may be called from anywhere, also from a signal
// handler.
#pragma once
#include "Build/Executable.h"
#include "Driver/GraphCalls.h"
#include "Driver/KernelStore.h"
#include "Driver/KernelTimer.h"
#include "Driver/OutsideCalls.h"
#include "Run/Interrupt.h"
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
  /// Prints this stage of the program and does not run it: mx or bytecode; empty: none.
  std::string emit;
  std::string cacheFolder;    ///< empty: the user's
  std::string cpu = "native"; ///< what code is made for; must run here
  bool compare = false;       ///< graphs run both ways, and results are compared
  bool countBytes = false;    ///< says at the end what calls of graphs took
  bool timing = false;        ///< says at the end where the time went
  bool tune = false;          ///< products are timed in a few ways; says what was found
  bool sync = false;          ///< every op is waited for before the next is issued
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
  std::string htmlFile;   ///< empty: none
  bool ofSession = false; ///< asked at the prompt
};

/// Adds the sizes of `N=32,T=7` to a request; returns what is wrong, or nothing.
std::string readSizes(const std::string &text, PlanRequest &request);
/// `step` is the name of `step`, and of what was made from it: `step.f32`.
bool isNamed(llvm::StringRef symbol, llvm::StringRef name);

/// What became of an input of the REPL.
struct InputResult {
  bool complete = true; ///< false: more lines could finish it; nothing happened
  bool fine = false;
  sema::InputSummary summary;
  std::optional<std::string> shown; ///< its value as text; none if it has none, or is muted
};

/// The names of a session and what they hold, to come back to.
struct Checkpoint {
  sema::NamesMark names;
  std::vector<std::pair<std::string, mxrt::host::Value>> values; ///< retained, by the VM's names
};

/// Of all tensors in a value.
int64_t tensorBytes(const mxrt::host::Value &value);

/// What `mxc build` was asked.
struct BuildRequest {
  enum Kind : uint8_t { Object, Library, Python, Executable } kind = Object;
  std::string output, header;
  std::string library; ///< of a Python module, beside it
  std::string prefix;  ///< of names in C
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
  /// Makes code of the graphs that a program exports, or of the whole, which is not run (Build.cpp,
  /// BuildExecutable.cpp).
  bool build(const std::string &name, const std::string &path, std::string text,
             const BuildRequest &request);
  // ---- Inputs.cpp
  /// One input of the REPL; its value is shown. `complete` is false if more lines could finish it.
  bool runInput(const std::string &name, std::string text, bool &complete);
  /// One input of the REPL, or a file that is read like one. Until its first op is issued it is a
  /// transaction; what fails later poisons names, and the message lists them.
  /// `isWhole`: no more lines will come, so what is not complete is an error.
  InputResult enter(const std::string &name, const std::string &path, std::string text,
                    bool isWhole = false);
  /// Checks and compiles an input; null if it is wrong, which was written. Nothing has run, names
  /// are as if it had. The program is the session's and stays until collect().
  mxrt::host::Program *compileInput(const std::string &name, const std::string &path,
                                    std::string text, InputResult &result, bool isWhole = true);
  /// Runs what compileInput made and waits for it; errors were written.
  bool runCompiled(mxrt::host::Program *program);
  /// What an input means; no name changes. False if it is wrong, which was written.
  bool describeInput(const std::string &name, std::string text, sema::InputSummary &out);
  Checkpoint checkpoint(bool withValues);
  /// Back to a checkpoint; newer ones are no good afterwards. Takes its values.
  void rewind(Checkpoint &to);
  void release(Checkpoint &point);
  /// Frees programs that nothing can call any more, and variables that have no name now nor at
  /// one of the checkpoints. Returns the bytes of tensors that only checkpoints name.
  int64_t collect(const std::vector<const Checkpoint *> &kept);
  /// Every so many inputs, the compiler lets go of all it knows of those that no name comes from any
  /// more. The checkpoints stay good.
  void renew(const std::vector<Checkpoint *> &checkpoints);
  /// Variables of the session by name, with their values (borrowed), in order.
  std::vector<std::pair<std::string, mxrt::host::Value>> variables() const;

  // ---- Inspect.cpp
  /// Prints the plan of a graph of the session, as above.
  bool planGraph(const PlanRequest &request);
  /// Prints a stage of a function of the session: `mx`, `bytecode`, or of a graph one of
  /// pipeline::kPhases for these sizes; without any, for those it was called with last.
  bool showStage(const std::string &function, const std::string &stage, const PlanRequest &sizes);

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
  /// Writes an error of a run, and takes it over. `fromVm`: it came out of the VM; `more` are notes
  /// in lines.
  void report(mxrt_status status, bool fromVm = true, const std::string &more = "");
  mxrt_runtime *runtimeOf() const { return runtime; }
  /// What its programs run on; there is one if it is ready.
  run::Machine &runsOn() { return *base; }
  mxrt::host::Vm &machine() { return *vm; }

  /// Ends the running program at its next jump, call or kernel.
  void cancel();
  bool wasCancelled() const;
  void clearCancel();

  sema::Checker &checker() { return *names; }
  const SourceManager &sourceTexts() const { return sources; }
  GraphHost &graphHost() { return *host; }
  /// Some of them may change between inputs:
  const SessionOptions &settings() const { return options; }
  void setEager(bool eager) { options.code.eager = eager; }
  void setCheckNan(bool check);
  /// Inputs run op by op and say where statements begin, for the VM's hook.
  void setStepping(bool steps) { options.code.statements = steps; }
  /// Graphs of inputs from now on run both ways, into `found`; null ends that.
  void compareInto(Comparison *found);

private:
  struct Unit {
    std::shared_ptr<mlir::MLIRContext> context; ///< goes after its module
    mlir::OwningOpRef<mlir::ModuleOp> module;
    mxrt::host::Program *program = nullptr;
    bool isInput = false; ///< of the REPL: it may go when nothing holds its functions
  };
  bool planModule(irgen::Generated &generated, const PlanRequest &request);
  irgen::Generated generateFunction(const std::string &name);
  std::string settleNames(const sema::NamesMark &before, const std::set<std::string> &stored);
  uint64_t pushedSoFar();
  bool prepare(mlir::ModuleOp module);
  bool load(irgen::Generated &generated);
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
  std::unique_ptr<KernelTimer> timer; ///< null: nothing is tuned
  std::ostream &out, &err;
  int compared = 0; ///< gradients that are compared with differences
  bool isReady = false;
  SourceManager sources;
  Diagnostics diags;
  std::unique_ptr<sema::Checker> names;
  std::shared_ptr<mlir::MLIRContext> context; ///< of modules that are made now
  run::Reporter reporter;
  std::unique_ptr<run::Machine> base;
  mxrt_runtime *runtime = nullptr; ///< of `base`
  std::unique_ptr<KernelStore> kernels;
  std::unique_ptr<GraphHost> host;
  mxrt::host::Vm *vm = nullptr; ///< of `base`
  /// Programs stay while values hold their functions: those call what is in their modules.
  std::vector<Unit> units;
  /// Variables of inputs, by the VM's names. Those that functions use are never dropped.
  struct KeptVariable {
    const sema::Symbol *symbol = nullptr; ///< null: it has none, or lost it
    bool isUsed = false;                  ///< by a function, when its symbol was let go of
  };
  std::map<std::string, KeptVariable> kept;
  int inputsSinceRenewal = 0;
  std::string inputResult; ///< the variable with the value of the input compiled last; or empty
  /// Types of variables on other devices than the default: later inputs use them.
  std::map<std::string, mlir::Type> elsewhere;
  struct OutsideEntries {
    OutsideEntries();
    ~OutsideEntries();
    std::map<std::string, std::unique_ptr<OutsideEntry>> byKey;
  } outside;
};

} // namespace mx::driver
