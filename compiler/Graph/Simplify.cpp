// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Simplify: bit-exact algebraic simplification (greedy rewrite patterns). Passes.td has the list.
#include "Graph/Passes.h"
#include "Graph/SimplifyRegions.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace mx::graph {

#define GEN_PASS_DEF_SIMPLIFY
#include "Graph/Passes.h.inc"

namespace {

/// The constant that all elements of `value` equal, if that is known.
Attribute uniform(Value value) {
  for (;;) {
    if (auto broadcast = value.getDefiningOp<ir::BroadcastOp>())
      value = broadcast.getX();
    else if (auto reshape = value.getDefiningOp<ir::ReshapeOp>())
      value = reshape.getX();
    else if (auto full = value.getDefiningOp<ir::FullOp>())
      value = full.getValue();
    else
      break;
  }
  auto constant = value.getDefiningOp<ir::ConstantOp>();
  if (!constant)
    return {};
  if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
    return splat.getSplatValue<Attribute>();
  return constant.getValue();
}
bool isInt(Attribute value, uint64_t number) {
  auto integer = dyn_cast_or_null<IntegerAttr>(value);
  return integer && integer.getValue() == number;
}
bool isFloat(Attribute value, double number) {
  auto real = dyn_cast_or_null<FloatAttr>(value);
  if (!real)
    return false;
  APFloat wanted(number);
  bool lost = false;
  wanted.convert(real.getValue().getSemantics(), APFloat::rmNearestTiesToEven, &lost);
  return real.getValue().bitwiseIsEqual(wanted);
}

/// Whether `value` is a neutral element of `op` at this operand: `op` returns its other operand.
bool isNeutral(Operation *op, unsigned operand, Attribute value) {
  bool right = operand == 1;
  if (isa<ir::MulOp>(op))
    return isInt(value, 1) || isFloat(value, 1.0);
  if (isa<ir::AddOp>(op))
    return isInt(value, 0) || isFloat(value, -0.0);
  if (isa<ir::SubOp>(op))
    return right && (isInt(value, 0) || isFloat(value, 0.0));
  if (isa<ir::DivOp>(op))
    return right && isFloat(value, 1.0);
  if (isa<ir::FloorDivOp>(op))
    return right && isInt(value, 1);
  if (isa<ir::AndOp>(op))
    return isInt(value, 1);
  if (isa<ir::OrOp, ir::BitOrOp, ir::BitXorOp>(op))
    return isInt(value, 0);
  if (isa<ir::ShiftLeftOp, ir::ShiftRightOp>(op))
    return right && isInt(value, 0);
  return false;
}

struct NeutralOperand : RewritePattern {
  explicit NeutralOperand(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!op->hasTrait<ir::Elementwise>() || op->getNumOperands() != 2)
      return failure();
    for (unsigned i = 0; i < 2; ++i) {
      Value other = op->getOperand(1 - i);
      if (other.getType() == op->getResult(0).getType() &&
          isNeutral(op, i, uniform(op->getOperand(i)))) {
        rewriter.replaceOp(op, other);
        return success();
      }
    }
    return failure();
  }
};

/// An op that is its own inverse: -(-x).
template <class Op> struct Involution : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    auto inner = op.getX().template getDefiningOp<Op>();
    if (!inner || inner.getX().getType() != op.getType())
      return failure();
    rewriter.replaceOp(op, inner.getX());
    return success();
  }
};

/// The number of bits of integers, from 0 on, that a type represents exactly.
unsigned exactBits(Type type) {
  if (auto real = dyn_cast<FloatType>(type))
    return real.getFPMantissaWidth();
  auto integer = cast<IntegerType>(type);
  bool sign = !integer.isUnsigned() && integer.getWidth() > 1; // bool is 0 or 1
  return integer.getWidth() - sign;
}
/// Whether every value of `from` is representable in `to`.
bool holds(Type to, Type from) {
  if (to == from)
    return true;
  if (isa<FloatType>(from)) {
    auto semantics = [](Type type) -> const llvm::fltSemantics & {
      return cast<FloatType>(type).getFloatSemantics();
    };
    return isa<FloatType>(to) && exactBits(to) >= exactBits(from) &&
           APFloat::semanticsMaxExponent(semantics(to)) >=
               APFloat::semanticsMaxExponent(semantics(from)) &&
           APFloat::semanticsMinExponent(semantics(to)) <=
               APFloat::semanticsMinExponent(semantics(from));
  }
  if (ir::isBoolElement(to) || exactBits(to) < exactBits(from))
    return false;
  return !to.isUnsignedInteger() || from.isUnsignedInteger() || ir::isBoolElement(from);
}

