// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SVG plots: curves of logged values, and the arena over time.
#include "Driver/Curves.h"
#include "Support/Page.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace mx::driver {
namespace {

// Size of a plot in its own units; the page scales it.
constexpr double kWidth = 360, kHeight = 200, kLeft = 52, kRight = 8, kTop = 8, kBottom = 22;
constexpr int kColumns = 300;
/// Slices beyond this many are too small to be visible; only the largest are drawn.
constexpr size_t kMaxSlices = 4000;

std::string number(const char *how, double value) {
  char text[40];
  std::snprintf(text, sizeof text, how, value);
  return text;
}
std::string at(double value) { return number("%.2f", value); }

std::string label(double x, double y, const char *anchor, const std::string &text) {
  return "<text x=\"" + at(x) + "\" y=\"" + at(y) + "\" text-anchor=\"" + anchor + "\">" +
         escapedForPage(text) + "</text>";
}

/// A round number near a third of the range: 1, 2 or 5 times a power of ten.
double tickOf(double range) {
  double power = std::pow(10.0, std::floor(std::log10(range / 3)));
  double share = range / 3 / power;
  return power * (share < 2 ? 1 : share < 5 ? 2 : 5);
}

} // namespace

std::pair<double, double> rangeOf(const Curve &curve) {
  double low = std::numeric_limits<double>::quiet_NaN(), high = low;
  for (const CurvePoint &point : curve.points)
    if (std::isfinite(point.value)) {
      low = std::fmin(low, point.value);
      high = std::fmax(high, point.value);
    }
  return {low, high};
}

std::string drawCurve(const Curve &curve) {
  std::string svg = "<svg viewBox=\"0 0 " + at(kWidth) + " " + at(kHeight) +
                    "\" role=\"img\"><title>" + escapedForPage(curve.name) + "</title>";
  auto [low, high] = rangeOf(curve);
  if (!(low <= high))
    return svg + label(kWidth / 2, kHeight / 2, "middle", "no finite numbers") + "</svg>\n";
  std::vector<CurvePoint> points = curve.points;
  std::sort(points.begin(), points.end(), [](const CurvePoint &a, const CurvePoint &b) {
    return a.step != b.step ? a.step < b.step : a.seconds < b.seconds;
  });
  auto begin = double(points.front().step), end = double(points.back().step);
  if (low == high) {
    double room = low == 0 ? 1 : std::abs(low) / 10;
    low -= room;
    high += room;
  }
  double plotWidth = kWidth - kLeft - kRight, plotHeight = kHeight - kTop - kBottom;
  auto xOf = [&](double step) {
    return kLeft + (end > begin ? (step - begin) / (end - begin) : 0.5) * plotWidth;
  };
  auto yOf = [&](double value) {
    return kTop + (1 - (value / 2 - low / 2) / (high / 2 - low / 2)) * plotHeight;
  };
  double range = high - low;
  if (double tick = std::isfinite(range) ? tickOf(range) : 0; tick > 0) {
    double first = std::ceil(low / tick) * tick;
    // Counts ticks, because far from zero a tick may be too small to change the value.
    for (int i = 0; i <= 10; ++i) {
      double value = first + i * tick;
      if (!(value <= high) || (i > 0 && value <= first))
        break;
      std::string y = at(yOf(value));
      svg += "<path d=\"M" + at(kLeft) + " " + y + "H" + at(kWidth - kRight) +
             "\" stroke=\"var(--grid)\"/>" +
             label(kLeft - 5, yOf(value) + 4, "end",
                   number("%.4g", std::abs(value) < tick / 1e6 ? 0 : value));
    }
  }
  svg += label(kLeft, kHeight - 6, "start", number("%.0f", begin)) +
         label(kWidth - kRight, kHeight - 6, "end", number("%.0f", end));
  // Columns of the plot: the min and the max of the points in each.
  struct Column {
    double low = HUGE_VAL, high = -HUGE_VAL;
  };
  std::vector<Column> columns(kColumns);
  std::string line;
  double smooth = 0, weight = 0;
  // Exponential moving average over about a fiftieth of the points.
  double keep = 1 - 1 / std::max(1.0, double(points.size()) / 50);
  bool down = false;
  int latest = -1;
  for (const CurvePoint &point : points) {
    if (!std::isfinite(point.value)) {
      down = false;
      continue;
    }
    double x = xOf(double(point.step));
    int column = std::min(int((x - kLeft) / plotWidth * kColumns), kColumns - 1);
    Column &cell = columns[size_t(std::max(column, 0))];
    cell.low = std::min(cell.low, point.value);
    cell.high = std::max(cell.high, point.value);
    smooth = keep * smooth + (1 - keep) * point.value;
    weight = keep * weight + (1 - keep);
    if (column == latest && down && points.size() > size_t(kColumns))
      continue;
    latest = column;
    line += (down ? "L" : "M") + at(x) + " " + at(yOf(smooth / weight));
    down = true;
  }
  if (points.size() > 50) {
    std::string band;
    for (size_t i = 0; i < columns.size(); ++i)
      if (columns[i].low <= columns[i].high)
        band += "M" + at(kLeft + (double(i) + 0.5) / kColumns * plotWidth) + " " +
                at(yOf(columns[i].low) + 0.5) + "V" + at(yOf(columns[i].high) - 0.5);
    svg += "<path d=\"" + band + "\" fill=\"none\" stroke=\"var(--pale)\" stroke-width=\"1.1\"/>";
  }
  svg += "<path d=\"" + line + "\" fill=\"none\" stroke=\"var(--line)\" stroke-width=\"1.6\"/>";
  if (points.size() <= 50)
    for (const CurvePoint &point : points)
      if (std::isfinite(point.value))
        svg += "<circle cx=\"" + at(xOf(double(point.step))) + "\" cy=\"" + at(yOf(point.value)) +
               "\" r=\"2.4\" fill=\"var(--line)\"><title>step " + std::to_string(point.step) +
               ": " + number("%.6g", point.value) + "</title></circle>";
  return svg + "</svg>\n";
}

