// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Column formatting of a tensor's numbers, in the style of NumPy.

#ifndef MXRT_EAGER_NUMBERCOLUMN_H
#define MXRT_EAGER_NUMBERCOLUMN_H

#include "host/Text.h"

namespace mxrt::eager {

/// Floats aligned at the decimal point, with at most 4 digits after it, no more than are needed to
/// distinguish a number from its neighbours. Scientific if the largest is 1e8 or more, the smallest
/// below 1e-4, or they differ by more than a factor of 1000. Pass all elements twice, then put
/// them.
class FloatColumn {
public:
  /// isF32: digits that identify an f32 suffice.
  explicit FloatColumn(bool isF32) : isF32(isF32) {}

  void seeRange(double value);
  void seeWidth(double value);
  void put(host::Text &out, double value) const;
  int width() const;

private:
  bool scientific() const;
  struct Digits;
  void lay(double value, Digits &digits) const;

  bool isF32;
  double largest = 0;  // of finite magnitudes that are not 0
  double smallest = 0; // 0: none yet
  int whole = 0;       // characters before the point, sign included
  int fraction = 0;    // after it
  int exponent = 0;    // digits of it
  int words = 0;       // characters of nan and inf
};

/// The decimal with the fewest digits that rounds to this f16 or bf16.
double shortestHalf(uint16_t bits, bool isBf16);

} // namespace mxrt::eager

#endif // MXRT_EAGER_NUMBERCOLUMN_H
