// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants shared by the reader and the writer of safetensors.

#ifndef MXRT_IO_SAFETENSORSFORMAT_H
#define MXRT_IO_SAFETENSORSFORMAT_H

#include "mxrt/types.h"

#include <cstdio>
#include <string_view>

namespace mxrt::io {

/// CRC-32 of the whole file, with these digits as zeros.
inline constexpr std::string_view checksumKey = "mx.crc32";
inline constexpr size_t checksumDigits = 8;

inline void formatChecksum(uint32_t sum, char (&digits)[checksumDigits + 1]) {
  std::snprintf(digits, sizeof digits, "%08x", sum);
}

struct SafeType {
  std::string_view name;
  mxrt_dtype type; // MXRT_DTYPE_COUNT: not supported by mx
  int64_t bits;
};
inline constexpr SafeType safeTypes[] = {{"BOOL", MXRT_BOOL, 8},
                                         {"U8", MXRT_U8, 8},
                                         {"I8", MXRT_I8, 8},
                                         {"I32", MXRT_I32, 32},
                                         {"I64", MXRT_I64, 64},
                                         {"F16", MXRT_F16, 16},
                                         {"BF16", MXRT_BF16, 16},
                                         {"F32", MXRT_F32, 32},
                                         {"F64", MXRT_F64, 64},
                                         {"I16", MXRT_DTYPE_COUNT, 16},
                                         {"U16", MXRT_DTYPE_COUNT, 16},
                                         {"U32", MXRT_DTYPE_COUNT, 32},
                                         {"U64", MXRT_DTYPE_COUNT, 64},
                                         {"C64", MXRT_DTYPE_COUNT, 64},
                                         {"F8_E5M2", MXRT_DTYPE_COUNT, 8},
                                         {"F8_E4M3", MXRT_DTYPE_COUNT, 8},
                                         {"F8_E8M0", MXRT_DTYPE_COUNT, 8},
                                         {"F4", MXRT_DTYPE_COUNT, 4},
                                         {"F6_E2M3", MXRT_DTYPE_COUNT, 6},
                                         {"F6_E3M2", MXRT_DTYPE_COUNT, 6}};

inline const SafeType *findSafeType(std::string_view name) {
  for (const SafeType &row : safeTypes)
    if (row.name == name)
      return &row;
  return nullptr;
}
inline std::string_view safeTypeName(mxrt_dtype type) {
  for (const SafeType &row : safeTypes)
    if (row.type == type)
      return row.name;
  return "?";
}

} // namespace mxrt::io

#endif // MXRT_IO_SAFETENSORSFORMAT_H
