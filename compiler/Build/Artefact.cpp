// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Object files of exported graphs: function multi-versioning by CPU, tables for the runtime, and
// embedded parameters.
#include "Build/Artefact.h"
#include "Build/Linked.h"
#include "Build/Wrappers.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Alignment.h"

namespace mx::build {
namespace {

/// Alignment of every buffer (mxrt/types.h).
constexpr int64_t kAlignment = 64;

/// mxrt_aot_move
struct Move {
  int64_t output = 0, over = -1, goesTo = -1, offset = -1, bytes = 0;
  std::vector<int64_t> factors;
};
constexpr size_t kMaxFactors = 4;

class Maker {
public:
  Maker(Interface &interface, const std::vector<Cpu> &cpus, const pipeline::Options &options,
        Diagnostics &diags)
      : interface(interface), cpus(cpus), options(options), diags(diags),
        linked(interface.prefix), tables(linked.tables) {}

  std::optional<std::string> run();

private:
  using Sizes = std::vector<std::pair<std::string, int64_t>>;

  bool fail(const Function &function, Code code, const std::string &what,
            const std::string &help = "");
  bool refuse(const Function &function, llvm::StringRef why);
  bool addType(const ValueType &type);
  bool addFunction(Function &function);
  bool addVariant(Function &function, size_t index, const Cpu &cpu, const Sizes &sizes);
  bool findMoves(const Function &function, const pipeline::Variant &variant,
                 std::vector<Move> &moves, int64_t &workspace);
  llvm::Constant *writeMoves(const std::vector<Move> &moves);
  llvm::Constant *writeGraph(const Function &function);
  std::vector<int64_t> replacedInputs(const Function &function) const;

