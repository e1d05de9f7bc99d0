// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Renders runtime errors as diagnostics with source locations and a traceback.
#include "Run/Reporter.h"
#include "Support/LocationText.h"
#include <cstdio>

namespace mx::run {

void Reporter::flush() {
  for (const Diagnostic *d : diags.sorted())
    err << mx::render(*d, sources, render);
  if (diags.full() && render.format == ErrorFormat::Text)
    err << "stopped after " << diags.errorCount() << " errors\n";
  diags.clear();
}

Span Reporter::spanOf(const mxrt_location &location) const {
  return location.file ? sources.find(location.file, static_cast<uint32_t>(location.line),
                                   static_cast<uint32_t>(location.column))
                    : Span();
}

void Reporter::report(mxrt_status status, const mxrt::host::Vm *vm, const std::string &more) {
  if (!status)
    return;
  char number[16];
  std::snprintf(number, sizeof number, "R%04d", static_cast<int>(mxrt_status_code(status)));
  std::string message = mxrt_status_message(status);
  if (!more.empty())
    message += "\n" + more;
  std::vector<std::string> notes;
  if (size_t line = message.find('\n'); line != std::string::npos) {
    std::string rest = message.substr(line + 1);
    message.resize(line);
    for (size_t at = 0; at < rest.size();) {
      size_t end = std::min(rest.find('\n', at), rest.size());
      notes.push_back(rest.substr(at, end - at));
      at = end + 1;
    }
  }
  mxrt_code code = mxrt_status_code(status);
  if (code == MXRT_INTERNAL || code == MXRT_HOST_BYTECODE || code == MXRT_HOST_TYPE) {
    foundFault = true;
    notes.push_back("this is a fault of mx itself: please report it with the program and the command");
  }
  Span at = spanOf(mxrt_status_location(status)), seen = spanOf(mxrt_status_noticed_location(status));
  mxrt_status_release(status);
  if (!at.valid())
    std::swap(at, seen);
  if (!at.valid()) {
    err << "error[" << number << "]: " << message << "\n";
    for (const std::string &note : notes)
      err << "  = note: " << note << "\n";
    return;
  }
  Diagnostic &d = diags.report(Code::E0901, at, message);
  d.runCode = number;
  bool elsewhere = seen.valid() && sources.locationLine(seen) != sources.locationLine(at);
  if (elsewhere)
    d.note("issued here, noticed at " + sources.location(seen));
  for (const std::string &note : notes) {
    bool help = note.rfind("help: ", 0) == 0;
    std::string text = help || note.rfind("note: ", 0) == 0 ? note.substr(6) : note;
    if (help)
      d.help(text);
    else
      d.note(text);
  }
  // Call stack, innermost first; the first entry is the location itself.
  if (vm) {
    std::span<const mxrt::host::Location> stack = vm->traceback();
    for (size_t i = 1; i < stack.size() && i < 12; ++i)
      if (stack[i].file)
        d.note("called from " +
               locationText(stack[i].file->view(), stack[i].line, stack[i].column));
  }
  flush();
}

} // namespace mx::run
