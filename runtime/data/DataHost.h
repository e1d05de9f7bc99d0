// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data sets, loaders, files, checkpoints, progress bars, logs and terminal plots for host code:
// native functions `mx.data.*`, `mx.save`, `mx.restore`, `mx.progress.*`, `mx.log`, `mx.draw.*`,
// `mx.rule.*` and `mx.queue.*` of a VM.
//
//   DataHost data({runtime});
//   MXRT_CHECK(data.registerNatives(*vm, nativeGroups()));
//
// Thread rule: that of the VM, one thread at a time.

#ifndef MXRT_DATA_DATAHOST_H
#define MXRT_DATA_DATAHOST_H

#include "host/Vm.h"
#include "mxrt/tensor.h"

namespace mxrt::dist {
class Instance;
} // namespace mxrt::dist

namespace mxrt::data {

struct DataOptions {
  /// Must outlive the host.
  mxrt_runtime *runtime = nullptr;
  /// Receives the text of progress bars; null: no bars.
  void (*showProgress)(void *context, std::string_view text) = nullptr;
  void *progressContext = nullptr;
  /// Bars are redrawn on one line. Otherwise each prints one line at its end.
  bool onTerminal = false;
  /// The current width of that terminal, 0 if unknown. A bar stays on one line.
  int64_t (*terminalColumns)() = nullptr;
  /// The program's output goes to a terminal: images may use all characters.
  bool drawsOnTerminal = false;
  /// The folder of `log`; outlives the host. Created with the first number.
  const char *logFolder = "run";
  /// Start time of the run, in seconds since 1970.
  double startSeconds = 0;
  /// For `dist.local` with several workers; null: the program is the only one here. Outlives the
  /// VM.
  dist::Instance *instance = nullptr;
};

class RunLog;
struct NativeGroup;

/// The last batch of a loader with last="keep", if it is smaller.
struct ShortBatch {
  std::string_view set; // the spelling of the data set in the program
  int64_t rows = 0;
};

class DataHost {
public:
  explicit DataHost(const DataOptions &options);
  DataHost(const DataHost &) = delete;
  DataHost &operator=(const DataHost &) = delete;
  /// Must be destroyed after the VM.
  ~DataHost();

  Status registerNatives(host::Vm &vm, std::span<const NativeGroup *const> groups);
  /// Finishes the log, if there is one: waits for its numbers, writes them and prints a table of
  /// the curves.
  Status finishLog();
  /// Whether a tensor in `values` belongs to the latest short batch.
  bool findShortBatch(std::span<const host::Value> values, ShortBatch &found) const;

  // Used by the natives.
  void noteShortBatch(std::string_view set, int64_t rows, std::span<mxrt_tensor *const> tensors);
  const mxrt_allocator *allocator() const { return mxrt_runtime_allocator(options.runtime); }
  const DataOptions options;
  /// The log of this run, created at the first call.
  Result<RunLog *> openLog();
  /// The number of connections of `dist.sync` so far.
  int jobConnections = 0;

private:
  void forgetShortBatch();
  Vec<char> shortName;
  int64_t shortRows = 0;
  Vec<mxrt_buffer *> shortBuffers;
  RunLog *log = nullptr;
};

/// A row of a native function table.
struct NativeRow {
  const char *name;
  std::span<const host::ParamData> params;
  bool variadic;
  host::Kind result;
  host::NativeFunction function;
};
/// A group of natives, one per file. Each has a linker symbol, so that an executable links only the
/// groups that its program calls.
struct NativeGroup {
  const char *symbol;
  const NativeRow *rows;
  size_t count;
};
extern "C" const NativeGroup mxrt_natives_changes,
    mxrt_natives_dist,
    mxrt_natives_drawing,
    mxrt_natives_loaders,
    mxrt_natives_log,
    mxrt_natives_pictures,
    mxrt_natives_progress,
    mxrt_natives_queues,
    mxrt_natives_restore,
    mxrt_natives_rules,
    mxrt_natives_save,
    mxrt_natives_sources,
    mxrt_natives_tokens,
    mxrt_natives_datasets;
/// All groups.
std::span<const NativeGroup *const> nativeGroups();

inline DataHost &hostOf(void *context) { return *static_cast<DataHost *>(context); }

/// The path in a string of the program; R0601 if it contains a NUL.
Status pathOf(const DataHost &host, const host::Value &text, const char *&path);

} // namespace mxrt::data

#endif // MXRT_DATA_DATAHOST_H