  Interface &interface;
  const std::vector<Cpu> &cpus;
  const pipeline::Options &options;
  Diagnostics &diags;
  LinkedCode linked;
  Tables &tables;
  std::vector<llvm::Constant *> types;    ///< mxrt_aot_type of each
  std::vector<llvm::Constant *> values;   ///< mxrt_aot_value of those embedded, else null
  std::vector<llvm::Constant *> variants; ///< mxrt_aot_variant of one function
  std::vector<std::string> entrySizes;    ///< of its entries
};

bool Maker::fail(const Function &function, Code code, const std::string &what,
                 const std::string &help) {
  Diagnostic &d =
      diags.report(code, function.source.span, "`" + function.source.name + "` " + what);
  if (!help.empty())
    d.help(help);
  return false;
}

/// Its memory exceeds the limit: reports the error that a run with that limit would report.
bool Maker::refuse(const Function &function, llvm::StringRef why) {
  auto [first, rest] = why.rtrim().split('\n');
  Diagnostic &d = diags.report(Code::E0901, function.source.span, first.str());
  d.runCode = "R0101";
  while (!rest.empty()) {
    auto [line, more] = rest.split('\n');
    d.note(line.str());
    rest = more;
  }
  return false;
}

/// Writes mxrt_aot_type, and mxrt_aot_value if its tensors are embedded in the artefact.
bool Maker::addType(const ValueType &type) {
  std::vector<llvm::Constant *> rows;
  for (const Leaf &leaf : type.leaves) {
    std::vector<llvm::Constant *> sizes;
    for (int64_t size : leaf.sizes)
      sizes.push_back(tables.i64(size));
    rows.push_back(
        tables.record({tables.text(leaf.path), tables.i32(static_cast<int64_t>(leaf.element)),
                       tables.i32(static_cast<int64_t>(leaf.sizes.size())), tables.row(sizes)}));
  }
  types.push_back(tables.global(
      tables.record({tables.text(type.parameter), tables.i64(static_cast<int64_t>(rows.size())),
                     tables.row(rows)})));
  if (!type.embedded) {
    values.push_back(nullptr);
    return true;
  }
  std::vector<llvm::Constant *> addresses;
  for (const std::string &bytes : *type.embedded)
    addresses.push_back(tables.bytes(bytes, kAlignment));
  values.push_back(tables.global(
      tables.record({types.back(), tables.row(addresses), tables.null(), tables.i64(0)})));
  return true;
}

/// For each output: the input of a `mut` argument that it replaces, or -1.
std::vector<int64_t> Maker::replacedInputs(const Function &function) const {
  std::vector<int64_t> out;
  int64_t first = 0;
  for (const Argument &argument : function.arguments) {
    for (size_t i = 0; argument.isMut && i < argument.leaves; ++i)
      out.push_back(first + static_cast<int64_t>(i));
    first += static_cast<int64_t>(argument.leaves);
  }
  out.resize(out.size() + function.results.size(), -1);
  return out;
}

/// Callers pass the memory of `mut` arguments and find the new values in it. An output that the
/// plan does not write there gets its own region of the workspace, and is copied at the end.
bool Maker::findMoves(const Function &function, const pipeline::Variant &variant,
                      std::vector<Move> &moves, int64_t &workspace) {
  std::vector<int64_t> replaces = replacedInputs(function);
  if (replaces.size() != variant.outputs.size() || function.inputCount() != variant.inputs.size())
    return fail(function, Code::E0901, "could not be compiled: its code has other arguments");
  for (size_t i = 0; i < variant.outputs.size(); ++i) {
    int64_t over = i < variant.over.size() ? variant.over[i] : -1;
    if (replaces[i] >= 0 ? over == replaces[i] : over < 0)
      continue;
    Move move;
    move.output = static_cast<int64_t>(i);
    move.over = over;
    move.goesTo = replaces[i];
    move.bytes = elementInfo(variant.outputs[i].element).bytes;
    int64_t maxBytes = move.bytes;
    for (const std::string &text : variant.outputs[i].sizes) {
      int64_t number = 0, factor = 0;
      auto open = llvm::find_if(function.sizes,
                                [&](const SizeArgument &size) { return size.size == text; });
      if (!llvm::StringRef(text).getAsInteger(10, number)) {
        move.bytes *= number;
        factor = number;
      } else if (open != function.sizes.end() && move.factors.size() < kMaxFactors) {
        move.factors.push_back(open - function.sizes.begin());
        factor = open->bound;
      } else {
        return fail(function, Code::E0901,
                    "cannot be exported yet: a `mut` argument has the size " + text);
      }
      if (__builtin_mul_overflow(maxBytes, factor, &maxBytes))
        return fail(function, Code::E1002, "needs more than 2^63 bytes");
    }
    if (move.goesTo >= 0) {
      move.offset = workspace;
      workspace += llvm::alignTo(static_cast<uint64_t>(maxBytes), kAlignment);
    }
    moves.push_back(std::move(move));
  }
  return true;
}

llvm::Constant *Maker::writeMoves(const std::vector<Move> &moves) {
  std::vector<llvm::Constant *> rows;
  for (const Move &move : moves) {
    std::vector<llvm::Constant *> factors;
    for (size_t i = 0; i < kMaxFactors; ++i)
      factors.push_back(tables.i32(i < move.factors.size() ? move.factors[i] : 0));
    auto *list =
        llvm::ConstantArray::get(llvm::ArrayType::get(factors[0]->getType(), kMaxFactors), factors);
    rows.push_back(
        tables.record({tables.i32(move.output), tables.i32(move.over), tables.i32(move.goesTo),
                       tables.i32(static_cast<int64_t>(move.factors.size())), list,
                       tables.i64(move.offset), tables.i64(move.bytes)}));
  }
  return tables.row(rows);
}

bool Maker::addVariant(Function &function, size_t index, const Cpu &cpu, const Sizes &sizes) {
  std::string problem;
  ir::GraphOp graph = function.source.graph;
  mlir::ScopedDiagnosticHandler handler(graph.getContext(), [&](mlir::Diagnostic &d) {
    if (d.getSeverity() == mlir::DiagnosticSeverity::Error && problem.empty())
      problem = d.str();
    return mlir::success();
  });
  std::string entry = function.name + "$" + std::to_string(index);
  auto lowered = pipeline::lowerGraph(graph, sizes, entry, cpu.target, options);
  if (!lowered)
    return fail(function, Code::E0901, "could not be compiled: " + pipeline::Refusal(problem).text);
  const pipeline::Variant &variant = lowered->variant;
  if (!variant.figures.refusal.empty())
    return refuse(function, variant.figures.refusal);
  if (variant.arenas.size() > 1)
    return fail(function, Code::E1003, "cannot be called from C: it runs on several devices",
                "export one graph for each device");
  int64_t workspace = 0;
  for (auto &[device, bytes] : variant.arenas)
    workspace += llvm::alignTo(static_cast<uint64_t>(bytes), kAlignment);
  std::vector<Move> moves;
  if (!findMoves(function, variant, moves, workspace))
    return false;
  if (std::string trouble = linked.link(*lowered, cpu); !trouble.empty())
    return fail(function, Code::E0901, trouble);
  if (workspace > 0)
    workspace += kAlignment - 1; // the workspace may be unaligned
  function.workspace = std::max(function.workspace, workspace);
  entrySizes = variant.sizes;

  std::vector<llvm::Constant *> fixed;
  for (const SizeArgument &size : function.sizes) {
    auto value = llvm::find_if(sizes, [&](auto &row) { return row.first == size.size; });
    fixed.push_back(tables.i64(size.isOpen ? -1 : value->second));
  }
  variants.push_back(
      tables.record({linked.entry(entry, cpu), tables.row(fixed),
                     writeMoves(moves), tables.i32(static_cast<int64_t>(moves.size())),
                     tables.i32(cpu.level()), tables.i64(workspace)}));
  return true;
}

/// mxrt_aot_graph
llvm::Constant *Maker::writeGraph(const Function &function) {
  std::vector<llvm::Constant *> arguments, replaces, names, open;
  auto add = [&](const Argument &argument, llvm::Constant *embedded) {
    arguments.push_back(tables.record(
        {tables.text(argument.name), tables.i32(static_cast<int64_t>(argument.leaves)),
         tables.i32(argument.kind == Argument::Value), embedded ? embedded : tables.null()}));
  };
  for (const Argument &argument : function.arguments)
    add(argument, argument.kind == Argument::Value ? values[argument.type] : nullptr);
  for (const Argument &result : function.results)
    add(result, nullptr);
  std::vector<int64_t> replaced = replacedInputs(function);
  for (int64_t input : replaced)
    replaces.push_back(tables.i32(input));
  for (const SizeArgument &size : function.sizes)
    names.push_back(tables.text(size.size));
  for (const std::string &size : entrySizes)
    open.push_back(
        tables.i32(llvm::find_if(function.sizes, [&](auto &row) { return row.size == size; }) -
                   function.sizes.begin()));
  std::string known;
  for (const Cpu &cpu : cpus)
    known += (known.empty() ? "" : ", ") + cpu.name;
  auto count = [&](size_t number) { return tables.i32(static_cast<int64_t>(number)); };
  return tables.global(tables.record(
      {tables.text(function.name), tables.row(arguments), count(function.arguments.size()),
       count(function.results.size()), count(function.inputCount()), count(replaced.size()),
       tables.row(replaces), tables.row(names), tables.row(open), count(names.size()),
       count(open.size()), tables.row(variants), tables.i64(static_cast<int64_t>(variants.size())),
       tables.text(known)}));
}

bool Maker::addFunction(Function &function) {
  variants.clear();
  for (const Cpu &cpu : cpus)
    for (auto [i, sizes] : llvm::enumerate(function.variants()))
      if (!addVariant(function, i, cpu, sizes))
        return false;
  addGraphFunction(interface, function, writeGraph(function), *linked.module);
  return true;
}

std::optional<std::string> Maker::run() {
  for (const ValueType &type : interface.types)
    if (!addType(type))
      return std::nullopt;
  for (Function &function : interface.functions)
    if (!addFunction(function))
      return std::nullopt;
  linked.hideAll(); // other artefacts may have the same kernels
  for (const Function &function : interface.functions)
    linked.module->getFunction(interface.prefix + "_" + function.name)
        ->setLinkage(llvm::GlobalValue::ExternalLinkage);
  addValueFunctions(interface, types, *linked.module);
  std::string trouble;
  std::optional<std::string> object = linked.compile(cpus.back(), trouble);
  if (!object)
    fail(interface.functions.front(), Code::E0901, trouble);
  return object;
}

} // namespace

std::optional<std::string> makeObject(Interface &interface, const std::vector<Cpu> &cpus,
                                      const pipeline::Options &options, Diagnostics &diags) {
  return Maker(interface, cpus, options, diags).run();
}

} // namespace mx::build
