// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors of a run, formatted like the checker's diagnostics.
#pragma once
#include "Support/Diagnostic.h"
#include "host/Vm.h"
#include <ostream>

namespace mx::run {

class Reporter {
public:
  Reporter(const SourceManager &sources, Diagnostics &diags, std::ostream &err,
           const RenderOptions &render)
      : sources(sources), diags(diags), err(err), render(render) {}

  /// Writes the diagnostics reported so far.
  void flush();
  /// Writes an error: the location that issued the work, and the location that noticed it if that
  /// differs. Takes ownership of `status`. `vm`: the VM it came from, or null. `more` are note
  /// lines.
  void report(mxrt_status status, const mxrt::host::Vm *vm, const std::string &more = "");
  Span spanOf(const mxrt_location &location) const;
  /// Whether an error was a bug in mx itself, not in the program.
  bool sawFault() const { return foundFault; }
  Diagnostics &diagnostics() { return diags; }
  std::ostream &errors() { return err; }

private:
  const SourceManager &sources;
  Diagnostics &diags;
  std::ostream &err;
  const RenderOptions &render;
  bool foundFault = false;
};

} // namespace mx::run
