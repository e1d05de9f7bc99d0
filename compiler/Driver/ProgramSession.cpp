// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs of programs and of their tests.
#include "Driver/ProgramSession.h"

namespace mx::driver {
using mxrt::host::Value;

bool ProgramSession::runProgram(const std::string &name, const std::string &path, std::string text) {
  const SourceFile &file = sources.add(name, path, std::move(text));
  auto timed = [&](const char *stage, auto body) {
    Timing::Span span(options.compile.timing, stage);
    return body();
  };
  const sema::ModuleInfo *module =
      timed("reading and checking", [&] { return names->checkProgram(file); });
  if (diags.hasErrors()) {
    flushDiagnostics();
    return false;
  }
  flushDiagnostics();
  irgen::Generated generated = timed("generating the program", [&] {
    return irgen::generate(*context, names->sema(), *module, options.code);
  });
  if (!load(generated))
    return false;
  if (options.emit == "mx" || options.emit == "bytecode")
    return true;
  bool fine = timed("running", [&] { return finish(vm->run(units.back().program).release()); });
  base->leaveRanks();
  fine &= base->finishLog();
  fine &= writeProfile();
  if (options.timing)
    timing.print(err);
  if (options.compare && fine)
    comparison.print(out);
  if (options.countBytes)
    host->writeBytes(err);
  return fine;
}

bool ProgramSession::call(const std::string &function) {
  Value result;
  mxrt_status status = vm->call(units.back().program, function, {}, result).release();
  mxrt::host::release(vm->heap(), result);
  return finish(status);
}

bool ProgramSession::runTests(const std::string &name, const std::string &path, std::string text,
                       const std::string &filter, int &passed, int &failed, bool &isChecked) {
  const SourceFile &file = sources.add(name, path, std::move(text));
  const sema::ModuleInfo *module = names->checkProgram(file);
  isChecked = !diags.hasErrors();
  flushDiagnostics();
  if (!isChecked)
    return false;
  irgen::Options code = options.code;
  code.tests = true;
  irgen::Generated generated = irgen::generate(*context, names->sema(), *module, code);
  std::vector<irgen::TestBlock> tests = generated.tests;
  if (!load(generated) || !finish(vm->run(units.back().program).release()))
    return false;
  if (options.checkGradients)
    out << compared << " gradients are compared with differences\n";
  for (const irgen::TestBlock &test : tests) {
    if (test.name.find(filter) == std::string::npos)
      continue;
    bool ok = call(test.symbol);
    out << (ok ? "pass  " : "FAIL  ") << sources.locationLine(test.span) << "  " << test.name << "\n";
    ++(ok ? passed : failed);
    if (wasCancelled())
      return false;
  }
  return writeProfile();
}

} // namespace mx::driver
