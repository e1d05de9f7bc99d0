// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The object of a whole program: graph code and constants.
#include "Build/Executable.h"
#include "Build/Callables.h"
#include "Build/Linked.h"
#include "Run/Program.h"
#include "mlir/IR/Diagnostics.h"

namespace mx::build {
namespace {

/// Writes the constants of Run/GraphCode.h and Run/Program.h.
class Writer {
public:
  explicit Writer(LinkedCode &code) : tables(code.tables), module(*code.module) {}

  llvm::Constant *text(const char *text) { return text ? tables.text(text) : tables.null(); }

  llvm::Constant *record(const run::Part &part) {
    static_assert(sizeof(run::Part) == 40);
    std::vector<llvm::Constant *> fields;
    for (int64_t i = 0; part.fields && i < part.count; ++i)
      fields.push_back(text(part.fields[i]));
    int64_t held = part.kind == run::Part::Array ? 1 : part.count;
    return tables.record({tables.i32(part.kind), tables.i32(part.dtype), text(part.name),
                          tables.row(fields), row(part.parts, held), tables.i64(part.count)});
  }
  llvm::Constant *record(const run::Size &size) {
    static_assert(sizeof(run::Size) == 24);
    return tables.record(
        {tables.i64(size.value), row(size.steps, 2 * size.count), tables.i64(size.count)});
  }
  llvm::Constant *record(const run::Output &output) {
    static_assert(sizeof(run::Output) == 24);
    return tables.record({tables.i32(output.dtype), tables.i32(output.rank),
                          row(output.sizes, output.rank), tables.i64(output.over)});
  }
  llvm::Constant *record(int64_t number) { return tables.i64(number); }
  llvm::Constant *record(int32_t number) { return tables.i32(number); }
  llvm::Constant *record(const char *name) { return text(name); }

  llvm::Constant *code(const run::Code &code, llvm::Function *entry, size_t sizes) {
    static_assert(sizeof(run::Code) == 120);
    return tables.record(
        {entry, text(code.name), row(code.outputs, code.outputCount), tables.i64(code.outputCount),
         tables.i64(code.inputCount), row(code.open, code.openCount), tables.i64(code.openCount),
         row(code.arenas, code.arenaCount), tables.i64(code.arenaCount),
         tables.i32(code.device.kind), tables.i32(code.device.index), tables.i64(code.announces),
         tables.i64(code.guarded), text(code.needs), row(code.fixed, static_cast<int64_t>(sizes)), tables.i64(code.level)});
  }
  llvm::Constant *graph(const run::Graph &graph, llvm::ArrayRef<llvm::Constant *> codes) {
    static_assert(sizeof(run::Graph) == 120);
    return tables.record({text(graph.name), row(graph.arguments, graph.argumentCount),
                          row(graph.results, graph.resultCount),
                          row(graph.isMut, graph.argumentCount), tables.i64(graph.argumentCount),
                          tables.i64(graph.resultCount), row(graph.sizes, graph.sizeCount),
                          row(graph.bounds, graph.sizeCount), tables.i64(graph.sizeCount),
                          text(graph.eager), text(graph.file), tables.i64(graph.line),
                          tables.i64(graph.column), tables.row(codes),
                          tables.i64(static_cast<int64_t>(codes.size()))});
  }

  template <typename T> llvm::Constant *row(const T *items, int64_t count) {
    std::vector<llvm::Constant *> out;
    for (int64_t i = 0; i < count; ++i)
      out.push_back(record(items[i]));
    return tables.row(out);
  }

  /// A symbol of another object.
  llvm::Constant *function(const std::string &symbol) {
    auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), false);
    return llvm::cast<llvm::Constant>(module.getOrInsertFunction(symbol, type).getCallee());
  }
  llvm::Constant *variable(const std::string &symbol) {
    return module.getOrInsertGlobal(symbol, llvm::Type::getInt64Ty(module.getContext()));
  }

private:
  Tables &tables;
  llvm::Module &module;
};

} // namespace

struct ExecutableMaker::State {
  const std::vector<Cpu> &cpus;
  const pipeline::Options &options;
  Diagnostics &diags;
  LinkedCode code{"mx_program"};
  Writer writer{code};
  Callables memory{};
  std::map<std::string, llvm::Constant *> graphs{};
  std::vector<GraphFigures> figures{};
};

ExecutableMaker::ExecutableMaker(const std::vector<Cpu> &cpus, const pipeline::Options &options,
                                 Diagnostics &diags)
    : state(new State{cpus, options, diags}) {}
ExecutableMaker::~ExecutableMaker() = default;

const std::vector<GraphFigures> &ExecutableMaker::figures() const { return state->figures; }

