// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of bytes as people write them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace mx {

/// Bytes of `512MiB`, `2GB`, `1024`; nothing if it is none.
std::optional<int64_t> parseBytes(const std::string &text);

} // namespace mx
