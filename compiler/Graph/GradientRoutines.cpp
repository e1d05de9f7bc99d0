// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradient rules of library routines: scans, scatters, factorisations, solvers, eigenvectors. Those
// of `cumprod`, factorisations, eigenvectors and singular vectors are exact also where an element
// is 0. Vectors of equal eigenvalues or singular values have no gradient, and get infinities or
// NaN.
#include "Graph/GradientRoutines.h"

using namespace mlir;

namespace mx::graph {

// ---------------------------------------------------------------------------------------- parts

Value RoutineRules::op2(StringRef name, Value x, Value y) {
  return r.elementwise(name, {x, y}, r.typeOf(x).getElement());
}

Value RoutineRules::call(StringRef kind, ArrayRef<Value> inputs, ir::TensorType type) {
  return r.make<ir::RoutineOp>(type, r.b.getStringAttr(kind), inputs,
                               r.b.getI64IntegerAttr(op.getAxis()));
}

/// Reverses x along the routine's axis.
Value RoutineRules::flip(Value x) {
  SmallVector<StringRef> spec(r.typeOf(x).rank(), ":");
  spec[static_cast<size_t>(op.getAxis())] = "rs";
  return r.make<ir::SliceOp>(r.typeOf(x), x, ValueRange{r.wholeNumber(-1)},
                             r.b.getStrArrayAttr(spec));
}

Value RoutineRules::counted(ir::SizeAttr count) {
  return r.make<ir::IotaOp>(
      ir::TensorType::get(r.b.getContext(), r.b.getI64Type(), ArrayRef<ir::SizeAttr>(count)));
}

/// Shifts each element by one position along the axis. Works for size 0 too, so it does not use
/// slices.
Value RoutineRules::shifted(Value x, double first) {
  ir::TensorType type = r.typeOf(x);
  auto axis = static_cast<size_t>(op.getAxis());
  Value positions = counted(type.getSizes()[axis]);
  Value before = op2("maximum", op2("sub", positions, r.wholeNumber(1)), r.wholeNumber(0));
  Value moved = r.make<ir::TakeOp>(type, x, before, r.b.getI64IntegerAttr(op.getAxis()));
  SmallVector<ir::SizeAttr> sizes(type.rank(), r.sizeOf(1));
  sizes[axis] = type.getSizes()[axis];
  Value along = r.make<ir::ReshapeOp>(r.typeOf(positions).withSizes(sizes), positions);
  Value isFirst = r.elementwise("eq", {along, r.wholeNumber(0)}, r.b.getI1Type());
  return r.elementwise("select", {isFirst, r.number(x, first), moved});
}

Value RoutineRules::take(Value x, Value index) {
  SmallVector<ir::SizeAttr> sizes(r.typeOf(x).getSizes());
  sizes[0] = r.typeOf(index).getSizes()[0];
  return r.make<ir::TakeOp>(r.typeOf(x).withSizes(sizes), x, index, r.b.getI64IntegerAttr(0));
}

Value RoutineRules::transposed(Value x) {
  SmallVector<int64_t> order =
      llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(r.typeOf(x).rank())));
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  SmallVector<ir::SizeAttr> sizes(r.typeOf(x).getSizes());
  std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
  return r.make<ir::TransposeOp>(r.typeOf(x).withSizes(sizes), x, r.b.getDenseI64ArrayAttr(order));
}

Value RoutineRules::times(Value x, Value y) {
  SmallVector<ir::SizeAttr> sizes(r.typeOf(x).getSizes());
  sizes.back() = r.typeOf(y).getSizes().back();
  return r.make<ir::MatmulOp>(r.typeOf(x).withSizes(sizes), x, y);
}

