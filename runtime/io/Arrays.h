// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Readers of array files: idx, npy, npz, CSV, text and raw elements. Each reads and validates a
// header first. The caller then allocates exactly that much memory and has it filled.
//
//   Stream stream(input);
//   MXRT_CHECK(stream.openWhole());
//   ArrayHead head;
//   MXRT_CHECK(readIdxHead(stream, head));
//   ... head.bytes of memory ...
//   MXRT_CHECK(readElements(stream, head, memory));

#ifndef MXRT_IO_ARRAYS_H
#define MXRT_IO_ARRAYS_H

#include "io/Input.h"
#include "mxrt/types.h"

namespace mxrt::io {

struct ArrayHead {
  mxrt_dtype type = MXRT_U8;
  int32_t rank = 0;
  int64_t sizes[MXRT_MAX_RANK] = {};
  int64_t elements = 0;
  int64_t bytes = 0;
  bool swapped = false; // the file has the other byte order
};

/// Computes elements and bytes from the sizes; rejects sizes that overflow 63 bits.
Status measure(const Stream &stream, int64_t at, ArrayHead &head);

/// The format of MNIST: two zeros, an element type code, the rank, sizes as big-endian u32.
Status readIdxHead(Stream &stream, ArrayHead &head);
/// NumPy's .npy, versions 1 to 3; elements in C order.
Status readNpyHead(Stream &stream, ArrayHead &head);
/// Reads the elements after a header, to the end of the stream.
Status readElements(Stream &stream, const ArrayHead &head, void *into);

/// Opens the array `name` (`name.npy`) of a .npz; with an empty name the only one. R0602 lists the
/// available names.
Status openNpz(Input &input, std::string_view name, Stream &stream);

/// The dimensions of a table of numbers, before it is read.
struct CsvHead {
  int64_t rows = 0, columns = 0;
  int64_t begin = 0; // of the first row
};
/// Rows of numbers with one separator between them. `header` skips a line. Validates all of `text`,
/// so that readCsv cannot fail afterwards.
Status readCsvHead(const Input &input, std::string_view text, char separator, bool header,
                   CsvHead &head);
/// head.rows * head.columns numbers.
void readCsv(std::string_view text, char separator, const CsvHead &head, float *into);

/// The distinct characters of a text in ascending order, and the total count. R0602 if the text is
/// not UTF-8.
Status readVocabulary(const Input &input, std::string_view text, Vec<uint32_t> &vocabulary,
                      int64_t &characters);
/// The vocabulary index of each character.
void readCharacters(std::string_view text, const Vec<uint32_t> &vocabulary, int32_t *into);

/// Decodes the next character of UTF-8 and advances `at`; -1 if it is malformed.
int32_t nextCharacter(std::string_view text, size_t &at);
/// Appends the UTF-8 of a character.
[[nodiscard]] bool appendCharacter(Vec<char> &text, uint32_t character);

} // namespace mxrt::io

#endif // MXRT_IO_ARRAYS_H
