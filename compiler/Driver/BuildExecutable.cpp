// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `mxc build --exe`: a whole program with all it needs to run, and no compiler.
#include "Build/Executable.h"
#include "Build/Write.h"
#include "Bytecode/Bytecode.h"
#include "Driver/Installed.h"
#include "Driver/Prebuilt.h"
#include "Driver/Session.h"
#include "dialects/mx/Marks.h"
#include "eager/CarriedKeys.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace mx::driver {
namespace {

/// Host functions that nothing calls any more are not carried: those that only graphs use, and
/// twins of graphs that have code for all their calls.
void dropUnreached(mlir::ModuleOp module, llvm::StringRef entry,
                   const std::vector<build::CalledGraph> &graphs) {
  std::set<std::string> reached;
  std::vector<mlir::Operation *> next;
  auto reach = [&](llvm::StringRef name) {
    mlir::Operation *op = module.lookupSymbol(name);
    if (op && reached.insert(name.str()).second && mlir::isa<ir::FuncOp>(op))
      next.push_back(op);
  };
  reach(entry);
  for (const build::CalledGraph &called : graphs)
    if (auto twin = called.graph->getAttrOfType<mlir::StringAttr>(ir::kEager);
        twin && called.isOpen)
      reach(twin.getValue());
  while (!next.empty()) {
    mlir::Operation *op = next.back();
    next.pop_back();
    if (auto uses = mlir::SymbolTable::getSymbolUses(op))
      for (mlir::SymbolTable::SymbolUse use : *uses)
        reach(use.getSymbolRef().getLeafReference().getValue());
  }
  // A graph that is called stays as what is called; its code is made by now.
  std::vector<mlir::Operation *> gone;
  for (mlir::Operation &op : *module.getBody())
    if (auto name = op.getAttrOfType<mlir::StringAttr>(mlir::SymbolTable::getSymbolAttrName());
        name && mlir::isa<ir::FuncOp>(op) && !reached.count(name.str()))
      gone.push_back(&op);
  for (mlir::Operation *op : gone)
    op->erase();
}

/// Bits of the element types of all tensors.
uint32_t elementTypes(mlir::ModuleOp module) {
  uint32_t types = 0;
  auto add = [&](mlir::Type type) {
    type.walk([&](ir::TensorType tensor) {
      types |= 1u << static_cast<unsigned>(ir::elementFromMlir(tensor.getElement()));
    });
  };
  module.walk([&](mlir::Operation *op) {
    for (mlir::Type type : op->getResultTypes())
      add(type);
    for (mlir::Region &region : op->getRegions())
      for (mlir::Block &block : region)
        for (mlir::BlockArgument argument : block.getArguments())
          add(argument.getType());
  });
  return types;
}

/// `x: f32[N, 784]`
std::string showType(mlir::Type type) {
  if (auto tensor = mlir::dyn_cast<ir::TensorType>(type)) {
    std::string text(elementInfo(ir::elementFromMlir(tensor.getElement())).name);
    for (auto [i, size] : llvm::enumerate(tensor.getSizes()))
      text += (i ? ", " : "[") + size.getText().str();
    return text + (tensor.getSizes().empty() ? "" : "]");
  }
  std::string text;
  if (auto aggregate = mlir::dyn_cast<ir::AggregateType>(type)) {
    if (!aggregate.getName().getValue().empty())
      return aggregate.getName().str();
    for (mlir::Type part : aggregate.getParts())
      text += (text.empty() ? "" : ", ") + showType(part);
    return "(" + text + ")";
  }
  if (auto array = mlir::dyn_cast<ir::ArrayType>(type))
    return "[" + showType(array.getElement()) + "]";
  return "…";
}

std::string showGraph(ir::GraphOp graph) {
  std::string text = graph.getSymName().str() + "(";
  unsigned changed = 0;
  for (unsigned i = 0; i < graph.getNumArguments(); ++i) {
    auto name = graph.getArgAttrOfType<mlir::StringAttr>(i, "mx.name");
    bool isMut = graph.getArgAttr(i, "mx.mut") != nullptr;
    changed += isMut;
    text += (i ? ", " : "") + std::string(isMut ? "mut " : "") + (name ? name.str() + ": " : "") +
            showType(graph.getArgumentTypes()[i]);
  }
  text += ")";
  std::string results;
  for (mlir::Type type : graph.getResultTypes().drop_front(changed))
    results += (results.empty() ? "" : ", ") + showType(type);
  return text + (results.empty() ? "" : " -> " + results);
}

} // namespace

