// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Building blocks of files in each format, written by hand after the standards.

#ifndef MX_TEST_UNIT_RUNTIME_IO_BYTES_H
#define MX_TEST_UNIT_RUNTIME_IO_BYTES_H

#include <cstdint>
#include <string>

namespace mxrt::test {

std::string little(uint64_t value, int bytes);
std::string big(uint64_t value, int bytes);

/// By zlib; `bits` are its windowBits: 15 + 16 for gzip, -15 for bare deflate.
std::string packed(const std::string &text, int bits);
/// As much as there is of at most 64 KiB.
std::string unpacked(const std::string &bytes, int bits);

/// A file of a zip archive at `offset`; its line of the directory is appended.
std::string zipEntry(const std::string &name, const std::string &raw, const std::string &data,
                     int method, std::string &directory, size_t offset);
/// Directory and end of an archive whose files take `offset` bytes.
std::string zipEnd(const std::string &directory, size_t entries, size_t offset);

/// A part of a record: 0 for a whole one.
std::string recordPart(unsigned flag, const std::string &bytes);

std::string pngChunk(const std::string &name, const std::string &data);

/// A safetensors file with the right checksum behind "mx.crc32":", if that is there.
std::string withChecksum(std::string file);

} // namespace mxrt::test

#endif // MX_TEST_UNIT_RUNTIME_IO_BYTES_H