struct CastOfCast : OpRewritePattern<ir::CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::CastOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<ir::CastOp>();
    if (!inner)
      return failure();
    Type from = inner.getX().getType().getElement(), to = op.getType().getElement();
    Type through = inner.getType().getElement();
    if (inner.getX().getType().withElement(to) != op.getType() || !holds(through, from))
      return failure();
    // Float-to-integer casts saturate, integer casts wrap. For bool, the last cast defines the
    // result.
    bool changesRule = isa<FloatType>(through) != isa<FloatType>(from) && isa<IntegerType>(to);
    if ((changesRule || ir::isBoolElement(to)) && !holds(to, from))
      return failure();
    if (from == to)
      rewriter.replaceOp(op, inner.getX());
    else
      rewriter.replaceOpWithNewOp<ir::CastOp>(op, op.getType(), inner.getX());
    return success();
  }
};

struct EqualSides : OpRewritePattern<ir::SelectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::SelectOp op, PatternRewriter &rewriter) const override {
    if (op.getX() != op.getY() || op.getX().getType() != op.getType())
      return failure();
    rewriter.replaceOp(op, op.getX());
    return success();
  }
};

struct TransposeOfTranspose : OpRewritePattern<ir::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::TransposeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<ir::TransposeOp>();
    if (!inner)
      return failure();
    SmallVector<int64_t> order;
    for (int64_t axis : op.getOrder())
      order.push_back(inner.getOrder()[axis]);
    rewriter.replaceOpWithNewOp<ir::TransposeOp>(op, op.getType(), inner.getX(), order);
    return success();
  }
};

struct BroadcastOfBroadcast : OpRewritePattern<ir::BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::BroadcastOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<ir::BroadcastOp>();
    if (!inner)
      return failure();
    rewriter.replaceOpWithNewOp<ir::BroadcastOp>(op, op.getType(), inner.getX());
    return success();
  }
};

/// A reduction that drops axes, followed by a reshape that restores them with size 1: keeps the
/// axes instead.
struct KeptAxes : OpRewritePattern<ir::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::ReshapeOp op, PatternRewriter &rewriter) const override {
    Operation *inner = op.getX().getDefiningOp();
    if (!inner || !inner->hasTrait<ir::Reduction>() || inner->hasAttr("keep") ||
        !inner->hasOneUse())
      return failure();
    auto axes = inner->getAttrOfType<DenseI64ArrayAttr>("axes").asArrayRef();
    auto x = cast<ir::TensorType>(inner->getOperand(0).getType()).getSizes();
    if (op.getType().rank() != x.size())
      return failure();
    for (auto [axis, size] : llvm::enumerate(op.getType().getSizes()))
      if (llvm::is_contained(axes, static_cast<int64_t>(axis)) ? size.constant() != 1
                                                               : size != x[axis])
        return failure();
    OperationState state(inner->getLoc(), inner->getName(), inner->getOperands(), op.getType(),
                         inner->getAttrs());
    state.addAttribute("keep", rewriter.getUnitAttr());
    rewriter.replaceOp(op, rewriter.create(state));
    return success();
  }
};

struct ThereAndBack : OpRewritePattern<ir::ToDeviceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::ToDeviceOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<ir::ToDeviceOp>();
    if (!inner || inner.getX().getType() != op.getType())
      return failure();
    rewriter.replaceOp(op, inner.getX());
    return success();
  }
};

/// Casts a scalar on the host, and copies it afterwards.
struct CastOfCopy : OpRewritePattern<ir::CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::CastOp op, PatternRewriter &rewriter) const override {
    auto copy = op.getX().getDefiningOp<ir::ToDeviceOp>();
    if (!copy || !copy.getX().getType().isHost())
      return failure();
    ir::TensorType type = op.getType();
    Value number = ir::CastOp::create(rewriter, op.getLoc(), type.onDevice("host"), copy.getX());
    rewriter.replaceOpWithNewOp<ir::ToDeviceOp>(op, type, number);
    return success();
  }
};

