// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SVG plots of a report.
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
  std::vector<CurvePoint> points; ///< in logged order
};

/// The min and the max of the finite values; two NaN if there are none.
std::pair<double, double> rangeOf(const Curve &curve);

/// Plots the curve over its steps. Many points are reduced to the min and the max of each column,
/// with a smoothed line on top.
std::string drawCurve(const Curve &curve);

/// A slice of an arena that is live from one op to another.
struct Slice {
  std::string what;
  int64_t offset = 0, bytes = 0, first = 0, last = 0;
};
/// Plots ops on the horizontal axis and bytes on the vertical axis.
std::string drawSlices(const std::vector<Slice> &slices, int64_t ops, int64_t arena);

} // namespace mx::driver
