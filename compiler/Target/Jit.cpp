// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JIT linking with LLVM's ORC (LLJIT).
#include "Target/Jit.h"
#include "Target/HostFunctions.h"
#include "Target/PerfMap.h"
#include "Target/TargetCpu.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/Debugging/ELFDebugObjectPlugin.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/ObjectFileInterface.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#include "llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderGDB.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/TargetParser/Host.h"
#include <mutex>
#include <set>
#include <shared_mutex>

namespace mx::target {

namespace orc = llvm::orc;

namespace {

/// Formats errors. A missing symbol is found while linking one object, and reported again for each
/// function that is thereby missing from the result; only the cause is of interest.
class Complaints {
public:
  void add(llvm::Error error) {
    llvm::handleAllErrors(
        std::move(error),
        [&](orc::SymbolsNotFound &missing) {
          for (const orc::SymbolStringPtr &name : missing.getSymbols())
            names.insert((*name).str());
        },
        [&](orc::FailedToMaterialize &) {},
        [&](llvm::ErrorInfoBase &other) {
          if (!others.empty())
            others += "; ";
          others += other.message();
        });
  }

  Fault fault() const {
    if (names.empty())
      return Fault{"loading code: " + (others.empty() ? "linking failed" : others)};
    std::string list;
    for (const std::string &name : names)
      list += (list.empty() ? "'" : ", '") + name + "'";
    return Fault{"loading code: nothing defines " + list};
  }

  bool none() const { return names.empty() && others.empty(); }
  void clear() { *this = {}; }

private:
  std::set<std::string> names;
  std::string others;
};

} // namespace

struct Jit::State {
  /// Errors are reported here while `engine` lives and while it is destroyed, so these precede it.
  std::mutex complaintsLock;
  Complaints complaints;
  std::unique_ptr<orc::LLJIT> engine;
  /// Held while code is linked or dropped.
  std::mutex linking;
  mutable std::shared_mutex tableLock;
  std::map<std::string, void *, std::less<>> table;

  void complain(llvm::Error error) {
    std::lock_guard lock(complaintsLock);
    complaints.add(std::move(error));
  }
  void forgetComplaints() {
    std::lock_guard lock(complaintsLock);
    complaints.clear();
  }
  Fault fault(llvm::Error error) {
    std::lock_guard lock(complaintsLock);
    complaints.add(std::move(error));
    return complaints.fault();
  }
};

struct JitUnit::State {
  std::shared_ptr<Jit::State> jit;
  orc::ResourceTrackerSP tracker;
  std::map<std::string, void *, std::less<>> symbols;

