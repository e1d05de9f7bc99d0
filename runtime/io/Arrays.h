// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Readers of files that hold arrays of numbers: idx, npy, npz, CSV, text and
// plain elements. Each reads and checks a description first; the caller then
// takes memory for exactly what it says and has it filled.
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
  bool swapped = false; // the file has the other order of bytes
};

/// elements and bytes from the sizes; refuses what does not fit in 63 bits.
Status measure(const Stream &stream, int64_t at, ArrayHead &head);

/// The format of MNIST: two zeros, a code of the elements, the rank, sizes as
/// big endian u32.
Status readIdxHead(Stream &stream, ArrayHead &head);
/// NumPy's .npy, versions 1 to 3; elements in C order.
Status readNpyHead(Stream &stream, ArrayHead &head);
/// The elements behind a head, to the end of the stream.
Status readElements(Stream &stream, const ArrayHead &head, void *into);

/// Opens the array `name` (`name.npy`) of a .npz; with an empty name the only
/// one. R0602 lists the names there are.
Status openNpz(Input &input, std::string_view name, Stream &stream);

/// What a table of numbers holds, before it is read.
struct CsvHead {
  int64_t rows = 0, columns = 0;
  int64_t begin = 0; // of the first row
};
/// Rows of numbers with one separator between them. `header` skips a line. All
/// of `text` is looked at: afterwards readCsv cannot fail.
Status readCsvHead(const Input &input, std::string_view text, char separator, bool header,
                   CsvHead &head);
/// head.rows * head.columns numbers.
void readCsv(std::string_view text, char separator, const CsvHead &head, float *into);

/// The distinct characters of a text, smallest first, and the number of all.
/// R0602 if it is not UTF-8.
Status readVocabulary(const Input &input, std::string_view text, Vec<uint32_t> &vocabulary,
                      int64_t &characters);
/// The place of each character in the vocabulary.
void readCharacters(std::string_view text, const Vec<uint32_t> &vocabulary, int32_t *into);

/// The next character of well-formed UTF-8, which `at` is moved behind; -1 if
/// it is malformed there.
int32_t nextCharacter(std::string_view text, size_t &at);
/// Appends the UTF-8 of a character.
[[nodiscard]] bool appendCharacter(Vec<char> &text, uint32_t character);

} // namespace mxrt::io

#endif // MXRT_IO_ARRAYS_H
