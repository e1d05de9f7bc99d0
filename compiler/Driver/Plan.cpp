// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `mxc plan`: the static memory plan of a graph, known before it runs.
#include "Driver/MakeCode.h"
#include "Driver/PlanCompression.h"
#include "Driver/PlanSession.h"
#include "Driver/Settings.h"
#include "Pipeline/PlanMemory.h"
#include "Support/Bytes.h"
#include "Support/Limits.h"
#include "Support/Suggest.h"
#include "dialects/mx/Marks.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include <fstream>

namespace mx::driver {
namespace {

constexpr const char *kPlanHelp = R"(mxc plan - the memory that a graph needs, before it runs

usage: mxc plan [OPTIONS] FILE GRAPH [--shapes N=32,T=7]

Prints for each device the bytes that one call leases, what is in use where most is, and a picture of
the bytes in use over time. Nothing runs. GRAPH is a graph that the program calls; `dyn` sizes count
with their bounds.

  --shapes NAME=NUMBER,…   values of the sizes in the types of its parameters
  --json                   everything as one JSON object
  --html FILE              also a page with a picture of the arena over time
  --max-bytes=512MiB       rematerialise values until the arena fits; if nothing helps, say why and exit
                           with 1
  --disable=PASS[,PASS]    leave out passes: fuse, simplify, cse, hoist, tile-chains, prepack,
                           schedule, recompute, in-place, co-share
  -D name=value            a value for `option(name, default)`
  --error-format=text|short|json   --silence=CODE   --as NAME   --colour=auto|always|never
)";

constexpr const char *kOutOfMemory = "R0101"; // the error code of a run with that limit

} // namespace

bool isNamed(llvm::StringRef symbol, llvm::StringRef name) {
  return symbol == name || (symbol.starts_with(name) && !llvm::isAlnum(symbol[name.size()]) &&
                            symbol[name.size()] != '_');
}

std::string readSizes(const std::string &text, PlanRequest &request) {
  for (const std::string &part : commaList(text)) {
    size_t equals = part.find('=');
    int64_t number = 0;
    if (equals == std::string::npos || equals == 0 ||
        llvm::StringRef(part).drop_front(equals + 1).getAsInteger(10, number) || number < 0)
      return "`" + part + "` is not a size of the form N=32";
    request.sizes.push_back({part.substr(0, equals), number});
  }
  return "";
}

namespace {

std::vector<std::string> linesOf(llvm::StringRef text) {
  std::vector<std::string> out;
  for (llvm::StringRef line : llvm::split(text.rtrim(), '\n'))
    out.push_back(line.str());
  return out;
}

std::optional<int64_t> valueOf(const PlanRequest &request, llvm::StringRef size) {
  for (auto &[name, value] : request.sizes)
    if (name == size)
      return value;
  return std::nullopt;
}

/// Adds the number of workers under all names that it has; its name if the request has none.
std::string addWorkers(ir::FuncOp function, const PlanRequest &request,
                       std::vector<std::pair<std::string, int64_t>> &sizes) {
  std::vector<std::string> names;
  function.walk([&](ir::BindSizeOp bind) {
    auto native = bind.getValue().getDefiningOp<ir::NativeOp>();
    if (native && native.getName() == "mx.dist.size")
      names.push_back(bind.getName().str());
  });
  std::optional<int64_t> workers;
  for (const std::string &name : names)
    if (!workers)
      workers = valueOf(request, name);
  for (const std::string &name : names)
    if (workers && !valueOf(request, name))
      sizes.push_back({name, *workers});
  return names.empty() || workers ? "" : names.front();
}

} // namespace

bool PlanSession::needsSizes(const PlanRequest &request, const std::string &missing) {
  err << "mxc plan: `" << request.graph
      << "` needs values for its sizes: " << (request.ofSession ? "" : "--shapes ") << missing
      << "\n";
  return false;
}

Diagnostic &PlanSession::planError(Span span, const std::string &message) {
  return diags.report(Code::E0901, span, message);
}

bool PlanSession::plan(const std::string &name, const std::string &path, std::string text,
                   const PlanRequest &request) {
  const SourceFile &file = sources.add(name, path, std::move(text));
  const sema::ModuleInfo *program = names->checkProgram(file);
  bool wrong = diags.hasErrors();
  flushDiagnostics();
  if (wrong)
    return false;
  irgen::Generated generated = irgen::generate(*context, names->sema(), *program, options.code);
  flushDiagnostics();
  return generated.module && planModule(generated, request);
}

