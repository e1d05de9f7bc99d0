// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C interface of exported graphs: names, types, sizes and the order of parameters.
#include "Build/Interface.h"
#include "Support/Suggest.h"
#include "dialects/mx/Marks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <set>

namespace mx::build {
using mlir::cast;
using mlir::dyn_cast;

int64_t Leaf::bytes() const {
  int64_t count = elementInfo(element).bytes;
  for (int64_t size : sizes)
    count *= size;
  return count;
}
int64_t ValueType::bytes() const {
  int64_t sum = 0;
  for (const Leaf &leaf : leaves)
    sum += leaf.bytes();
  return sum;
}
int64_t SizeArgument::largest() const {
  return isOpen ? bound : *std::max_element(values.begin(), values.end());
}
size_t Function::inputCount() const {
  size_t count = 0;
  for (const Argument &argument : arguments)
    count += argument.leaves;
  return count;
}

std::vector<std::vector<std::pair<std::string, int64_t>>> Function::variants() const {
  std::vector<std::vector<std::pair<std::string, int64_t>>> out = {fixed};
  for (const SizeArgument &size : sizes) {
    if (size.isOpen)
      continue;
    std::vector<std::vector<std::pair<std::string, int64_t>>> longer;
    for (const auto &begun : out)
      for (int64_t value : size.values) {
        longer.push_back(begun);
        longer.back().push_back({size.size, value});
      }
    out = std::move(longer);
  }
  return out;
}

std::string cName(llvm::StringRef name) {
  // Reserved words of C and C++: the header is for both.
  static const std::set<std::string> reserved = {
      "alignas", "alignof",   "and",      "asm",      "auto",     "bool",     "break",    "case",
      "catch",   "char",      "class",    "compl",    "const",    "continue", "default",  "delete",
      "do",      "double",    "else",     "enum",     "explicit", "export",   "extern",   "false",
      "float",   "for",       "friend",   "goto",     "if",       "inline",   "int",      "long",
      "mutable", "namespace", "new",      "noexcept", "not",      "nullptr",  "operator", "or",
      "private", "protected", "public",   "register", "requires", "restrict", "return",   "short",
      "signed",  "sizeof",    "static",   "struct",   "switch",   "template", "this",     "throw",
      "true",    "try",       "typedef",  "typeid",   "typename", "union",    "unsigned", "using",
      "virtual", "void",      "volatile", "while",    "xor"};
  std::string out;
  for (char c : name)
    out += llvm::isAlnum(c) ? c : '_';
  if (out.empty() || llvm::isDigit(out[0]))
    out = "x" + out;
  return reserved.count(out) ? out + "_" : out;
}

namespace {

/// Makes the names in one parameter list unique.
class Names {
public:
  std::string fresh(llvm::StringRef wanted) {
    std::string name = cName(wanted), out = name;
    for (int i = 1; !used.insert(out).second; ++i)
      out = name + "_" + std::to_string(i);
    return out;
  }

private:
  std::set<std::string> used;
};

class Describer {
public:
  Describer(Interface &out, const Shapes &shapes, Diagnostics &diags)
      : out(out), shapes(shapes), diags(diags) {}

  bool add(const Export &source);
  bool checkShapes(const std::vector<Export> &exports);
  bool checkNames();

private:
  Diagnostic &error(Code code, const std::string &what) {
    return diags.report(code, function->source.span, "`" + function->source.name + "` " + what);
  }
  bool settleSizes();
  bool addArgument(unsigned index, Names &names);
  bool addResults(mlir::Type type, const std::string &name, Names &names);
  bool findType(mlir::Type type, const std::string &name, size_t &index);
  bool collectLeaves(mlir::Type type, const std::string &path, std::vector<Leaf> &leaves);
  std::optional<int64_t> evaluate(ir::SizeAttr size);
  void orderParameters();

