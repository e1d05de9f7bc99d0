// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `mxc build`: ahead-of-time compilation of exported graphs into objects and libraries for other
// programs.
#include "Build/Write.h"
#include "Driver/BuildSession.h"
#include "Driver/Installed.h"
#include "Driver/RunOptions.h"
#include "Driver/Settings.h"
#include "Support/Bytes.h"
#include "Support/Limits.h"
#include "dialects/mx/Exchange.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace mx::driver {
namespace {

constexpr const char *kBuildHelp = R"(mxc build - code for other programs, made ahead of time

usage: mxc build --obj|--lib|--python|--exe [OPTIONS] FILE -o OUT

Compiles every `export graph fn` of a program into functions of C and writes a header with their
prototypes and the bytes of workspace that each needs. What comes out needs libc and libm, and no
compiler. Prints the size of the artefact, and the signature and workspace of each function.
With --exe it is the whole program: what `mxc run` would run, in one file.

  --obj                    an object file; link it with libmxrt_core.a
  --lib                    OUT.so: a shared library; OUT.a: a static one. libmxrt_core is inside
  --python                 OUT.py: a module on ctypes and NumPy; libOUT.so goes beside it
  --exe                    OUT: a program. Graphs have code for the sizes that the text of the program
                           shows and those of --shapes; for others they run op by op, with a note
  -o OUT                   the file to write; names in C begin with its name without `lib`
  --header FILE            where the header goes (OUT.h, beside OUT)
  --shapes N=1,32,T=7      values of sizes that are not `dyn`; several make several variants, and the
                           caller says which
  --target-cpu LIST        what CPUs there is code for; the best one is chosen where it runs. native,
                           generic, sapphirerapids, x86-64-v2, x86-64-v3, x86-64-v4 (the last three)
  --embed-params FILE      parameters from a safetensors file become part of the artefact
  --max-bytes=512KiB       rematerialise values rather than need more of the workspace for values in
                           between; error if that is not enough
  --unchecked              integer division by zero gives 0 instead of an error
  --disable=PASS[,PASS]    leave out passes: fuse, simplify, cse, hoist, tile-chains, prepack,
                           schedule, recompute, in-place, co-share
  --seed N                 of --exe: seed of the default random generator (0)
  --cache=FOLDER           where compiled kernels are kept ($MX_CACHE_DIR, ~/.cache/mx)
  -D name=value            a value for `option(name, default)`
  --error-format=text|short|json   --silence=CODE   --as NAME   --colour=auto|always|never
)";

/// `N=1,32,T=7`: a word without a name is another value of the name before it.
std::string readShapes(const std::string &text, build::Shapes &shapes) {
  for (const std::string &part : commaList(text)) {
    auto [name, value] = llvm::StringRef(part).split('=');
    int64_t number = 0;
    bool isNamed = part.find('=') != std::string::npos;
    if ((isNamed && name.empty()) || (!isNamed && shapes.empty()) ||
        (isNamed ? value : name).getAsInteger(10, number) || number < 0)
      return "`" + part + "` in --shapes is not of the form N=1 or N=1,32";
    if (isNamed)
      shapes.push_back({name.str(), {}});
    if (!llvm::is_contained(shapes.back().second, number))
      shapes.back().second.push_back(number);
  }
  return "";
}

/// The stem of `libmnist.so` is `mnist`.
std::string stemOf(const std::string &path) {
  llvm::StringRef stem = llvm::sys::path::stem(path);
  if (stem.size() > 3)
    stem.consume_front("lib");
  return stem.str();
}

/// Links in everything of libmxrt_core that the object needs.
bool writeLibrary(const std::string &path, const std::string &object, build::Trouble &trouble) {
  std::string core = findLibrary("libmxrt_core.a");
  if (llvm::StringRef(path).ends_with(".a"))
    return build::writeArchive(path, {{"graphs.o", object}}, core, trouble);
  // This message is shorter than the linker's.
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  if (std::error_code failure =
          llvm::sys::fs::access(folder.empty() ? "." : folder, llvm::sys::fs::AccessMode::Write)) {
    trouble.why = failure.message();
    return false;
  }
  llvm::SmallString<128> temporary;
  if (std::error_code failure = llvm::sys::fs::createTemporaryFile("mxc-build", "o", temporary)) {
    trouble.why = failure.message();
    return false;
  }
  std::string input(temporary);
  // Only the functions of the header are exported.
  bool fine = build::writeFile(input, object, trouble) &&
              build::runLinker({"-shared", "-Wl,--exclude-libs,ALL", "-Wl,--gc-sections",
                                "-Wl,-z,defs", "-Wl,--as-needed", "-s"},
                               {input, core, "-lm"}, path, trouble);
  llvm::sys::fs::remove(input);
  return fine;
}

} // namespace

