// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each file format as a function from bytes to a summary of what they hold, and
// a golden file of it. Shared by the unit tests, the fuzz targets and the sweep
// of allocations.

#ifndef MX_TEST_UNIT_RUNTIME_IO_FORMATS_H
#define MX_TEST_UNIT_RUNTIME_IO_FORMATS_H

#include "io/Arrays.h"
#include "io/Bpe.h"
#include "io/Records.h"
#include "io/Resample.h"
#include "io/Safetensors.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace mxrt::test {

/// Reads all of `input`; `summary` gets shapes and the sum of all bytes.
using ReadFormat = Status (*)(io::Input &input, std::string &summary);

inline void summarise(std::string &out, const char *name, int64_t bytes, const char *data) {
  unsigned sum = 0;
  for (int64_t i = 0; i < bytes; ++i)
    sum = sum * 31 + static_cast<unsigned char>(data[i]);
  out += std::string(name) + " " + std::to_string(bytes) + " " + std::to_string(sum) + "; ";
}

inline Status readElementsOf(io::Stream &stream, const io::ArrayHead &head, std::string &summary) {
  Vec<char> data(stream.input.alloc);
  if (!data.resize(static_cast<size_t>(head.bytes)))
    return outOfMemory(stream.input.alloc);
  MXRT_CHECK(io::readElements(stream, head, data.data()));
  summary += std::string(mxrt_dtype_name(head.type)) + " rank " + std::to_string(head.rank) + " ";
  summarise(summary, "elements", head.bytes, data.data());
  return success();
}

inline Status readIdx(io::Input &input, std::string &summary) {
  io::Stream stream(input);
  MXRT_CHECK(stream.openWhole());
  io::ArrayHead head;
  MXRT_CHECK(io::readIdxHead(stream, head));
  return readElementsOf(stream, head, summary);
}

inline Status readNpy(io::Input &input, std::string &summary) {
  io::Stream stream(input);
  MXRT_CHECK(stream.openWhole());
  io::ArrayHead head;
  MXRT_CHECK(io::readNpyHead(stream, head));
  return readElementsOf(stream, head, summary);
}

inline Status readNpz(io::Input &input, std::string &summary) {
  for (const char *name : {"a", "b"}) {
    io::Stream stream(input);
    MXRT_CHECK(io::openNpz(input, name, stream));
    io::ArrayHead head;
    MXRT_CHECK(io::readNpyHead(stream, head));
    MXRT_CHECK(readElementsOf(stream, head, summary));
  }
  return success();
}

inline Status readText(io::Input &input, Vec<char> &text) {
  if (!text.resize(static_cast<size_t>(input.size)))
    return outOfMemory(input.alloc);
  return input.read(0, text.data(), text.size());
}

inline Status readCsv(io::Input &input, std::string &summary) {
  Vec<char> text(input.alloc);
  MXRT_CHECK(readText(input, text));
  io::CsvHead head;
  std::string_view view(text.data(), text.size());
  MXRT_CHECK(io::readCsvHead(input, view, ',', true, head));
  Vec<float> numbers(input.alloc);
  if (!numbers.resize(static_cast<size_t>(head.rows * head.columns)))
    return outOfMemory(input.alloc);
  io::readCsv(view, ',', head, numbers.data());
  summary += std::to_string(head.rows) + " x " + std::to_string(head.columns) + " ";
  summarise(summary, "numbers", static_cast<int64_t>(numbers.size() * sizeof(float)),
            reinterpret_cast<const char *>(numbers.data()));
  return success();
}

