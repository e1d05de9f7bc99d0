// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Byte sources of the file format readers: random access by offset with an Input (a file, or
// memory), or sequential access with a Stream over a part of it, which may be compressed.
//
// The declared sizes of a file are validated before anything is allocated for them. Errors name the
// file, the byte and the violated rule.
//
// Thread rule: one thread at a time for each object.

#ifndef MXRT_IO_INPUT_H
#define MXRT_IO_INPUT_H

#include "base/Allocator.h"

#include <string_view>

struct z_stream_s;

namespace mxrt::io {

/// Bytes with a fixed length and a name for messages.
class Input {
public:
  Input(const mxrt_allocator *alloc, std::string_view name, int64_t size)
      : alloc(alloc), name(name), size(size) {}
  Input(const Input &) = delete;
  Input &operator=(const Input &) = delete;

  /// Reads exactly `bytes` from `offset`. The caller has checked the range against `size`. Not pure
  /// virtual, which would need the C++ library. This base implementation has nothing to read.
  virtual Status read(int64_t offset, void *into, size_t bytes);

  /// R0602 "name: byte 12: text (rule)", with a printf format.
  Status malformed(int64_t offset, const char *rule, const char *format, ...) const
      __attribute__((format(printf, 4, 5)));
  /// R0602 for a premature end.
  Status truncated(int64_t offset, const char *what, int64_t wanted, int64_t left) const;

  const mxrt_allocator *const alloc;
  const std::string_view name;
  int64_t size;

protected:
  ~Input() = default;
};

/// An input in memory. The bytes must outlive it.
class MemoryInput final : public Input {
public:
  MemoryInput(const mxrt_allocator *alloc, std::string_view name, const void *bytes, size_t size)
      : Input(alloc, name, static_cast<int64_t>(size)), bytes(static_cast<const char *>(bytes)) {}
  Status read(int64_t offset, void *into, size_t count) override;

private:
  const char *bytes;
};

/// A regular file. R0601 with the reason if it cannot be opened or read.
class FileInput final : public Input {
public:
  /// `path` must outlive it.
  FileInput(const mxrt_allocator *alloc, const char *path) : Input(alloc, path, 0), path(path) {}
  ~FileInput();
  Status open();
  Status read(int64_t offset, void *into, size_t count) override;

private:
  const char *path;
  int descriptor = -1;
};

/// R0601 "verb `path`: why".
Status fileError(const mxrt_allocator *alloc, const char *verb, const char *path, int number);

enum class Coding { Plain, Gzip, Deflate };

/// Sequential reader of a part of an input.
class Stream {
public:
  explicit Stream(Input &input) : input(input) {}
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;
  ~Stream();

  /// Opens the bytes [begin, end) of the input.
  Status open(int64_t begin, int64_t end, Coding coding);
  /// Opens the whole input; as gzip if it has the gzip magic.
  Status openWhole();

  /// Reads exactly `bytes`, or returns an error that names `what`.
  Status read(void *into, size_t bytes, const char *what);
  /// Checks that nothing follows, and verifies the checksum of a compressed stream.
  Status expectEnd();
  /// Upper bound of the remaining bytes: larger sizes in a header are rejected before memory is
  /// allocated.
  int64_t atMost() const;
  /// Number of (decompressed) bytes read so far.
  int64_t offset() const { return position; }
  /// malformed() at a byte of this stream.
  Status malformed(int64_t at, const char *rule, const char *format, ...) const
      __attribute__((format(printf, 4, 5)));

  Input &input;

private:
  Status inflateSome(void *into, size_t bytes, size_t &got);
  int64_t begin = 0, next = 0, end = 0; // offsets in the input
  int64_t position = 0;
  Coding coding = Coding::Plain;
  z_stream_s *inflater = nullptr;
  unsigned char *buffer = nullptr;
  bool ended = false; // the last member of a compressed stream has ended
};

} // namespace mxrt::io

#endif // MXRT_IO_INPUT_H
