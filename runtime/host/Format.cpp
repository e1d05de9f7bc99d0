// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formatting of numbers and strings by the format specifications of f-strings.

#include "host/Format.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace mxrt::host {

//===-- Parsing of a format -----------------------------------------------===//

static bool isAlign(char c) {
  return c == '<' || c == '>' || c == '^' || c == '=';
}

static bool parseNumber(std::string_view &text, int &number) {
  number = 0;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    number = number * 10 + (text[0] - '0');
    if (number > maxFormatNumber)
      return false;
    text.remove_prefix(1);
  }
  return true;
}

const char *parseFormatSpec(std::string_view text, FormatSpec &spec) {
  spec = FormatSpec();
  auto take = [&](char c) {
    if (text.empty() || text[0] != c)
      return false;
    text.remove_prefix(1);
    return true;
  };
  size_t first = text.empty() ? 0 : codePointLength(text);
  if (!text.empty() && first == 0)
    return "the format is not UTF-8";
  if (first && first < text.size() && isAlign(text[first])) {
    spec.fill = text.substr(0, first);
    spec.fillGiven = true;
    spec.align = text[first];
    text.remove_prefix(first + 1);
  } else if (!text.empty() && isAlign(text[0])) {
    spec.align = text[0];
    text.remove_prefix(1);
  }
  if (!text.empty() && (text[0] == '+' || text[0] == '-' || text[0] == ' ')) {
    spec.sign = text[0];
    spec.signGiven = true;
    text.remove_prefix(1);
  }
  if (take('0')) {
    spec.zero = true;
    if (!spec.fillGiven)
      spec.fill = "0";
  }
  if (!parseNumber(text, spec.width))
    return "the width is too large";
  spec.comma = take(',');
  if (take('.')) {
    if (text.empty() || text[0] < '0' || text[0] > '9')
      return "digits are missing after '.'";
    if (!parseNumber(text, spec.precision))
      return "the precision is too large";
  }
  if (text.empty())
    return nullptr;
  if (text.size() > 1 || !std::strchr("bcdeEfFgGnosxX%", text[0]))
    return "unknown type at the end of the format";
  spec.type = text[0];
  return nullptr;
}

//===-- Layout ------------------------------------------------------------===//

static void pad(Text &out, const FormatSpec &spec, char align,
                std::string_view body, size_t codePoints) {
  size_t width = size_t(spec.width);
  size_t missing = width > codePoints ? width - codePoints : 0;
  size_t left = align == '>' ? missing : align == '^' ? missing / 2 : 0;
  out.repeat(spec.fill, left);
  out.append(body);
  out.repeat(spec.fill, missing - left);
}

/// Digits in groups of three, padded with leading zeros until they and their commas take at least
/// `minimum` characters.
static void appendGrouped(Text &out, std::string_view digits, size_t minimum) {
  size_t count = digits.size();
  while (count + (count ? (count - 1) / 3 : 0) < minimum)
    ++count;
  for (size_t i = 0; i < count; ++i) {
    size_t fromRight = count - i;
    out.append(fromRight > digits.size() ? '0'
                                         : digits[digits.size() - fromRight]);
    if (fromRight > 1 && fromRight % 3 == 1)
      out.append(',');
  }
}

/// A number is a sign, digits that commas group, and the rest: fraction, exponent, percent sign.
static void layNumber(Text &out, const FormatSpec &spec, bool negative,
                      std::string_view digits, std::string_view rest) {
  char sign = negative ? '-' : spec.sign == '-' ? 0 : spec.sign;
  char align = spec.align ? spec.align : spec.zero ? '=' : '>';
  Text body(out.owner());
  if (sign)
    body.append(sign);
  bool zerosInside = align == '=' && spec.fill == "0";
  size_t others = rest.size() + (sign ? 1 : 0);
  size_t minimum = zerosInside && size_t(spec.width) > others
                       ? size_t(spec.width) - others
                       : 0;
  if (!zerosInside && align == '=') {
    size_t commas =
        spec.comma && !digits.empty() ? (digits.size() - 1) / 3 : 0;
    size_t taken = others + digits.size() + commas;
    if (size_t(spec.width) > taken)
      body.repeat(spec.fill, size_t(spec.width) - taken);
  }
  if (spec.comma && !digits.empty()) { // `inf` has no digits
    appendGrouped(body, digits, minimum);
  } else {
    if (minimum > digits.size())
      body.repeat("0", minimum - digits.size());
    body.append(digits);
  }
  body.append(rest);
  if (body.failed())
    return out.fail();
  if (align == '=')
    out.append(body.view());
  else
    pad(out, spec, align, body.view(), body.size());
}

//===-- Integers, bools, strings ------------------------------------------===//

static bool isFloatType(char type) {
  return type && std::strchr("eEfFgG%", type);
}

