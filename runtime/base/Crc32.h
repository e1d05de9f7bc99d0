// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CRC-32 (ISO 3309, as in zip and PNG), for checksums of files.

#ifndef MXRT_BASE_CRC32_H
#define MXRT_BASE_CRC32_H

#include <cstddef>
#include <cstdint>

namespace mxrt {

/// Extends the checksum `before` by these bytes. The checksum of no bytes is 0.
uint32_t crc32(uint32_t before, const void *bytes, size_t count);

} // namespace mxrt

#endif // MXRT_BASE_CRC32_H