/// Ops take host scalars as operands, so these need no copy on the device.
struct CopiedNumber : RewritePattern {
  explicit CopiedNumber(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!op->hasTrait<ir::Elementwise>() && !isa<ir::FullOp>(op))
      return failure();
    auto original = [](Value value) {
      auto copy = value.getDefiningOp<ir::ToDeviceOp>();
      return copy && copy.getX().getType().isHost() ? copy.getX() : Value();
    };
    // A device result needs at least one device operand.
    if (!isa<ir::FullOp>(op) && llvm::all_of(op->getOperands(), [&](Value value) {
          return original(value) || cast<ir::TensorType>(value.getType()).isHost();
        }))
      return failure();
    bool changed = false;
    for (OpOperand &operand : op->getOpOperands())
      if (Value number = original(operand.get())) {
        rewriter.modifyOpInPlace(op, [&] { operand.set(number); });
        changed = true;
      }
    return success(changed);
  }
};

struct WholeSlice : OpRewritePattern<ir::SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::SliceOp op, PatternRewriter &rewriter) const override {
    if (op.getX().getType() != op.getType() || !op.getAt().empty())
      return failure();
    for (Attribute entry : op.getSpec())
      if (StringRef text = cast<StringAttr>(entry).getValue(); text != ":" && text != "r")
        return failure();
    rewriter.replaceOp(op, op.getX());
    return success();
  }
};

/// The single constant in-bounds index of a spec, if all other entries take whole axes.
struct Entry {
  size_t axis;
  int64_t number;
  bool operator==(const Entry &) const = default;
};
std::optional<Entry> entryOf(ArrayAttr spec, ValueRange at, ir::TensorType x) {
  std::optional<Entry> found;
  for (auto [axis, part] : llvm::enumerate(spec.getAsRange<StringAttr>())) {
    if (part == ":")
      continue;
    if (part != "i" || found || at.size() != 1)
      return std::nullopt;
    auto constant = at[0].getDefiningOp<ir::ConstantOp>();
    auto number = constant ? dyn_cast<IntegerAttr>(constant.getValue()) : IntegerAttr();
    std::optional<int64_t> size = x.getSizes()[axis].constant();
    if (!number || !size)
      return std::nullopt;
    int64_t value = number.getValue().getSExtValue();
    value += value < 0 ? *size : 0;
    if (value < 0 || value >= *size)
      return std::nullopt; // a run-time error
    found = Entry{axis, value};
  }
  return found;
}

/// Store-to-load forwarding: an entry of an updated tensor is the stored value, or an entry of the
/// tensor before. This removes the stack of an unrolled loop.
struct SliceOfUpdate : OpRewritePattern<ir::SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::SliceOp op, PatternRewriter &rewriter) const override {
    std::optional<Entry> wanted = entryOf(op.getSpec(), op.getAt(), op.getX().getType());
    if (!wanted)
      return failure();
    Value x = op.getX();
    while (auto update = x.getDefiningOp<ir::UpdateOp>()) {
      std::optional<Entry> changed =
          entryOf(update.getSpec(), update.getAt(), update.getX().getType());
      if (!changed || changed->axis != wanted->axis)
        break;
      if (changed == wanted) {
        if (update.getValue().getType() != op.getType())
          break;
        rewriter.replaceOp(op, update.getValue());
        return success();
      }
      x = update.getX();
    }
    if (x == op.getX())
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.getXMutable().assign(x); });
    return success();
  }
};

struct Simplify : impl::SimplifyBase<Simplify> {
  using Base::Base;

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    patterns
        .add<NeutralOperand, Involution<ir::NegOp>, Involution<ir::NotOp>, Involution<ir::BitNotOp>,
             CastOfCast, EqualSides, TransposeOfTranspose, BroadcastOfBroadcast, KeptAxes,
             ThereAndBack, CastOfCopy, CopiedNumber, WholeSlice, SliceOfUpdate>(context);
    addRegionPatterns(patterns);
    addPartPatterns(patterns);
    addTablePatterns(patterns);
    GreedyRewriteConfig config;
    // Constant CSE would lose source locations here; the CSE pass merges constants later.
    config.enableConstantCSE(false).setRegionSimplificationLevel(
        GreedySimplifyRegionLevel::Disabled);
    (void)applyPatternsGreedily(getOperation(), std::move(patterns), config);
  }
};

} // namespace
} // namespace mx::graph
