// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models and other aggregate arguments for C callers: one block of memory with all their tensors.

#include "aot/Values.h"
#include "aot/Errors.h"
#include "io/Safetensors.h"
#include "io/SafetensorsFormat.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace mxrt::aot {
namespace {

constexpr size_t aligned(size_t bytes) {
  return (bytes + MXRT_ALIGNMENT - 1) / MXRT_ALIGNMENT * MXRT_ALIGNMENT;
}

/// The compiler has checked that no multiplication overflows.
int64_t bytesOf(const mxrt_aot_tensor &tensor) {
  int64_t bytes = mxrt_dtype_size(static_cast<mxrt_dtype>(tensor.dtype));
  for (int32_t i = 0; i < tensor.rank; ++i)
    bytes *= tensor.sizes[i];
  return bytes;
}

} // namespace

Status makeValue(const mxrt_allocator *alloc, const mxrt_aot_type &type, mxrt_aot_value *&out) {
  out = nullptr;
  auto count = static_cast<size_t>(type.count);
  size_t head = aligned(sizeof(mxrt_aot_value) + count * sizeof(void *));
  size_t bytes = head;
  for (size_t i = 0; i < count; ++i)
    bytes += aligned(static_cast<size_t>(bytesOf(type.tensors[i])));
  auto *memory = static_cast<char *>(allocateBytes(alloc, bytes, MXRT_ALIGNMENT));
  if (!memory)
    return error(alloc, MXRT_OUT_OF_MEMORY, noLocation, "out of memory: `%s` needs %zu bytes",
                 type.name, bytes);
  std::memset(memory, 0, bytes);
  auto **tensors = reinterpret_cast<void **>(memory + sizeof(mxrt_aot_value));
  size_t at = head;
  for (size_t i = 0; i < count; ++i) {
    tensors[i] = memory + at;
    at += aligned(static_cast<size_t>(bytesOf(type.tensors[i])));
  }
  out = ::new (memory) mxrt_aot_value{&type, tensors, alloc, static_cast<int64_t>(bytes)};
  return success();
}

namespace {

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

/// Looks up tensors by the names that the type gives them.
class Finder {
public:
  Finder(const mxrt_aot_type &type, const io::SafetensorsIndex &index)
      : type(type), index(index), name(index.input.alloc) {}

  /// Allocates all the memory it needs.
  Status prepare() {
    size_t longest = 0;
    for (int64_t i = 0; i < type.count; ++i)
      longest = std::max(longest, std::strlen(type.tensors[i].name));
    first = std::strlen(type.name) + 1;
    if (!name.resize(first + longest))
      return outOfMemory(index.input.alloc);
    std::memcpy(name.data(), type.name, first - 1);
    name[first - 1] = '.';
    return success();
  }

  /// `net.fc1.w`, else `fc1.w`.
  const io::SafeTensor *find(const mxrt_aot_tensor &tensor) {
    size_t rest = std::strlen(tensor.name);
    std::memcpy(name.data() + first, tensor.name, rest);
    const io::SafeTensor *found = index.find(std::string_view(name.data(), first + rest));
    return found ? found : index.find(std::string_view(tensor.name, rest));
  }

private:
  const mxrt_aot_type &type;
  const io::SafetensorsIndex &index;
  Vec<char> name;
  size_t first = 0;
};

/// One error that lists all mismatches, as long as there is room.
Status checkAll(const mxrt_aot_type &type, Finder &finder, const io::Input &input) {
  constexpr int maxShown = 8;
  int wrong = 0;
  char text[2000];
  size_t used = 0;
  auto add = [&](int more) {
    if (more > 0 && used + static_cast<size_t>(more) < sizeof text)
      used += static_cast<size_t>(more);
  };
  for (int64_t i = 0; i < type.count; ++i) {
    const mxrt_aot_tensor &wanted = type.tensors[i];
    const io::SafeTensor *found = finder.find(wanted);
    if (found && isSame(wanted, *found))
      continue;
    if (++wrong > maxShown)
      continue;
    Shape want(static_cast<mxrt_dtype>(wanted.dtype), wanted.rank, wanted.sizes);
    if (!found) {
      add(std::snprintf(text + used, sizeof text - used, "\n`%s.%s` %s is missing", type.name,
                        wanted.name, want.text));
    } else {
      Shape have(found->type, found->rank, found->sizes);
      add(std::snprintf(text + used, sizeof text - used, "\n`%s.%s` is %s in the file, but %s here",
                        type.name, wanted.name, have.text, want.text));
    }
  }
  if (wrong == 0)
    return success();
  if (wrong > maxShown)
    add(std::snprintf(text + used, sizeof text - used, "\nand %d more", wrong - maxShown));
  return error(input.alloc, MXRT_CHECKPOINT, noLocation, "`%.*s` does not fit `%s`%.*s",
               int(input.name.size()), input.name.data(), type.name, int(used), text);
}

} // namespace

Status loadValue(const mxrt_aot_type &type, io::Input &input, mxrt_aot_value *&out) {
  out = nullptr;
  io::SafetensorsIndex index(input);
  MXRT_CHECK(index.read());
  Finder finder(type, index);
  MXRT_CHECK(finder.prepare());
  MXRT_CHECK(checkAll(type, finder, input));
  MXRT_CHECK(index.verify());
  MXRT_CHECK(makeValue(input.alloc, type, out));
  for (int64_t i = 0; i < type.count; ++i) {
    Status status = index.readTensor(*finder.find(type.tensors[i]), out->tensors[i]);
    if (!status.ok()) {
      mxrt_aot_free(out);
      out = nullptr;
      return status;
    }
  }
  return success();
}

} // namespace mxrt::aot

using namespace mxrt::aot;

int mxrt_aot_new(const mxrt_aot_type *type, mxrt_aot_value **out) {
  return report(makeValue(mxrt_system_allocator(), *type, *out).release());
}

int mxrt_aot_load(const mxrt_aot_type *type, const char *path, mxrt_aot_value **out) {
  *out = nullptr;
  mxrt::io::FileInput input(mxrt_system_allocator(), path);
  mxrt::Status status = input.open();
  if (status.ok())
    status = loadValue(*type, input, *out);
  return report(status.release());
}

int mxrt_aot_load_memory(const mxrt_aot_type *type, const void *bytes, size_t size,
                         mxrt_aot_value **out) {
  mxrt::io::MemoryInput input(mxrt_system_allocator(), "memory", bytes, size);
  return report(loadValue(*type, input, *out).release());
}

void *mxrt_aot_data(const mxrt_aot_value *value, const char *name, size_t *bytes) {
  for (int64_t i = 0; i < value->type->count; ++i)
    if (std::strcmp(value->type->tensors[i].name, name) == 0) {
      if (bytes)
        *bytes = static_cast<size_t>(bytesOf(value->type->tensors[i]));
      return value->tensors[i];
    }
  return nullptr;
}

void mxrt_aot_free(mxrt_aot_value *value) {
  if (value && value->allocator)
    mxrt::releaseBytes(value->allocator, value, static_cast<size_t>(value->bytes), MXRT_ALIGNMENT);
}
