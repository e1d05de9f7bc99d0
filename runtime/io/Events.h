// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Event files of TensorBoard: records with checksums, each an Event message of
// Protocol Buffers. Only what numbers over time need.

#ifndef MXRT_IO_EVENTS_H
#define MXRT_IO_EVENTS_H

#include "base/Allocator.h"

#include <string_view>

namespace mxrt::io {

/// The checksum of Castagnoli, as iSCSI has it.
uint32_t crc32c(std::string_view bytes);

/// Appends a record: length, its masked checksum, the bytes, their masked
/// checksum. False without memory, as below.
[[nodiscard]] bool appendEventRecord(Vec<char> &file, std::string_view message);

/// What a file begins with. `time` is in seconds since 1970.
[[nodiscard]] bool appendVersionEvent(Vec<char> &file, double time);
/// A number of a curve.
[[nodiscard]] bool appendScalarEvent(Vec<char> &file, double time, int64_t step,
                                     std::string_view tag, float value);

} // namespace mxrt::io

#endif // MXRT_IO_EVENTS_H