/// Unpacks one of several results from the last axis.
Value RoutineRules::part(Value packed, ir::SizeAttr from, ir::SizeAttr to,
                         ArrayRef<ir::SizeAttr> sizes) {
  ir::TensorType type = r.typeOf(packed);
  SmallVector<StringRef> spec(type.rank(), ":");
  spec.back() = "rft";
  Type whole = ir::TensorType::host(r.b.getI64Type());
  SmallVector<ir::SizeAttr> flat(type.getSizes());
  flat.back() = r.product(sizes.drop_front(type.rank() - 1));
  Value ends[] = {r.make<ir::SizeOp>(whole, from), r.make<ir::SizeOp>(whole, to)};
  Value piece = r.make<ir::SliceOp>(type.withSizes(flat), packed, ends, r.b.getStrArrayAttr(spec));
  return r.make<ir::ReshapeOp>(type.withSizes(sizes), piece);
}

/// Triangular mask: 0 where not `row relation column`.
Value RoutineRules::half(Value x, StringRef relation) {
  ArrayRef<ir::SizeAttr> sizes = r.typeOf(x).getSizes();
  ir::SizeAttr n = sizes.back();
  Value columns = counted(n), rows = counted(sizes[sizes.size() - 2]);
  rows =
      r.make<ir::ReshapeOp>(r.typeOf(rows).withSizes({sizes[sizes.size() - 2], r.sizeOf(1)}), rows);
  Value mask = r.elementwise(relation, {rows, columns}, r.b.getI1Type());
  return r.elementwise("select", {mask, x, r.number(x, 0)});
}

/// Vectors [.., n] as [.., n, 1] or [.., 1, n].
Value RoutineRules::column(Value x, bool asRow) {
  SmallVector<ir::SizeAttr> sizes(r.typeOf(x).getSizes());
  sizes.insert(asRow ? sizes.end() - 1 : sizes.end(), r.sizeOf(1));
  return r.make<ir::ReshapeOp>(r.typeOf(x).withSizes(sizes), x);
}

Value RoutineRules::onDiagonal(Value x) {
  SmallVector<ir::SizeAttr> sizes(r.typeOf(x).getSizes());
  sizes.push_back(sizes.back());
  return half(r.make<ir::BroadcastOp>(r.typeOf(x).withSizes(sizes), column(x, /*asRow=*/false)),
              "eq");
}

/// 1 / (x[j] - x[i]), and 0 on the diagonal.
Value RoutineRules::inverseDifferences(Value x) {
  Value distance = op2("sub", column(x, /*asRow=*/true), column(x, /*asRow=*/false));
  Value ones = onDiagonal(op2("add", op2("mul", x, r.number(x, 0)), r.number(x, 1)));
  // Avoids 1 / 0 on the diagonal.
  Value inverse = op2("div", r.number(x, 1), op2("add", distance, ones));
  inverse = r.elementwise("select", {r.elementwise("eq", {ones, r.number(x, 1)}, r.b.getI1Type()),
                                     r.number(x, 0), inverse});
  return inverse;
}

/// The gradient of a symmetric matrix of which only the lower triangle is read.
Value RoutineRules::ofLowerHalf(Value x) {
  Value below = half(op2("add", x, transposed(x)), "gt");
  return op2("add", below, half(x, "eq"));
}

// ---------------------------------------------------------------------------------------- rules

/// y[i] = a[i] * y[i - 1] + b[i]: the gradient of b[i] comes from y[i], and through y[i + 1].
void RoutineRules::recurrence(Value a, Value y, Value &bySum, Value &byFactor) {
  Value back = call("recurrence", {shifted(flip(a), 0), flip(g)}, r.typeOf(g));
  bySum = flip(back);
  byFactor = op2("mul", bySum, y);
}

void RoutineRules::scan() {
  Value x = input(0), y = op.getResult(), bySum, byFactor;
  if (op.getKind() == "cumsum") {
    r.contribute(x, flip(call("cumsum", {flip(g)}, r.typeOf(g))));
    return;
  }
  bool isCumprod = op.getKind() == "cumprod";
  recurrence(x, shifted(y, isCumprod ? 1 : 0), bySum, byFactor);
  r.contribute(x, byFactor);
  if (!isCumprod)
    r.contribute(input(1), bySum);
}

Value RoutineRules::others() {
  Value x = input(0), after = call("cumprod", {flip(x)}, r.typeOf(x));
  return op2("mul", shifted(op.getResult(), 1), flip(shifted(after, 1)));
}

