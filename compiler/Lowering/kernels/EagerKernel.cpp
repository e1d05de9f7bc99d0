// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses the key of an eager kernel and builds its `mx.kernel`.
#include "Lowering/EagerKernel.h"
#include "Lowering/Kernels.h"
#include "dialects/mx/Marks.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx::ir;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

namespace mx::lowering {
using ir::TensorType; // not MLIR's own
namespace {

/// The name of the size that passes the number of the axis that errors mention.
constexpr llvm::StringLiteral kShownAxisSize = "X";

constexpr size_t kMaxRank = 7; ///< of any operand
constexpr size_t kMaxWalk = 4; ///< of an elementwise op
constexpr size_t kMaxOperands = 8;

struct KeyOperand {
  ElementType element;
  size_t rank = 0;
  bool strided = false;
};
struct Key {
  StringRef op;
  SmallVector<std::pair<StringRef, StringRef>> attributes;
  SmallVector<KeyOperand> operands;
  KeyOperand result;
};

class Builder {
public:
  Builder(MLIRContext *context, StringRef key, std::string *error)
      : context(context), text(key), error(error) {}
  OwningOpRef<ModuleOp> build();

private:
  MLIRContext *context;
  StringRef text;
  std::string *error;
  Key key;
  /// Values of the names of sizes, if the key gives them: `conv(sizes=8/64/...)`.
  llvm::StringMap<int64_t> known;

