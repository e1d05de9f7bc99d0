// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors of a run, as the checker's messages look.
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

  /// Writes what was reported so far.
  void flush();
  /// Writes an error: the place that issued the work, and the place that noticed if it is another.
  /// Takes `status` over. `vm`: it came out of this one; else null. `more` are notes in lines.
  void report(mxrt_status status, const mxrt::host::Vm *vm, const std::string &more = "");
  Span spanOf(const mxrt_place &place) const;
  Diagnostics &diagnostics() { return diags; }
  std::ostream &errors() { return err; }

private:
  const SourceManager &sources;
  Diagnostics &diags;
  std::ostream &err;
  const RenderOptions &render;
};

} // namespace mx::run