bool ExecutableMaker::add(const CalledGraph &called, Span span) {
  ir::GraphOp op = called.graph;
  run::Graph graph = state->memory.describe(op);
  if (!called.isOpen)
    graph.eager = nullptr;
  std::string problem;
  mlir::ScopedDiagnosticHandler handler(op.getContext(), [&](mlir::Diagnostic &d) {
    if (d.getSeverity() == mlir::DiagnosticSeverity::Error && problem.empty())
      problem = d.str();
    return mlir::success();
  });
  auto fail = [&](const std::string &what) {
    state->diags.report(Code::E0901, span, "graph `" + std::string(graph.name) + "` " + what);
    return false;
  };
  std::vector<llvm::Constant *> codes;
  for (const Cpu &cpu : state->cpus)
    for (const std::vector<int64_t> &sizes : called.sizes) {
      std::vector<std::pair<std::string, int64_t>> values;
      std::string entry = std::string(graph.name) + "$";
      for (size_t i = 0; i < sizes.size(); ++i)
        if (sizes[i] >= 0) {
          values.push_back({graph.sizes[i], sizes[i]});
          entry += "_" + std::to_string(sizes[i]);
        }
      auto lowered = pipeline::lowerGraph(op, values, entry, cpu.target, state->options);
      if (!lowered)
        return fail("could not be compiled: " + pipeline::Refusal(problem).text);
      if (std::string &refusal = lowered->variant.figures.refusal; !refusal.empty()) {
        Diagnostic &d =
            state->diags.report(Code::E0901, span, refusal.substr(0, refusal.find('\n')));
        d.runCode = "R0101";
        return false;
      }
      if (std::string trouble = state->code.link(*lowered, cpu); !trouble.empty())
        return fail(trouble);
      run::Code made = state->memory.describe(lowered->variant, graph, op, values);
      made.fixed = sizes.data();
      made.level = cpu.level();
      codes.push_back(state->writer.code(made, state->code.entry(entry, cpu), sizes.size()));
      if (&cpu == &state->cpus.front()) {
        int64_t bytes = 0;
        for (auto &[device, each] : lowered->variant.arenas)
          bytes += each;
        state->figures.push_back({graph.name, values, bytes});
      }
    }
  state->graphs[graph.name] = state->writer.graph(graph, codes);
  return true;
}

std::optional<std::string> ExecutableMaker::finish(const ExecutableParts &parts, Span program) {
  static_assert(sizeof(run::Program) == 128 && sizeof(run::Kernel) == 24 &&
                sizeof(run::SourceText) == 24 && sizeof(run::Bytecode) == 16);
  Tables &tables = state->code.tables;
  auto size = [&](auto &list) { return tables.i64(static_cast<int64_t>(list.size())); };
  std::vector<llvm::Constant *> modules, graphs, kernels, sources, natives;
  for (const std::vector<uint8_t> &bytes : parts.modules)
    modules.push_back(tables.record(
        {tables.bytes({reinterpret_cast<const char *>(bytes.data()), bytes.size()}, 8),
         size(bytes)}));
  for (auto &[name, graph] : state->graphs)
    graphs.push_back(graph);
  for (const ExecutableParts::Kernel &kernel : parts.kernels)
    kernels.push_back(tables.record({tables.text(kernel.key), state->writer.function(kernel.symbol),
                                     tables.i64(kernel.level)}));
  for (auto &[name, text] : parts.sources)
    sources.push_back(tables.record({tables.text(name), tables.text(text), size(text)}));
  for (const std::string &symbol : parts.natives)
    natives.push_back(state->writer.variable(symbol));
  std::string known;
  int minLevel = state->cpus.front().level();
  for (const Cpu &cpu : state->cpus) {
    known += (known.empty() ? "" : ", ") + cpu.name;
    minLevel = std::min(minLevel, cpu.level());
  }
  state->code.hideAll();
  llvm::Constant *whole = tables.record(
      {tables.text(parts.name), tables.text(parts.command), tables.text(known), tables.i64(minLevel),
       tables.row(modules), size(modules), tables.row(graphs), size(graphs), tables.row(kernels),
       size(kernels), tables.row(sources), size(sources), tables.row(natives), size(natives),
       tables.i64(parts.uncheckedDivision), tables.text(parts.options)});
  new llvm::GlobalVariable(*state->code.module, whole->getType(), /*isConstant=*/true,
                           llvm::GlobalValue::ExternalLinkage, whole, "mx_program");
  std::string trouble;
  std::optional<std::string> object = state->code.compile(state->cpus.back(), trouble);
  if (!object)
    state->diags.report(Code::E0901, program, "the program " + trouble);
  return object;
}

} // namespace mx::build
