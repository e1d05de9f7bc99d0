// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C++ wrapper of mxrt_status: move-only owners that cannot be ignored by accident. Header only,
// no exceptions, no C++ runtime needed.
//
//   Status work(Allocator &alloc) {
//     Buffer *buffer = MXRT_TRY(makeBuffer(...));     // Result<Buffer *>
//     MXRT_CHECK(fill(buffer));                       // Status
//     return success();
//   }
//
// At the C ABI boundary: `return work(...).release();`

#ifndef MXRT_BASE_STATUS_H
#define MXRT_BASE_STATUS_H

#include "mxrt/status.h"

#include <new>
#include <type_traits>
#include <utility>

namespace mxrt {

/// Owns one reference to an error, or is success. Destroying an error drops it silently:
/// [[nodiscard]] makes callers check.
class [[nodiscard]] Status {
public:
  Status() = default;
  /// Takes ownership of the caller's reference.
  explicit Status(mxrt_status adopted) : raw(adopted) {}
  Status(Status &&other) noexcept : raw(other.release()) {}
  Status &operator=(Status &&other) noexcept {
    if (this != &other) {
      mxrt_status_release(raw);
      raw = other.release();
    }
    return *this;
  }
  Status(const Status &) = delete;
  Status &operator=(const Status &) = delete;
  ~Status() { mxrt_status_release(raw); }

  bool ok() const { return raw == nullptr; }
  bool failed() const { return raw != nullptr; }
  mxrt_code code() const { return mxrt_status_code(raw); }
  const char *message() const { return mxrt_status_message(raw); }
  mxrt_location location() const { return mxrt_status_location(raw); }
  mxrt_location noticedLocation() const { return mxrt_status_noticed_location(raw); }

  /// A second owner of the same error.
  Status share() const { return Status(mxrt_status_retain(raw)); }
  /// Passes the reference to the caller; this becomes success.
  mxrt_status release() { return std::exchange(raw, nullptr); }
  mxrt_status get() const { return raw; }

  Status issuedAt(mxrt_location location) && {
    return Status(mxrt_status_issued(release(), location));
  }
  Status noticedAt(mxrt_location location) && {
    return Status(mxrt_status_noticed(release(), location));
  }
  Status withNote(const char *note) && {
    return Status(mxrt_status_note(release(), note));
  }

private:
  mxrt_status raw = nullptr;
};

inline Status success() { return Status(); }

inline constexpr mxrt_location noLocation = {nullptr, 0, 0};

/// error(alloc, MXRT_SHAPE, location, "rows %d and %d differ", a, b)
template <typename... Args>
Status error(const mxrt_allocator *alloc, mxrt_code code, mxrt_location location,
             const char *format, Args... args) {
  if constexpr (sizeof...(args) == 0)
    return Status(mxrt_status_text(alloc, code, &location, format));
  else {
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wformat-nonliteral"
#pragma clang diagnostic ignored "-Wformat-security"
    return Status(mxrt_status_make(alloc, code, location, format, args...));
#pragma clang diagnostic pop
  }
}

/// Out of memory for an object of the runtime itself (tensors report shape and bytes instead).
/// With the allocator that failed, the error can still carry a source location (its reserve
/// provides the memory); without, it is the constant error.
inline Status outOfMemory(const mxrt_allocator *alloc = nullptr,
                          mxrt_location location = noLocation) {
  if (!alloc)
    return Status(mxrt_status_constant(MXRT_OUT_OF_MEMORY));
  return Status(
      mxrt_status_text(alloc, MXRT_OUT_OF_MEMORY, &location, "out of memory"));
}

/// A value or an error, never both. Move-only like its contents.
template <typename T> class [[nodiscard]] Result {
public:
  Result(Status failure) : failure(std::move(failure)) {}
  template <typename U = T>
    requires(std::is_constructible_v<T, U &&> &&
             !std::is_same_v<std::remove_cvref_t<U>, Result> &&
             !std::is_same_v<std::remove_cvref_t<U>, Status>)
  Result(U &&value) : hasValue(true) {
    ::new (static_cast<void *>(&storage)) T(std::forward<U>(value));
  }
  Result(Result &&other) noexcept
      : failure(std::move(other.failure)), hasValue(other.hasValue) {
    if (hasValue)
      ::new (static_cast<void *>(&storage)) T(std::move(other.storage));
  }
  Result(const Result &) = delete;
  Result &operator=(const Result &) = delete;
  Result &operator=(Result &&) = delete;
  ~Result() {
    if (hasValue)
      storage.~T();
  }

  bool ok() const { return hasValue; }
  bool failed() const { return !hasValue; }
  /// Requires ok().
  T &operator*() { return storage; }
  T *operator->() { return &storage; }
  T take() { return std::move(storage); }
  /// Success if ok(); moves the error out otherwise.
  Status takeStatus() { return std::move(failure); }

private:
  Status failure;
  bool hasValue = false;
  union {
    T storage;
  };
};

} // namespace mxrt

/// Returns from the function with the error of a Status expression.
#define MXRT_CHECK(expression)                                                 \
  do {                                                                         \
    ::mxrt::Status mxrtStatus_ = (expression);                                 \
    if (mxrtStatus_.failed()) [[unlikely]]                                     \
      return mxrtStatus_;                                                      \
  } while (false)

/// The value of a Result expression, or returns from the function with its error. (A GNU
/// statement expression, which clang and gcc support.)
#define MXRT_TRY(expression)                                                   \
  __extension__({                                                              \
    auto mxrtResult_ = (expression);                                           \
    if (mxrtResult_.failed()) [[unlikely]]                                     \
      return mxrtResult_.takeStatus();                                         \
    mxrtResult_.take();                                                        \
  })

#endif // MXRT_BASE_STATUS_H
