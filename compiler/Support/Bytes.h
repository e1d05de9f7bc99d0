// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Human-readable byte counts.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace mx {

/// Parses `512MiB`, `2 GB`, `1024`; nullopt if the text is not a byte count (mxrt/bytes.h).
std::optional<int64_t> parseBytes(const std::string &text);

/// 112 B, 512 KiB, 1.6 MiB: one decimal unless it is zero, in every locale.
std::string formatBytes(double bytes);
/// Several byte counts in the unit of the largest: `unit` is an index into kByteUnits.
extern const char *const kByteUnits[7];
int byteUnitOf(double bytes);
std::string bytesIn(double bytes, int unit);

} // namespace mx
