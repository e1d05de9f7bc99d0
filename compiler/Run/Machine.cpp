// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Life cycle of the runtime and the VM: creation, the end of a run, and cancellation.
#include "Run/Machine.h"
#include "Run/Replicas.h"
#include "Run/Terminal.h"
#include "host/Math.h"
#include "mxrt/engine.h"
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sys/ioctl.h>
#include <unistd.h>

namespace mx::run {

mxrt::Status writeOut(void *context, std::string_view text) {
  auto &out = *static_cast<std::ostream *>(context);
  errno = 0;
  if (out << text << std::flush)
    return {};
  int why = errno;
  out.clear(); // the next line is a new attempt
  return mxrt::Status(mxrt_status_make(nullptr, MXRT_FILE_ACCESS, {},
                                       "what the program prints cannot be written: %s",
                                       std::strerror(why ? why : EIO)));
}

bool finishOutput(std::ostream &out, std::ostream &err) {
  errno = 0;
  if (out.flush())
    return true;
  err << "error[R0601]: standard output cannot be written: " << std::strerror(errno ? errno : EIO)
      << "\n";
  return false;
}

static int64_t terminalColumns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static void writeProgress(void *context, std::string_view text) {
  *static_cast<std::ostream *>(context) << text << std::flush;
}

std::string defaultLogFolder(const std::string &program) {
  if (const char *given = std::getenv("MX_LOGDIR"); given && *given)
    return given;
  std::string name = program.substr(program.rfind('/') + 1);
  if (size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0)
    name.resize(dot);
  std::time_t now = std::time(nullptr);
  std::tm local{};
  char text[32];
  std::strftime(text, sizeof text, "-%Y%m%d-%H%M%S", localtime_r(&now, &local));
  return "runs/" + (name.empty() || name == "-" ? "mx" : name) + text;
}

Machine::Machine(const MachineOptions &given, Reporter &reporter)
    : options(given), reporter(reporter) {
  mxrt_options runtimeOptions;
  mxrt_options_init(&runtimeOptions);
  runtimeOptions.memory_limit = options.memoryLimit;
  runtimeOptions.threads = options.threads;
  mxrt_status status = mxrt_runtime_create(&runtimeOptions, &owned);
  if (!status && options.sync) {
    mxrt_engine_options engine = {};
    engine.kind = MXRT_ENGINE_NAIVE;
    mxrt_engine *made = nullptr;
    status = mxrt_runtime_engine(owned, &engine, &made);
  }
  if (!status)
    return;
  reporter.report(status, nullptr);
  mxrt_runtime_destroy(owned);
  owned = nullptr;
}

Machine::~Machine() {
  stop();
  mxrt_runtime_destroy(owned);
}

bool Machine::start(mxrt::eager::EagerHost &host,
                    std::span<const mxrt::data::NativeGroup *const> groups) {
  mxrt::data::DataOptions dataOptions;
  dataOptions.runtime = owned;
  dataOptions.showProgress = options.showsProgress ? writeProgress : nullptr;
  dataOptions.progressContext = &reporter.errors();
  dataOptions.onTerminal = options.onTerminal;
  dataOptions.terminalColumns = terminalColumns;
  dataOptions.drawsOnTerminal = options.drawsOnTerminal;
  dataOptions.logFolder = options.logFolder.c_str();
  dataOptions.startSeconds =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  dataOptions.instance = options.replica;
  files = std::make_unique<mxrt::data::DataHost>(dataOptions);
  mxrt::host::VmOptions vmOptions;
  vmOptions.runtime = owned;
  vmOptions.host = &host;
  vmOptions.uncheckedDivision = options.uncheckedDivision;
  auto made = mxrt::host::Vm::create(vmOptions);
  if (!made.ok()) {
    reporter.report(made.takeStatus().release(), nullptr);
    return false;
  }
  machine = made.take();
  if (options.replica)
    options.replica->attach(this);
  mxrt::Status status = host.registerNatives(*machine);
  if (status.ok())
    status = mxrt::host::registerMath(*machine);
  if (status.ok())
    status = files->registerNatives(*machine, groups);
  bool fine = status.ok();
  reporter.report(status.release(), nullptr);
  return fine;
}

void Machine::stop() {
  if (options.replica)
    options.replica->attach(nullptr);
  if (machine)
    mxrt::host::Vm::destroy(machine);
  machine = nullptr;
  files.reset();
}

bool Machine::finish(mxrt_status status, const std::function<std::string()> &more) {
  if (status && options.replica)
    options.replica->stopOthers(); // what is in flight may wait for them
  mxrt_engine *engine = nullptr;
  mxrt_status late = mxrt_runtime_engine(owned, nullptr, &engine);
  if (!late)
    late = mxrt_engine_wait_all(engine, {});
  if (!status)
    std::swap(status, late);
  mxrt_status_release(late);
  // The program may have ended before it saw the cancellation, which stopped the work it had
  // issued.
  if (!status && !wasCancelled())
    return true;
  std::string notes = more ? more() : "";
  if (!options.replica)
    return fail(status, notes);
  options.replica->stopOthers();
  bool isCancelled = !status || (mxrt_status_code(status) == MXRT_CANCELLED && wasCancelled());
  Replica::Verdict verdict =
      options.replica->judge(isCancelled ? MXRT_CANCELLED : mxrt_status_code(status));
  if (verdict == Replica::Verdict::Alone)
    return fail(status, notes);
  if (verdict == Replica::Verdict::Silent) {
    mxrt_status_release(status);
    return false;
  }
  if (!isCancelled)
    notes += (notes.empty() ? "" : "\n") + options.replica->name();
  std::ostringstream text;
  std::streambuf *usual = reporter.errors().rdbuf(text.rdbuf());
  fail(status, notes);
  reporter.errors().rdbuf(usual);
  options.replica->report(verdict, text.str());
  return false;
}

/// Reports the end of a run. Takes ownership of `status`. Returns false.
bool Machine::fail(mxrt_status status, const std::string &notes) {
  // Without a cancel request this is a poisoned value: an earlier input was stopped at it.
  if (!status || (mxrt_status_code(status) == MXRT_CANCELLED && wasCancelled())) {
    mxrt_status_release(status);
    std::ostream &err = reporter.errors();
    err << "stopped\n";
    for (size_t at = 0; at < notes.size();) {
      size_t end = std::min(notes.find('\n', at), notes.size());
      if (end > at)
        err << "  = note: " << notes.substr(at, end - at) << "\n";
      at = end + 1;
    }
    return false;
  }
  reporter.report(status, machine, notes);
  return false;
}

bool Machine::finishLog() {
  mxrt_status status = files->finishLog().release();
  bool fine = !status;
  reporter.report(status, machine);
  return fine;
}

void Machine::leaveRanks() {
  if (options.replica)
    options.replica->leave();
}

void Machine::cancel() {
  if (options.replica)
    options.replica->cancelAll();
  cancelThis();
}

void Machine::cancelThis() {
  if (machine)
    machine->cancel();
  if (owned)
    mxrt_runtime_cancel(owned);
}

} // namespace mx::run
