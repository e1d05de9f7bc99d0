// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of Differentiate: gradient rules of reductions, matmul, reshapes, indexing and copies.
#include "Graph/GradientRoutines.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace mx::graph {

/// The adjoint of a reduction over `axes`: broadcasts g to the shape of the reduced tensor.
Value Reverse::broadcastBack(Value g, ir::TensorType to, ArrayRef<int64_t> axes) {
  SmallVector<ir::SizeAttr> kept(to.getSizes());
  for (int64_t axis : axes)
    kept[static_cast<size_t>(axis)] = sizeOf(1);
  ir::TensorType type = to.withElement(typeOf(g).getElement());
  return make<ir::BroadcastOp>(type, shaped(g, type.withSizes(kept)));
}

/// The gradient of `prod`: multiplies the other elements. It does not divide, so it is exact to
/// any order where factors are 0.
void Reverse::productOf(ir::ProdOp op, Value g) {
  Value x = op.getX(), slope;
  ir::TensorType type = typeOf(x);
  // One axis after the other, on the result of the axes before.
  Value left = x;
  for (int64_t axis : op.getAxes()) {
    auto running = ir::RoutineOp::create(b, left.getType(), b.getStringAttr("cumprod"),
                                         ValueRange{left}, b.getI64IntegerAttr(axis));
    Value others = RoutineRules(*this, running, {}).others();
    slope = slope ? elementwise("mul", {slope, others}) : others;
    if (axis == op.getAxes().back())
      break;
    SmallVector<ir::SizeAttr> kept(typeOf(left).getSizes());
    kept[static_cast<size_t>(axis)] = sizeOf(1);
    left =
        make<ir::ProdOp>(type.withSizes(kept), left, b.getDenseI64ArrayAttr(axis), b.getUnitAttr());
  }
  Value broadcast = broadcastBack(g, type, op.getAxes());
  contribute(x, slope ? elementwise("mul", {broadcast, slope}) : broadcast);
}

void Reverse::extreme(Operation *op, Value g, ArrayRef<int64_t> axes, bool) {
  Value x = op->getOperand(0);
  ir::TensorType type = typeOf(x);
  Value best = broadcastBack(op->getResult(0), type, axes);
  Value chosen = make<ir::CastOp>(type, elementwise("eq", {x, best}, b.getI1Type()));
  Value count = sum(chosen, axes, /*keep=*/true);
  SmallVector<ir::SizeAttr> kept(type.getSizes());
  for (int64_t axis : axes)
    kept[static_cast<size_t>(axis)] = sizeOf(1);
  Value share = elementwise("div", {shaped(g, type.withSizes(kept)), count}, type.getElement());
  contribute(x, elementwise("mul", {chosen, share}));
}

void Reverse::matmul(ir::MatmulOp op, Value g) {
  Value x = op.getX(), y = op.getY();
  ir::TensorType xType = typeOf(x), yType = typeOf(y);
  if (xType.rank() == 1 && yType.rank() == 1) {
    if (isActive(x))
      contribute(x, elementwise("mul", {g, y}));
    if (isActive(y))
      contribute(y, elementwise("mul", {g, x}));
    return;
  }
  // Vectors as matrices: a row on the left, a column on the right.
  SmallVector<ir::SizeAttr> xs(xType.getSizes()), ys(yType.getSizes()), gs(typeOf(g).getSizes());
  if (xs.size() == 1) {
    xs.insert(xs.begin(), sizeOf(1));
    gs.insert(gs.end() - 1, sizeOf(1));
  }
  if (ys.size() == 1) {
    ys.push_back(sizeOf(1));
    gs.push_back(sizeOf(1));
  }
  Value xm = shaped(x, xType.withSizes(xs)), ym = shaped(y, yType.withSizes(ys));
  Value gm = shaped(g, typeOf(g).withSizes(gs));
  auto transposed = [&](Value v) {
    SmallVector<int64_t> order =
        llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(typeOf(v).rank())));
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    SmallVector<ir::SizeAttr> sizes(typeOf(v).getSizes());
    std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
    return make<ir::TransposeOp>(typeOf(v).withSizes(sizes), v, b.getDenseI64ArrayAttr(order));
  };
  auto times = [&](Value l, Value r) {
    ArrayRef<ir::SizeAttr> ls = typeOf(l).getSizes(), rs = typeOf(r).getSizes();
    SmallVector<ir::SizeAttr> sizes(ls.size() > rs.size() ? ls.drop_back(2) : rs.drop_back(2));
    ArrayRef<ir::SizeAttr> few = ls.size() > rs.size() ? rs.drop_back(2) : ls.drop_back(2);
    for (size_t back = 1; back <= few.size(); ++back)
      if (sizes[sizes.size() - back].constant() == 1)
        sizes[sizes.size() - back] = few[few.size() - back];
    sizes.push_back(ls[ls.size() - 2]);
    sizes.push_back(rs.back());
    return make<ir::MatmulOp>(typeOf(l).withSizes(sizes), l, r);
  };
  if (isActive(x))
    contribute(x, shaped(sumTo(times(gm, transposed(ym)), typeOf(xm)), xType));
  if (!isActive(y))
    return;
  // One right-hand matrix for a batch of left-hand matrices: the batch collapses into one matrix,
  // and the gradient is a single GEMM instead of a sum over the batch.
  if (ys.size() == 2 && xs.size() > 2) {
    ir::SizeAttr all = sizeOf(1);
    for (ir::SizeAttr size : ArrayRef(xs).drop_back())
      all = all.times(size);
    xm = shaped(xm, xType.withSizes({all, xs.back()}));
    gm = shaped(gm, typeOf(g).withSizes({all, gs.back()}));
  }
  contribute(y, shaped(sumTo(times(transposed(xm), gm), typeOf(ym)), yType));
}

