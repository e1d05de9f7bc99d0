// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes and the rules by which operations make new ones. The rules are pure functions of sizes
// and facts: Sema calls them to check programs and words the problems; the verifiers of the `mx`
// dialect call the same functions. There is no second inference.
#pragma once
#include "Support/DimSolver.h"

namespace mx {

using PackId = uint32_t; ///< 0: not a pack

/// One entry of a shape: a size, or a pack (`...S`) that stands for any number of sizes.
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
    Ambiguous, ///< a broadcast that also fits elsewhere
    AxisRange, ///< axis outside of the rank
    RankTooLow,
    Elements, ///< numbers of elements differ
    Overflow,
    Indivisible,
    PackInTheWay, ///< an axis of unknown position
    TwoHoles,     ///< more than one `_` in a reshape
  } kind = None;
  int axis = 0; ///< in the result, or the asked axis
  Dim left, right;
  Answer answer;
};

struct ShapeResult {
  Shape shape;
  ShapeProblem problem;
  /// Equalities that could be neither proved nor refuted; they are checked when sizes are known.
  std::vector<DimCondition> conditions;
  bool coincidence = false; ///< a concrete size fits at another place as well
  bool ok() const { return problem.kind == ShapeProblem::None; }
};

/// Rule S12: align at the right; equal or literally 1; ambiguous where it fits elsewhere too.
ShapeResult broadcastShapes(const Shape &a, const Shape &b, const DimFacts &facts);
ShapeResult matmulShape(const Shape &a, const Shape &b, const DimFacts &facts);
/// `axes` empty: all. Negative axes count from the end.
ShapeResult reduceShape(const Shape &s, const std::vector<int64_t> &axes, bool all, bool keep,
                        DimContext &dims);
/// Entries of `to` whose dim is null are counted by the compiler (`_`).
ShapeResult reshapeShape(const Shape &from, const Shape &to, const DimFacts &facts);
ShapeResult concatShapes(const std::vector<Shape> &parts, int64_t axis, const DimFacts &facts);
ShapeResult stackShapes(const std::vector<Shape> &parts, int64_t axis, const DimFacts &facts);
ShapeResult splitShape(const Shape &s, int64_t parts, int64_t axis, const DimFacts &facts);
ShapeResult permuteShape(const Shape &s, const std::vector<int64_t> &order);
/// x.T: the last two dims change places.
ShapeResult swapLastTwo(const Shape &s);
/// Both shapes have equal sizes everywhere.
ShapeResult sameShape(const Shape &a, const Shape &b, const DimFacts &facts);
/// The index of an axis counted from the front; nothing if it is out of range or behind a pack.
std::optional<size_t> axisIndex(const Shape &s, int64_t axis);
/// The number of elements; null on overflow or if there is a pack.
Dim elementCount(const Shape &s, DimContext &dims);

} // namespace mx
