// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Error objects. Each error is one object: a fixed header and a text area that holds the message
// and the file names. The area has slack, so that adding the location of notice usually needs no
// memory. Part of mxrt_core: no C++ runtime.

#include "base/Status.h"
#include "base/StatusReserve.h"

#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace {
enum class Home : uint8_t { Constant, Heap, Reserve };
}

struct mxrt_status_object {
  std::atomic<uint32_t> refs;
  Home home;
  mxrt_code code;
  mxrt_allocator allocator; // a copy: an error may outlive its runtime; it holds
                            // a reference to its reserve
  const char *message; // points into text, or to static text of a constant
  mxrt_location issued;   // files point into text
  mxrt_location noticed;
  uint32_t capacity; // bytes of text that follow this header
  uint32_t used;

  char *text() { return reinterpret_cast<char *>(this + 1); }
};

namespace mxrt {
namespace {

constexpr uint32_t slack = 96;
constexpr size_t longestMessage = 1 << 20;

constexpr mxrt_allocator noAllocator = {nullptr, nullptr, nullptr, nullptr};

constinit mxrt_status_object constants[] = {
#define MXRT_CODE(name, number, text)                                          \
  {{1},     Home::Constant, MXRT_##name, noAllocator, text,                    \
   noLocation, noLocation,        0,           0},
#include "mxrt/codes.def"
};

/// Appends `length` bytes and a terminator; as much as fits if `cut`, else all or nothing.
char *append(mxrt_status_object *object, const char *bytes, size_t length,
             bool cut) {
  size_t room = object->capacity - object->used;
  if (room == 0 || (length + 1 > room && !cut))
    return nullptr;
  if (length + 1 > room)
    length = room - 1;
  char *start = object->text() + object->used;
  memcpy(start, bytes, length);
  start[length] = 0;
  object->used += static_cast<uint32_t>(length) + 1;
  return start;
}

mxrt_status_object *initialise(void *memory, size_t textBytes, Home home,
                               mxrt_code code) {
  auto *object = ::new (memory) mxrt_status_object{
      {1}, home, code, noAllocator, "", noLocation, noLocation, 0, 0};
  object->capacity = static_cast<uint32_t>(textBytes);
  return object;
}

/// An empty error with capacity for `textBytes`: from the heap, else from the reserve (with less
/// capacity), else nullptr.
mxrt_status_object *obtain(const mxrt_allocator *alloc, mxrt_code code,
                           size_t textBytes) {
  size_t bytes = sizeof(mxrt_status_object) + textBytes;
  void *memory = alloc->allocate(alloc->user, bytes, alignof(std::max_align_t));
  if (memory) {
    auto *object = initialise(memory, textBytes, Home::Heap, code);
    object->allocator = *alloc;
    // Changing a shared error copies it, which may need the reserve.
    retainReserve(alloc->reserve);
    return object;
  }
  if (alloc->reserve) {
    if (void *slot = takeReserveSlot(alloc->reserve)) {
      static_assert(reserveSlotBytes > sizeof(mxrt_status_object) + 200);
      auto *object =
          initialise(slot, reserveSlotBytes - sizeof(mxrt_status_object),
                     Home::Reserve, code);
      object->allocator = *alloc; // the slot holds a reference to the reserve
      return object;
    }
  }
  return nullptr;
}

size_t fileLength(const mxrt_location &location) {
  return location.file ? strlen(location.file) : 0;
}

/// Sets one of the two source locations, copying the file name if there is room; without room,
/// line and column are still kept.
void setLocation(mxrt_status_object *object, mxrt_location mxrt_status_object::*slot,
              const mxrt_location &location) {
  mxrt_location &other = slot == &mxrt_status_object::issued ? object->noticed
                                                          : object->issued;
  mxrt_location kept = location;
  if (location.file && other.file && strcmp(location.file, other.file) == 0)
    kept.file = other.file;
  else if (location.file)
    kept.file = append(object, location.file, fileLength(location), false);
  object->*slot = kept;
}

/// A copy of `from` with `extra` bytes of capacity beyond its own text.
mxrt_status_object *copyOf(const mxrt_status_object *from, size_t extra) {
  if (from->home == Home::Constant)
    return nullptr; // has no allocator
  size_t length = strlen(from->message);
  auto *object = obtain(&from->allocator, from->code,
                        length + 1 + fileLength(from->issued) + 1 +
                            fileLength(from->noticed) + 1 + extra);
  if (!object)
    return nullptr;
  object->message = append(object, from->message, length, true);
  setLocation(object, &mxrt_status_object::issued, from->issued);
  setLocation(object, &mxrt_status_object::noticed, from->noticed);
  return object;
}

/// An error that the caller may change, with `extra` bytes of capacity: `status` itself if it is
/// not shared and has the capacity, else a copy that replaces it. nullptr if the copy
/// cannot be allocated (then `status` is unchanged).
mxrt_status_object *changeable(mxrt_status status, size_t extra) {
  bool alone = status->home != Home::Constant &&
               status->refs.load(std::memory_order_acquire) == 1;
  if (alone && status->capacity - status->used >= extra)
    return status;
  if (mxrt_status_object *copy = copyOf(status, extra)) {
    mxrt_status_release(status);
    return copy;
  }
  return alone ? status : nullptr;
}

} // namespace
} // namespace mxrt

