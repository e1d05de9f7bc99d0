// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linear algebra: runtime routines for f32 and f64; 16-bit floats are computed in f32.
#include "IRGen/Compose.h"

namespace mx::irgen {
using namespace mlir;
using namespace ast;

mlir::Value Composer::wide(mlir::Value x) {
  mlir::Type element = e.elementOf(x);
  return element.isF64() ? x : e.cast(x, e.builder.getF32Type());
}

mlir::Value Composer::solve(const Call &call) {
  mlir::Value a = operand(call, "a"), b = operand(call, "b");
  if (!a || !b)
    return {};
  StringRef kind = "solve";
  if (call.name == "triangular_solve") {
    auto lower = e.staticBool(call, "lower");
    if (!lower)
      return fail(call, "`lower` that is not known");
    kind = *lower ? "solve_lower" : "solve_upper";
  }
  mlir::Type element = e.elementOf(b);
  b = wide(b);
  return finish(call, e.cast(routine(kind, {wide(a), b}, e.tensor(b), 0), element));
}

/// Factorisations: one matrix to one or several. Several are packed one after the other in the
/// routine's result.
mlir::Value Composer::factors(const Call &call) {
  mlir::Value x = operand(call, "x");
  if (!x)
    return {};
  mlir::Type element = e.elementOf(x);
  x = wide(x);
  Sizes sizes = sizesOf(x), batch(ArrayRef(sizes).drop_back(2));
  ir::SizeAttr m = sizes[sizes.size() - 2], n = sizes.back();
  auto shape = [&](std::initializer_list<ir::SizeAttr> last) {
    Sizes out = batch;
    out.append(last);
    return out;
  };
  SmallVector<Sizes> parts;
  if (call.name == "cholesky")
    return finish(call, e.cast(routine(call.name, {x}, e.tensor(x), 0), element));
  if (call.name == "eigh")
    parts = {shape({n}), shape({n, n})};
  else if (call.name == "qr")
    parts = {shape({m, n}), shape({n, n})};
  else
    parts = {shape({m, n}), shape({n}), shape({n, n})};
  ir::SizeAttr all = size(0);
  SmallVector<ir::SizeAttr> ends;
  for (const Sizes &one : parts) {
    all = add(all, product(ArrayRef(one).drop_front(batch.size())));
    ends.push_back(all);
  }
  mlir::Value packed = routine(call.name, {x}, e.tensor(x).withSizes(shape({all})), 0);
  SmallVector<mlir::Value> values;
  ir::SizeAttr from = size(0);
  for (auto [sizes, to] : llvm::zip_equal(parts, ends)) {
    mlir::Value piece = part(packed, batch.size(), number(from), number(to), sub(to, from));
    values.push_back(e.cast(reshape(piece, sizes), element));
    from = to;
  }
  return several(call, values);
}

} // namespace mx::irgen