bool PlanSession::planModule(irgen::Generated &generated, const PlanRequest &request) {
  ir::GraphOp graph;
  std::vector<std::string> known;
  for (auto op : generated.module->getOps<ir::GraphOp>()) {
    known.push_back(op.getSymName().str());
    if (!graph && isNamed(op.getSymName(), request.graph))
      graph = op;
  }
  if (!graph) {
    std::string near = nearest(request.graph, known);
    err << "mxc plan: the program calls no graph `" << request.graph << "`"
        << (near.empty() ? "" : "; did you mean `" + near + "`?") << "\n";
    return false;
  }
  // Every size that is not dynamic needs a number.
  auto open = graph->getAttrOfType<mlir::DictionaryAttr>(ir::kDyn);
  std::string missing;
  for (auto size : graph.getSizes().getAsRange<mlir::StringAttr>())
    if (!valueOf(request, size) && !(open && open.get(size)))
      missing += (missing.empty() ? "" : ",") + size.str() + "=…";
  if (!missing.empty())
    return needsSizes(request, missing);
  Span span = spanOf(graph.getLoc(), sources);
  std::string symbol = graph.getSymName().str();
  if (!prepare(*generated.module))
    return false;
  std::string problem;
  mlir::ScopedDiagnosticHandler handler(context.get(), [&](mlir::Diagnostic &d) {
    if (d.getSeverity() == mlir::DiagnosticSeverity::Error && problem.empty())
      problem = d.str();
    return mlir::success();
  });
  std::string shown = request.graph;
  for (auto &[size, value] : request.sizes)
    shown += " " + size + "=" + std::to_string(value);
  std::optional<memory::PlanReport> report;
  // If its arguments are on other devices, the program calls a variant with placements (pass
  // Location).
  mlir::Operation *prepared = generated.module->lookupSymbol(symbol + ".placed");
  if (!prepared)
    prepared = generated.module->lookupSymbol(symbol);
  if (auto one = mlir::dyn_cast_or_null<ir::GraphOp>(prepared)) {
    auto plan = pipeline::makePlan(one, request.sizes, request.graph, kernels->cpu().info(),
                                   options.compile);
    if (plan)
      for (auto made : plan->getOps<rt::ProgramOp>())
        report = memory::describePlan(made, shown);
  } else if (auto function = mlir::dyn_cast_or_null<ir::FuncOp>(prepared)) {
    // On several devices, or with exchanges.
    auto sizes = request.sizes;
    if (std::string name = addWorkers(function, request, sizes); !name.empty())
      return needsSizes(request, name + "=…");
    report = pipeline::planSegments(function, sizes, shown, kernels->cpu().info(), options.compile);
  }
  if (!report) {
    planError(span, "graph `" + request.graph + "` could not be compiled: " + pipeline::Refusal(problem).text);
    flushDiagnostics();
    return false;
  }
  out << (request.asJson ? memory::planAsJson(*report)
                         : memory::showPlan(*report) + showCompression(*report));
  if (!request.htmlFile.empty()) {
    std::ofstream page(request.htmlFile, std::ios::binary);
    page << memory::planAsHtml(*report);
    if (!page.flush()) {
      err << "mxc plan: cannot write `" << request.htmlFile << "`\n";
      return false;
    }
  }
  std::string refusal = memory::refusalOf(*report, request.graph);
  if (!refusal.empty()) {
    std::vector<std::string> lines = linesOf(refusal);
    Diagnostic &d = planError(span, lines.front());
    d.runCode = kOutOfMemory;
    for (size_t i = 1; i < lines.size(); ++i)
      d.note(lines[i]);
  }
  flushDiagnostics();
  return refusal.empty();
}

int runPlan(const std::vector<std::string> &args, Streams streams) {
  std::set<std::string> valued = programOptions();
  valued.insert({"--shapes", "--max-bytes", "--disable", "--html"});
  CommandLine line(args, valued, {"--help", "-h", "--json"});
  if (!line.problem().empty())
    return wrongUse(streams, line.problem(), "plan");
  if (line.has("--help") || line.has("-h")) {
    streams.out << kPlanHelp;
    return kFine;
  }
  if (line.files().size() != 2)
    return wrongUse(streams, "a file and the name of a graph, please", "plan");
  Settings settings;
  SessionOptions options;
  PlanRequest request;
  request.graph = line.files()[1];
  request.asJson = line.has("--json");
  request.htmlFile = line.value("--html").value_or("");
  std::string problem = readSettings(line, streams, settings);
  if (problem.empty())
    problem = readDisabled(line, streams.err, options.compile.disabled);
  if (problem.empty())
    problem = readSizes(line.value("--shapes").value_or(""), request);
  if (auto limit = line.value("--max-bytes"); limit && problem.empty()) {
    auto bytes = parseBytes(*limit);
    if (!bytes)
      problem = "`--max-bytes=" + *limit + "` is not a number of bytes, such as 512MiB";
    else
      options.compile.maxBytes = *bytes;
  }
  if (!problem.empty())
    return wrongUse(streams, problem, "plan");
  options.check = settings.check;
  options.render = settings.render;
  options.silenced = settings.silenced;
  std::string path = line.files()[0], shown = shownName(settings, path);
  std::optional<std::string> text = readProgram(path, streams, "plan");
  if (!text)
    return kWrongUse;
  PlanSession session(options, streams.out, streams.err);
  if (!session.ready())
    return kFaultOfMxc;
  bool fine = session.plan(shown, path == "-" ? "" : path, std::move(*text), request);
  return session.exitCode(fine);
}

} // namespace mx::driver
