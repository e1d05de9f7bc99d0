// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Terminal plots: plot, hist and image in characters. On a terminal they use Braille, block
// characters and grey levels, otherwise plain ASCII, which is safe in files and mails.

#include "data/Numbers.h"
#include "eager/TensorValue.h"
#include "io/Json.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace mxrt::data {

using host::Invocation;
using host::Kind;
using host::ParamData;

namespace {

constexpr int64_t plotColumns = 64, plotRows = 12, barColumns = 40, imageColumns = 80;

/// The tensor to plot, of a rank in [low, high], and its elements.
Status numbersOf(DataHost &host, const Invocation &call, const char *what, int32_t low,
                 int32_t high, const mxrt_tensor *&tensor, Vec<double> &numbers) {
  mxrt_tensor *given = eager::tensorOf(call.args[0]);
  if (!given)
    return error(host.allocator(), MXRT_HOST_TYPE, noLocation, "%s draws a tensor, this is %s", what,
                 host::kindName(call.args[0].kind));
  if (given->rank < low || given->rank > high)
    return error(host.allocator(), MXRT_SHAPE, noLocation, "%s draws a tensor of rank %s, this is %s",
                 what,
                 low == 2   ? "2"
                 : low == 1 ? "1 or 2"
                            : "any",
                 shapeText(given->shape()).text);
  tensor = given;
  return readNumbers(host, given, call.location, numbers);
}

Status printText(Invocation &call, const Vec<char> &text) {
  return call.vm.host()->print({text.data(), text.size()});
}

/// The min and max of the finite numbers; false if there are none.
bool rangeOf(const Vec<double> &numbers, double &low, double &high) {
  low = HUGE_VAL;
  high = -HUGE_VAL;
  for (double number : numbers)
    if (std::isfinite(number)) {
      low = std::min(low, number);
      high = std::max(high, number);
    }
  return low <= high;
}

// -- plot ---------------------------------------------------------------------

/// A grid of dots. A character cell has 2 x 4 dots on a terminal, otherwise one.
class Dots {
public:
  Dots(const mxrt_allocator *alloc, bool braille)
      : braille(braille), across(braille ? 2 : 1), down(braille ? 4 : 1), cells(alloc) {}
  bool make() { return cells.resize(static_cast<size_t>(plotColumns * plotRows)); }
  int64_t columns() const { return plotColumns * across; }
  int64_t rows() const { return plotRows * down; }
  /// Row 0 is at the top. `mark` is the ASCII character of the line.
  void set(int64_t x, int64_t y, char mark) {
    unsigned char &cell = cells[static_cast<size_t>(y / down * plotColumns + x / across)];
    static constexpr unsigned char bits[4][2] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
    cell = braille ? static_cast<unsigned char>(cell | bits[y % 4][x % 2])
                   : static_cast<unsigned char>(mark);
  }
  bool appendRow(Vec<char> &out, int64_t row) const {
    // Trailing blanks are omitted.
    int64_t end = plotColumns;
    auto cellAt = [&](int64_t x) { return cells[static_cast<size_t>(row * plotColumns + x)]; };
    while (end > 0 && cellAt(end - 1) == 0)
      --end;
    for (int64_t x = 0; x < end; ++x) {
      unsigned char cell = cellAt(x);
      bool room = true;
      if (!braille || cell == 0) {
        room = out.push(cell == 0 ? ' ' : static_cast<char>(cell));
      } else { // U+2800 and the dots
        const char utf8[] = {'\xe2', static_cast<char>(0xa0 | cell >> 6),
                             static_cast<char>(0x80 | (cell & 63))};
        room = io::append(out, {utf8, 3});
      }
      if (!room)
        return false;
    }
    return true;
  }

private:
  bool braille;
  int64_t across, down;
  Vec<unsigned char> cells;
};

Status plot(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  const mxrt_tensor *tensor = nullptr;
  Vec<double> numbers(host.allocator());
  MXRT_CHECK(numbersOf(host, call, "plot", 1, 2, tensor, numbers));
  int64_t lines = tensor->rank == 2 ? tensor->sizes()[0] : 1;
  int64_t count = tensor->sizes()[tensor->rank - 1];
  double low = 0, high = 0;
  Vec<char> text(host.allocator());
  if (!rangeOf(numbers, low, high)) {
    if (!io::appendf(text, "plot of %s: no finite numbers\n", shapeText(tensor->shape()).text))
      return outOfMemory(host.allocator());
    return printText(call, text);
  }
  Dots dots(host.allocator(), host.options.drawsOnTerminal);
  if (!dots.make())
    return outOfMemory(host.allocator());
  auto rowOf = [&](double value) {
    double share = high > low ? (value / 2 - low / 2) / (high / 2 - low / 2) : 0.5;
    return static_cast<int64_t>(std::lround((1 - share) * double(dots.rows() - 1)));
  };
  for (int64_t line = 0; line < lines; ++line) {
    char mark = "*o+x#@%&"[line % 8];
    int64_t before = -1; // the row of the previous number; -1 after a gap
    int64_t column = 0;
    for (int64_t i = 0; i < count; ++i) {
      double value = numbers[static_cast<size_t>(line * count + i)];
      int64_t x = count > 1 ? i * (dots.columns() - 1) / (count - 1) : 0;
      if (!std::isfinite(value)) {
        before = -1;
        column = x;
        continue;
      }
      int64_t y = rowOf(value);
      // Connects the previous number to this one, column by column, without gaps.
      int64_t from = before < 0 ? y : before, steps = std::max<int64_t>(x - column, 1);
      for (int64_t s = before < 0 ? steps : 1; s <= steps; ++s) {
        int64_t upper = from + (y - from) * (s - 1) / steps, lower = from + (y - from) * s / steps;
        int64_t at = before < 0 || x == column ? x : column + s;
        for (int64_t dot = std::min(upper, lower); dot <= std::max(upper, lower); ++dot)
          dots.set(at, dot, mark);
      }
      before = y;
      column = x;
    }
  }
  bool room = true;
  for (int64_t row = 0; row < plotRows && room; ++row) {
    bool labelled = row == 0 || row == plotRows - 1;
    double label = row == 0 ? high : low;
    room = labelled ? io::appendf(text, "%10.4g |", label) : io::appendf(text, "%10s |", "");
    room = room && dots.appendRow(text, row) && text.push('\n');
  }
  room = room && io::appendf(text, "%10s +", "");
  for (int64_t x = 0; x < plotColumns && room; ++x)
    room = text.push('-');
  room = room && io::appendf(text, "\n%12s0%*lld\n", "", int(plotColumns - 1),
                             static_cast<long long>(std::max<int64_t>(count - 1, 0)));
  return room ? printText(call, text) : outOfMemory(host.allocator());
}

// -- hist ---------------------------------------------------------------------

/// A bar of length `share`; on a terminal with eighths of a character.
bool appendBar(Vec<char> &out, double share, bool blocks) {
  auto eighths = static_cast<int64_t>(std::lround(share * double(barColumns) * 8));
  if (share > 0 && eighths == 0)
    eighths = 1;
  if (!blocks)
    eighths = (eighths + 7) / 8 * 8;
  for (; eighths >= 8; eighths -= 8)
    if (!io::append(out, blocks ? "\xe2\x96\x88" : "#"))
      return false;
  static const char *const parts[] = {"",
                                      "\xe2\x96\x8f",
                                      "\xe2\x96\x8e",
                                      "\xe2\x96\x8d",
                                      "\xe2\x96\x8c",
                                      "\xe2\x96\x8b",
                                      "\xe2\x96\x8a",
                                      "\xe2\x96\x89"};
  return io::append(out, parts[eighths]);
}

/// hist(x, bins)
Status hist(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  const mxrt_allocator *alloc = host.allocator();
  const mxrt_tensor *tensor = nullptr;
  Vec<double> numbers(alloc);
  MXRT_CHECK(numbersOf(host, call, "hist", 0, MXRT_MAX_RANK, tensor, numbers));
  int64_t bins = call.args[1].i;
  if (bins < 1 || bins > 1000)
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation, "hist: 1 to 1000 bins, not %lld",
                 static_cast<long long>(bins));
  double low = 0, high = 0;
  Vec<char> text(alloc);
  Vec<int64_t> counts(alloc);
  bool some = rangeOf(numbers, low, high), room = true;
  if (some && low == high)
    bins = 1;
  if (!counts.resize(static_cast<size_t>(bins)))
    return outOfMemory(alloc);
  // Halved operands: the difference of two numbers may overflow.
  double width = (high / 2 - low / 2) / double(bins);
  int64_t others = 0, most = 0;
  for (double number : numbers) {
    if (!std::isfinite(number)) {
      ++others;
      continue;
    }
    auto bin = width > 0 ? static_cast<int64_t>((number / 2 - low / 2) / width) : 0;
    int64_t &counted = counts[static_cast<size_t>(std::min(bin, bins - 1))];
    most = std::max(most, ++counted);
  }
  for (int64_t i = 0; i < bins && some && room; ++i) {
    int64_t counted = counts[static_cast<size_t>(i)];
    room = io::appendf(text, "%10.4g |", low + 2 * width * double(i)) &&
           appendBar(text, double(counted) / double(most), host.options.drawsOnTerminal) &&
           io::appendf(text, " %lld\n", static_cast<long long>(counted));
  }
  if (some)
    room = room && io::appendf(text, "%10.4g\n", high);
  if (others > 0 || !some)
    room = room && io::appendf(text, "%lld of %zu numbers are not finite\n",
                               static_cast<long long>(others), numbers.size());
  return room ? printText(call, text) : outOfMemory(alloc);
}

