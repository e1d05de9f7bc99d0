// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pictures of a report, as SVG.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mx::driver {

struct CurvePoint {
  int64_t step = 0;
  double seconds = 0, value = 0;
};
struct Curve {
  std::string name;
  std::vector<CurvePoint> points; ///< as they were logged
};

/// The least and the most of what is finite; two NaN if nothing is.
std::pair<double, double> rangeOf(const Curve &curve);

/// The curve over its steps. Of many points the least and the most of each column are drawn, and
/// over them a smooth line.
std::string drawCurve(const Curve &curve);

/// A piece of an arena that is in use from one op to another.
struct Slice {
  std::string what;
  int64_t offset = 0, bytes = 0, first = 0, last = 0;
};
/// Ops to the right, bytes upwards.
std::string drawSlices(const std::vector<Slice> &slices, int64_t ops, int64_t arena);

} // namespace mx::driver