  ~State() {
    if (!tracker)
      return;
    {
      std::unique_lock lock(jit->tableLock);
      for (const auto &[name, address] : symbols)
        jit->table.erase(name);
    }
    std::lock_guard lock(jit->linking);
    if (llvm::Error error = tracker->remove())
      jit->complain(std::move(error));
    tracker = nullptr;
  }
};

void *JitUnit::address(std::string_view name) const {
  auto found = symbols().find(name);
  return found == symbols().end() ? nullptr : found->second;
}

const std::map<std::string, void *, std::less<>> &JitUnit::symbols() const {
  static const std::map<std::string, void *, std::less<>> none;
  return state ? state->symbols : none;
}

/// The engine without any symbol search of its own in the process.
static llvm::Expected<std::unique_ptr<orc::LLJIT>>
makeEngine(std::shared_ptr<llvm::orc::ObjectLinkingLayer::Plugin> perfMap) {
  orc::LLJITBuilder builder;
  builder
      .setJITTargetMachineBuilder(
          orc::JITTargetMachineBuilder(llvm::Triple(llvm::sys::getProcessTriple())))
      .setLinkProcessSymbolsByDefault(false)
      // Objects have no static constructors, the only purpose of a platform here.
      .setPlatformSetUp(orc::setUpInactivePlatform)
      .setObjectLinkingLayerCreator([perfMap](orc::ExecutionSession &session)
                                        -> llvm::Expected<std::unique_ptr<orc::ObjectLayer>> {
        auto layer = std::make_unique<orc::ObjectLinkingLayer>(session);
        if (perfMap)
          layer->addPlugin(perfMap);
        return layer;
      });
  return builder.create();
}

namespace {
/// gdb keeps pointers to the registered debug objects, and LLVM never unregisters one. So those of
/// dropped units stay in memory; the code itself is freed.
class GdbPlugin : public orc::ELFDebugObjectPlugin {
public:
  using ELFDebugObjectPlugin::ELFDebugObjectPlugin;
  llvm::Error notifyRemovingResources(orc::JITDylib &, orc::ResourceKey) override {
    return llvm::Error::success();
  }
};
} // namespace

static llvm::Error enableGdb(orc::LLJIT &engine) {
  llvm::Error error = llvm::Error::success();
  auto plugin = std::make_shared<GdbPlugin>(engine.getExecutionSession(),
                                            /*RequireDebugSections=*/false,
                                            /*AutoRegisterCode=*/true, error);
  if (error)
    return error;
  static_cast<orc::ObjectLinkingLayer &>(engine.getObjLinkingLayer()).addPlugin(std::move(plugin));
  return llvm::Error::success();
}

/// Defines the host's symbols in a library that generated code is linked against.
static llvm::Error defineHostSymbols(orc::LLJIT &engine, const std::vector<HostSymbol> &symbols) {
  auto library = engine.createJITDylib("host");
  if (!library)
    return library.takeError();
  orc::SymbolMap map;
  auto add = [&](const HostSymbol &symbol) {
    map.try_emplace(engine.mangleAndIntern(symbol.name),
                    orc::ExecutorAddr::fromPtr(const_cast<void *>(symbol.address)),
                    llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable);
  };
  for (const HostSymbol &symbol : symbols)
    add(symbol);
  for (const HostSymbol &symbol : hostFunctions())
    add(symbol);
  if (llvm::Error error = library->define(orc::absoluteSymbols(std::move(map))))
    return error;
  engine.getMainJITDylib().addToLinkOrder(*library);
  return llvm::Error::success();
}

Result<Jit> Jit::create(const std::vector<HostSymbol> &symbols, const JitOptions &options) {
  initializeNativeTarget();
  for (const HostSymbol &symbol : symbols)
    if (!symbol.address)
      return Fault{"the address of '" + symbol.name + "' is null"};
  std::shared_ptr<orc::ObjectLinkingLayer::Plugin> perfMap;
  if (options.perfMap) {
    auto made = makePerfMap(options.perfMapFolder);
    if (!made)
      return made.fault();
    perfMap = made.take();
  }

  Jit jit;
  jit.state = std::make_shared<State>();
  State &state = *jit.state;
  auto engine = makeEngine(std::move(perfMap));
  if (!engine)
    return state.fault(engine.takeError());
  state.engine = std::move(*engine);
  // The default reporter prints.
  state.engine->getExecutionSession().setErrorReporter(
      [&state](llvm::Error error) { state.complain(std::move(error)); });
  if (options.gdb)
    if (llvm::Error error = enableGdb(*state.engine))
      return state.fault(std::move(error));
  if (llvm::Error error = defineHostSymbols(*state.engine, symbols))
    return state.fault(std::move(error));
  return jit;
}

Result<JitUnit> Jit::add(const std::vector<std::string_view> &objects) {
  std::lock_guard lock(state->linking);
  state->forgetComplaints();
  orc::LLJIT &engine = *state->engine;
  orc::ExecutionSession &session = engine.getExecutionSession();
  orc::JITDylib &library = engine.getMainJITDylib();
  orc::ResourceTrackerSP tracker = library.createResourceTracker();
  auto fail = [&](llvm::Error error) {
    Fault fault = state->fault(std::move(error));
    if (llvm::Error left = tracker->remove())
      state->complain(std::move(left));
    return fault;
  };

  orc::SymbolLookupSet wanted;
  for (std::string_view object : objects) {
    auto buffer = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(object), "mx.o");
    auto interface = orc::getObjectFileInterface(session, buffer->getMemBufferRef());
    if (!interface)
      return fail(interface.takeError());
    for (const auto &[name, flags] : interface->SymbolFlags)
      if (flags.isExported())
        wanted.add(name);
    if (llvm::Error error = engine.addObjectFile(tracker, std::move(buffer)))
      return fail(std::move(error));
  }
  // Eager linking, not at first use: the caller of add() gets the faults, and later lookups need no
  // lock of LLVM's.
  auto found = session.lookup(orc::makeJITDylibSearchOrder(&library), std::move(wanted));
  if (!found)
    return fail(found.takeError());

  JitUnit unit;
  unit.state = std::make_shared<JitUnit::State>();
  unit.state->jit = state;
  unit.state->tracker = std::move(tracker);
  std::unique_lock tableLock(state->tableLock);
  for (const auto &[name, symbol] : *found) {
    void *address = symbol.getAddress().toPtr<void *>();
    unit.state->symbols.emplace((*name).str(), address);
    state->table.emplace((*name).str(), address);
  }
  return unit;
}

void *Jit::lookup(std::string_view name) const {
  std::shared_lock lock(state->tableLock);
  auto found = state->table.find(name);
  return found == state->table.end() ? nullptr : found->second;
}

} // namespace mx::target
