// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sequential streams, plain and decompressed by zlib.

#include "io/Input.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <zlib.h>

namespace mxrt::io {

namespace {

constexpr size_t bufferBytes = size_t(64) << 10;
/// The maximum compression ratio of deflate (a match of 258 bytes in two bits).
constexpr int64_t largestRatio = 1032;

// zlib does not pass the size on free, so it is stored in front of the block.
constexpr size_t prefix = 16;

void *allocateForZlib(void *opaque, unsigned items, unsigned size) {
  size_t bytes = size_t(items) * size + prefix;
  auto *alloc = static_cast<const mxrt_allocator *>(opaque);
  auto *memory = static_cast<char *>(allocateBytes(alloc, bytes));
  if (!memory)
    return nullptr;
  std::memcpy(memory, &bytes, sizeof bytes);
  return memory + prefix;
}

void releaseForZlib(void *opaque, void *memory) {
  size_t bytes = 0;
  char *block = static_cast<char *>(memory) - prefix;
  std::memcpy(&bytes, block, sizeof bytes);
  releaseBytes(static_cast<const mxrt_allocator *>(opaque), block, bytes);
}

} // namespace

Stream::~Stream() {
  if (inflater) {
    inflateEnd(inflater);
    deleteObject(input.alloc, inflater);
  }
  releaseBytes(input.alloc, buffer, bufferBytes);
}

Status Stream::open(int64_t from, int64_t to, Coding how) {
  begin = next = from;
  end = to;
  coding = how;
  if (coding == Coding::Plain)
    return success();
  buffer = static_cast<unsigned char *>(allocateBytes(input.alloc, bufferBytes));
  auto *made = newObject<z_stream_s>(input.alloc);
  if (!made || !buffer) {
    deleteObject(input.alloc, made);
    return outOfMemory(input.alloc);
  }
  made->zalloc = allocateForZlib;
  made->zfree = releaseForZlib;
  made->opaque = const_cast<mxrt_allocator *>(input.alloc);
  int bits = coding == Coding::Gzip ? MAX_WBITS + 16 : -MAX_WBITS;
  if (inflateInit2(made, bits) != Z_OK) {
    deleteObject(input.alloc, made);
    return outOfMemory(input.alloc);
  }
  inflater = made;
  return success();
}

Status Stream::openWhole() {
  unsigned char magic[2] = {};
  if (input.size >= 2)
    MXRT_CHECK(input.read(0, magic, 2));
  bool gzip = magic[0] == 0x1f && magic[1] == 0x8b;
  return open(0, input.size, gzip ? Coding::Gzip : Coding::Plain);
}

int64_t Stream::atMost() const {
  int64_t left = end - next;
  if (coding == Coding::Plain)
    return left;
  if (ended)
    return 0;
  left += inflater->avail_in;
  return left > INT64_MAX / (2 * largestRatio) ? INT64_MAX / 2
                                               : left * largestRatio + (int64_t(1) << 16);
}

Status Stream::malformed(int64_t at, const char *rule, const char *format, ...) const {
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (coding == Coding::Plain)
    return input.malformed(begin + at, rule, "%s", text);
  return input.malformed(begin + at, rule, "(of the decompressed data) %s", text);
}

/// Decompresses into `into`; `got` < `bytes` only at the end of the data.
Status Stream::inflateSome(void *into, size_t bytes, size_t &got) {
  got = 0;
  while (got < bytes && !ended) {
    if (inflater->avail_in == 0 && next < end) {
      size_t count = std::min<size_t>(bufferBytes, static_cast<size_t>(end - next));
      MXRT_CHECK(input.read(next, buffer, count));
      next += static_cast<int64_t>(count);
      inflater->next_in = buffer;
      inflater->avail_in = static_cast<unsigned>(count);
    }
    size_t room = std::min<size_t>(bytes - got, size_t(1) << 30);
    inflater->next_out = static_cast<unsigned char *>(into) + got;
    inflater->avail_out = static_cast<unsigned>(room);
    int result = inflate(inflater, Z_NO_FLUSH);
    got += room - inflater->avail_out;
    int64_t at = next - inflater->avail_in;
    bool more = inflater->avail_in > 0 || next < end;
    if (result == Z_STREAM_END) {
      // A gzip file may have several members in sequence.
      if (coding == Coding::Gzip && more)
        inflateReset(inflater);
      else if (more)
        return input.malformed(at, "trailing", "bytes follow the compressed data");
      else
        ended = true;
    } else if (result == Z_MEM_ERROR) {
      return outOfMemory(input.alloc);
    } else if (result != Z_OK && !(result == Z_BUF_ERROR && more)) {
      if (!more)
        return input.malformed(at, "truncated", "the compressed data ends too early");
      return input.malformed(at, "compressed", "the compressed data is damaged: %s",
                             inflater->msg ? inflater->msg : "no valid block");
    } else if (result == Z_OK && !more && inflater->avail_out > 0) {
      return input.malformed(at, "truncated", "the compressed data ends too early");
    }
  }
  position += static_cast<int64_t>(got);
  return success();
}

Status Stream::read(void *into, size_t bytes, const char *what) {
  if (coding == Coding::Plain) {
    if (static_cast<int64_t>(bytes) > end - next)
      return input.truncated(next, what, static_cast<int64_t>(bytes), end - next);
    MXRT_CHECK(input.read(next, into, bytes));
    next += static_cast<int64_t>(bytes);
    position += static_cast<int64_t>(bytes);
    return success();
  }
  size_t got = 0;
  int64_t at = position;
  MXRT_CHECK(inflateSome(into, bytes, got));
  if (got < bytes)
    return malformed(at, "truncated", "%s needs %zu bytes, %zu are left", what, bytes, got);
  return success();
}

Status Stream::expectEnd() {
  if (coding == Coding::Plain) {
    if (next != end)
      return input.malformed(next, "trailing", "%lld bytes follow what the header describes",
                             static_cast<long long>(end - next));
    return success();
  }
  char extra;
  size_t got = 0;
  int64_t at = position;
  MXRT_CHECK(inflateSome(&extra, 1, got));
  if (got != 0)
    return malformed(at, "trailing", "bytes follow what the header describes");
  return success();
}

} // namespace mxrt::io