void RoutineRules::scatter() {
  Value x = input(0), index = input(1), y = input(2);
  Type element = r.typeOf(g).getElement();
  if (op.getKind() == "scatter_add") {
    r.contribute(x, g);
    if (r.isActive(y))
      r.contribute(y, take(g, index));
    return;
  }
  if (op.getKind() == "scatter_set") {
    if (r.isActive(x))
      r.contribute(x, call("scatter_set", {g, index, r.zeros(r.typeOf(y))}, r.typeOf(g)));
    if (!r.isActive(y))
      return;
    // The last write to a row wins.
    Value numbers = counted(r.typeOf(index).getSizes()[0]);
    auto rows = r.typeOf(numbers).withSizes({r.typeOf(x).getSizes()[0]});
    Value winner = call("scatter_set", {r.zeros(rows), index, numbers}, rows);
    Value won = r.elementwise("eq", {take(winner, index), numbers}, r.b.getI1Type());
    SmallVector<ir::SizeAttr> sizes(r.typeOf(y).rank(), r.sizeOf(1));
    sizes[0] = r.typeOf(y).getSizes()[0];
    won = r.make<ir::ReshapeOp>(r.typeOf(won).withSizes(sizes), won);
    r.contribute(y, r.elementwise("select", {won, take(g, index), r.number(g, 0)}));
    return;
  }
  // Equal elements share the gradient.
  auto isIt = [&](Value value, Value best) {
    Value same = r.elementwise("eq", {value, best}, r.b.getI1Type());
    return r.make<ir::CastOp>(r.typeOf(same).withElement(element), same);
  };
  Value xs = isIt(x, op.getResult()), ys = isIt(y, take(op.getResult(), index));
  Value share = op2("div", g, call("scatter_add", {xs, index, ys}, r.typeOf(xs)));
  r.contribute(x, op2("mul", xs, share));
  r.contribute(y, op2("mul", ys, take(share, index)));
}

void RoutineRules::solve() {
  Value a = input(0), x = op.getResult();
  StringRef kind = op.getKind();
  StringRef back = kind == "solve_lower"   ? "solve_upper"
                   : kind == "solve_upper" ? "solve_lower"
                                           : kind;
  Value byB = call(back, {transposed(a), g}, r.typeOf(g));
  r.contribute(input(1), byB);
  if (!r.isActive(a))
    return;
  Value byA = r.elementwise("neg", {times(byB, transposed(x))});
  r.contribute(a, kind == "solve"         ? byA
                  : kind == "solve_lower" ? half(byA, "ge")
                                          : half(byA, "le"));
}

void RoutineRules::cholesky() {
  Value l = op.getResult(), lt = transposed(l);
  Value inner = half(times(lt, g), "ge");
  inner = op2("sub", inner, op2("mul", half(inner, "eq"), r.number(g, 0.5)));
  Value left = call("solve_upper", {lt, inner}, r.typeOf(inner));
  Value both = transposed(call("solve_upper", {lt, transposed(left)}, r.typeOf(left)));
  // The lower triangle of the symmetric part counts twice.
  r.contribute(input(0), ofLowerHalf(both));
}

void RoutineRules::qr() {
  ArrayRef<ir::SizeAttr> whole = r.typeOf(input(0)).getSizes();
  ir::SizeAttr m = whole[whole.size() - 2], n = whole.back();
  SmallVector<ir::SizeAttr> square(whole);
  square[square.size() - 2] = n;
  ir::SizeAttr zero = r.sizeOf(0), mn = r.product({m, n}), end = mn.plus(r.product({n, n}));
  Value packed = op.getResult();
  Value q = part(packed, zero, mn, whole), upper = part(packed, mn, end, square);
  Value gq = part(g, zero, mn, whole), gr = part(g, mn, end, square);
  Value inner = op2("sub", times(upper, transposed(gr)), times(transposed(gq), q));
  // Mirrors the lower triangle.
  inner = op2("add", half(inner, "ge"), transposed(half(inner, "gt")));
  Value left = op2("add", gq, times(q, inner));
  Value solved = transposed(left);
  r.contribute(input(0), transposed(call("solve_upper", {upper, solved}, r.typeOf(solved))));
}