  bool refuse(const Twine &why) {
    if (error)
      *error = ("kernel key `" + text + "`: " + why).str();
    return false;
  }
  bool read();
  bool readOperand(StringRef word, KeyOperand &out);
  bool readKnownSizes(StringRef values, SmallVectorImpl<StringRef> &names);
  bool isReduction() const {
    for (StringRef name : {"sum", "prod", "max", "min", "any", "all", "argmax", "argmin"})
      if (key.op == name)
        return true;
    return false;
  }
  bool shapes(SmallVectorImpl<SmallVector<StringRef>> &operands, SmallVector<StringRef> &result,
              SmallVector<StringRef> &names);
  StringRef attribute(StringRef name) const {
    for (auto &[known, value] : key.attributes)
      if (known == name)
        return value;
    return {};
  }
  SizeAttr size(StringRef text);
  TensorType type(const KeyOperand &operand, ArrayRef<StringRef> sizes);
};

bool Builder::readOperand(StringRef word, KeyOperand &out) {
  auto [dtype, layout] = word.split(':');
  std::optional<ElementType> element = elementNamed({dtype.data(), dtype.size()});
  if (!element)
    return refuse("`" + dtype + "` is not an element type");
  out.element = *element;
  if (layout.empty() || !llvm::isDigit(layout[0]))
    return refuse("`" + word + "` has no rank");
  out.rank = static_cast<size_t>(layout[0] - '0');
  layout = layout.drop_front();
  if (out.rank > kMaxRank)
    return refuse("`" + word + "` has a rank above 7");
  if (out.rank == 0)
    return layout.empty() || refuse("`" + word + "` is malformed");
  if (layout != "c" && layout != "s")
    return refuse("`" + word + "` is neither dense (c) nor strided (s)");
  out.strided = layout == "s";
  return true;
}

bool Builder::read() {
  auto [left, right] = text.split("->");
  if (left.size() == text.size())
    return refuse("`->` is missing");
  size_t end = left.find_first_of(" (");
  key.op = left.substr(0, end);
  StringRef rest = end == StringRef::npos ? StringRef() : left.substr(end);
  if (rest.consume_front("(")) {
    size_t close = rest.find(')');
    if (close == StringRef::npos)
      return refuse("a `)` is missing");
    SmallVector<StringRef> parts;
    rest.take_front(close).split(parts, ',');
    for (StringRef part : parts) {
      auto [name, value] = part.split('=');
      if (name.trim().empty() || value.trim().empty())
        return refuse("`" + part + "` is not an attribute");
      key.attributes.emplace_back(name.trim(), value.trim());
    }
    rest = rest.drop_front(close + 1);
  }
  if (key.op.empty() || !llvm::all_of(key.op, [](char c) { return llvm::isAlnum(c) || c == '_'; }))
    return refuse("`" + key.op + "` is not the name of an op");
  rest = rest.trim();
  if (!rest.empty()) {
    SmallVector<StringRef> words;
    rest.split(words, ',');
    if (words.size() > kMaxOperands)
      return refuse("there are too many operands");
    for (StringRef word : words)
      if (!readOperand(word.trim(), key.operands.emplace_back()))
        return false;
  }
  if (!readOperand(right.trim(), key.result))
    return false;
  return !key.result.strided || refuse("the result is not dense");
}

/// `values` are those of `names`, which are no longer passed to the kernel.
bool Builder::readKnownSizes(StringRef values, SmallVectorImpl<StringRef> &names) {
  SmallVector<StringRef> words;
  values.split(words, '/');
  if (words.size() != names.size())
    return refuse("there are " + Twine(names.size()) + " sizes, not " + Twine(words.size()));
  for (auto [name, word] : llvm::zip_equal(names, words))
    if (word.getAsInteger(10, known[name]) || (name[0] != 'L' && known[name] < 0))
      return refuse("`" + word + "` is not a size"); // padding (L) may be negative
  int64_t channels = 0;
  for (StringRef other : {"I", "O"})
    if (llvm::MulOverflow(known.lookup("G"), known.lookup(other), channels))
      return refuse("`" + values + "` has more channels than can be counted");
  names.clear();
  return true;
}

/// The sizes of operands and result by name, and the names in the order of the kernel's `sizes`.
bool Builder::shapes(SmallVectorImpl<SmallVector<StringRef>> &operands,
                     SmallVector<StringRef> &result, SmallVector<StringRef> &names) {
  auto ranks = [&](ArrayRef<size_t> wanted, size_t of) {
    bool fit = wanted.size() == key.operands.size() && key.result.rank == of;
    for (size_t i = 0; fit && i < wanted.size(); ++i)
      fit &= key.operands[i].rank == wanted[i];
    return fit || refuse("`" + key.op + "` has other ranks");
  };
  if (isReduction()) {
    names = {"A", "R", "B"};
    operands.push_back({"A", "R", "B"});
    result = {"A", "B"};
    return ranks({3}, 2);
  }
  if (key.op == "matmul") {
    names = {"G", "M", "N", "K"};
    operands.push_back({"G", "M", "K"});
    operands.push_back({"G", "K", "N"});
    result = {"G", "M", "N"};
    return ranks({3, 3}, 3);
  }
  if (key.op == "conv") {
    bool isSingle = attribute("outputs") == "1";
    StringRef sizes = attribute("sizes");
    // A kernel for any sizes has three spatial axes; one for known sizes has as many as the
    // operand.
    size_t spatial = sizes.empty() || key.operands.empty() ? 3 : key.operands[0].rank - 2;
    names = {"B", "I", "G"};
    if (!isSingle)
      names.push_back("O");
    operands.push_back({"B", "I*G"});
    operands.push_back({isSingle ? "G" : "G*O", "I"});
    result = {"B", isSingle ? "G" : "G*O"};
    static constexpr StringRef kAxes[] = {"H1 W1 P1 S1 D1 L1 N1", "H2 W2 P2 S2 D2 L2 N2",
                                          "H3 W3 P3 S3 D3 L3 N3"};
    if (spatial < 1 || spatial > 3)
      return refuse("`conv` has other ranks");
    for (StringRef axis : llvm::ArrayRef(kAxes).take_front(spatial)) {
      axis.split(names, ' ');
      operands[0].push_back(axis.substr(0, 2));
      operands[1].push_back(axis.substr(3, 2));
      result.push_back(axis.substr(6, 2));
    }
    return ranks({spatial + 2, spatial + 2}, spatial + 2) &&
           (sizes.empty() || readKnownSizes(sizes, names));
  }
  if (key.op == "fold") {
    names = {"A"};
    for (StringRef axis : {"W1 P1 H1 S1 D1", "W2 P2 H2 S2 D2", "W3 P3 H3 S3 D3"})
      axis.split(names, ' ');
    operands.push_back({"A", "W1", "W2", "W3", "P1", "P2", "P3"});
    result = {"A", "H1", "H2", "H3"};
    return ranks({7}, 4);
  }
  if (key.op == "take") {
    if (key.operands.size() == 2 && elementInfo(key.operands[1].element).kind != ElementClass::Int)
      return refuse("an index must be an integer");
    names = {"A", "N", "B", "I", kShownAxisSize};
    operands.push_back({"A", "N", "B"});
    operands.push_back({"I"});
    result = {"A", "I", "B"};
    return ranks({3, 1}, 3);
  }
  if (key.op == "scatter_add") {
    if (key.operands.size() == 3 && elementInfo(key.operands[1].element).kind != ElementClass::Int)
      return refuse("an index must be an integer");
    names = {"A", "N", "B", "I", kShownAxisSize};
    operands.push_back({"A", "N", "B"});
    operands.push_back({"I"});
    operands.push_back({"A", "I", "B"});
    result = {"A", "N", "B"};
    return ranks({3, 1, 3}, 3);
  }
  if (key.op == "iota") {
    names = result = {"N"};
    return ranks({}, 1);
  }
  static constexpr StringRef kNames[kMaxWalk] = {"A", "B", "C", "D"};
  size_t rank = key.result.rank;
  if (rank > kMaxWalk)
    return refuse("`" + key.op + "` has a rank above 4");
  names.assign(kNames, kNames + rank);
  result = names;
  for (const KeyOperand &operand : key.operands) {
    if (operand.rank != 0 && operand.rank != rank)
      return refuse("the ranks of operands and result differ");
    operands.push_back(operand.rank ? names : SmallVector<StringRef>());
  }
  return !key.operands.empty() || refuse("`" + key.op + "` needs operands");
}

SizeAttr Builder::size(StringRef text) {
  std::string number;
  if (!known.empty()) { // a name, or two multiplied
    auto [left, right] = text.split('*');
    number = std::to_string(known.lookup(left) * (right.empty() ? 1 : known.lookup(right)));
    text = number;
  }
  SizeTable &table = context->getOrLoadDialect<MxDialect>()->sizes();
  std::lock_guard guard(table.lock);
  return SizeAttr::get(context, *table.parse(text));
}
TensorType Builder::type(const KeyOperand &operand, ArrayRef<StringRef> sizes) {
  SmallVector<SizeAttr> attributes;
  for (StringRef text : sizes)
    attributes.push_back(size(text));
  return TensorType::get(context, elementToMlir(context, operand.element), attributes);
}

OwningOpRef<ModuleOp> Builder::build() {
  context->getOrLoadDialect<MxDialect>();
  SmallVector<SmallVector<StringRef>> operandSizes;
  SmallVector<StringRef> resultSizes, names;
  if (!read() || !shapes(operandSizes, resultSizes, names))
    return nullptr;
  for (auto &[name, value] : key.attributes)
    if (key.op != "conv" || (name != "sizes" && !(name == "outputs" && value == "1"))) {
      refuse("`" + key.op + "` has no attribute `" + name + "`");
      return nullptr;
    }
  std::optional<RegisteredOperationName> name =
      RegisteredOperationName::lookup(("mx." + key.op).str(), context);
  bool isElementwise = name && name->hasTrait<Elementwise>();
  if (!name ||
      !(isElementwise || isReduction() || key.op == "matmul" || key.op == "conv" ||
        key.op == "fold" || key.op == "take" || key.op == "scatter_add" || key.op == "iota")) {
    refuse("`" + key.op + "` has no kernel");
    return nullptr;
  }
  SmallVector<Type> types;
  SmallVector<bool> strided;
  for (auto [operand, sizes] : llvm::zip_equal(key.operands, operandSizes)) {
    types.push_back(type(operand, sizes));
    strided.push_back(operand.strided);
  }
  Type result = type(key.result, resultSizes);
  Location loc = UnknownLoc::get(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  OpBuilder b(context);
  b.setInsertionPointToStart(module->getBody());
  SmallVector<StringRef> sizeNames(names);
  OperationState function(loc, FuncOp::getOperationName());
  function.addAttribute(SymbolTable::getSymbolAttrName(), b.getStringAttr(text));
  function.addAttribute("function_type", TypeAttr::get(b.getFunctionType(types, result)));
  function.addAttribute("sizes", b.getStrArrayAttr(sizeNames));
  Block *body = &function.addRegion()->emplaceBlock();
  SmallVector<Location> locs(types.size(), loc);
  body->addArguments(types, locs);
  b.create(function);
  b.setInsertionPointToStart(body);
  auto kernel = KernelOp::create(b, loc, TypeRange(result), body->getArguments());
  kernel.setSizesAttr(b.getStrArrayAttr(sizeNames));
  if (llvm::is_contained(strided, true))
    kernel.setStridedAttr(b.getDenseBoolArrayAttr(strided));
  ReturnOp::create(b, loc, kernel.getResults());
  Block *inner = &kernel.getBody().emplaceBlock();
  inner->addArguments(types, locs);
  b.setInsertionPointToStart(inner);
  OperationState op(loc, *name);
  op.addOperands(inner->getArguments());
  op.addTypes(result);
  if (isReduction())
    op.addAttribute("axes", b.getDenseI64ArrayAttr({1}));
  auto each = [&](char letter) {
    SmallVector<Attribute> sizes;
    size_t spatial = key.op == "conv" ? key.operands[0].rank - 2 : 3;
    for (size_t axis = 0; axis < spatial; ++axis)
      sizes.push_back(size(std::string{letter, static_cast<char>('1' + axis)}));
    return b.getArrayAttr(sizes);
  };
  if (key.op == "conv" || key.op == "fold") {
    op.addAttribute("stride", each('S'));
    op.addAttribute("dilation", each('D'));
  }
  if (key.op == "conv") {
    op.addAttribute("padding_low", each('L'));
    op.addAttribute("lhs_dilation", each('N'));
    op.addAttribute("groups", size("G"));
  }
  if (key.op == "take" || key.op == "scatter_add") {
    op.addAttribute("axis", b.getI64IntegerAttr(1));
    op.addAttribute(kShownAxis, size(kShownAxisSize));
  }
  Operation *made = b.create(op);
  YieldOp::create(b, loc, made->getResults());
  kernel.classify();

  // The ops' verifiers decide what is valid; their diagnostics go into the error.
  std::string said;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (said.empty())
      said = diagnostic.str();
    return success();
  });
  if (failed(verify(*module))) {
    refuse(said.empty() ? "the op does not fit" : said);
    return nullptr;
  }
  if (StringRef why = whyNot(made); !why.empty()) {
    refuse("`" + key.op + "` " + why);
    return nullptr;
  }
  return module;
}

} // namespace

OwningOpRef<ModuleOp> buildEagerKernel(MLIRContext *context, StringRef key, std::string *error) {
  return Builder(context, key, error).build();
}

KernelOp kernelOf(ModuleOp module) {
  KernelOp found;
  module.walk([&](KernelOp kernel) { found = kernel; });
  return found;
}

} // namespace mx::lowering
