// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RecordIO files as MXNet writes them, their index, and the header of a record
// that holds a picture.
//
// A record is a magic, a word with length and part, the bytes, and zeros up to
// a multiple of 4. Where the magic occurs in the bytes, at a multiple of 4, the
// writer cuts: the magic is left out and each part is a record of its own. So a
// magic at a multiple of 4 always begins a record, and a file can be read from
// any place on.

#ifndef MXRT_IO_RECORDS_H
#define MXRT_IO_RECORDS_H

#include "io/Input.h"

#include <span>

namespace mxrt::io {

inline constexpr uint32_t recordMagic = 0xced7230a;
/// Bytes of one part are fewer than this.
inline constexpr size_t maxRecordPart = size_t(1) << 29;

/// Appends a record. R0002 for a part of 2^29 bytes or more.
Status appendRecord(Vec<char> &file, std::string_view payload);

/// Reads records one after the other.
class RecordReader {
public:
  explicit RecordReader(Input &input, int64_t begin = 0) : input(input), at(begin) {}
  /// Where the next record begins.
  int64_t offset() const { return at; }
  bool atEnd() const { return at >= input.size; }
  /// The next record. R0602 if there is none.
  Status next(Vec<char> &payload);
  /// Moves to the first record that begins at `offset` or behind it; to the end
  /// if there is none.
  Status seek(int64_t offset);

private:
  Status header(int64_t where, uint32_t &part, int64_t &length) const;
  Input &input;
  int64_t at;
};

/// A line of an index: `key<TAB>offset`.
struct RecordPlace {
  int64_t key, offset;
};
/// The lines of an index, in their order. R0602 names a line that is none.
Status readRecordIndex(const Input &input, std::string_view text, Vec<RecordPlace> &places);
/// The index of a file: keys count from 0.
Status makeRecordIndex(Input &input, Vec<RecordPlace> &places);

/// What a record with a picture begins with: struct "IfQQ", then the labels if
/// there are several.
struct ImageRecord {
  uint64_t id = 0, id2 = 0;
  std::span<const char> labels; // little endian f32, not aligned
  std::string_view image;       // the bytes of a JPEG or PNG
  size_t labelCount() const { return labels.size() / 4; }
  float label(size_t i) const;
};
/// `offset` is that of the record, for messages.
Status readImageRecord(const Input &input, int64_t offset, std::string_view payload,
                       ImageRecord &record);
/// Appends header and picture, as the payload of a record.
[[nodiscard]] bool appendImageRecord(Vec<char> &payload, std::span<const float> labels, uint64_t id,
                                     std::string_view image);

} // namespace mxrt::io

#endif // MXRT_IO_RECORDS_H
