// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RecordIO files as MXNet writes them, their index, and the header of an image record.
//
// A record is a magic, a word with length and part kind, the bytes, and zero padding to a multiple
// of 4. If the magic occurs in the bytes at a multiple of 4, the writer splits there: the magic is
// omitted and each part is framed as a record. Therefore a magic at a multiple of 4 always starts a
// record, and a file can be read from any position.

#ifndef MXRT_IO_RECORDS_H
#define MXRT_IO_RECORDS_H

#include "io/Input.h"

#include <span>

namespace mxrt::io {

inline constexpr uint32_t recordMagic = 0xced7230a;
/// Maximum size of one part, exclusive.
inline constexpr size_t maxRecordPart = size_t(1) << 29;

/// Appends a record. R0002 for a part of 2^29 bytes or more.
Status appendRecord(Vec<char> &file, std::string_view payload);

/// Sequential reader of records.
class RecordReader {
public:
  explicit RecordReader(Input &input, int64_t begin = 0) : input(input), at(begin) {}
  /// The offset of the next record.
  int64_t offset() const { return at; }
  bool atEnd() const { return at >= input.size; }
  /// The next record. R0602 if there is none.
  Status next(Vec<char> &payload);
  /// Seeks to the first record at or after `offset`; to the end if there is none.
  Status seek(int64_t offset);

private:
  Status header(int64_t where, uint32_t &part, int64_t &length) const;
  Input &input;
  int64_t at;
};

/// A line of an index: `key<TAB>offset`.
struct RecordPosition {
  int64_t key, offset;
};
/// Parses the lines of an index, in order. R0602 names an invalid line.
Status readRecordIndex(const Input &input, std::string_view text, Vec<RecordPosition> &positions);
/// Builds the index of a file: keys count from 0.
Status makeRecordIndex(Input &input, Vec<RecordPosition> &positions);

/// The header of an image record: struct "IfQQ", then the labels if there are several.
struct ImageRecord {
  uint64_t id = 0, id2 = 0;
  std::span<const char> labels; // little-endian f32, unaligned
  std::string_view image;       // the bytes of a JPEG or PNG
  size_t labelCount() const { return labels.size() / 4; }
  float label(size_t i) const;
};
/// `offset` is the position of the record, for messages.
Status readImageRecord(const Input &input, int64_t offset, std::string_view payload,
                       ImageRecord &record);
/// Appends header and image, as the payload of a record.
[[nodiscard]] bool appendImageRecord(Vec<char> &payload, std::span<const float> labels, uint64_t id,
                                     std::string_view image);

} // namespace mxrt::io

#endif // MXRT_IO_RECORDS_H
