// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models and other arguments with parts, for callers from C: one block of
// memory with all their tensors.

#include "aot/Errors.h"
#include "base/Allocator.h"
#include "io/Safetensors.h"
#include "io/SafetensorsFormat.h"
#include "mxrt/aot.h"

#include <cstdio>
#include <cstring>

namespace mxrt::aot {
namespace {

constexpr size_t aligned(size_t bytes) {
  return (bytes + MXRT_ALIGNMENT - 1) / MXRT_ALIGNMENT * MXRT_ALIGNMENT;
}

/// The compiler has checked that no product overflows.
int64_t bytesOf(const mxrt_aot_tensor &tensor) {
  int64_t bytes = mxrt_dtype_size(static_cast<mxrt_dtype>(tensor.dtype));
  for (int32_t i = 0; i < tensor.rank; ++i)
    bytes *= tensor.sizes[i];
  return bytes;
}

mxrt_status make(const mxrt_aot_type &type, mxrt_aot_value *&out) {
  auto count = static_cast<size_t>(type.count);
  size_t head = aligned(sizeof(mxrt_aot_value) + count * sizeof(void *));
  size_t bytes = head;
  for (size_t i = 0; i < count; ++i)
    bytes += aligned(static_cast<size_t>(bytesOf(type.tensors[i])));
  auto *memory = static_cast<char *>(
      allocateBytes(mxrt_system_allocator(), bytes, MXRT_ALIGNMENT));
  if (!memory)
    return error(nullptr, MXRT_OUT_OF_MEMORY, noPlace,
                 "out of memory: `%s` needs %zu bytes", type.name, bytes)
        .release();
  std::memset(memory, 0, bytes);
  auto **tensors = reinterpret_cast<void **>(memory + sizeof(mxrt_aot_value));
  size_t at = head;
  for (size_t i = 0; i < count; ++i) {
    tensors[i] = memory + at;
    at += aligned(static_cast<size_t>(bytesOf(type.tensors[i])));
  }
  out = ::new (memory)
      mxrt_aot_value{&type, tensors, memory, static_cast<int64_t>(bytes)};
  return nullptr;
}

/// "f32[64, 32]"
struct Shape {
  char text[200];
  Shape(mxrt_dtype type, int32_t rank, const int64_t *sizes) {
    size_t used = 0;
    auto add = [&](const char *format, auto value) {
      int more = std::snprintf(text + used, sizeof text - used, format, value);
      if (more > 0 && used + static_cast<size_t>(more) < sizeof text)
        used += static_cast<size_t>(more);
    };
    add("%s[", mxrt_dtype_name(type));
    for (int32_t i = 0; i < rank; ++i)
      add(i ? ", %lld" : "%lld", static_cast<long long>(sizes[i]));
    add("%s", "]");
  }
};

bool isSame(const mxrt_aot_tensor &wanted, const io::SafeTensor &found) {
  if (found.type != wanted.dtype || found.rank != wanted.rank)
    return false;
  for (int32_t i = 0; i < wanted.rank; ++i)
    if (wanted.sizes[i] != found.sizes[i])
      return false;
  return true;
}

/// `net.fc1.w`, else `fc1.w`.
const io::SafeTensor *find(const io::SafetensorsIndex &index,
                           const mxrt_aot_type &type, const char *name,
                           const mxrt_allocator *alloc) {
  Vec<char> full(alloc);
  size_t first = std::strlen(type.name), rest = std::strlen(name);
  if (!full.resize(first + rest + 1))
    return nullptr;
  std::memcpy(full.data(), type.name, first);
  full[first] = '.';
  std::memcpy(full.data() + first + 1, name, rest);
  const io::SafeTensor *found =
      index.find(std::string_view(full.data(), full.size()));
  return found ? found : index.find(std::string_view(name, rest));
}

/// One error that lists all that does not fit, as long as there is room.
mxrt_status checkAll(const mxrt_aot_type &type,
                     const io::SafetensorsIndex &index, std::string_view path) {
  constexpr int mostShown = 8;
  int wrong = 0;
  mxrt_status status = nullptr;
  for (int64_t i = 0; i < type.count; ++i) {
    const mxrt_aot_tensor &wanted = type.tensors[i];
    const io::SafeTensor *found =
        find(index, type, wanted.name, index.input.alloc);
    if (found && isSame(wanted, *found))
      continue;
    if (!status)
      status = error(nullptr, MXRT_CHECKPOINT, noPlace,
                     "`%.*s` does not fit `%s`", int(path.size()), path.data(),
                     type.name)
                   .release();
    if (++wrong > mostShown)
      continue;
    char line[600];
    Shape want(static_cast<mxrt_dtype>(wanted.dtype), wanted.rank, wanted.sizes);
    if (!found) {
      std::snprintf(line, sizeof line, "`%s.%s` %s is missing", type.name,
                    wanted.name, want.text);
    } else {
      Shape have(found->type, found->rank, found->sizes);
      std::snprintf(line, sizeof line, "`%s.%s` is %s in the file, but %s here",
                    type.name, wanted.name, have.text, want.text);
    }
    status = mxrt_status_note(status, line);
  }
  if (wrong > mostShown) {
    char line[64];
    std::snprintf(line, sizeof line, "and %d more", wrong - mostShown);
    status = mxrt_status_note(status, line);
  }
  return status;
}

mxrt_status fill(const mxrt_aot_type &type, io::Input &input,
                 mxrt_aot_value *&out) {
  io::SafetensorsIndex index(input);
  if (Status status = index.read(); !status.ok())
    return status.release();
  if (mxrt_status status = checkAll(type, index, input.name))
    return status;
  if (Status status = index.verify(); !status.ok())
    return status.release();
  if (mxrt_status status = make(type, out))
    return status;
  for (int64_t i = 0; i < type.count; ++i) {
    const io::SafeTensor *found =
        find(index, type, type.tensors[i].name, input.alloc);
    Status status = found ? index.readTensor(*found, out->tensors[i])
                          : outOfMemory(input.alloc);
    if (!status.ok()) {
      mxrt_aot_free(out);
      out = nullptr;
      return status.release();
    }
  }
  return nullptr;
}

mxrt_status load(const mxrt_aot_type &type, const char *path,
                 mxrt_aot_value *&out) {
  io::FileInput input(mxrt_system_allocator(), path);
  if (Status status = input.open(); !status.ok())
    return status.release();
  return fill(type, input, out);
}

} // namespace
} // namespace mxrt::aot

