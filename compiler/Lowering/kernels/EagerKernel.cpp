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

constexpr size_t kMaxRank = 7; ///< of any operand
constexpr size_t kMaxOperands = 8;
constexpr size_t kMaxSpatial = 3;

/// A row of mxrt/eager.def.
struct Signature {
  StringRef op;               ///< "": of all reductions
  StringRef operands, result; ///< `x[A R B]`; `A B`
  StringRef sizes, axisSizes; ///< `A, R, B`, perhaps in parentheses
};
constexpr llvm::StringLiteral kElementwiseAxes =
#define MXRT_EAGER_KERNEL(...)
#define MXRT_EAGER_SPATIAL(...)
#define MXRT_EAGER_ELEMENTWISE(...) #__VA_ARGS__;
#include "mxrt/eager.def"
constexpr Signature kSignatures[] = {
#define MXRT_EAGER_KERNEL(form, op, operands, result, ...) {op, operands, result, #__VA_ARGS__, ""},
#define MXRT_EAGER_SPATIAL(form, op, operands, result, own, spatial)                               \
  {op, operands, result, #own, #spatial},
#define MXRT_EAGER_ELEMENTWISE(...)
#include "mxrt/eager.def"
};

/// The names in a list of the table.
SmallVector<StringRef> namesIn(StringRef list) {
  SmallVector<StringRef> out;
  llvm::SplitString(list, out, "(), ");
  return out;
}

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
  bool readKnownSizes(StringRef values);
  bool findSignature();
  /// The sizes of operands and result by name, and the names in the order of the kernel's `sizes`.
  bool shapes();
  bool shapesOfElementwise();
  void readAxes(StringRef axes, SmallVectorImpl<std::string> &out);
  StringRef attribute(StringRef name) const {
    for (auto &[known, value] : key.attributes)
      if (known == name)
        return value;
    return {};
  }
  SizeAttr size(StringRef text);
  TensorType type(const KeyOperand &operand, ArrayRef<std::string> sizes);
  void addAttributes(OperationState &op, OpBuilder &b);

  std::optional<RegisteredOperationName> op;
  const Signature *signature = nullptr; ///< null: elementwise
  size_t spatial = 0;                   ///< spatial axes
  SmallVector<SmallVector<std::string>> operands;
  SmallVector<std::string> result, names;
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
bool Builder::readKnownSizes(StringRef values) {
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

/// The row of the op and its attributes: `conv(outputs=1)`, or `conv`, which is known for any.
bool Builder::findSignature() {
  op = RegisteredOperationName::lookup(("mx." + key.op).str(), context);
  if (!op)
    return refuse("`" + key.op + "` has no kernel");
  size_t used = 0;
  for (const Signature &row : kSignatures) {
    auto [name, text] = row.op.split('(');
    if (name.empty() ? !op->hasTrait<Reduction>() : name != key.op)
      continue;
    SmallVector<StringRef> attributes = namesIn(text);
    if (!llvm::all_of(attributes, [&](StringRef each) {
          auto [left, right] = each.split('=');
          return attribute(left) == right;
        }))
      continue;
    if (!signature || !attributes.empty()) {
      signature = &row;
      used = attributes.size();
    }
  }
  if (!signature && !op->hasTrait<Elementwise>())
    return refuse("`" + key.op + "` has no kernel");
  bool mayKnowSizes = signature && !signature->axisSizes.empty() && !attribute("sizes").empty();
  if (used + mayKnowSizes == key.attributes.size())
    return true;
  for (auto &[name, value] : key.attributes)
    if (!(mayKnowSizes && name == "sizes") &&
        !(used && signature->op.contains((name + "=" + value).str())))
      return refuse("`" + key.op + "` has no attribute `" + name + "`");
  return refuse("`" + key.op + "` has an attribute twice");
}

/// `A I*G H#`: of a spatial axis, one for each.
void Builder::readAxes(StringRef axes, SmallVectorImpl<std::string> &out) {
  for (StringRef axis : namesIn(axes)) {
    if (!axis.consume_back("#")) {
      out.push_back(axis.str());
      continue;
    }
    for (size_t i = 1; i <= spatial; ++i)
      out.push_back(axis.str() + std::to_string(i));
  }
}

bool Builder::shapesOfElementwise() {
  SmallVector<StringRef> axes = namesIn(kElementwiseAxes);
  size_t rank = key.result.rank;
  if (rank > axes.size())
    return refuse("`" + key.op + "` has a rank above " + Twine(axes.size()));
  for (StringRef axis : llvm::ArrayRef(axes).take_front(rank))
    names.push_back(axis.str());
  result = names;
  for (const KeyOperand &operand : key.operands) {
    if (operand.rank != 0 && operand.rank != rank)
      return refuse("the ranks of operands and result differ");
    operands.push_back(operand.rank ? names : SmallVector<std::string>());
  }
  return !key.operands.empty() || refuse("`" + key.op + "` needs operands");
}

bool Builder::shapes() {
  if (!signature)
    return shapesOfElementwise();
  StringRef sizes = attribute("sizes");
  if (!signature->axisSizes.empty()) {
    // A kernel for any sizes has three spatial axes; one for known sizes has those of its operand.
    SmallVector<StringRef> axes = namesIn(signature->operands.split(']').first.split('[').second);
    size_t each = llvm::count_if(axes, [](StringRef axis) { return axis.ends_with("#"); });
    size_t others = axes.size() - each, rank = key.operands.empty() ? 0 : key.operands[0].rank;
    spatial = sizes.empty() ? kMaxSpatial : rank < others ? 0 : (rank - others) / each;
    if (spatial < 1 || spatial > kMaxSpatial)
      return refuse("`" + key.op + "` has other ranks");
  }
  readAxes(signature->sizes, names);
  for (size_t i = 1; i <= spatial; ++i)
    for (StringRef each : namesIn(signature->axisSizes))
      names.push_back(each.str() + std::to_string(i));
  readAxes(signature->result, result);
  bool fits = key.result.rank == result.size();
  for (StringRef rest = signature->operands; !rest.empty();) {
    auto [name, axes] = rest.split('[');
    std::tie(axes, rest) = axes.split(']');
    size_t index = operands.size();
    readAxes(axes, operands.emplace_back());
    if (index >= key.operands.size() || key.operands[index].rank != operands.back().size()) {
      fits = false;
      continue;
    }
    if (name.trim() == "index" &&
        elementInfo(key.operands[index].element).kind != ElementClass::Int)
      return refuse("an index must be an integer");
  }
  if (!fits || operands.size() != key.operands.size())
    return refuse("`" + key.op + "` has other ranks");
  return sizes.empty() || readKnownSizes(sizes);
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
TensorType Builder::type(const KeyOperand &operand, ArrayRef<std::string> sizes) {
  SmallVector<SizeAttr> attributes;
  for (const std::string &text : sizes)
    attributes.push_back(size(text));
  return TensorType::get(context, elementToMlir(context, operand.element), attributes);
}

/// What mx ops take as attributes: sizes of the signature by name, and axes.
void Builder::addAttributes(OperationState &op, OpBuilder &b) {
  StringRef name = key.op;
  if (signature && signature->op.empty())
    op.addAttribute("axes", b.getDenseI64ArrayAttr({1}));
  auto each = [&](char letter) {
    SmallVector<Attribute> sizes;
    for (size_t axis = 1; axis <= spatial; ++axis)
      sizes.push_back(size(letter + std::to_string(axis)));
    return b.getArrayAttr(sizes);
  };
  if (spatial > 0) {
    op.addAttribute("stride", each('S'));
    op.addAttribute("dilation", each('D'));
  }
  if (name == "conv") {
    op.addAttribute("padding_low", each('L'));
    op.addAttribute("lhs_dilation", each('N'));
    op.addAttribute("groups", size("G"));
  }
  if (name == "take" || name == "scatter_add") {
    op.addAttribute("axis", b.getI64IntegerAttr(1));
    op.addAttribute(kShownAxis, size("X"));
  }
}

OwningOpRef<ModuleOp> Builder::build() {
  context->getOrLoadDialect<MxDialect>();
  if (!read() || !findSignature() || !shapes())
    return nullptr;
  SmallVector<Type> types;
  SmallVector<bool> strided;
  for (auto [operand, sizes] : llvm::zip_equal(key.operands, operands)) {
    types.push_back(type(operand, sizes));
    strided.push_back(operand.strided);
  }
  Type resultType = type(key.result, result);
  Location loc = UnknownLoc::get(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  OpBuilder b(context);
  b.setInsertionPointToStart(module->getBody());
  SmallVector<StringRef> sizeNames(names.begin(), names.end());
  OperationState function(loc, FuncOp::getOperationName());
  function.addAttribute(SymbolTable::getSymbolAttrName(), b.getStringAttr(text));
  function.addAttribute("function_type", TypeAttr::get(b.getFunctionType(types, resultType)));
  function.addAttribute("sizes", b.getStrArrayAttr(sizeNames));
  Block *body = &function.addRegion()->emplaceBlock();
  SmallVector<Location> locs(types.size(), loc);
  body->addArguments(types, locs);
  b.create(function);
  b.setInsertionPointToStart(body);
  auto kernel = KernelOp::create(b, loc, TypeRange(resultType), body->getArguments());
  kernel.setSizesAttr(b.getStrArrayAttr(sizeNames));
  if (llvm::is_contained(strided, true))
    kernel.setStridedAttr(b.getDenseBoolArrayAttr(strided));
  ReturnOp::create(b, loc, kernel.getResults());
  Block *inner = &kernel.getBody().emplaceBlock();
  inner->addArguments(types, locs);
  b.setInsertionPointToStart(inner);
  OperationState state(loc, *op);
  state.addOperands(inner->getArguments());
  state.addTypes(resultType);
  addAttributes(state, b);
  Operation *made = b.create(state);
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