const char *formatInt(Text &out, const FormatSpec &spec, int64_t value) {
  if (isFloatType(spec.type))
    return formatF64(out, spec, double(value));
  if (spec.type == 's')
    return "type 's' is for strings";
  if (spec.precision >= 0)
    return "a precision is not allowed for an integer";
  if (spec.comma && spec.type && spec.type != 'd')
    return "',' is not allowed with this type";
  if (spec.type == 'c') {
    if (spec.signGiven)
      return "a sign is not allowed with type 'c'";
    char bytes[4];
    size_t length = value < 0 ? 0 : encodeCodePoint(uint64_t(value), bytes);
    if (length == 0)
      return "the number is not a code point";
    char align = spec.align ? spec.align : spec.zero ? '=' : '>';
    pad(out, spec, align == '=' ? '>' : align, {bytes, length}, 1);
    return nullptr;
  }
  int base = spec.type == 'b'                       ? 2
             : spec.type == 'o'                     ? 8
             : spec.type == 'x' || spec.type == 'X' ? 16
                                                    : 10;
  uint64_t magnitude = value < 0 ? 0 - uint64_t(value) : uint64_t(value);
  char digits[72];
  char *end =
      std::to_chars(digits, digits + sizeof(digits), magnitude, base).ptr;
  if (spec.type == 'X')
    for (char *p = digits; p != end; ++p)
      if (*p >= 'a')
        *p = char(*p - 'a' + 'A');
  layNumber(out, spec, value < 0, {digits, size_t(end - digits)}, "");
  return nullptr;
}

const char *formatStr(Text &out, const FormatSpec &spec,
                      std::string_view value) {
  if (spec.type && spec.type != 's')
    return "this type is not for strings";
  if (spec.align == '=')
    return "'=' is not allowed for strings";
  if (spec.signGiven)
    return "a sign is not allowed for strings";
  if (spec.comma)
    return "',' is not allowed for strings";
  size_t codePoints = 0, bytes = 0;
  size_t limit = spec.precision < 0 ? SIZE_MAX : size_t(spec.precision);
  while (bytes < value.size() && codePoints < limit) {
    size_t length = codePointLength(value.substr(bytes));
    bytes += length ? length : 1;
    ++codePoints;
  }
  pad(out, spec, spec.align ? spec.align : '<', value.substr(0, bytes),
      codePoints);
  return nullptr;
}

const char *formatBool(Text &out, const FormatSpec &spec, bool value) {
  if (spec.type == 0 || spec.type == 's')
    return formatStr(out, spec, value ? "true" : "false");
  return formatInt(out, spec, value);
}

//===-- Floats ------------------------------------------------------------===//

namespace {
/// value = 0.d1 d2 d3… × 10^point, the digits being text.
struct Decimal {
  char text[1200];
  size_t count = 0;
  int point = 0;
  std::string_view digits() const { return {text, count}; }
};
} // namespace

/// Parses the scientific output of std::to_chars.
static void readScientific(const char *begin, const char *end, Decimal &out) {
  out.count = 0;
  const char *p = begin;
  for (; p != end && *p != 'e'; ++p)
    if (*p != '.')
      out.text[out.count++] = *p;
  int exponent = 0;
  if (p != end) {
    ++p;
    if (p != end && *p == '+')
      ++p;
    std::from_chars(p, end, exponent);
  }
  out.point = exponent + 1;
}

// No f64 has more than 767 significant digits or a fraction longer than 1074 digits: beyond that
// only zeros follow.
static constexpr int longestFraction = 1080;

static void significantDigits(double value, int count, Decimal &out) {
  char buffer[1200];
  int used = std::min(count, longestFraction);
  char *end = std::to_chars(buffer, buffer + sizeof(buffer), value,
                            std::chars_format::scientific, used - 1)
                  .ptr;
  readScientific(buffer, end, out);
}

static void appendExponent(Text &rest, int exponent, bool upper) {
  rest.append(upper ? 'E' : 'e');
  rest.append(exponent < 0 ? '-' : '+');
  exponent = std::abs(exponent);
  if (exponent < 10)
    rest.append('0');
  rest.appendInt(exponent);
}

/// Positional or with an exponent, as %g and repr choose. `strip` drops trailing zeros of the
/// fraction, `dotZero` keeps at least one digit there.
static void layGeneral(Decimal &decimal, bool exponential, bool strip,
                       bool dotZero, bool upper, Text &whole, Text &rest) {
  size_t count = decimal.count;
  if (strip)
    while (count > 1 && decimal.text[count - 1] == '0')
      --count;
  std::string_view digits(decimal.text, count);
  if (exponential) {
    whole.append(digits[0]);
    if (count > 1) {
      rest.append('.');
      rest.append(digits.substr(1));
    }
    return appendExponent(rest, decimal.point - 1, upper);
  }
  if (decimal.point <= 0) {
    whole.append('0');
    rest.append('.');
    rest.repeat("0", size_t(-decimal.point));
    return rest.append(digits);
  }
  size_t point = size_t(decimal.point);
  if (count > point) {
    whole.append(digits.substr(0, point));
    rest.append('.');
    return rest.append(digits.substr(point));
  }
  whole.append(digits);
  whole.repeat("0", point - count);
  if (dotZero)
    rest.append(".0");
}