  Interface &out;
  const Shapes &shapes;
  Diagnostics &diags;
  Function *function = nullptr;
};

std::optional<int64_t> Describer::evaluate(ir::SizeAttr size) {
  if (auto number = size.constant())
    return number;
  ir::SizeTable &table = size.getContext()->getOrLoadDialect<ir::MxDialect>()->sizes();
  std::lock_guard guard(table.lock);
  auto dim = table.parse(size.getText());
  std::map<AtomId, int64_t> at;
  for (auto &[name, value] : function->fixed)
    if (auto atom = table.dims.asSymbol(table.named(name)))
      at[*atom] = value;
  return dim ? table.dims.evaluate(*dim, at) : std::nullopt;
}

/// Each size of the graph is dynamic, has one value, or is an argument with several.
bool Describer::settleSizes() {
  ir::GraphOp graph = function->source.graph;
  auto open = graph->getAttrOfType<mlir::DictionaryAttr>(ir::kDyn);
  std::string missing;
  size_t variants = 1;
  for (auto size : graph.getSizes().getAsRange<mlir::StringAttr>()) {
    auto given = llvm::find_if(shapes, [&](auto &row) { return row.first == size.getValue(); });
    if (auto bound = open ? open.getAs<mlir::IntegerAttr>(size) : mlir::IntegerAttr()) {
      function->sizes.push_back({size.str(), "", true, bound.getInt(), {}});
    } else if (given == shapes.end()) {
      missing += (missing.empty() ? "" : ",") + size.str() + "=1";
    } else if (given->second.size() == 1) {
      function->fixed.push_back({size.str(), given->second[0]});
    } else {
      function->sizes.push_back({size.str(), "", false, 0, given->second});
      variants *= given->second.size();
    }
  }
  if (!missing.empty()) {
    error(Code::E1002, "has sizes without values")
        .help("give them values: `--shapes " + missing + "`; several make several variants: `" +
              llvm::StringRef(missing).split(',').first.str() + ",32`")
        .help("or declare a bound in the parameter's type, as in `dyn N <= 64`");
    return false;
  }
  if (variants > kMaxVariants) {
    error(Code::E1002, "would have " + std::to_string(variants) + " variants; there may be " +
                           std::to_string(kMaxVariants))
        .help("give fewer values, or declare bounds, as in `dyn N <= 64`");
    return false;
  }
  return true;
}

bool Describer::collectLeaves(mlir::Type type, const std::string &path, std::vector<Leaf> &leaves) {
  if (auto tensor = dyn_cast<ir::TensorType>(type)) {
    Leaf leaf;
    leaf.path = path;
    leaf.element = ir::elementFromMlir(tensor.getElement());
    int64_t bytes = elementInfo(leaf.element).bytes;
    for (ir::SizeAttr size : tensor.getSizes()) {
      auto number = evaluate(size);
      if (!number) {
        error(Code::E1002, "has a parameter whose `" + path + "` has the size " +
                               size.getText().str() + ", which is not one number")
            .help("give sizes of models one value each");
        return false;
      }
      leaf.sizes.push_back(*number);
      if (__builtin_mul_overflow(bytes, std::max<int64_t>(*number, 1), &bytes)) {
        error(Code::E1002, "has a parameter whose `" + path + "` has more than 2^63 bytes")
            .help("give smaller values in --shapes");
        return false;
      }
    }
    leaves.push_back(std::move(leaf));
    return true;
  }
  auto inside = [&](llvm::StringRef part) {
    return path.empty() ? part.str() : path + "." + part.str();
  };
  if (auto aggregate = dyn_cast<ir::AggregateType>(type)) {
    for (auto [i, part] : llvm::enumerate(aggregate.getParts())) {
      std::string name = i < aggregate.getFields().size()
                             ? cast<mlir::StringAttr>(aggregate.getFields()[i]).str()
                             : std::to_string(i);
      if (!collectLeaves(part, inside(name), leaves))
        return false;
    }
    return true;
  }
  if (auto array = dyn_cast<ir::ArrayType>(type)) {
    auto count = evaluate(array.getCount());
    for (int64_t i = 0; count && i < *count; ++i)
      if (!collectLeaves(array.getElement(), inside(std::to_string(i)), leaves))
        return false;
    return count.has_value();
  }
  error(Code::E1003, "cannot be called from C: `" + path + "` of a parameter is not a tensor")
      .help("pass the tensors that it needs");
  return false;
}

/// Parameters with the same name and type share one struct across graphs.
bool Describer::findType(mlir::Type type, const std::string &name, size_t &index) {
  bool isTaken = false;
  for (index = 0; index < out.types.size(); ++index) {
    if (out.types[index].parameter != name)
      continue;
    std::vector<Leaf> leaves;
    if (!collectLeaves(type, "", leaves))
      return false;
    bool same = out.types[index].type == type &&
                llvm::equal(leaves, out.types[index].leaves,
                            [](const Leaf &a, const Leaf &b) { return a.sizes == b.sizes; });
    if (same)
      return true;
    isTaken = true;
  }
  ValueType made;
  made.parameter = name;
  made.name = cName(isTaken ? function->name + "_" + name : name);
  made.type = type;
  if (!collectLeaves(type, "", made.leaves))
    return false;
  out.types.push_back(std::move(made));
  return true;
}

bool Describer::addArgument(unsigned index, Names &names) {
  ir::GraphOp graph = function->source.graph;
  mlir::Type type = graph.getArgumentTypes()[index];
  auto named = graph.getArgAttrOfType<mlir::StringAttr>(index, ir::kName);
  std::string written = named ? named.str() : "x" + std::to_string(index);
  Argument argument;
  argument.name = names.fresh(written);
  argument.isMut = graph.getArgAttr(index, ir::kMut) != nullptr;
  if (auto tensor = dyn_cast<ir::TensorType>(type)) {
    argument.kind = tensor.rank() == 0 ? Argument::Number : Argument::Tensor;
    argument.element = ir::elementFromMlir(tensor.getElement());
    for (ir::SizeAttr size : tensor.getSizes()) {
      auto number = evaluate(size);
      argument.sizes.push_back(number ? std::to_string(*number) : size.getText().str());
    }
  } else {
    argument.kind = Argument::Value;
    if (!findType(type, written, argument.type))
      return false;
    argument.leaves = out.types[argument.type].leaves.size();
  }
  function->arguments.push_back(std::move(argument));
  return true;
}

/// One pointer for each tensor: `out`, or `out_0`, `out_loss` of several.
bool Describer::addResults(mlir::Type type, const std::string &name, Names &names) {
  if (auto tensor = dyn_cast<ir::TensorType>(type)) {
    Argument result;
    result.name = names.fresh(name);
    result.element = ir::elementFromMlir(tensor.getElement());
    for (ir::SizeAttr size : tensor.getSizes()) {
      auto number = evaluate(size);
      result.sizes.push_back(number ? std::to_string(*number) : size.getText().str());
    }
    function->results.push_back(std::move(result));
    return true;
  }
  std::vector<std::pair<std::string, mlir::Type>> parts;
  if (auto aggregate = dyn_cast<ir::AggregateType>(type)) {
    for (auto [i, part] : llvm::enumerate(aggregate.getParts()))
      parts.push_back({i < aggregate.getFields().size()
                           ? cast<mlir::StringAttr>(aggregate.getFields()[i]).str()
                           : std::to_string(i),
                       part});
  } else if (auto array = dyn_cast<ir::ArrayType>(type)) {
    auto count = evaluate(array.getCount());
    for (int64_t i = 0; i < count.value_or(0); ++i)
      parts.push_back({std::to_string(i), array.getElement()});
  } else {
    error(Code::E1003, "cannot be called from C: a part of its result is not a tensor")
        .help("give back tensors");
    return false;
  }
  for (auto &[part, partType] : parts)
    if (!addResults(partType, name + "_" + part, names))
      return false;
  return true;
}

/// A size comes before the first argument that has it.
void Describer::orderParameters() {
  std::set<size_t> placed;
  auto addSizesOf = [&](const Argument &argument) {
    for (const std::string &text : argument.sizes)
      for (auto [i, size] : llvm::enumerate(function->sizes))
        if (text == size.size && placed.insert(i).second)
          function->parameters.push_back({Parameter::Size, i});
  };
  auto rest = [&] {
    for (size_t i = 0; i < function->sizes.size(); ++i)
      if (placed.insert(i).second)
        function->parameters.push_back({Parameter::Size, i});
  };
  for (auto [i, argument] : llvm::enumerate(function->arguments)) {
    addSizesOf(argument);
    function->parameters.push_back({Parameter::Argument, i});
  }
  rest();
  for (size_t i = 0; i < function->results.size(); ++i)
    function->parameters.push_back({Parameter::Result, i});
  function->parameters.push_back({Parameter::Workspace, 0});
}

bool Describer::add(const Export &source) {
  function = &out.functions.emplace_back();
  function->name = source.name;
  function->source = source;
  if (!settleSizes())
    return false;
  Names names;
  names.fresh("workspace");
  ir::GraphOp graph = function->source.graph;
  unsigned changed = 0;
  for (unsigned i = 0; i < graph.getNumArguments(); ++i) {
    if (!addArgument(i, names))
      return false;
    changed += function->arguments.back().isMut;
  }
  for (SizeArgument &size : function->sizes)
    size.name = names.fresh(size.size);
  auto results = llvm::ArrayRef<mlir::Type>(graph.getResultTypes()).drop_front(changed);
  for (auto [i, type] : llvm::enumerate(results))
    if (!addResults(type, results.size() == 1 ? "out" : "out_" + std::to_string(i), names))
      return false;
  orderParameters();
  return true;
}

/// A name that no graph has is a typo.
bool Describer::checkShapes(const std::vector<Export> &exports) {
  std::vector<std::string> known;
  std::map<std::string, std::pair<const Export *, int64_t>> bounds;
  for (const Export &source : exports) {
    ir::GraphOp graph = source.graph;
    auto open = graph->getAttrOfType<mlir::DictionaryAttr>(ir::kDyn);
    for (auto size : graph.getSizes().getAsRange<mlir::StringAttr>())
      if (auto bound = open ? open.getAs<mlir::IntegerAttr>(size) : mlir::IntegerAttr())
        bounds[size.str()] = {&source, bound.getInt()};
      else
        known.push_back(size.str());
  }
  for (const auto &[name, values] : shapes) {
    if (llvm::is_contained(known, name))
      continue;
    if (auto found = bounds.find(name); found != bounds.end()) {
      const auto &[source, bound] = found->second;
      diags
          .report(Code::E1002, source->span,
                  "`" + source->name + "` takes any " + name + " up to " + std::to_string(bound) +
                      ", so it has no values to give")
          .help("leave `" + name + "=…` out of --shapes");
      return false;
    }
    std::string near = nearest(name, known);
    Diagnostic &d = diags.report(Code::E1002, exports.front().span,
                                 "no graph that is built has a size `" + name + "`");
    if (!near.empty())
      d.help("did you mean `--shapes " + near + "=" + std::to_string(values.front()) + "`?");
    else
      d.help("leave `" + name + "=…` out of --shapes");
    return false;
  }
  return true;
}

/// Functions for values and errors have names too.
bool Describer::checkNames() {
  std::map<std::string, std::string> taken = {{"error", "the text of errors"}};
  for (const ValueType &type : out.types)
    for (const char *suffix : {"", "_load", "_load_memory", "_new", "_data", "_free"})
      taken.insert({type.name + suffix, "the parameter `" + type.parameter + "`"});
  for (Function &each : out.functions) {
    function = &each;
    auto [found, isNew] = taken.insert({each.name, "another graph"});
    if (!isNew) {
      error(Code::E1003, "cannot be called from C: " + out.prefix + "_" + each.name + " is for " +
                             found->second)
          .help("give it another name");
      return false;
    }
  }
  return true;
}

} // namespace

std::optional<Interface> describe(const std::string &prefix, const std::vector<Export> &exports,
                                  const Shapes &shapes, Diagnostics &diags) {
  Interface out;
  out.prefix = prefix;
  Describer describer(out, shapes, diags);
  if (!describer.checkShapes(exports))
    return std::nullopt;
  for (const Export &source : exports)
    if (!describer.add(source))
      return std::nullopt;
  if (!describer.checkNames())
    return std::nullopt;
  return out;
}

} // namespace mx::build
