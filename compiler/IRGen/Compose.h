// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowering of composite primitives to other ops: eager code, graphs and gradients then share one
// definition without further work. Its parts, each a file of this folder:
//   Compose          sizes and building blocks     ComposeShapes    flip, roll, tile, pad, …
//   ComposePatterns  rearrange, einsum             ComposeWindows   convolutions and pooling
//   ComposeOrder     sort, argsort, top_k, cumsum, cumprod, scatter
//   ComposeMatrices  linear algebra
//   ComposeFunctions jvp, vmap
#pragma once
#include "IRGen/Emitter.h"

namespace mx::irgen {

class Composer {
public:
  explicit Composer(Emitter &e) : e(e) {}

  /// Nothing if the primitive is not composite; a null value if it was rejected with an error.
  std::optional<mlir::Value> run(const Emitter::PrimitiveCall &call);

  using Sizes = SmallVector<ir::SizeAttr>;
  Emitter &e;

  // ---- sizes
  ir::SizeAttr size(int64_t value) { return ir::SizeAttr::get(&e.shared.context, value); }
  ir::SizeAttr add(ir::SizeAttr x, ir::SizeAttr y) { return x.plus(y); }
  ir::SizeAttr sub(ir::SizeAttr x, ir::SizeAttr y) { return x.minus(y); }
  ir::SizeAttr mul(ir::SizeAttr x, ir::SizeAttr y) { return x.times(y); }
  ir::SizeAttr div(ir::SizeAttr x, ir::SizeAttr y) { return x.over(y); }
  ir::SizeAttr product(ArrayRef<ir::SizeAttr> sizes);
  /// The size as a host scalar.
  mlir::Value number(ir::SizeAttr size);
  Sizes sizesOf(mlir::Value x) { return Sizes(e.tensor(x).getSizes()); }
  size_t rankOf(mlir::Value x) { return e.tensor(x).rank(); }

  // ---- building blocks
  mlir::Value reshape(mlir::Value x, ArrayRef<ir::SizeAttr> sizes);
  mlir::Value transpose(mlir::Value x, ArrayRef<int64_t> order);
  mlir::Value broadcast(mlir::Value x, ArrayRef<ir::SizeAttr> sizes);
  mlir::Value concat(ArrayRef<mlir::Value> parts, size_t axis);
  mlir::Value take(mlir::Value x, mlir::Value index, size_t axis);
  mlir::Value full(mlir::Type element, double value, ArrayRef<ir::SizeAttr> sizes);
  mlir::Value full(mlir::Value value, ArrayRef<ir::SizeAttr> sizes);
  /// Iota: 0, 1, 2, … of i64.
  mlir::Value counted(ir::SizeAttr count);
  /// The same along one axis of a tensor of `rank`, the other sizes 1.
  mlir::Value countedAlong(ir::SizeAttr count, size_t axis, size_t rank);
  /// x[from:to] along an axis; the result has `count` there.
  mlir::Value part(mlir::Value x, size_t axis, mlir::Value from, mlir::Value to,
                   ir::SizeAttr count);
  mlir::Value matmul(mlir::Value x, mlir::Value y);
  mlir::Value flip(mlir::Value x, size_t axis);
  /// Pads both ends of an axis with zeros, or with `value`.
  mlir::Value widen(mlir::Value x, size_t axis, ir::SizeAttr before, ir::SizeAttr after,
                    mlir::Value value);
  /// `safe`: every index is in bounds and does not count from the end.
  mlir::Value takeAlong(mlir::Value x, mlir::Value index, size_t axis, bool safe = false);
  /// Gathers elements of x: `positions` holds one index tensor (i64) for each of the first axes of x,
  /// of shapes that broadcast to each other. With `axes`, the axis numbers that users see, indices
  /// are bounds-checked and may count from the end.
  mlir::Value gatherAt(mlir::Value x, ArrayRef<mlir::Value> positions, ArrayRef<int64_t> axes = {});
  /// Indices (i64) along an axis of `count` elements, bounds-checked and counted from the start.
  mlir::Value within(mlir::Value position, ir::SizeAttr count, int64_t axis);
  mlir::Value integer(int64_t value) { return e.constantInt(value); }
  mlir::Value smallest(mlir::Type element);
  mlir::Value routine(StringRef kind, ArrayRef<mlir::Value> inputs, ir::TensorType result,
                      size_t axis);
  /// Calls a runtime function on x. Sizes of the result type are known only after the call.
  mlir::Value withOpenSize(StringRef function, mlir::Value x, const sema::Type *type);
  /// Indices (i32) of the k largest elements along an axis, the largest first; of equal ones the
  /// first.
  mlir::Value indicesOfTop(mlir::Value x, size_t axis, ir::SizeAttr k);