void Reverse::concat(ir::ConcatOp op, Value g) {
  ir::SizeAttr at = sizeOf(0);
  auto axis = static_cast<size_t>(op.getAxis());
  Type whole = ir::TensorType::host(b.getI64Type());
  SmallVector<StringRef> spec(typeOf(g).rank(), ":");
  spec[axis] = "rft";
  for (Value part : op.getParts()) {
    ir::SizeAttr end = at.plus(typeOf(part).getSizes()[axis]);
    if (isActive(part))
      contribute(part, make<ir::SliceOp>(
                           typeOf(part), g,
                           ValueRange{make<ir::SizeOp>(whole, at), make<ir::SizeOp>(whole, end)},
                           b.getStrArrayAttr(spec)));
    at = end;
  }
}

/// The adjoint that a slice of x accumulates into. If x is a field of an aggregate it is that of
/// the field, so that all reads of a model's table accumulate into one tensor. A field from outside
/// of `block` has its own adjoint there.
Adjoint &Reverse::adjointOf(Value x, Block *block) {
  auto get = x.getDefiningOp<ir::GetOp>();
  if (!get || get->getBlock() != block || !isActive(get.getAggregate()))
    return adjoints[x];
  Adjoint &aggregate = adjointOf(get.getAggregate(), block);
  aggregate.parts.resize(std::max<size_t>(aggregate.parts.size(), get.getPart() + 1));
  return aggregate.parts[get.getPart()];
}

/// Scatter-adds into the adjoint of x at the indices that were taken, in place: in a loop the cost
/// is that of the slice, not of the whole tensor.
void Reverse::takeBack(ir::TakeOp op, Value g) {
  if (!isActive(op.getX()))
    return;
  auto type = cast<ir::TensorType>(adjointType(op.getX().getType()));
  Adjoint &sum = adjointOf(op.getX(), op->getBlock());
  Value into = sum.value ? sum.value : zeros(type);
  sum.value = make<ir::ScatterAddOp>(type, into, onDevice(op.getIndex()), g, op.getAxis());
}

void Reverse::sliceBack(ir::SliceOp op, Value g) {
  if (!isActive(op.getX()))
    return;
  auto type = cast<ir::TensorType>(adjointType(op.getX().getType()));
  Adjoint &sum = adjoints[op.getX()];
  Value into = sum.value;
  if (into && wrongRule != "sum")
    g = elementwise("add", {make<ir::SliceOp>(typeOf(g), into, op.getAt(), op.getSpec()), g});
  else if (!into)
    into = zeros(type);
  sum.value = make<ir::UpdateOp>(type, into, g, op.getAt(), op.getSpec());
}

/// The value's gradient is read before its region becomes 0. The update can then run in place on
/// `g`; in a loop the cost is that of the slice.
void Reverse::update(ir::UpdateOp op, Value g) {
  if (isActive(op.getValue()))
    updateValue(op, g);
  if (isActive(op.getX()))
    contribute(op.getX(),
               make<ir::UpdateOp>(typeOf(g), g, onDevice(number(g, 0)), op.getAt(), op.getSpec()));
}

