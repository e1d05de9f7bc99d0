// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// File and memory inputs, and their error messages.

#include "io/Input.h"
#include "base/Files.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace mxrt::io {

namespace {

/// Messages are truncated to this many bytes: names in them come from files.
constexpr size_t textBytes = 480;

} // namespace

Status Input::malformed(int64_t offset, const char *rule, const char *format, ...) const {
  char text[textBytes];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return error(alloc, MXRT_FILE_FORMAT, noLocation, "%.*s: byte %lld: %s\nrule: %s", int(name.size()),
               name.data(), static_cast<long long>(offset), text, rule);
}

Status Input::read(int64_t offset, void *, size_t bytes) {
  return truncated(offset, "the input", static_cast<int64_t>(bytes), 0);
}

Status Input::truncated(int64_t offset, const char *what, int64_t wanted, int64_t left) const {
  return malformed(offset, "truncated", "%s needs %lld bytes, %lld are left", what,
                   static_cast<long long>(wanted), static_cast<long long>(left));
}

Status fileError(const mxrt_allocator *alloc, const char *verb, const char *path, int number) {
  char buffer[128];
  return error(alloc, MXRT_FILE_ACCESS, noLocation, "cannot %s `%s`: %s", verb, path,
               os::errorText(number, buffer, sizeof buffer));
}

Status MemoryInput::read(int64_t offset, void *into, size_t count) {
  if (count > 0)
    std::memcpy(into, bytes + offset, count);
  return success();
}

FileInput::~FileInput() { os::closeFile(descriptor); }

Status FileInput::open() {
  if (int failure = os::openForReading(path, descriptor, size))
    return fileError(alloc, "read", path, failure);
  return success();
}

Status FileInput::read(int64_t offset, void *into, size_t count) {
  size_t got = 0;
  if (int failure = os::readAt(descriptor, into, count, offset, &got))
    return fileError(alloc, "read", path, failure);
  if (got < count) // shorter than when it was opened
    return truncated(offset + static_cast<int64_t>(got), "the file", static_cast<int64_t>(count),
                     static_cast<int64_t>(got));
  return success();
}

} // namespace mxrt::io
