// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TensorBoard event files: records with checksums, each an Event message of Protocol Buffers.
// Supports only scalars over time.

#ifndef MXRT_IO_EVENTS_H
#define MXRT_IO_EVENTS_H

#include "base/Allocator.h"

#include <string_view>

namespace mxrt::io {

/// CRC-32C (Castagnoli), as in iSCSI.
uint32_t crc32c(std::string_view bytes);

/// Appends a record: length, its masked checksum, the bytes, their masked checksum. Returns false
/// if out of memory, as do the functions below.
[[nodiscard]] bool appendEventRecord(Vec<char> &file, std::string_view message);

/// The first event of a file. `time` is in seconds since 1970.
[[nodiscard]] bool appendVersionEvent(Vec<char> &file, double time);
/// A scalar of a curve.
[[nodiscard]] bool appendScalarEvent(Vec<char> &file, double time, int64_t step,
                                     std::string_view tag, float value);

} // namespace mxrt::io

#endif // MXRT_IO_EVENTS_H