inline Status readCharacters(io::Input &input, std::string &summary) {
  Vec<char> text(input.alloc);
  MXRT_CHECK(readText(input, text));
  Vec<uint32_t> vocabulary(input.alloc);
  int64_t characters = 0;
  std::string_view view(text.data(), text.size());
  MXRT_CHECK(io::readVocabulary(input, view, vocabulary, characters));
  Vec<int32_t> ids(input.alloc);
  if (!ids.resize(static_cast<size_t>(characters)))
    return outOfMemory(input.alloc);
  io::readCharacters(view, vocabulary, ids.data());
  Vec<char> spelled(input.alloc);
  for (uint32_t c : vocabulary)
    if (!io::appendCharacter(spelled, c))
      return outOfMemory(input.alloc);
  summary += std::string(spelled.data(), spelled.size());
  summarise(summary, " ids", static_cast<int64_t>(ids.size() * sizeof(int32_t)),
            reinterpret_cast<const char *>(ids.data()));
  return success();
}

inline Status readSafetensors(io::Input &input, std::string &summary) {
  io::SafetensorsIndex index(input);
  MXRT_CHECK(index.read());
  MXRT_CHECK(index.verify());
  for (const io::SafeTensor &tensor : index.tensors) {
    Vec<char> data(input.alloc);
    if (!data.resize(static_cast<size_t>(tensor.bytes)))
      return outOfMemory(input.alloc);
    MXRT_CHECK(index.readTensor(tensor, data.data()));
    summarise(summary, std::string(tensor.name).c_str(), tensor.bytes, data.data());
  }
  return success();
}

inline Status readRecords(io::Input &input, std::string &summary) {
  io::RecordReader reader(input);
  Vec<char> payload(input.alloc);
  while (!reader.atEnd()) {
    int64_t offset = reader.offset();
    MXRT_CHECK(reader.next(payload));
    summarise(summary, "record", static_cast<int64_t>(payload.size()), payload.data());
    // Not every record is an image.
    io::ImageRecord image;
    Status status = io::readImageRecord(input, offset, {payload.data(), payload.size()}, image);
    if (status.ok())
      summary += std::to_string(image.labelCount()) + " labels; ";
    else if (status.code() != MXRT_FILE_FORMAT)
      return status;
  }
  Vec<io::RecordPosition> locations(input.alloc);
  MXRT_CHECK(io::makeRecordIndex(input, locations));
  summary += std::to_string(locations.size()) + " records";
  return success();
}

/// An image, and its centre at another size; of large ones only the size is read.
inline Status decodePicture(const io::Input &input, int64_t offset, std::string_view view,
                            std::string &summary) {
  io::ImageSize size;
  MXRT_CHECK(io::readImageSize(input, offset, view, size));
  summary += std::to_string(size.width) + " x " + std::to_string(size.height) + "; ";
  if (size.width * size.height > (1 << 20))
    return success();
  int64_t shrink = io::shrinkOf(view, size, 3, 2);
  io::ImageSize small = io::shrunk(size, shrink);
  Vec<unsigned char> rgb(input.alloc);
  float middle[3 * 3 * 2];
  if (!rgb.resize(static_cast<size_t>(3 * small.width * small.height)))
    return outOfMemory(input.alloc);
  MXRT_CHECK(io::decodeImage(input, offset, view, size, shrink, rgb.data()));
  MXRT_CHECK(io::ByteResampler(input.alloc)
                 .run(rgb.data(), small, io::middleOf(small, 3, 2), 3, 2, middle));
  for (float value : middle)
    if (!(value >= 0 && value < 1.001f))
      return error(input.alloc, MXRT_INTERNAL, noLocation, "a pixel is %g", double(value));
  summarise(summary, "rgb", static_cast<int64_t>(rgb.size()),
            reinterpret_cast<const char *>(rgb.data()));
  return success();
}
inline Status readPicture(io::Input &input, std::string &summary) {
  Vec<char> bytes(input.alloc);
  MXRT_CHECK(readText(input, bytes));
  return decodePicture(input, 0, {bytes.data(), bytes.size()}, summary);
}

/// Records that are all images.
inline Status readImageRecords(io::Input &input, std::string &summary) {
  io::RecordReader reader(input);
  Vec<char> payload(input.alloc);
  while (!reader.atEnd()) {
    int64_t offset = reader.offset();
    MXRT_CHECK(reader.next(payload));
    io::ImageRecord record;
    MXRT_CHECK(io::readImageRecord(input, offset, {payload.data(), payload.size()}, record));
    for (size_t i = 0; i < record.labelCount(); ++i)
      summary += record.label(i) == 1 ? "1 " : "? ";
    MXRT_CHECK(decodePicture(input, offset, record.image, summary));
  }
  return success();
}

