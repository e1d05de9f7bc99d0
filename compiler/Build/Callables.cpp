// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Describes compiled graphs as plain data for their callers, including notes on memory needs.
#include "Build/Callables.h"
#include "Support/Bytes.h"
#include "dialects/mx/Locations.h"
#include "dialects/mx/Marks.h"
#include "mxrt/types.h"

namespace mx::build {
namespace {

/// "cpu:1"; an empty name is the default device.
mxrt_device deviceNamed(llvm::StringRef name) {
  int32_t index = 0;
  if (name.split(':').second.getAsInteger(10, index))
    index = 0;
  return {name.starts_with("cuda") ? MXRT_CUDA : MXRT_CPU, index};
}

/// The device of a variant, taken from a buffer that it writes.
mxrt_device deviceOf(const pipeline::Variant &code) {
  for (const pipeline::Buffer &buffer : code.outputs)
    return deviceNamed(buffer.device);
  for (const auto &[device, bytes] : code.arenas)
    return deviceNamed(device);
  return deviceNamed("");
}

/// The memory needs of a variant and how to learn more, for an error.
std::string describeNeeds(llvm::StringRef name, llvm::StringRef file,
                          llvm::ArrayRef<std::pair<std::string, int64_t>> sizes,
                          const pipeline::Figures &figures) {
  int64_t all = figures.parameters + figures.data + figures.activations + figures.workspace;
  int unit = byteUnitOf(double(all));
  std::string shapes;
  for (auto &[size, value] : sizes)
    shapes += (shapes.empty() ? "" : ",") + size + "=" + std::to_string(value);
  std::string text = "note: graph `" + name.str() + "`" + (shapes.empty() ? "" : " for " + shapes) +
                     " needs " + formatBytes(double(all)) + " (plan: params " +
                     bytesIn(double(figures.parameters), unit) + ", arguments " +
                     bytesIn(double(figures.data), unit) + ", activations " +
                     bytesIn(double(figures.activations), unit) + ", workspace " +
                     bytesIn(double(figures.workspace), unit) + ")\n";
  text += "help: `mxc plan " + file.str() + " " + name.str() +
          (shapes.empty() ? "" : " --shapes " + shapes) + "` shows what is alive at the peak";
  if (figures.largestBytes > 0 && !figures.largestLocation.empty())
    text += " (" + figures.largestLocation + ", " + bytesIn(double(figures.largestBytes), unit) +
            " " + kByteUnits[unit] + ")";
  return text;
}

/// Appends the postfix steps that compute a size.
bool addSteps(Dim dim, ir::SizeTable &table, const run::Graph &of, std::vector<int64_t> &steps) {
  auto add = [&](run::Size::Step step, int64_t number = 0) {
    steps.push_back(step);
    steps.push_back(number);
  };
  if (!dim)
    return false;
  if (dim->terms.empty())
    add(run::Size::Constant);
  for (size_t i = 0; i < dim->terms.size(); ++i) {
    const DimTerm &term = dim->terms[i];
    add(run::Size::Constant, term.coefficient);
    for (AtomId atom : term.atoms) {
      if (table.dims.isSymbol(atom)) {
        int64_t which = 0;
        while (which < of.sizeCount && table.dims.symbolInfo(atom).name != of.sizes[which])
          ++which;
        if (which == of.sizeCount)
          return false;
        add(run::Size::OfCall, which);
      } else {
        if (!addSteps(table.dims.numerator(atom), table, of, steps) ||
            !addSteps(table.dims.denominator(atom), table, of, steps))
          return false;
        add(run::Size::FloorDivide);
      }
      add(run::Size::Multiply);
    }
    if (i > 0)
      add(run::Size::Add);
  }
  return true;
}

} // namespace

const char *Callables::text(llvm::StringRef text) {
  char *made = memory.Allocate<char>(text.size() + 1);
  std::copy(text.begin(), text.end(), made);
  made[text.size()] = 0;
  return made;
}

run::Part Callables::part(mlir::Type type) {
  run::Part out = {};
  out.kind = run::Part::Other;
  std::vector<run::Part> parts;
  if (auto tensor = mlir::dyn_cast<ir::TensorType>(type)) {
    out.kind = tensor.isHost() ? run::Part::Number : run::Part::Tensor;
    out.dtype = static_cast<int32_t>(ir::elementFromMlir(tensor.getElement()));
  } else if (auto array = mlir::dyn_cast<ir::ArrayType>(type)) {
    out.kind = run::Part::Array;
    out.count = array.getCount().constant().value_or(0);
    parts.push_back(part(array.getElement()));
  } else if (auto aggregate = mlir::dyn_cast<ir::AggregateType>(type)) {
    out.kind = run::Part::Tuple;
    for (mlir::Type each : aggregate.getParts())
      parts.push_back(part(each));
    out.count = static_cast<int64_t>(parts.size());
    if (!aggregate.getName().getValue().empty()) {
      out.kind = run::Part::Struct;
      out.name = text(aggregate.getName().getValue());
      std::vector<const char *> fields;
      for (mlir::Attribute field : aggregate.getFields())
        fields.push_back(text(mlir::cast<mlir::StringAttr>(field).getValue()));
      out.fields = keep<const char *>(fields);
    }
  }
  out.parts = keep<run::Part>(parts);
  return out;
}

run::Graph Callables::describe(ir::GraphOp graph) {
  run::Graph out = {};
  out.name = text(graph.getSymName());
  std::vector<run::Part> arguments, results;
  std::vector<int32_t> isMut;
  for (unsigned i = 0; i < graph.getNumArguments(); ++i) {
    arguments.push_back(part(graph.getArgumentTypes()[i]));
    isMut.push_back(graph.getArgAttr(i, ir::kMut) != nullptr);
  }
  for (mlir::Type type : graph.getResultTypes())
    results.push_back(part(type));
  out.arguments = keep<run::Part>(arguments);
  out.results = keep<run::Part>(results);
  out.isMut = keep<int32_t>(isMut);
  out.argumentCount = static_cast<int64_t>(arguments.size());
  out.resultCount = static_cast<int64_t>(results.size());
  auto open = graph->getAttrOfType<mlir::DictionaryAttr>(ir::kDyn);
  std::vector<const char *> names;
  std::vector<int64_t> bounds;
  for (auto name : graph.getSizes().getAsRange<mlir::StringAttr>()) {
    names.push_back(text(name));
    auto bound = open ? open.getAs<mlir::IntegerAttr>(name) : mlir::IntegerAttr();
    bounds.push_back(bound ? bound.getInt() : -1);
  }
  out.sizes = keep<const char *>(names);
  out.bounds = keep<int64_t>(bounds);
  out.sizeCount = static_cast<int64_t>(names.size());
  if (auto twin = graph->getAttrOfType<mlir::StringAttr>(ir::kEager))
    out.eager = text(twin.getValue());
  if (mlir::FileLineColLoc location = ir::sourceLocation(graph.getLoc())) {
    out.file = text(location.getFilename());
    out.line = location.getLine();
    out.column = location.getColumn();
  }
  return out;
}

run::Size Callables::size(llvm::StringRef text, const run::Graph &of, ir::SizeTable &table) {
  run::Size out = {};
  if (!text.getAsInteger(10, out.value))
    return out;
  out.value = 0;
  std::lock_guard guard(table.lock);
  std::vector<int64_t> steps;
  if (auto dim = table.parse(text); dim && addSteps(*dim, table, of, steps)) {
    out.steps = keep<int64_t>(steps);
    out.count = static_cast<int64_t>(steps.size() / 2);
  }
  return out;
}

run::Code Callables::describe(const pipeline::Variant &variant, const run::Graph &of,
                              ir::GraphOp graph,
                              llvm::ArrayRef<std::pair<std::string, int64_t>> sizes) {
  ir::SizeTable &table = graph.getContext()->getOrLoadDialect<ir::MxDialect>()->sizes();
  run::Code out = {};
  out.name = text(of.name);
  std::vector<run::Output> outputs;
  for (auto [i, buffer] : llvm::enumerate(variant.outputs)) {
    std::vector<run::Size> shape;
    for (const std::string &each : buffer.sizes)
      shape.push_back(size(each, of, table));
    outputs.push_back({static_cast<int32_t>(buffer.element), static_cast<int32_t>(shape.size()),
                       keep<run::Size>(shape), i < variant.over.size() ? variant.over[i] : -1});
  }
  out.outputs = keep<run::Output>(outputs);
  out.outputCount = static_cast<int64_t>(outputs.size());
  out.inputCount = static_cast<int64_t>(variant.inputs.size());
  std::vector<run::Size> open;
  for (const std::string &each : variant.sizes)
    open.push_back(size(each, of, table));
  out.open = keep<run::Size>(open);
  out.openCount = static_cast<int64_t>(open.size());
  std::vector<int64_t> arenas;
  for (auto &[device, bytes] : variant.arenas)
    arenas.push_back(bytes);
  out.arenas = keep<int64_t>(arenas);
  out.arenaCount = static_cast<int64_t>(arenas.size());
  out.device = deviceOf(variant);
  out.announces = variant.announces;
  out.guarded = variant.guarded;
  out.needs = text(describeNeeds(of.name, of.file ? of.file : "", sizes, variant.figures));
  return out;
}

} // namespace mx::build
