// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A compiler session: creation of the runtime, from checked code to code that is loaded, and
// notes on recompilation.
#include "Driver/Session.h"
#include "Driver/CommandLine.h"
#include "Driver/MakeCode.h"
#include "Bytecode/Bytecode.h"
#include "Graph/CheckGradients.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "mxrt/profile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <set>

namespace mx::driver {
using mxrt::host::Value;

namespace {

/// `N = 96`, or `N = 96, T = 7`; only sizes that differ from `before`.
std::string changedSizes(const VariantEvent &event, bool older) {
  std::string text;
  for (size_t i = 0; i < event.sizes.size(); ++i) {
    bool differs = i >= event.before.size() || event.before[i] != event.sizes[i];
    if (!differs)
      continue;
    int64_t value = older ? event.before[i].second : event.sizes[i].second;
    text += (text.empty() ? "" : ", ") +
            (older ? std::to_string(value) : event.sizes[i].first + " = " + std::to_string(value));
  }
  return text;
}

constexpr size_t kManyVariants = 9;

} // namespace

std::shared_ptr<mlir::MLIRContext> Session::newContext() {
  mlir::DialectRegistry registry;
  pipeline::registerDialects(registry);
  return std::make_shared<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
}

Session::Session(SessionOptions given, std::ostream &out, std::ostream &err)
    : options(std::move(given)), out(out), err(err), diags(sources), context(newContext()),
      reporter(sources, diags, err, options.render) {
  for (Code code : options.silenced)
    diags.silence(code);
  if (options.timing)
    options.compile.timing = &timing;
  Timing::Span span(options.compile.timing, "starting");
  names = std::make_unique<sema::Checker>(sources, diags, options.check);
  run::MachineOptions machine;
  machine.sync = options.sync;
  machine.memoryLimit = options.memoryLimit;
  machine.threads = options.threads;
  machine.uncheckedDivision = options.compile.kernels.unchecked;
  machine.onTerminal = options.onTerminal;
  machine.drawsOnTerminal = options.drawsOnTerminal;
  machine.logFolder = options.logFolder;
  machine.showsProgress = options.showsProgress;
  machine.replica = options.replica;
  base = std::make_unique<run::Machine>(machine, reporter);
  runtime = base->runtime();
  if (!runtime)
    return;
  options.compile.threads = static_cast<unsigned>(mxrt_runtime_threads(runtime));
  options.compile.isStopped = [this] { return mxrt_runtime_cancelled(runtime) != 0; };
  kernels = std::make_unique<KernelStore>(*context, options.compile, options.cacheFolder,
                                          options.cpu, mxrt_runtime_allocator(runtime));
  kernels->useGate(options.compileGate);
  if (!kernels->problem().empty()) {
    err << "mxc: no code can be made on this machine: " << kernels->problem() << "\n";
    return;
  }
  if (options.tune) {
    auto jit = kernels->newJit();
    if (!jit) {
      err << "mxc: nothing can be tuned on this machine: " << jit.message() << "\n";
      return;
    }
    timer = std::make_unique<KernelTimer>(runtime, jit.take(), err);
    options.compile.clock = timer.get();
  }
  mxrt::eager::EagerOptions eager;
  eager.runtime = runtime;
  eager.kernels = kernels.get();
  eager.print = run::writeOut;
  eager.printContext = &this->out;
  eager.checkNan = options.checkNan;
  eager.checkMemory = options.compile.guard;
  host = std::make_unique<GraphHost>(eager, *kernels, [this](const VariantEvent &event) {
    Span span = reporter.spanOf(event.location);
    if (!event.recomputed.empty()) {
      auto [first, rest] = llvm::StringRef(event.recomputed).rtrim().split('\n');
      Diagnostic &d =
          diags.report(Code::N0503, span, "graph `" + event.graph + "`: " + first.str());
      for (llvm::StringRef line : llvm::split(rest, '\n'))
        d.note(line.str());
      flushDiagnostics();
    }
    // The first variant is not reported; the second may be a surprise, the ninth is a problem (S7).
    if (event.variants < 2)
      return;
    bool many = event.variants == kManyVariants;
    Diagnostic &d =
        diags.report(many ? Code::W0502 : Code::N0501, span,
                     "graph `" + event.graph + "` compiled again: " + changedSizes(event, false) +
                         " (before: " + changedSizes(event, true) + "), " +
                         std::to_string(static_cast<int>(event.ms + 0.5)) + " ms");
    std::string why;
    if (!event.loader.empty())
      why = "the last batch of `" + event.loader + "` has " + std::to_string(event.rows) +
            (event.rows == 1 ? " row; " : " rows; ");
    d.note(why + std::to_string(event.variants) + " variants are cached");
    std::string full = event.loader.empty() ? "" : "pass `last=\"drop\"` to the loader";
    if (!event.suggested.empty())
      d.help("declare `" + event.suggested + "` for one variant" +
             (full.empty() ? "" : ", or " + full));
    else if (!full.empty())
      d.help(full);
    flushDiagnostics();
  });
  if (options.compare) {
    options.code.twins = true;
    host->compareInto(&comparison);
  }
  if (options.countBytes)
    host->countBytes();
  if (!base->start(*host, mxrt::data::nativeGroups()))
    return;
  vm = base->vm();
  host->explainBatches(base->data());
  if (!options.profile.empty()) {
    mxrt_profile *profile = nullptr;
    mxrt_status status = mxrt_runtime_profile(runtime, &profile);
    if (!status)
      status = mxrt_profile_start(profile);
    if (status) {
      report(status);
      return;
    }
  }
  isReady = true;
}

int Session::exitCode(bool fine) {
  if (hadFault())
    return kFaultOfMxc;
  if (fine)
    return kFine;
  return names->hasWrongOptions() ? kWrongUse : kProgramHasErrors;
}

bool Session::writeProfile() {
  if (!isReady || options.profile.empty() || isProfileWritten)
    return true;
  isProfileWritten = true;
  mxrt_profile *profile = nullptr;
  mxrt_status status = mxrt_runtime_profile(runtime, &profile);
  errno = 0;
  std::ofstream file(options.profile);
  auto sink = [](void *user, const char *text, size_t size) -> mxrt_status {
    static_cast<std::ofstream *>(user)->write(text, static_cast<std::streamsize>(size));
    return nullptr;
  };
  if (!status) {
    mxrt_profile_stop(profile);
    status = mxrt_profile_write_trace(profile, sink, &file);
  }
  bool fine = !status && file.flush();
  if (fine)
    return true;
  err << "mxc: cannot write the profile `" << options.profile
      << "`: " << (status ? mxrt_status_message(status) : std::strerror(errno ? errno : EIO))
      << "\n";
  mxrt_status_release(status);
  return false;
}

Session::~Session() {
  writeProfile();
  if (isReady)
    base->finishLog();
  for (Unit &unit : units)
    vm->unload(unit.program);
  if (base)
    base->stop();
  host.reset();
  base.reset();
  kernels.reset();
}

void Session::report(mxrt_status status, bool fromVm, const std::string &more) {
  reporter.report(status, fromVm ? vm : nullptr, more);
}

/// Whether a part of such a value is on a device other than the default.
static bool isElsewhere(mlir::Type type) {
  return type
      .walk([](ir::TensorType tensor) {
        bool here = tensor.isHost() || tensor.getDevice().getValue().empty();
        return here ? mlir::WalkResult::advance() : mlir::WalkResult::interrupt();
      })
      .wasInterrupted();
}

/// Assigns devices to tensors and derives gradients (autodiff); a function without a gradient is an
/// error of the program.
bool Session::prepare(mlir::ModuleOp module) {
  llvm::SmallVector<mlir::NamedAttribute> held;
  llvm::StringSet<> known;
  auto hold = [&](mlir::StringAttr name) {
    if (auto type = elsewhere.find(name.str());
        type != elsewhere.end() && known.insert(name).second)
      held.emplace_back(name, mlir::TypeAttr::get(type->second));
  };
  module.walk([&](ir::GlobalLoadOp load) { hold(load.getNameAttr()); });
  module.walk([&](ir::GlobalStoreOp store) { hold(store.getNameAttr()); });
  if (!held.empty())
    module->setAttr(ir::kHeld, mlir::DictionaryAttr::get(context.get(), held));
  Timing::Span span(options.compile.timing, "placing and differentiating");
  bool fine = prepareModule(module, sources, diags, options.compile.mistake);
  module.walk([&](ir::GlobalStoreOp store) {
    if (isElsewhere(store.getValue().getType()))
      elsewhere[store.getName().str()] = store.getValue().getType();
  });
  flushDiagnostics();
  return fine;
}

bool Session::fault(const std::string &what) {
  foundFault = true;
  err << faultText(what);
  return false;
}

bool Session::load(irgen::Generated &generated) {
  flushDiagnostics();
  if (!generated.module)
    return false;
  if (options.checkGradients) {
    graph::widenFloats(*generated.module);
    compared += graph::compareGradients(*generated.module);
  }
  if (options.compile.mistake == kWrongCode)
    generated.module->getBody()->front().removeAttr(mlir::SymbolTable::getSymbolAttrName());
  if (auto found = faultIn(*generated.module))
    return fault(*found);
  if (!prepare(*generated.module))
    return false;
  if (options.emit == "mx") {
    std::string text;
    llvm::raw_string_ostream stream(text);
    generated.module->print(stream);
    out << text << "\n";
    return true;
  }
  bool usesRng = false;
  generated.module->walk([&](ir::GlobalLoadOp op) { usesRng |= op.getName() == "$rng"; });
  if (usesRng && options.emit != "bytecode" && !prepareRng())
    return false;
  host->addModule(*generated.module);
  std::string found;
  auto bytes = [&] {
    Timing::Span span(options.compile.timing, "bytecode");
    return makeBytecode(*generated.module, generated.entry, sources, diags, found);
  }();
  if (!bytes) {
    host->dropModule(*generated.module);
    flushDiagnostics();
    return found.empty() ? false : fault(found);
  }
  if (options.emit == "bytecode") {
    out << bytecode::showBytecode(*bytes, found).value_or("");
    return true;
  }
  auto program = vm->load(*bytes);
  if (!program.ok()) {
    host->dropModule(*generated.module);
    report(program.takeStatus().release());
    return false;
  }
  units.push_back({context, std::move(generated.module), program.take()});
  host->setProgram(units.back().program);
  return true;
}

/// The program that creates the default random generator.
irgen::Generated Session::generateSeed() {
  const SourceFile &file =
      sources.add("<seed>", "", "seed(" + std::to_string(options.seed) + ")\n");
  bool complete = true;
  sema::CheckedProgram &sema = names->sema();
  ast::Module *input = sema.session ? sema.session->syntax : nullptr;
  if (!names->checkInput(file, complete))
    return {};
  irgen::Options code;
  code.eager = true;
  irgen::Generated generated = irgen::generate(*context, sema, *names->sessionModule(), code);
  if (input) // an input of the REPL is in progress
    sema.session->syntax = input;
  return generated;
}

/// Creates the default random generator of the session (S10).
bool Session::prepareRng() {
  if (vm->global("$rng").isSet())
    return true;
  irgen::Generated generated = generateSeed();
  return load(generated) && finish(vm->run(units.back().program).release());
}

void Session::cancel() {
  if (base)
    base->cancel();
}
bool Session::wasCancelled() const { return base && base->wasCancelled(); }
void Session::clearCancel() {
  vm->clearCancel();
  mxrt_runtime_clear_cancel(runtime);
}

void Session::setCheckNan(bool check) {
  options.checkNan = options.code.eager = check;
  host->setCheckNan(check);
}

void Session::compareInto(Comparison *found) {
  options.code.twins = found != nullptr;
  host->compareInto(found);
}

} // namespace mx::driver