/// What bytecode imports decides what else the executable has: kernels and native functions.
struct Session::Imports {
  std::set<std::string> keys, natives;
};

bool Session::readImports(const std::vector<uint8_t> &bytes, uint32_t types, Imports &out) {
  using namespace mxrt::host;
  const mxrt_allocator *allocator = mxrt_runtime_allocator(runtime);
  Module module(vm->heap());
  mxrt::Status status = decodeModule(vm->heap(), bytes, module);
  for (const ImportData &import : module.imports) {
    if (!status.ok())
      break;
    std::string_view name = module.strings[import.name];
    if (import.sort == ImportKind::TensorOp) {
      mxrt::eager::Operation op(allocator);
      status = mxrt::eager::parseOpName(allocator, name, op);
      if (status.ok())
        mxrt::eager::carriedKeys(
            op, types,
            [](void *keys, std::string_view key) {
              static_cast<std::set<std::string> *>(keys)->insert(std::string(key));
            },
            &out.keys);
    } else if (import.sort == ImportKind::Native) {
      for (const mxrt::data::NativeGroup *group : mxrt::data::nativeGroups())
        for (const mxrt::data::NativeRow &row : std::span(group->rows, group->count))
          if (row.name == name)
            out.natives.insert(group->symbol);
    }
  }
  bool fine = status.ok();
  report(status.release(), /*fromVm=*/false);
  return fine;
}

/// Kernels of single ops for every CPU, and their objects.
bool Session::makeKernels(const std::set<std::string> &keys, const std::vector<build::Cpu> &cpus,
                          build::ExecutableParts &parts,
                          std::vector<std::pair<std::string, std::string>> &objects) {
  pipeline::Options usual = options.compile.ofEagerKernels();
  for (const std::string &key : keys)
    for (const build::Cpu &cpu : cpus) {
      std::string symbol = kernelSymbol(key) + "." + cpu.name, error;
      auto object = pipeline::compileEagerKernel(*context, key, symbol, cpu.target,
                                                 kernels->cache(), usual, error);
      if (!object) {
        diags.report(Code::E0901, Span(), "no kernel for `" + key + "`: " + error);
        return false;
      }
      objects.push_back({symbol + ".o", std::move(*object)});
      parts.kernels.push_back({key, symbol, cpu.level()});
    }
  return true;
}

bool Session::linkExecutable(const std::string &path, const std::string &object,
                             const std::vector<std::pair<std::string, std::string>> &kernelObjects,
                             const std::set<std::string> &natives) {
  build::Trouble trouble;
  llvm::SmallString<128> folder;
  bool fine = false;
  if (std::error_code failure = llvm::sys::fs::createUniqueDirectory("mxc-build", folder)) {
    trouble.why = failure.message();
  } else {
    std::string main = (folder + "/program.o").str(), archive = (folder + "/kernels.a").str();
    std::vector<std::string> inputs = {main,           archive,    findLibrary("libmxrun.a"),
                                       "-Wl,-Bstatic", "-lstdc++", "-Wl,-Bdynamic"};
    if (natives.count("mxrt_natives_pictures"))
      inputs.insert(inputs.end(), {"-ljpeg", "-lpng"});
    for (const char *group :
         {"mxrt_natives_sources", "mxrt_natives_tokens", "mxrt_natives_pictures"})
      if (natives.count(group))
        inputs.push_back("-lz");
    inputs.insert(inputs.end(), {"-lm", "-lpthread", "-ldl"});
    // What is there is replaced as a whole, also while it runs.
    std::string part = path + ".part";
    fine = build::writeFile(main, object, trouble) &&
           build::writeArchive(archive, kernelObjects, "", trouble) &&
           build::runLinker({"-static-libgcc", "-Wl,--gc-sections", "-Wl,--as-needed", "-s"},
                            inputs, part, trouble);
    if (fine)
      if (std::error_code failure = llvm::sys::fs::rename(part, path)) {
        trouble.why = failure.message();
        fine = false;
      }
    if (!fine)
      llvm::sys::fs::remove(part);
    llvm::sys::fs::remove_directories(folder);
  }
  if (!fine)
    diags.report(Code::E1006, Span(), "cannot write `" + path + "`: " + trouble.why)
        .help(!trouble.help.empty() ? trouble.help
                                    : "name a file in a folder that exists and can be written: "
                                      "`-o FILE`");
  return fine;
}