static void layFixed(double value, int precision, Text &whole, Text &rest) {
  char buffer[1500];
  int used = std::min(precision, longestFraction);
  char *end = std::to_chars(buffer, buffer + sizeof(buffer), value,
                            std::chars_format::fixed, used)
                  .ptr;
  char *dot = std::find(buffer, end, '.');
  whole.append(std::string_view(buffer, size_t(dot - buffer)));
  rest.append(std::string_view(dot, size_t(end - dot)));
  rest.repeat("0", size_t(precision - used));
}

static void layScientific(double value, int precision, bool upper, Text &whole,
                          Text &rest) {
  Decimal decimal;
  significantDigits(value, precision + 1, decimal);
  whole.append(decimal.text[0]);
  if (precision > 0) {
    rest.append('.');
    rest.append(decimal.digits().substr(1));
    rest.repeat("0", size_t(precision + 1) - decimal.count);
  }
  appendExponent(rest, decimal.point - 1, upper);
}

static void shortestDigits(double value, bool isF32, Decimal &out) {
  char buffer[64];
  char *end =
      (isF32 ? std::to_chars(buffer, buffer + sizeof(buffer), float(value),
                             std::chars_format::scientific)
             : std::to_chars(buffer, buffer + sizeof(buffer), value,
                             std::chars_format::scientific))
          .ptr;
  readScientific(buffer, end, out);
}

/// `value` is finite and not negative.
static void layFinite(const FormatSpec &spec, double value, bool isF32,
                      Text &whole, Text &rest) {
  bool upper = spec.type == 'E' || spec.type == 'F' || spec.type == 'G';
  Decimal decimal;
  switch (spec.type) {
  case 'f':
  case 'F':
    return layFixed(value, spec.precision < 0 ? 6 : spec.precision, whole,
                    rest);
  case '%':
    // The caller has turned a multiplication that overflows into `inf`.
    layFixed(value, spec.precision < 0 ? 6 : spec.precision, whole, rest);
    return rest.append('%');
  case 'e':
  case 'E':
    return layScientific(value, spec.precision < 0 ? 6 : spec.precision, upper,
                         whole, rest);
  case 0:
    if (spec.precision < 0) {
      shortestDigits(value, isF32, decimal);
      bool exponential = decimal.point <= -4 || decimal.point > 16;
      return layGeneral(decimal, exponential, true, true, false, whole, rest);
    }
    [[fallthrough]];
  default: {
    int precision = spec.precision < 0 ? 6 : std::max(spec.precision, 1);
    significantDigits(value, precision, decimal);
    bool dotZero = spec.type == 0;
    bool exponential =
        decimal.point <= -4 || decimal.point > precision - (dotZero ? 1 : 0);
    return layGeneral(decimal, exponential, true, dotZero, upper, whole, rest);
  }
  }
}

static const char *formatFloat(Text &out, const FormatSpec &spec, double value,
                               bool isF32) {
  if (spec.type && !isFloatType(spec.type) && spec.type != 'n')
    return "this type is not for floats";
  if (spec.comma && spec.type == 'n')
    return "',' is not allowed with this type";
  bool upper = spec.type == 'E' || spec.type == 'F' || spec.type == 'G';
  bool negative = std::signbit(value) && !std::isnan(value);
  double magnitude = std::fabs(value);
  if (spec.type == '%')
    magnitude *= 100;
  Text whole(out.owner()), rest(out.owner());
  if (std::isnan(magnitude))
    rest.append(upper ? "NAN" : "nan");
  else if (std::isinf(magnitude))
    rest.append(upper ? "INF" : "inf");
  else
    layFinite(spec, magnitude, isF32, whole, rest);
  if (!std::isfinite(magnitude) && spec.type == '%')
    rest.append('%');
  if (whole.failed() || rest.failed()) {
    out.fail();
    return nullptr;
  }
  layNumber(out, spec, negative, whole.view(), rest.view());
  return nullptr;
}

const char *formatF64(Text &out, const FormatSpec &spec, double value) {
  return formatFloat(out, spec, value, false);
}
const char *formatF32(Text &out, const FormatSpec &spec, float value) {
  return formatFloat(out, spec, double(value), true);
}
void showF64(Text &out, double value) { formatFloat(out, {}, value, false); }
void showF32(Text &out, float value) {
  formatFloat(out, {}, double(value), true);
}

} // namespace mxrt::host
