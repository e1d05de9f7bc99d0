// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bump allocator. Syntax trees and types live as long as their compilation, so they are allocated
// here and never freed one by one. Nodes must be trivially destructible.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <vector>

namespace mx {

/// A fixed-size sequence whose storage belongs to an Arena.
template <class T> class List {
public:
  List() = default;
  List(T *data, size_t size) : items(data), count(size) {}
  T *begin() const { return items; }
  T *end() const { return items + count; }
  size_t size() const { return count; }
  bool empty() const { return count == 0; }
  T &operator[](size_t i) const { return items[i]; }
  T &front() const { return items[0]; }
  T &back() const { return items[count - 1]; }

private:
  T *items = nullptr;
  size_t count = 0;
};

class Arena {
public:
  Arena() = default;
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;

  void *allocate(size_t bytes, size_t align) {
    uintptr_t at = (cursor + align - 1) & ~(uintptr_t(align) - 1);
    if (at + bytes > limit) {
      size_t block = bytes + align > kBlockBytes ? bytes + align : kBlockBytes;
      blocks.push_back(std::make_unique_for_overwrite<char[]>(block));
      cursor = reinterpret_cast<uintptr_t>(blocks.back().get());
      limit = cursor + block;
      at = (cursor + align - 1) & ~(uintptr_t(align) - 1);
    }
    cursor = at + bytes;
    return reinterpret_cast<void *>(at);
  }

  template <class T, class... Args> T *make(Args &&...args) {
    static_assert(std::is_trivially_destructible_v<T>, "arena nodes are never destroyed");
    return new (allocate(sizeof(T), alignof(T))) T(std::forward<Args>(args)...);
  }

  template <class T> List<T> list(const std::vector<T> &from) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (from.empty())
      return {};
    T *data = static_cast<T *>(allocate(sizeof(T) * from.size(), alignof(T)));
    for (size_t i = 0; i < from.size(); ++i)
      new (data + i) T(from[i]);
    return {data, from.size()};
  }

  std::string_view copy(std::string_view text) {
    char *data = static_cast<char *>(allocate(text.size() + 1, 1));
    for (size_t i = 0; i < text.size(); ++i)
      data[i] = text[i];
    data[text.size()] = 0;
    return {data, text.size()};
  }

private:
  static constexpr size_t kBlockBytes = 64 << 10;
  std::vector<std::unique_ptr<char[]>> blocks;
  uintptr_t cursor = 0, limit = 0;
};

} // namespace mx
