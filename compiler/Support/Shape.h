// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes and shape inference. The rules are pure functions of sizes and facts. Sema calls them to
// check programs and words the errors. The verifiers of the `mx` dialect call the same functions,
// so inference is implemented once.
#pragma once
#include "Support/DimSolver.h"

namespace mx {

using PackId = uint32_t; ///< 0: not a pack

/// One entry of a shape: a size, or a pack (`...S`) of any number of sizes.
struct Axis {
  Dim dim;
  PackId pack = 0;
  bool isPack() const { return pack != 0; }
  bool operator==(const Axis &) const = default;
};
using Shape = std::vector<Axis>;

inline Axis axisOf(Dim dim) { return {dim, 0}; }
bool hasPack(const Shape &shape);

struct ShapeProblem {
  enum Kind : uint8_t {
    None,
    Mismatch,  ///< sizes at `axis` are not equal
    Ambiguous, ///< a broadcast that has another valid alignment
    AxisRange, ///< axis outside of the rank
    RankTooLow,
    Elements, ///< element counts differ
    Overflow,
    Indivisible,
    PackInTheWay, ///< an axis of unknown position
    TwoInferred,  ///< more than one `_` in a reshape
  } kind = None;
  int axis = 0; ///< in the result, or the given axis
  Dim left, right;
  Answer answer;
};

struct ShapeResult {
  Shape shape;
  ShapeProblem problem;
  /// Equalities that are neither proved nor refuted. They are checked when sizes are known.
  std::vector<DimCondition> conditions;
  bool coincidence = false; ///< a concrete size has another valid alignment
  bool ok() const { return problem.kind == ShapeProblem::None; }
};

/// Rule S12: right-aligned; sizes are equal or literally 1; ambiguous if another alignment fits
/// too.
ShapeResult broadcastShapes(const Shape &a, const Shape &b, const DimFacts &facts);
ShapeResult matmulShape(const Shape &a, const Shape &b, const DimFacts &facts);
/// `axes` empty: all. Negative axes count from the end.
ShapeResult reduceShape(const Shape &s, const std::vector<int64_t> &axes, bool all, bool keep,
                        DimContext &dims);
/// Entries of `to` with a null dim are inferred (`_`).
ShapeResult reshapeShape(const Shape &from, const Shape &to, const DimFacts &facts);
ShapeResult concatShapes(const std::vector<Shape> &parts, int64_t axis, const DimFacts &facts);
ShapeResult stackShapes(const std::vector<Shape> &parts, int64_t axis, const DimFacts &facts);
ShapeResult splitShape(const Shape &s, int64_t parts, int64_t axis, const DimFacts &facts);
ShapeResult permuteShape(const Shape &s, const std::vector<int64_t> &order);
/// x.T: swaps the last two dims.
ShapeResult swapLastTwo(const Shape &s);
/// Both shapes have equal sizes in all dimensions.
ShapeResult sameShape(const Shape &a, const Shape &b, const DimFacts &facts);
/// Normalises an axis to an index from the front; nullopt if it is out of range or behind a pack.
std::optional<size_t> axisIndex(const Shape &s, int64_t axis);
/// The number of elements; null on overflow or if there is a pack.
Dim elementCount(const Shape &s, DimContext &dims);

} // namespace mx
