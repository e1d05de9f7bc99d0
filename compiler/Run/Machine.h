// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Execution environment of a host program: a runtime, the VM and its native functions. A session of
// the compiler has one, and so does an executable built by `mxc build --exe`.
//
// Thread rule: one thread at a time. Only cancel() may be called from any thread, and from a signal
// handler.
#pragma once
#include "Run/Reporter.h"
#include "data/DataHost.h"
#include "eager/Executor.h"
#include <functional>
#include <memory>

namespace mx::run {

class Replica;

struct MachineOptions {
  bool sync = false; ///< synchronous: waits for every op before the next is issued
  int64_t memoryLimit = 0;
  int32_t threads = 0; ///< 0: $MX_NUM_THREADS, or all
  bool uncheckedDivision = false;
  bool onTerminal = false;      ///< progress bars are redrawn on one line
  bool drawsOnTerminal = false; ///< a person sees what the program prints
  bool showsProgress = true;
  std::string logFolder;      ///< for `log`; created on first use
  Replica *replica = nullptr; ///< the rank that the program may become; null: `dist.local` is alone
};

/// $MX_LOGDIR, else runs/NAME-DATE-TIME, where NAME is that of the program.
std::string defaultLogFolder(const std::string &program);

class Machine {
public:
  /// Errors go to the reporter. runtime() is null if creation failed.
  Machine(const MachineOptions &options, Reporter &reporter);
  /// Destroy it after the host, whose tensors belong to the runtime.
  ~Machine();
  Machine(const Machine &) = delete;
  Machine &operator=(const Machine &) = delete;

  /// Creates the VM, with native functions of the language and those of `groups`. Returns false
  /// after an error. The host must live until stop().
  bool start(mxrt::eager::EagerHost &host,
             std::span<const mxrt::data::NativeGroup *const> groups);
  /// Destroys the VM; every program must be unloaded.
  void stop();

  /// Ends a run: waits for all issued work; its first error is the run's error. Returns false after
  /// an error, which it has written. `more` provides note lines for that error.
  bool finish(mxrt_status status, const std::function<std::string()> &more = nullptr);
  /// Writes the rest of the log, and shows the table of its curves.
  bool finishLog();

  /// Leaves the other ranks, which no longer wait for this one.
  void leaveRanks();

  /// Stops the running program at its next jump, call or kernel; all of its ranks.
  void cancel();
  /// This rank only.
  void cancelThis();
  bool wasCancelled() const { return machine && machine->cancelRequested(); }

  mxrt_runtime *runtime() const { return owned; }
  mxrt::host::Vm *vm() const { return machine; }
  mxrt::data::DataHost *data() const { return files.get(); }

private:
  bool fail(mxrt_status status, const std::string &notes);
  MachineOptions options;
  Reporter &reporter;
  mxrt_runtime *owned = nullptr;
  std::unique_ptr<mxrt::data::DataHost> files;
  mxrt::host::Vm *machine = nullptr;
};

/// For EagerOptions::print; the context is a std::ostream.
mxrt::Status writeOut(void *context, std::string_view text);

} // namespace mx::run