inline Status readIndex(io::Input &input, std::string &summary) {
  Vec<char> text(input.alloc);
  Vec<io::RecordPosition> locations(input.alloc);
  MXRT_CHECK(readText(input, text));
  MXRT_CHECK(io::readRecordIndex(input, {text.data(), text.size()}, locations));
  for (const io::RecordPosition &location : locations)
    summary += std::to_string(location.key) + "@" + std::to_string(location.offset) + " ";
  return success();
}

/// Merges of any text encode it to tokens that spell it again, no more than it has bytes.
inline Status readBpe(io::Input &input, std::string &summary) {
  Vec<char> text(input.alloc), back(input.alloc);
  Vec<io::Merge> merges(input.alloc);
  Vec<int32_t> tokens(input.alloc);
  io::Bpe bpe(input.alloc);
  if (!text.resize(static_cast<size_t>(input.size)))
    return outOfMemory(input.alloc);
  MXRT_CHECK(input.read(0, text.data(), text.size()));
  std::string_view view(text.data(), text.size());
  MXRT_CHECK(io::trainBpe(view, 300, merges));
  MXRT_CHECK(bpe.set({merges.data(), merges.size()}));
  MXRT_CHECK(bpe.encode(view, tokens));
  MXRT_CHECK(bpe.decode({tokens.data(), tokens.size()}, back));
  if (view != std::string_view(back.data(), back.size()) || tokens.size() > text.size())
    return error(input.alloc, MXRT_INTERNAL, noLocation, "the text did not come back");
  summary +=
      std::to_string(merges.size()) + " merges, " + std::to_string(tokens.size()) + " tokens";
  return success();
}

/// Merges as a checkpoint may hold them - their number, then pairs of tokens - and tokens to spell.
/// What is wrong with them is R0002, since they are values of the program by then.
inline Status readMerges(io::Input &input, std::string &summary) {
  Vec<char> bytes(input.alloc), text(input.alloc);
  MXRT_CHECK(readText(input, bytes));
  if (bytes.empty())
    return input.truncated(0, "the number of merges", 1, 0);
  Vec<int32_t> words(input.alloc);
  if (!words.resize((bytes.size() - 1) / 4))
    return outOfMemory(input.alloc);
  if (!words.empty())
    std::memcpy(words.data(), bytes.data() + 1, words.size() * 4);
  // Sixteen merges and sixteen tokens spell a million bytes at most.
  size_t count = std::min<size_t>({size_t(bytes[0]) & 0x7f, words.size() / 2, 16});
  Vec<io::Merge> merges(input.alloc);
  for (size_t i = 0; i < count; ++i)
    if (!merges.push({words[2 * i], words[2 * i + 1]}))
      return outOfMemory(input.alloc);
  size_t tokens = std::min<size_t>(words.size() - 2 * count, 16);
  io::Bpe bpe(input.alloc);
  Status status = bpe.set({merges.data(), merges.size()});
  if (status.ok())
    status = bpe.decode({words.data() + 2 * count, tokens}, text);
  if (status.code() == MXRT_INVALID_ARGUMENT)
    return input.malformed(1, "merges", "%s", status.message());
  MXRT_CHECK(std::move(status));
  summarise(summary, "text", static_cast<int64_t>(text.size()), text.data());
  return success();
}

struct Format {
  const char *name;
  ReadFormat read;
  std::string (*golden)();
  /// Whether any byte less makes it another file. (Text may end anywhere.)
  bool everyByteCounts;
};

/// The formats with their golden files (Golden.cpp).
extern const Format formats[];
extern const size_t formatCount;

} // namespace mxrt::test

#endif // MX_TEST_UNIT_RUNTIME_IO_FORMATS_H