/// Collects the graphs that a program exports, ready for the pipeline. Returns false after an
/// error.
bool BuildSession::collectExports(const std::string &name, const std::string &path, std::string text,
                             mlir::OwningOpRef<mlir::ModuleOp> &module,
                             std::vector<build::Export> &out) {
  const SourceFile &file = sources.add(name, path, std::move(text));
  const sema::ModuleInfo *program = names->checkProgram(file);
  bool wrong = diags.hasErrors();
  flushDiagnostics();
  if (wrong)
    return false;
  irgen::Options code = options.code;
  code.exports = true;
  irgen::Generated generated = irgen::generate(*context, names->sema(), *program, code);
  flushDiagnostics();
  if (!generated.module)
    return false;
  if (generated.exports.empty()) {
    diags.report(Code::E1001, {file.id(), 0, 0}, "the program exports no graph")
        .help("write `export` in front of a `graph fn`");
    flushDiagnostics();
    return false;
  }
  if (!prepare(*generated.module))
    return false;
  module = std::move(generated.module);
  for (const irgen::Exported &each : generated.exports) {
    // If its arguments are on other devices, there is a variant of it with placements (pass AssignDevices).
    mlir::Operation *found = module->lookupSymbol(each.symbol + ".placed");
    if (!found)
      found = module->lookupSymbol(each.symbol);
    auto graph = mlir::dyn_cast_or_null<ir::GraphOp>(found);
    if (!graph) {
      bool exchanges = false;
      if (found)
        found->walk([&](mlir::Operation *op) { exchanges |= ir::exchanges(op); });
      diags
          .report(Code::E1003, each.span,
                  "`" + each.name + "` cannot be called from C: it " +
                      (exchanges ? "exchanges values with other workers" : "runs on several devices"))
          .help(exchanges ? "build the program, `mxc build --exe`, or export a graph without exchanges"
                          : "export one graph for each device");
      flushDiagnostics();
      return false;
    }
    out.push_back({each.name, each.header, graph, each.span});
  }
  return true;
}

bool BuildSession::writeArtefact(const BuildRequest &request, const build::Interface &interface,
                            const std::vector<build::Cpu> &cpus, const std::string &object) {
  using llvm::sys::path::filename;
  std::string failed;
  build::Trouble trouble;
  auto wrote = [&](const std::string &path, bool fine) {
    if (!fine)
      failed = path;
    return fine;
  };
  const std::string &binary =
      request.kind == BuildRequest::Python ? request.library : request.output;
  bool fine =
      wrote(binary, request.kind == BuildRequest::Object ? build::writeFile(binary, object, trouble)
                                                         : writeLibrary(binary, object, trouble)) &&
      wrote(request.header,
            build::writeFile(request.header,
                             build::writeHeader(interface, filename(request.header).str()),
                             trouble));
  if (fine && request.kind == BuildRequest::Python)
    fine = wrote(request.output, build::writeFile(request.output,
                                                  build::writePython(interface, interface.prefix,
                                                                     filename(binary).str()),
                                                  trouble));
  if (!fine) {
    diags.report(Code::E1006, Span(), "cannot write `" + failed + "`: " + trouble.why)
        .help(!trouble.help.empty() ? trouble.help
                                    : "name a file in a folder that exists and can be written: "
                                      "`-o FILE`");
    flushDiagnostics();
    return false;
  }
  uint64_t bytes = 0;
  (void)llvm::sys::fs::file_size(binary, bytes);
  out << binary << "  " << build::grouped(static_cast<int64_t>(bytes)) << " bytes for ";
  for (size_t i = cpus.size(); i > 0; --i)
    out << cpus[i - 1].name << (i > 1 ? ", " : "\n");
  out << request.header << "\n";
  if (request.kind == BuildRequest::Python)
    out << request.output << "\n";
  for (const build::Function &function : interface.functions) {
    out << "\n" << build::prototypeOf(interface, function) << "\n";
    out << "  workspace " << build::grouped(function.workspace) << " bytes";
    for (const build::SizeArgument &size : function.sizes)
      out << (&size == &function.sizes.front() ? " for " : ", ") << size.name << " = "
          << size.largest();
    out << "\n";
  }
  for (const build::ValueType &type : interface.types)
    out << "  " << type.parameter << " " << build::grouped(type.bytes()) << " bytes"
        << (type.embedded ? ", embedded" : "") << "\n";
  return true;
}

