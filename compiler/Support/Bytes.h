// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Human-readable byte counts.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace mx {

/// Parses `512MiB`, `2GB`, `1024`; nullopt if the text is not a byte count.
std::optional<int64_t> parseBytes(const std::string &text);

/// 112 B, 512 KiB, 1.6 MiB: one decimal unless it is zero, in every locale.
std::string formatBytes(double bytes);
/// Several byte counts in the unit of the largest: `unit` is an index into kByteUnits.
inline constexpr const char *kByteUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
int byteUnitOf(double bytes);
std::string bytesIn(double bytes, int unit);

} // namespace mx
