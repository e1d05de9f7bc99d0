// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fused graphs in Graphviz format: `mxc run --emit=dot program.mx | dot -Tsvg > graph.svg`.
#include "Pipeline/Pipeline.h"
#include "dialects/mx/Marks.h"

namespace mx::pipeline {
using namespace mlir;

namespace {

class DotWriter {
public:
  std::string write(ir::GraphOp graph) {
    out += "digraph \"" + graph.getSymName().str() +
           "\" {\n  rankdir=TB; node [fontname=monospace];\n";
    for (auto [i, argument] : llvm::enumerate(graph.getBody().getArguments())) {
      auto name = graph.getArgAttrOfType<StringAttr>(static_cast<unsigned>(i), ir::kName);
      std::string node = "a" + std::to_string(i);
      label(node, name ? name.getValue().str() : node, "ellipse");
      sources[argument] = node;
    }
    block(graph.getBody().front());
    out += "}\n";
    return std::move(out);
  }

private:
  std::string out;
  llvm::DenseMap<Value, std::string> sources;
  int count = 0;

  void label(const std::string &node, const std::string &text, const char *shape) {
    out += "  " + node + " [shape=" + shape + ", label=\"" + text + "\"];\n";
  }
  /// `f32[4, 3]`
  static std::string typeOf(Value value) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << value.getType();
    llvm::StringRef shown(text);
    if (shown.consume_front("!mx.tensor<"))
      shown.consume_back(">");
    return shown.str();
  }
  void edge(Value from, const std::string &to) {
    auto found = sources.find(from);
    if (found != sources.end())
      out += "  " + found->second + " -> " + to + " [label=\"" + typeOf(from) + "\"];\n";
  }

  void block(Block &body) {
    for (Operation &op : body) {
      std::string node = "n" + std::to_string(count++);
      if (isa<ir::ReturnOp>(op)) {
        label(node, "result", "ellipse");
      } else if (auto kernel = dyn_cast<ir::KernelOp>(op)) {
        // The ops of the kernel, one a line; constants are omitted.
        std::string text;
        for (Operation &inner : kernel.getBody().front().without_terminator())
          if (!isa<ir::ConstantOp>(inner))
            text += (text.empty() ? "" : "\\n") + inner.getName().stripDialect().str();
        label(node, text.empty() ? "constant" : text, "box");
      } else {
        label(node, op.getName().stripDialect().str(), op.getNumRegions() ? "box3d" : "plaintext");
      }
      for (Value operand : op.getOperands())
        edge(operand, node);
      for (Value result : op.getResults())
        sources[result] = node;
      if (isa<ir::KernelOp>(op))
        continue;
      for (Region &region : op.getRegions())
        for (Block &inner : region) {
          for (BlockArgument argument : inner.getArguments())
            sources[argument] = node;
          block(inner);
        }
    }
  }
};

} // namespace

std::string dotOf(ir::GraphOp graph) { return DotWriter().write(graph); }

} // namespace mx::pipeline