// -- image --------------------------------------------------------------------

/// The mean of a block of the image in [0, 1]. Non-finite values count as black.
struct Greys {
  const Vec<double> &numbers;
  int64_t height, width;
  double low, range;
  double mean(int64_t top, int64_t bottom, int64_t left, int64_t right) const {
    double sum = 0;
    int64_t count = 0;
    for (int64_t y = top; y < std::min(bottom, height); ++y)
      for (int64_t x = left; x < std::min(right, width); ++x, ++count) {
        double number = numbers[static_cast<size_t>(y * width + x)];
        double share = range > 0 ? (number - low) / range : 0.5;
        sum += std::isfinite(share) ? std::min(std::max(share, 0.0), 1.0) : 0;
      }
    return count > 0 ? sum / double(count) : 0;
  }
};

Status image(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  const mxrt_allocator *alloc = host.allocator();
  const mxrt_tensor *tensor = nullptr;
  Vec<double> numbers(alloc);
  MXRT_CHECK(numbersOf(host, call, "image", 2, 2, tensor, numbers));
  double low = 0, high = 1;
  bool some = rangeOf(numbers, low, high);
  // Images have values in [0, 1]. Other ranges are scaled to it.
  if (!some || (low >= 0 && high <= 1)) {
    low = 0;
    high = 1;
  }
  Greys greys = {numbers, tensor->sizes()[0], tensor->sizes()[1], low, high - low};
  int64_t factor = std::max<int64_t>((greys.width + imageColumns - 1) / imageColumns, 1);
  Vec<char> text(alloc);
  bool room = true, blocks = host.options.drawsOnTerminal;
  // A character is about twice as high as wide, so it shows two rows.
  for (int64_t y = 0; y < greys.height && room; y += 2 * factor) {
    for (int64_t x = 0; x < greys.width && room; x += factor) {
      double upper = greys.mean(y, y + factor, x, x + factor);
      double lower = greys.mean(y + factor, y + 2 * factor, x, x + factor);
      bool whole = y + factor < greys.height;
      if (blocks) // the 24 grey levels of 256-colour terminals
        room = io::appendf(text, "\x1b[38;5;%dm\x1b[48;5;%dm\xe2\x96\x80",
                           232 + int(std::lround(upper * 23)), 232 + int(std::lround(lower * 23)));
      else
        room = text.push(" .:-=+*#%@"[std::lround((whole ? (upper + lower) / 2 : upper) * 9)]);
    }
    room = room && (!blocks || io::append(text, "\x1b[0m")) && text.push('\n');
  }
  return room ? printText(call, text) : outOfMemory(alloc);
}

} // namespace

static constexpr ParamData any[] = {{Kind::Any, false}};
static constexpr ParamData anyInt[] = {{Kind::Any, false}, {Kind::Int, false}};
static const NativeRow natives[] = {{"mx.draw.plot", any, false, Kind::Unit, plot},
                                    {"mx.draw.hist", anyInt, false, Kind::Unit, hist},
                                    {"mx.draw.image", any, false, Kind::Unit, image}};
const NativeGroup mxrt_natives_drawing = {"mxrt_natives_drawing", natives, std::size(natives)};

} // namespace mxrt::data