bool BuildSession::build(const std::string &name, const std::string &path, std::string text,
                    const BuildRequest &request) {
  if (request.kind == BuildRequest::Executable)
    return buildExecutable(name, path, std::move(text), request);
  auto cpus = build::parseCpus(request.cpus, diags);
  flushDiagnostics();
  if (!cpus)
    return false;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<build::Export> exports;
  if (!collectExports(name, path, std::move(text), module, exports))
    return false;
  auto interface = build::describe(request.prefix, exports, request.shapes, diags);
  bool fine = interface && (request.parameters.empty() ||
                            build::embedParameters(*interface, request.parameters, diags));
  std::optional<std::string> object;
  if (fine)
    object = build::makeObject(*interface, *cpus, options.compile, diags);
  flushDiagnostics();
  return object && writeArtefact(request, *interface, *cpus, *object);
}

int runBuild(const std::vector<std::string> &args, Streams streams) {
  std::set<std::string> valued = programOptions();
  valued.insert({"-o", "--header", "--shapes", "--target-cpu", "--embed-params", "--max-bytes",
                 "--disable", "--seed", "--cache", "--internal-bf16"});
  CommandLine line(args, valued, {"--help", "-h", "--obj", "--lib", "--python", "--exe", "--unchecked"});
  if (!line.problem().empty())
    return wrongUse(streams, line.problem(), "build");
  if (line.has("--help") || line.has("-h")) {
    streams.out << kBuildHelp;
    return kFine;
  }
  if (line.has("--obj") + line.has("--lib") + line.has("--python") + line.has("--exe") != 1)
    return wrongUse(streams, "one of --obj, --lib, --python and --exe, please", "build");
  if (line.has("--exe") ? line.value("--header").has_value() : line.value("--seed").has_value())
    return wrongUse(streams,
                    line.has("--exe") ? "a program has no header" : "`--seed` is for `--exe`",
                    "build");
  if (line.files().size() != 1)
    return wrongUse(streams, "one file, please", "build");
  if (!line.value("-o") || line.value("-o")->empty())
    return wrongUse(streams, "where to? `-o FILE`", "build");
  Settings settings;
  SessionOptions options;
  BuildRequest request;
  request.kind = line.has("--obj")   ? BuildRequest::Object
                 : line.has("--lib") ? BuildRequest::Library
                 : line.has("--exe") ? BuildRequest::Executable
                                     : BuildRequest::Python;
  request.output = *line.value("-o");
  std::string stem = stemOf(request.output);
  request.prefix = build::cName(stem);
  auto beside = [&](const std::string &name) {
    llvm::SmallString<128> path(llvm::sys::path::parent_path(request.output));
    llvm::sys::path::append(path, name);
    return std::string(path);
  };
  request.header = line.value("--header").value_or(beside(stem + ".h"));
  request.library = beside("lib" + stem + ".so");
  request.parameters = line.value("--embed-params").value_or("");
  request.cpus = line.value("--target-cpu").value_or(build::defaultCpus());
  options.compile.kernels.unchecked = line.has("--unchecked");
  std::string problem = readSettings(line, streams, settings);
  if (problem.empty())
    problem = readDisabled(line, streams.err, options.compile.disabled);
  if (problem.empty())
    problem = readBf16Unit(line, options.compile);
  if (auto limit = line.value("--max-bytes"); limit && problem.empty()) {
    auto bytes = parseBytes(*limit);
    if (!bytes)
      problem = "`--max-bytes=" + *limit + "` is not a number of bytes, such as 512KiB";
    else
      options.compile.maxBytes = *bytes;
  }
  options.cacheFolder = line.value("--cache").value_or("");
  if (auto seed = line.value("--seed"); seed && problem.empty())
    problem = readSeed(*seed, options.seed);
  for (const std::string &list : line.values("--shapes"))
    if (problem.empty())
      problem = readShapes(list, request.shapes);
  if (!problem.empty())
    return wrongUse(streams, problem, "build");
  options.check = settings.check;
  options.render = settings.render;
  options.silenced = settings.silenced;
  std::string path = line.files()[0], shown = shownName(settings, path);
  std::optional<std::string> text = readProgram(path, streams, "build");
  if (!text)
    return kWrongUse;
  BuildSession session(options, streams.out, streams.err);
  if (!session.ready())
    return kFaultOfMxc;
  bool fine = session.build(shown, path == "-" ? "" : path, std::move(*text), request);
  return session.exitCode(fine);
}

} // namespace mx::driver