void Reverse::updateValue(ir::UpdateOp op, Value g) {
  Value value = op.getValue();
  ArrayRef<ir::SizeAttr> given = typeOf(value).getSizes();
  std::optional<SmallVector<ir::SpecEntry>> spec = ir::readSpec(op.getSpec());
  size_t kept = llvm::count_if(
      *spec, [](const ir::SpecEntry &entry) { return entry.kind != ir::SpecEntry::Index; });
  // The shape of the slice: whole axes unchanged, ranges as long as the value. A value without such
  // an axis is broadcast over the range; there the whole axis is taken, with zeros outside.
  SmallVector<ir::SizeAttr> sizes;
  SmallVector<StringRef> words;
  SmallVector<Value> at;
  bool isBroadcast = false;
  size_t axis = 0;
  ValueRange rest = op.getAt();
  for (auto [entry, word] : llvm::zip_equal(*spec, op.getSpec().getAsValueRange<StringAttr>())) {
    ir::SizeAttr whole = entry.kind == ir::SpecEntry::New ? sizeOf(1) : typeOf(g).getSizes()[axis];
    axis += entry.kind == ir::SpecEntry::New ? 0 : 1;
    size_t count = entry.kind == ir::SpecEntry::Index
                       ? 1
                       : size_t(entry.from) + size_t(entry.to) + size_t(entry.step);
    ValueRange own = rest.take_front(count);
    rest = rest.drop_front(count);
    words.push_back(word);
    if (entry.kind != ir::SpecEntry::Index) {
      size_t back = kept - sizes.size();
      if (entry.kind == ir::SpecEntry::Range && back <= given.size()) {
        whole = given[given.size() - back];
      } else if (entry.kind == ir::SpecEntry::Range) {
        isBroadcast = true;
        words.back() = ":";
        own = {};
      }
      sizes.push_back(whole);
    }
    llvm::append_range(at, own);
  }
  if (isBroadcast) {
    ir::TensorType flags = typeOf(g).withElement(b.getI1Type());
    Value on = make<ir::ToDeviceOp>(
        ir::TensorType::get(b.getContext(), b.getI1Type(), ArrayRef<ir::SizeAttr>()),
        make<ir::ConstantOp>(ir::TensorType::host(b.getI1Type()), b.getBoolAttr(true)));
    Value mask = make<ir::UpdateOp>(flags, zeros(flags), on, op.getAt(), op.getSpec());
    g = elementwise("select", {mask, g, number(g, 0)});
  }
  contribute(value, make<ir::SliceOp>(typeOf(g).withSizes(sizes), g, at, b.getStrArrayAttr(words)));
}

void Reverse::tensorRule(Operation *op, Value g, bool &handled) {
  handled = true;
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ir::SumOp sum) {
        contribute(sum.getX(), broadcastBack(g, typeOf(sum.getX()), sum.getAxes()));
      })
      .Case([&](ir::ProdOp prod) { productOf(prod, g); })
      .Case([&](ir::MaxOp max) { extreme(op, g, max.getAxes(), max.getKeep()); })
      .Case([&](ir::MinOp min) { extreme(op, g, min.getAxes(), min.getKeep()); })
      .Case([&](ir::MatmulOp of) { matmul(of, g); })
      .Case([&](ir::ConvOp conv) { convolution(conv, g); })
      .Case([&](ir::WindowsOp of) {
        contribute(of.getX(),
                   make<ir::FoldOp>(typeOf(of.getX()), g, of.getStride(), of.getDilation()));
      })
      .Case([&](ir::FoldOp of) {
        contribute(of.getX(),
                   make<ir::WindowsOp>(typeOf(of.getX()), g, of.getStride(), of.getDilation()));
      })
      .Case([&](ir::ReshapeOp reshape) {
        contribute(reshape.getX(), make<ir::ReshapeOp>(typeOf(reshape.getX()), g));
      })
      .Case([&](ir::TransposeOp transpose) {
        SmallVector<int64_t> back(transpose.getOrder().size());
        for (auto [i, axis] : llvm::enumerate(transpose.getOrder()))
          back[static_cast<size_t>(axis)] = static_cast<int64_t>(i);
        contribute(transpose.getX(), make<ir::TransposeOp>(typeOf(transpose.getX()), g,
                                                           b.getDenseI64ArrayAttr(back)));
      })
      .Case([&](ir::BroadcastOp broadcast) { contribute(broadcast.getX(), g); })
      .Case([&](ir::ConcatOp join) { concat(join, g); })
      .Case([&](ir::SliceOp slice) { sliceBack(slice, g); })
      .Case([&](ir::UpdateOp part) { update(part, g); })
      .Case([&](ir::TakeOp part) { takeBack(part, g); })
      .Case([&](ir::ScatterAddOp scatter) {
        contribute(scatter.getX(), g);
        if (isActive(scatter.getY()))
          contribute(scatter.getY(), make<ir::TakeOp>(typeOf(scatter.getY()), g, scatter.getIndex(),
                                                      scatter.getAxis()));
      })
      .Case([&](ir::FullOp full) {
        contribute(
            full.getValue(),
            sum(g, llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(typeOf(g).rank()))),
                /*keep=*/false));
      })
      .Case<ir::ToDeviceOp, ir::ReadOp>([&](Operation *) { contribute(op->getOperand(0), g); })
      .Default([&](Operation *) { handled = false; });
}

} // namespace mx::graph
