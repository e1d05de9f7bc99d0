// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C++ helpers over mxrt_allocator. Every allocation of the runtime goes through one of these,
// so that a test can fail any allocation and check that nothing leaks. Plain `new`, malloc and
// std containers with the default allocator are not used in runtime/.
//
// Two styles, both allowed:
//  - fallible: newObject<T>() and Vec<T> return nullptr / false when out of memory. Needs no
//    C++ runtime; the only style in mxrt_core.
//  - throwing: StdAllocator<T> for std containers inside libmxrt; they throw std::bad_alloc,
//    which must be caught before the C ABI boundary (guarded()).

#ifndef MXRT_BASE_ALLOCATOR_H
#define MXRT_BASE_ALLOCATOR_H

#include "base/Status.h"
#include "mxrt/types.h"

#include <cstddef>
#include <cstdint>

namespace mxrt {

inline void *allocateBytes(const mxrt_allocator *alloc, size_t bytes,
                           size_t align = alignof(std::max_align_t)) {
  return alloc->allocate(alloc->user, bytes ? bytes : 1, align);
}
inline void releaseBytes(const mxrt_allocator *alloc, void *memory,
                         size_t bytes,
                         size_t align = alignof(std::max_align_t)) {
  if (memory)
    alloc->release(alloc->user, memory, bytes ? bytes : 1, align);
}

/// nullptr if out of memory. T's constructor must not throw.
template <typename T, typename... Args>
T *newObject(const mxrt_allocator *alloc, Args &&...args) {
  void *memory = allocateBytes(alloc, sizeof(T), alignof(T));
  return memory ? ::new (memory) T(std::forward<Args>(args)...) : nullptr;
}
template <typename T> void deleteObject(const mxrt_allocator *alloc, T *object) {
  if (!object)
    return;
  object->~T();
  releaseBytes(alloc, object, sizeof(T), alignof(T));
}

/// Owns one object from newObject.
template <typename T> class Box {
public:
  Box() = default;
  Box(const mxrt_allocator *alloc, T *object) : alloc(alloc), object(object) {}
  Box(Box &&other) noexcept
      : alloc(other.alloc), object(std::exchange(other.object, nullptr)) {}
  Box &operator=(Box &&other) noexcept {
    if (this != &other) {
      deleteObject(alloc, object);
      alloc = other.alloc;
      object = std::exchange(other.object, nullptr);
    }
    return *this;
  }
  Box(const Box &) = delete;
  Box &operator=(const Box &) = delete;
  ~Box() { deleteObject(alloc, object); }

  T *get() const { return object; }
  T *operator->() const { return object; }
  T &operator*() const { return *object; }
  explicit operator bool() const { return object != nullptr; }
  T *release() { return std::exchange(object, nullptr); }

private:
  const mxrt_allocator *alloc = nullptr;
  T *object = nullptr;
};

template <typename T, typename... Args>
Result<Box<T>> makeBox(const mxrt_allocator *alloc, Args &&...args) {
  T *object = newObject<T>(alloc, std::forward<Args>(args)...);
  if (!object)
    return outOfMemory(alloc);
  return Box<T>(alloc, object);
}

/// A growing array whose growth can fail. Elements must be nothrow movable.
template <typename T> class Vec {
public:
  explicit Vec(const mxrt_allocator *alloc) : alloc(alloc) {}
  Vec(Vec &&other) noexcept
      : alloc(other.alloc), items(std::exchange(other.items, nullptr)),
        count(std::exchange(other.count, 0)),
        room(std::exchange(other.room, 0)) {}
  Vec &operator=(Vec &&other) noexcept {
    if (this != &other) {
      this->~Vec();
      ::new (static_cast<void *>(this)) Vec(std::move(other));
    }
    return *this;
  }
  Vec(const Vec &) = delete;
  Vec &operator=(const Vec &) = delete;
  ~Vec() {
    clear();
    releaseBytes(alloc, items, room * sizeof(T), alignof(T));
  }

  /// Returns false if out of memory; then nothing changed.
  [[nodiscard]] bool reserve(size_t wanted) {
    if (wanted <= room)
      return true;
    if (wanted > SIZE_MAX / 2 / sizeof(T))
      return false;
    T *moved = static_cast<T *>(
        allocateBytes(alloc, wanted * sizeof(T), alignof(T)));
    if (!moved)
      return false;
    for (size_t i = 0; i < count; ++i) {
      ::new (static_cast<void *>(moved + i)) T(std::move(items[i]));
      items[i].~T();
    }
    releaseBytes(alloc, items, room * sizeof(T), alignof(T));
    items = moved;
    room = wanted;
    return true;
  }
  [[nodiscard]] bool push(T value) {
    if (count == room && !reserve(room ? room * 2 : 4))
      return false;
    ::new (static_cast<void *>(items + count)) T(std::move(value));
    ++count;
    return true;
  }
  /// New elements are value-initialised.
  [[nodiscard]] bool resize(size_t wanted) {
    if (!reserve(wanted))
      return false;
    while (count < wanted)
      ::new (static_cast<void *>(items + count++)) T();
    while (count > wanted)
      items[--count].~T();
    return true;
  }
  void pop() { items[--count].~T(); }
  void clear() {
    while (count)
      pop();
  }
  /// Removes element i in O(1) by moving the last element to index i.
  void swapRemove(size_t i) {
    if (i + 1 != count)
      items[i] = std::move(items[count - 1]);
    pop();
  }

  size_t size() const { return count; }
  bool empty() const { return count == 0; }
  T *data() { return items; }
  const T *data() const { return items; }
  T &operator[](size_t i) { return items[i]; }
  const T &operator[](size_t i) const { return items[i]; }
  T &back() { return items[count - 1]; }
  T *begin() { return items; }
  T *end() { return items + count; }
  const T *begin() const { return items; }
  const T *end() const { return items + count; }
  const mxrt_allocator *allocator() const { return alloc; }

private:
  const mxrt_allocator *alloc;
  T *items = nullptr;
  size_t count = 0;
  size_t room = 0;
};

#if defined(__cpp_exceptions)
/// For std containers in libmxrt: std::vector<int, StdAllocator<int>>.
template <typename T> class StdAllocator {
public:
  using value_type = T;
  explicit StdAllocator(const mxrt_allocator *alloc) noexcept : alloc(alloc) {}
  template <typename U>
  StdAllocator(const StdAllocator<U> &other) noexcept : alloc(other.base()) {}
  T *allocate(size_t count) {
    if (count > SIZE_MAX / 2 / sizeof(T))
      throw std::bad_alloc();
    void *memory = allocateBytes(alloc, count * sizeof(T), alignof(T));
    if (!memory)
      throw std::bad_alloc();
    return static_cast<T *>(memory);
  }
  void deallocate(T *memory, size_t count) noexcept {
    releaseBytes(alloc, memory, count * sizeof(T), alignof(T));
  }
  const mxrt_allocator *base() const noexcept { return alloc; }
  template <typename U> bool operator==(const StdAllocator<U> &o) const {
    return alloc == o.base();
  }

private:
  const mxrt_allocator *alloc;
};

/// Runs body() -> Status and converts exceptions to a status.
template <typename Body> Status guarded(Body &&body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return outOfMemory();
  } catch (...) {
    return Status(mxrt_status_constant(MXRT_INTERNAL));
  }
}
#endif

} // namespace mxrt

#endif // MXRT_BASE_ALLOCATOR_H
