// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cache of kernels by key, and the construction of keys.

#include "eager/Kernels.h"
#include "eager/Issue.h"

#include <cstdio>
#include <cstring>

namespace mxrt::eager {

KernelTable::~KernelTable() {
  for (Row &row : rows)
    releaseBytes(rows.allocator(), row.key, row.size, 1);
}

static uint64_t hashOf(std::string_view text) {
  uint64_t hash = 14695981039346656037u; // FNV-1a
  for (char c : text)
    hash = (hash ^ uint8_t(c)) * 1099511628211u;
  return hash;
}

Result<mxrt_compiled_kernel> KernelTable::find(KernelSource *source, std::string_view key) {
  uint64_t hash = hashOf(key);
  for (const Row &row : rows)
    if (row.hash == hash && std::string_view(row.key, row.size) == key)
      return row.kernel;
  const mxrt_allocator *alloc = rows.allocator();
  Row row = {nullptr, key.size(), hash, nullptr};
  MXRT_CHECK(source ? source->find(key, row.kernel)
                    : error(alloc, MXRT_UNSUPPORTED, noLocation, "there are no kernels"));
  if (!row.kernel)
    return error(alloc, MXRT_UNSUPPORTED, noLocation, "no kernel for '%.*s'", int(key.size()),
                 key.data());
  row.key = static_cast<char *>(allocateBytes(alloc, key.size(), 1));
  if (!row.key || !rows.push(row)) {
    releaseBytes(alloc, row.key, key.size(), 1);
    return outOfMemory(alloc);
  }
  std::memcpy(row.key, key.data(), key.size());
  return row.kernel;
}

void KeyText::add(const char *more) {
  size_t length = std::strlen(more);
  if (length > sizeof(text) - used) // no key is that long
    length = sizeof(text) - used;
  std::memcpy(text + used, more, length);
  used += length;
}

void KeyText::add(int64_t number) {
  char digits[24];
  std::snprintf(digits, sizeof(digits), "%lld", static_cast<long long>(number));
  add(digits);
}

void KeyText::operand(mxrt_dtype type, int32_t rank, Layout layout) {
  add(first ? " " : ",");
  first = false;
  add(mxrt_dtype_name(type));
  if (layout == Layout::Single)
    return add(":0");
  const char tail[] = {':', char('0' + rank), layout == Layout::Dense ? 'c' : 's', 0};
  add(tail);
}

void KeyText::result(mxrt_dtype type, int32_t rank) {
  add(" -> ");
  add(mxrt_dtype_name(type));
  const char tail[] = {':', char('0' + rank), 'c', 0};
  add(tail);
}

} // namespace mxrt::eager