void RoutineRules::eigh() {
  ArrayRef<ir::SizeAttr> whole = r.typeOf(input(0)).getSizes();
  ir::SizeAttr n = whole.back(), zero = r.sizeOf(0), end = n.plus(r.product({n, n}));
  ArrayRef<ir::SizeAttr> line = whole.drop_back();
  Value values = part(op.getResult(), zero, n, line), v = part(op.getResult(), n, end, whole);
  Value gw = part(g, zero, n, line), gv = part(g, n, end, whole);
  Value inner = op2("mul", times(transposed(v), gv), inverseDifferences(values));
  inner = op2("add", inner, onDiagonal(gw));
  r.contribute(input(0), ofLowerHalf(times(times(v, inner), transposed(v))));
}

void RoutineRules::svd() {
  ArrayRef<ir::SizeAttr> whole = r.typeOf(input(0)).getSizes();
  ir::SizeAttr m = whole[whole.size() - 2], n = whole.back();
  SmallVector<ir::SizeAttr> square(whole), line(whole.drop_back());
  square[square.size() - 2] = line.back() = n;
  ir::SizeAttr zero = r.sizeOf(0), mn = r.product({m, n}), at = mn.plus(n),
               end = at.plus(r.product({n, n}));
  Value packed = op.getResult();
  Value u = part(packed, zero, mn, whole), s = part(packed, mn, at, line),
        vt = part(packed, at, end, square);
  Value gu = part(g, zero, mn, whole), gs = part(g, mn, at, line), gvt = part(g, at, end, square);
  Value f = inverseDifferences(op2("mul", s, s));
  auto skew = [&](Value x) { return op2("mul", f, op2("sub", x, transposed(x))); };
  Value ut = transposed(u), row = column(s, /*asRow=*/true), down = column(s, /*asRow=*/false);
  Value inner = op2("mul", skew(times(ut, gu)), row);
  inner = op2("add", inner, op2("mul", skew(times(vt, transposed(gvt))), down));
  inner = op2("add", inner, onDiagonal(gs));
  // The component outside the span of the left singular vectors.
  Value outside = op2("div", op2("sub", gu, times(u, times(ut, gu))), row);
  r.contribute(input(0), times(op2("add", times(u, inner), outside), vt));
}

bool RoutineRules::forward() {
  StringRef kind = op.getKind();
  Value y = op.getResult();
  auto tangent = [&](unsigned i) {
    Value found = r.tangentOf(input(i));
    return found ? found : r.zeros(r.typeOf(input(i)));
  };
  if (kind == "cumsum") {
    r.addTangent(y, r.onTangents(op, {0}));
  } else if (kind == "scatter_add" || kind == "scatter_set") {
    r.addTangent(y, r.onTangents(op, {0, 2}));
  } else if (kind == "cumprod" || kind == "recurrence") {
    bool isCumprod = kind == "cumprod";
    Value change = op2("mul", tangent(0), shifted(y, isCumprod ? 1 : 0));
    if (!isCumprod)
      change = op2("add", change, tangent(1));
    r.addTangent(y, call("recurrence", {input(0), change}, r.typeOf(change)));
  } else if (kind.starts_with("solve")) {
    // A y = b: a change of A acts like a change of b by -dA y.
    Value a = tangent(0);
    if (kind != "solve")
      a = half(a, kind == "solve_lower" ? "ge" : "le");
    Value change = op2("sub", tangent(1), times(a, y));
    r.addTangent(y, call(kind, {input(0), change}, r.typeOf(change)));
  } else {
    return false;
  }
  return true;
}

void RoutineRules::run() {
  StringRef kind = op.getKind();
  if (kind.starts_with("cum") || kind == "recurrence")
    return scan();
  if (kind.starts_with("scatter_"))
    return scatter();
  if (kind.starts_with("solve"))
    return solve();
  if (kind == "cholesky")
    return cholesky();
  if (kind == "qr")
    return qr();
  if (kind == "eigh")
    return eigh();
  svd();
}

} // namespace mx::graph
