// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a host program runs on: a runtime, the VM and its native functions. A session of the
// compiler has one, and so has an executable that `mxc build --exe` made.
//
// Thread rule: one thread at a time; only cancel() may be called from anywhere, also from a signal
// handler.
#pragma once
#include "Run/Report.h"
#include "data/DataHost.h"
#include "eager/Executor.h"
#include <functional>
#include <memory>

namespace mx::run {

struct MachineOptions {
  bool sync = false; ///< every op is waited for before the next is issued
  int64_t memoryLimit = 0;
  int32_t threads = 0; ///< 0: $MX_NUM_THREADS, or all
  bool uncheckedDivision = false;
  bool onTerminal = false;      ///< bars are redrawn on one line
  bool drawsOnTerminal = false; ///< what the program prints is seen by a person
  std::string logFolder;        ///< for `log`; made when a program uses it
};

/// runs/NAME-DATE-TIME, where NAME is that of the program.
std::string defaultLogFolder(const std::string &program);

class Machine {
public:
  /// Errors go to the reporter. There is no runtime() if it could not be made.
  Machine(const MachineOptions &options, Reporter &reporter);
  /// After the host, whose tensors are the runtime's.
  ~Machine();
  Machine(const Machine &) = delete;
  Machine &operator=(const Machine &) = delete;

  /// Makes the VM, with native functions of the language and those of `groups`. False after an
  /// error. The host must live until stop().
  bool start(mxrt::eager::EagerHost &host,
             std::span<const mxrt::data::NativeGroup *const> groups);
  /// Ends the VM; every program must be unloaded.
  void stop();

  /// Ends a run: what was issued is waited for, and its first error is the run's. False after an
  /// error, which was written. `more` gives notes in lines, before that.
  bool finish(mxrt_status status, const std::function<std::string()> &more = nullptr);
  /// Writes the rest of the log; the table of its curves is shown.
  bool finishLog();

  /// Ends the running program at its next jump, call or kernel.
  void cancel();
  bool wasCancelled() const { return machine && machine->cancelRequested(); }

  mxrt_runtime *runtime() const { return owned; }
  mxrt::host::Vm *vm() const { return machine; }
  mxrt::data::DataHost *data() const { return files.get(); }

private:
  MachineOptions options;
  Reporter &reporter;
  mxrt_runtime *owned = nullptr;
  std::unique_ptr<mxrt::data::DataHost> files;
  mxrt::host::Vm *machine = nullptr;
};

/// For EagerOptions::print; the context is a std::ostream.
mxrt::Status writeOut(void *context, std::string_view text);

} // namespace mx::run