std::string drawSlices(const std::vector<Slice> &slices, int64_t ops, int64_t arena) {
  if (slices.empty() || arena <= 0)
    return "";
  std::vector<const Slice *> drawn;
  for (const Slice &slice : slices)
    drawn.push_back(&slice);
  std::sort(drawn.begin(), drawn.end(), [](const Slice *a, const Slice *b) {
    return std::tie(b->bytes, a->offset, a->first) < std::tie(a->bytes, b->offset, b->first);
  });
  if (drawn.size() > kMaxSlices)
    drawn.resize(kMaxSlices);
  constexpr double width = 1000, height = 320;
  std::string svg = "<svg viewBox=\"0 0 1000 320\" role=\"img\"><title>ops to the right, bytes of "
                    "the arena upwards</title>";
  for (const Slice *slice : drawn) {
    double x = width * double(slice->first) / double(ops);
    double w = width * double(slice->last - slice->first + 1) / double(ops);
    double h = height * double(slice->bytes) / double(arena);
    double y = height - height * double(slice->offset) / double(arena) - h;
    unsigned hue = 7;
    for (char c : slice->what)
      hue = (hue * 31 + static_cast<unsigned char>(c)) % 360;
    svg += "<rect x=\"" + at(x) + "\" y=\"" + at(y) + "\" width=\"" + at(std::max(w, 0.5)) +
           "\" height=\"" + at(std::max(h, 0.5)) + "\" fill=\"hsl(" + std::to_string(hue) +
           " 60% 68%)\" stroke=\"#fff\" stroke-width=\".5\"><title>" + escapedForPage(slice->what) +
           "\n" + std::to_string(slice->bytes) + " bytes at " + std::to_string(slice->offset) +
           ", ops " + std::to_string(slice->first) + " to " + std::to_string(slice->last) +
           "</title></rect>";
  }
  return svg + "</svg>\n";
}

} // namespace mx::driver
