// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Byte counts as text: "512 MiB". Compiler and runtime read and write them with these functions, so
// that options, environment variables, plans and errors agree.

#ifndef MXRT_BYTES_H
#define MXRT_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Powers of 1024.
#define MXRT_BYTE_UNITS {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}

/// The unit in which a count is below 1024.
static inline int mxrt_byte_unit(int64_t bytes) {
  int unit = 0;
  for (; bytes >= 1024; bytes /= 1024)
    ++unit;
  return unit;
}

/// Writes a count >= 0 in a unit, "1.6": one rounded decimal unless it is zero. By integers, since
/// the decimal point of printf is the locale's.
static inline void mxrt_bytes_in(int64_t bytes, int unit, char *text, size_t capacity) {
  uint64_t scale = UINT64_C(1) << (10 * unit), whole = (uint64_t)bytes / scale;
  uint64_t tenths = ((uint64_t)bytes % scale * 10 + scale / 2) / scale;
  whole += tenths / 10;
  tenths %= 10;
  if (tenths)
    snprintf(text, capacity, "%llu.%llu", (unsigned long long)whole, (unsigned long long)tenths);
  else
    snprintf(text, capacity, "%llu", (unsigned long long)whole);
}

/// The factor of a unit as it is typed, or 0: K, M, G, T (also KiB, …) are powers of 1024, KB, MB,
/// GB and TB powers of 1000.
static inline int64_t mxrt_byte_factor(const char *name) {
  static const char letters[] = "kmgt";
  char lower[4] = {0, 0, 0, 0};
  for (size_t i = 0; name[i]; ++i) {
    if (i == 3)
      return 0;
    lower[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];
  }
  if (!lower[0] || (lower[0] == 'b' && !lower[1]))
    return 1;
  int isBinary = !lower[1] || (lower[1] == 'i' && lower[2] == 'b');
  if (!isBinary && !(lower[1] == 'b' && !lower[2]))
    return 0;
  int64_t factor = 1;
  for (const char *letter = letters; *letter; ++letter) {
    factor *= isBinary ? 1024 : 1000;
    if (*letter == lower[0])
      return factor;
  }
  return 0;
}

/// Reads "1048576", "512M", "1.5GiB", "2 GB" in any case. Returns 0 for anything else, for 0 bytes
/// and for counts that do not fit in 63 bits.
static inline int mxrt_parse_bytes(const char *text, int64_t *bytes) {
  int64_t whole = 0, fraction = 0, scale = 1, total = 0;
  while (*text == ' ')
    ++text;
  if (*text < '0' || *text > '9')
    return 0;
  for (; *text >= '0' && *text <= '9'; ++text)
    if (__builtin_mul_overflow(whole, 10, &whole) ||
        __builtin_add_overflow(whole, *text - '0', &whole))
      return 0;
  if (*text == '.') {
    ++text;
    if (*text < '0' || *text > '9')
      return 0;
    // Nine decimals; more would not change a byte count.
    for (; *text >= '0' && *text <= '9'; ++text)
      if (scale < 1000000000) {
        fraction = fraction * 10 + (*text - '0');
        scale *= 10;
      }
  }
  while (*text == ' ')
    ++text;
  int64_t factor = mxrt_byte_factor(text);
  if (factor == 0 || __builtin_mul_overflow(whole, factor, &total))
    return 0;
  // factor <= 2^40 and fraction < 10^9: split to stay within 63 bits.
  int64_t part = factor / scale * fraction + factor % scale * fraction / scale;
  if (__builtin_add_overflow(total, part, &total) || total <= 0)
    return 0;
  *bytes = total;
  return 1;
}

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MXRT_BYTES_H