  // ---- ComposePatterns.cpp
  struct Side {
    SmallVector<SmallVector<std::string>> groups;
  };
  static SmallVector<Side> sides(StringRef pattern, Side &output);

private:
  // One primitive each; `type` is the checker's result.
  using Call = Emitter::PrimitiveCall;
  mlir::Value operand(const Call &call, StringRef name);
  std::optional<SmallVector<int64_t>> axes(const Call &call, StringRef name, size_t rank);
  std::optional<size_t> axis(const Call &call, StringRef name, size_t rank);
  std::optional<Sizes> sizes(const Call &call, StringRef name);
  /// An option that is a size; null if it is not given as one.
  ir::SizeAttr sizeOption(const Call &call, StringRef name);
  std::optional<std::string> word(const Call &call, StringRef name);
  mlir::Value fail(const Call &call, const std::string &what);
  /// Casts to the sizes of the checker's result type.
  mlir::Value finish(const Call &call, mlir::Value value);
  /// Builds the tuple of the checker's result type.
  mlir::Value several(const Call &call, ArrayRef<mlir::Value> values);

  mlir::Value roll(const Call &call);
  mlir::Value flips(const Call &call);
  mlir::Value tile(const Call &call);
  mlir::Value pad(const Call &call);
  mlir::Value truncatedNormal(const Call &call);
  mlir::Value rearrange(const Call &call);
  mlir::Value einsum(const Call &call);
  mlir::Value convolution(const Call &call, size_t spatial);
  mlir::Value transposedConvolution(const Call &call, size_t spatial);
  mlir::Value transposedApart(mlir::Value x, mlir::Value w, ArrayRef<ir::SizeAttr> result,
                              ir::SizeAttr stride, ir::SizeAttr pad);
  mlir::Value pool(const Call &call, size_t spatial, bool isMax);
  mlir::Value scan(const Call &call);
  mlir::Value sort(const Call &call);
  mlir::Value topK(const Call &call);
  mlir::Value scatter(const Call &call);
  // ---- ComposeFunctions.cpp
  ir::ClosureOp given(const Call &call);
  mlir::Value jvp(const Call &call);
  mlir::Value vmap(const Call &call);
  /// Casts to the element type that linear algebra routines compute in.
  mlir::Value wide(mlir::Value x);
  mlir::Value nonzero(const Call &call);
  mlir::Value unique(const Call &call);
  mlir::Value solve(const Call &call);
  mlir::Value factors(const Call &call);

  struct Window {
    SmallVector<ir::SizeAttr> kernel, stride, dilation, out;
  };
  /// [B, C, spatial…] to [B, C, taps of the window…, positions of the window…].
  mlir::Value windows(mlir::Value x, const Window &window);
  mlir::ArrayAttr several(ArrayRef<ir::SizeAttr> sizes);
  struct Labelled {
    mlir::Value value;
    SmallVector<std::string> labels;
  };
  Labelled withoutRepeats(Labelled x);
  Labelled summed(Labelled x, const std::set<std::string> &kept);
  Labelled ordered(Labelled x, ArrayRef<std::string> labels);
  Labelled contract(Labelled x, Labelled y, const std::set<std::string> &kept);
};

} // namespace mx::irgen