using namespace mxrt::aot;

int mxrt_aot_new(const mxrt_aot_type *type, mxrt_aot_value **out) {
  *out = nullptr;
  return report(make(*type, *out));
}

int mxrt_aot_load(const mxrt_aot_type *type, const char *path,
                  mxrt_aot_value **out) {
  *out = nullptr;
  return report(load(*type, path, *out));
}

int mxrt_aot_load_memory(const mxrt_aot_type *type, const void *bytes,
                         size_t size, mxrt_aot_value **out) {
  *out = nullptr;
  mxrt::io::MemoryInput input(mxrt_system_allocator(), "memory", bytes, size);
  return report(fill(*type, input, *out));
}

void *mxrt_aot_data(const mxrt_aot_value *value, const char *name,
                    size_t *bytes) {
  for (int64_t i = 0; i < value->type->count; ++i)
    if (std::strcmp(value->type->tensors[i].name, name) == 0) {
      if (bytes)
        *bytes = static_cast<size_t>(bytesOf(value->type->tensors[i]));
      return value->tensors[i];
    }
  return nullptr;
}

void mxrt_aot_free(mxrt_aot_value *value) {
  if (value && value->memory)
    mxrt::releaseBytes(mxrt_system_allocator(), value->memory,
                       static_cast<size_t>(value->bytes), MXRT_ALIGNMENT);
}
