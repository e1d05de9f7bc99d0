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

} // namespace mx