using namespace mxrt;

extern "C" {

mxrt_status mxrt_status_constant(mxrt_code code) {
  for (mxrt_status_object &constant : constants)
    if (constant.code == code)
      return &constant;
  return mxrt_status_constant(MXRT_INTERNAL);
}

mxrt_status mxrt_status_text(const mxrt_allocator *allocator, mxrt_code code,
                             const mxrt_location *location, const char *message) {
  if (!allocator)
    allocator = mxrt_system_allocator();
  if (code == MXRT_OK)
    code = MXRT_INTERNAL;
  if (!message)
    message = mxrt_status_constant(code)->message;
  size_t length = strnlen(message, longestMessage);
  size_t files = location ? fileLength(*location) + 1 : 0;
  auto *object = obtain(allocator, code, length + 1 + files + slack);
  if (!object)
    return mxrt_status_constant(code);
  // Store the location first: if room is short, the end of the message is cut.
  if (location)
    setLocation(object, &mxrt_status_object::issued, *location);
  object->message = append(object, message, length, true);
  if (!object->message)
    object->message = "";
  return object;
}

mxrt_status mxrt_status_make(const mxrt_allocator *allocator, mxrt_code code,
                             mxrt_location location, const char *format, ...) {
  if (!allocator)
    allocator = mxrt_system_allocator();
  // Nearly all messages fit here; only longer ones are formatted twice.
  char small[512];
  va_list arguments;
  va_start(arguments, format);
  int needed = vsnprintf(small, sizeof(small), format, arguments);
  va_end(arguments);
  if (needed < 0)
    return mxrt_status_text(allocator, code, &location, format);
  size_t length = static_cast<size_t>(needed);
  if (length < sizeof(small))
    return mxrt_status_text(allocator, code, &location, small);
  if (length > longestMessage)
    length = longestMessage;
  void *large = allocator->allocate(allocator->user, length + 1, 1);
  if (!large)
    return mxrt_status_text(allocator, code, &location, small);
  va_start(arguments, format);
  vsnprintf(static_cast<char *>(large), length + 1, format, arguments);
  va_end(arguments);
  mxrt_status status = mxrt_status_text(allocator, code, &location,
                                        static_cast<char *>(large));
  allocator->release(allocator->user, large, length + 1, 1);
  return status;
}

mxrt_status mxrt_status_retain(mxrt_status status) {
  if (status && status->home != Home::Constant)
    status->refs.fetch_add(1, std::memory_order_relaxed);
  return status;
}

void mxrt_status_release(mxrt_status status) {
  if (!status || status->home == Home::Constant)
    return;
  if (status->refs.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  mxrt_allocator allocator = status->allocator;
  if (status->home == Home::Reserve) {
    returnReserveSlot(allocator.reserve, status);
    return;
  }
  size_t bytes = sizeof(mxrt_status_object) + status->capacity;
  allocator.release(allocator.user, status, bytes, alignof(std::max_align_t));
  releaseReserve(allocator.reserve);
}

mxrt_status mxrt_status_issued(mxrt_status status, mxrt_location location) {
  if (!status || status->issued.file || status->issued.line > 0)
    return status;
  if (auto *object = changeable(status, fileLength(location) + 1)) {
    setLocation(object, &mxrt_status_object::issued, location);
    return object;
  }
  return status;
}

mxrt_status mxrt_status_noticed(mxrt_status status, mxrt_location location) {
  if (!status)
    return status;
  if (auto *object = changeable(status, fileLength(location) + 1)) {
    setLocation(object, &mxrt_status_object::noticed, location);
    return object;
  }
  return status;
}

mxrt_status mxrt_status_note(mxrt_status status, const char *note) {
  if (!status || !note)
    return status;
  size_t before = strlen(status->message);
  size_t length = strnlen(note, longestMessage);
  size_t total = before + 1 + length;
  mxrt_status_object *object = changeable(status, total + 1);
  if (!object)
    return status;
  if (object->capacity - object->used < total + 1)
    return object;
  char *joined = object->text() + object->used;
  memcpy(joined, object->message, before);
  joined[before] = '\n';
  memcpy(joined + before + 1, note, length);
  joined[total] = 0;
  object->used += static_cast<uint32_t>(total) + 1;
  object->message = joined;
  return object;
}

mxrt_code mxrt_status_code(mxrt_status status) {
  return status ? status->code : MXRT_OK;
}
const char *mxrt_status_message(mxrt_status status) {
  return status ? status->message : "";
}
mxrt_location mxrt_status_location(mxrt_status status) {
  return status ? status->issued : noLocation;
}
mxrt_location mxrt_status_noticed_location(mxrt_status status) {
  return status ? status->noticed : noLocation;
}

size_t mxrt_status_format(mxrt_status status, char *buffer, size_t capacity) {
  size_t length = 0;
  auto put = [&](const char *text, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i, ++length)
      if (length + 1 < capacity)
        buffer[length] = text[i];
  };
  auto putLocation = [&](const char *lead, const mxrt_location &location) {
    if (!location.file && location.line <= 0)
      return;
    char numbers[40];
    int digits = snprintf(numbers, sizeof(numbers), ":%d:%d", location.line,
                          location.column);
    put(lead, strlen(lead));
    const char *file = location.file ? location.file : "<unknown>";
    put(file, strlen(file));
    if (location.line > 0)
      put(numbers, static_cast<size_t>(digits));
  };
  if (!status) {
    put("ok", 2);
  } else {
    char head[32];
    int bytes = snprintf(head, sizeof(head), "error[R%04d]: ", status->code);
    put(head, static_cast<size_t>(bytes));
    const char *notes = strchr(status->message, '\n');
    put(status->message, notes ? static_cast<size_t>(notes - status->message)
                               : strlen(status->message));
    putLocation("\n --> ", status->issued);
    putLocation("\n noticed at ", status->noticed);
    while (notes) {
      const char *line = notes + 1;
      notes = strchr(line, '\n');
      // A line may carry its own label.
      bool labelled = strncmp(line, "note: ", 6) == 0 ||
                      strncmp(line, "help: ", 6) == 0;
      put("\n = note: ", labelled ? 4 : 10);
      put(line, notes ? static_cast<size_t>(notes - line) : strlen(line));
    }
  }
  if (capacity > 0)
    buffer[length < capacity ? length : capacity - 1] = 0;
  return length;
}

const char *mxrt_code_name(mxrt_code code) {
  switch (code) {
  case MXRT_OK:
    return "OK";
#define MXRT_CODE(name, number, text)                                          \
  case MXRT_##name:                                                            \
    return #name;
#include "mxrt/codes.def"
  }
  return "?";
}

int64_t mxrt_dtype_size(mxrt_dtype type) {
  switch (type) {
  case MXRT_BOOL:
  case MXRT_I8:
  case MXRT_U8:
    return 1;
  case MXRT_F16:
  case MXRT_BF16:
    return 2;
  case MXRT_I32:
  case MXRT_F32:
    return 4;
  case MXRT_I64:
  case MXRT_F64:
    return 8;
  case MXRT_DTYPE_COUNT:
    break;
  }
  return 0;
}

const char *mxrt_dtype_name(mxrt_dtype type) {
  static const char *const names[] = {"bool", "i8",   "u8",  "i32", "i64",
                                      "f16",  "bf16", "f32", "f64"};
  static_assert(sizeof(names) / sizeof(*names) == MXRT_DTYPE_COUNT);
  unsigned index = static_cast<unsigned>(type);
  return index < MXRT_DTYPE_COUNT ? names[index] : "?";
}

} // extern "C"
