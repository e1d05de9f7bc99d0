// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the readers of file formats get their bytes: by offset from an Input
// (a file, or memory), or one after the other from a Stream over a part of it,
// which may be compressed.
//
// What a file says of itself is checked before anything is allocated for it.
// Errors name the file, the byte and the rule that it breaks.
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

  /// All of `bytes` from `offset` on; the caller has compared with `size`. Not
  /// pure, which would need the C++ library: this one has nothing to read.
  virtual Status read(int64_t offset, void *into, size_t bytes);

  /// R0602 "name: byte 12: text (rule)"; the format is printf's.
  Status malformed(int64_t offset, const char *rule, const char *format, ...) const
      __attribute__((format(printf, 4, 5)));
  /// R0602 for an end that comes too early.
  Status truncated(int64_t offset, const char *what, int64_t wanted, int64_t left) const;

  const mxrt_allocator *const alloc;
  const std::string_view name;
  int64_t size;

protected:
  ~Input() = default;
};

/// The bytes must outlive it.
class MemoryInput final : public Input {
public:
  MemoryInput(const mxrt_allocator *alloc, std::string_view name, const void *bytes, size_t size)
      : Input(alloc, name, static_cast<int64_t>(size)), bytes(static_cast<const char *>(bytes)) {}
  Status read(int64_t offset, void *into, size_t count) override;

private:
  const char *bytes;
};

/// A regular file. R0601 if it cannot be opened or read, with the reason.
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

/// A part of an input from its beginning to its end.
class Stream {
public:
  explicit Stream(Input &input) : input(input) {}
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;
  ~Stream();

  /// Bytes `begin` up to `end` of the input.
  Status open(int64_t begin, int64_t end, Coding coding);
  /// The whole input; gzip if it begins like it.
  Status openWhole();

  /// Exactly `bytes`, or an error that says what was wanted.
  Status read(void *into, size_t bytes, const char *what);
  /// That nothing follows; what a compressed stream says of its sum is compared.
  Status expectEnd();
  /// No more than this can follow: what a header announces beyond it is refused
  /// before memory is taken.
  int64_t atMost() const;
  /// Number of (decompressed) bytes read so far.
  int64_t offset() const { return position; }
  /// malformed() at a byte of this stream.
  Status malformed(int64_t at, const char *rule, const char *format, ...) const
      __attribute__((format(printf, 4, 5)));

  Input &input;

private:
  Status inflateSome(void *into, size_t bytes, size_t &got);
  int64_t begin = 0, next = 0, end = 0; // of the input
  int64_t position = 0;
  Coding coding = Coding::Plain;
  z_stream_s *inflater = nullptr;
  unsigned char *buffer = nullptr;
  bool ended = false; // the last member of a compressed stream is over
};

} // namespace mxrt::io

#endif // MXRT_IO_INPUT_H