bool Session::buildExecutable(const std::string &name, const std::string &path, std::string text,
                              const BuildRequest &request) {
  auto cpus = build::parseCpus(request.cpus, diags);
  const SourceFile &file = sources.add(name, path, std::move(text));
  Span top{file.id(), 0, 0};
  if (cpus && !request.parameters.empty())
    diags.report(Code::E1004, top, "an executable makes its values itself, so none are embedded")
        .help("read them in the program: `restore(\"" + request.parameters + "\", mut net)`");
  const sema::ModuleInfo *program = diags.hasErrors() ? nullptr : names->checkProgram(file);
  bool wrong = diags.hasErrors();
  flushDiagnostics();
  if (wrong)
    return false;
  irgen::Options code = options.code;
  code.twins = true;
  irgen::Generated generated = irgen::generate(*context, names->sema(), *program, code);
  flushDiagnostics();
  if (!generated.module || !prepare(*generated.module))
    return false;
  std::vector<irgen::Generated> modules;
  bool draws = false;
  generated.module->walk([&](ir::GlobalLoadOp op) { draws |= op.getName() == "$rng"; });
  if (draws) {
    modules.push_back(generateSeed());
    if (!modules.back().module || !prepare(*modules.back().module))
      return false;
  }
  std::vector<build::CalledGraph> graphs = build::findCallSizes(*generated.module, generated.entry);
  build::ExecutableMaker maker(*cpus, options.compile, diags);
  bool fine = build::addShapes(graphs, request.shapes, top, diags);
  for (const build::CalledGraph &called : graphs)
    fine = fine && maker.add(called, top);
  flushDiagnostics();
  if (!fine)
    return false;
  std::vector<std::string> shown;
  for (const build::CalledGraph &called : graphs)
    shown.push_back(showGraph(called.graph));
  dropUnreached(*generated.module, generated.entry, graphs);
  modules.push_back(std::move(generated));

  build::ExecutableParts parts;
  parts.name = name;
  parts.command = "mxc build --exe " + name + " -o " + request.output;
  parts.uncheckedDivision = options.compile.kernels.unchecked;
  Imports imports;
  std::set<std::string> files;
  for (irgen::Generated &each : modules) {
    auto bytes = bytecode::emitBytecode(*each.module, {each.entry, true});
    if (!bytes) {
      err << "mxc: internal fault in the bytecode\n";
      return false;
    }
    if (!readImports(*bytes, elementTypes(*each.module), imports))
      return false;
    each.module->walk([&](mlir::Operation *op) {
      op->getLoc()->walk([&](mlir::Location part) {
        if (auto at = mlir::dyn_cast<mlir::FileLineColLoc>(part))
          files.insert(at.getFilename().str());
        return mlir::WalkResult::advance();
      });
    });
    parts.modules.push_back(std::move(*bytes));
  }
  for (const std::string &each : files)
    if (Span at = sources.find(each, 1, 1); at.valid())
      parts.sources.push_back({each, std::string(sources.file(at).text())});
  parts.natives.assign(imports.natives.begin(), imports.natives.end());
  std::vector<std::pair<std::string, std::string>> objects;
  std::optional<std::string> object;
  if (makeKernels(imports.keys, *cpus, parts, objects))
    object = maker.finish(parts, top);
  fine = object && linkExecutable(request.output, *object, objects, imports.natives);
  flushDiagnostics();
  if (!fine)
    return false;

  uint64_t size = 0;
  (void)llvm::sys::fs::file_size(request.output, size);
  out << request.output << "  " << build::grouped(static_cast<int64_t>(size)) << " bytes for ";
  for (size_t i = cpus->size(); i > 0; --i)
    out << (*cpus)[i - 1].name << (i > 1 ? ", " : "\n");
  for (size_t i = 0; i < graphs.size(); ++i) {
    out << "\n" << shown[i] << "\n";
    for (const build::GraphFigures &figures : maker.figures()) {
      if (figures.name != graphs[i].graph.getSymName())
        continue;
      out << "  workspace " << build::grouped(figures.workspace) << " bytes";
      for (auto &[size, value] : figures.sizes)
        out << (&size == &figures.sizes.front().first ? " for " : ", ") << size << " = " << value;
      out << "\n";
    }
    if (graphs[i].isOpen)
      out << "  op by op for " << (graphs[i].sizes.empty() ? "all" : "other") << " sizes\n";
  }
  return true;
}

} // namespace mx::driver
