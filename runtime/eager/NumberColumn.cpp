// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Column formatting of floats: range, width, fixed or scientific notation.

#include "eager/NumberColumn.h"
#include "eager/Scalars.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace mxrt::eager {

static constexpr int maxFraction = 4;

/// A number in three parts; scientific notation adds the digits of an exponent.
struct FloatColumn::Digits {
  char text[400]; // the largest f64 has 309 digits before the point
  int whole = 0;
  int fraction = 0;
  char exponentSign = 0; // 0: no exponent
  int exponent = 0;      // digits
  const char *fractionText = text;
  const char *exponentText = text;
};

bool FloatColumn::scientific() const {
  return smallest > 0 && (largest >= 1e8 || smallest < 1e-4 || largest / smallest > 1000);
}

void FloatColumn::lay(double value, Digits &digits) const {
  bool exponential = scientific();
  auto format = exponential ? std::chars_format::scientific : std::chars_format::fixed;
  char *begin = digits.text, *limit = digits.text + sizeof(digits.text);
  auto find = [&](char *end) {
    char *e = std::find(begin, end, 'e');
    char *point = std::find(begin, e, '.');
    digits.whole = int(point - begin);
    digits.fractionText = point == e ? e : point + 1;
    digits.fraction = int(e - digits.fractionText);
    if (e != end) {
      digits.exponentSign = e[1];
      digits.exponentText = e + 2;
      digits.exponent = int(end - (e + 2));
    }
  };
  find(isF32 ? std::to_chars(begin, limit, float(value), format).ptr
             : std::to_chars(begin, limit, value, format).ptr);
  if (digits.fraction > maxFraction)
    find(std::to_chars(begin, limit, value, format, maxFraction).ptr);
  while (digits.fraction > 0 && digits.fractionText[digits.fraction - 1] == '0')
    --digits.fraction;
}

void FloatColumn::seeRange(double value) {
  double magnitude = std::fabs(value);
  if (!std::isfinite(value) || magnitude == 0)
    return;
  largest = std::max(largest, magnitude);
  smallest = smallest > 0 ? std::min(smallest, magnitude) : magnitude;
}

void FloatColumn::seeWidth(double value) {
  if (!std::isfinite(value)) {
    words = std::max(words, std::isinf(value) && value < 0 ? 4 : 3);
    return;
  }
  Digits digits;
  lay(value, digits);
  whole = std::max(whole, digits.whole);
  fraction = std::max(fraction, digits.fraction);
  exponent = std::max(exponent, digits.exponent);
}

int FloatColumn::width() const {
  int number = whole ? whole + 1 + fraction + (exponent ? exponent + 2 : 0) : 0;
  return std::max(number, words);
}

void FloatColumn::put(host::Text &out, double value) const {
  if (!std::isfinite(value)) {
    std::string_view word = std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
    out.repeat(" ", size_t(width()) - word.size());
    return out.append(word);
  }
  Digits digits;
  lay(value, digits);
  int rest = 1 + fraction + (exponent ? exponent + 2 : 0);
  out.repeat(" ", size_t(width() - rest - digits.whole));
  out.append(std::string_view(digits.text, size_t(digits.whole)));
  out.append('.');
  out.append(std::string_view(digits.fractionText, size_t(digits.fraction)));
  out.repeat(exponent ? "0" : " ", size_t(fraction - digits.fraction));
  if (!exponent)
    return;
  out.append('e');
  out.append(digits.exponentSign);
  out.repeat("0", size_t(exponent - digits.exponent));
  out.append(std::string_view(digits.exponentText, size_t(digits.exponent)));
}

double shortestHalf(uint16_t bits, bool isBf16) {
  double exact = double(isBf16 ? bf16ToFloat(bits) : f16ToFloat(bits));
  if (!std::isfinite(exact) || exact == 0)
    return exact;
  char text[40];
  for (int digits = 0; digits < 5; ++digits) {
    char *end =
        std::to_chars(text, text + sizeof(text), exact, std::chars_format::scientific, digits).ptr;
    double shorter = exact;
    std::from_chars(text, end, shorter);
    if ((isBf16 ? floatToBf16(shorter) : floatToF16(shorter)) == bits)
      return shorter;
  }
  return exact;
}

} // namespace mxrt::eager
