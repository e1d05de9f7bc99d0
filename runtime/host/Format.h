// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Format specifications of f-strings: [[fill]align][sign][0][width][,][.precision][type]
//
// As in Python, with one difference: a bool without a type is `true` or `false`, also when a width
// is given.
//
//   fill       any code point          align  < left, > right, ^ middle, = after the sign
//   sign       + always, - negative, space
//   0          pad with zeros after the sign (numbers)
//   ,          a comma between groups of three digits
//   type       str: s; i64: b c d n o x X and those of floats;
//              f32, f64: e E f F g G n %; bool: s and those of i64

#ifndef MXRT_HOST_FORMAT_H
#define MXRT_HOST_FORMAT_H

#include "host/Text.h"

namespace mxrt::host {

struct FormatSpec {
  std::string_view fill = " "; // one code point; points into the source text
  char align = 0;              // 0: default for the kind of the value
  char sign = '-';
  bool fillGiven = false;
  bool signGiven = false;
  bool zero = false;
  bool comma = false;
  int width = 0;
  int precision = -1; // -1: not given
  char type = 0;      // 0: not given
};

/// Largest width and precision of a format.
inline constexpr int maxFormatNumber = 65535;

/// Returns nullptr, or what is wrong with the text (static).
const char *parseFormatSpec(std::string_view text, FormatSpec &spec);

// Append the formatted value. Each returns nullptr, or what is wrong with the format for a value of
// this kind (static). Out of memory is recorded in `out`.
const char *formatInt(Text &out, const FormatSpec &spec, int64_t value);
const char *formatBool(Text &out, const FormatSpec &spec, bool value);
const char *formatF64(Text &out, const FormatSpec &spec, double value);
const char *formatF32(Text &out, const FormatSpec &spec, float value);
const char *formatStr(Text &out, const FormatSpec &spec, std::string_view value);

/// The shortest text that parses to the same number, as Python's repr.
void showF64(Text &out, double value);
void showF32(Text &out, float value);

} // namespace mxrt::host

#endif // MXRT_HOST_FORMAT_H
