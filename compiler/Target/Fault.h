// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors as values. LLVM's own error types abort when they are dropped in some builds and pull in
// its headers; this one does neither.
#pragma once
#include <string>
#include <utility>
#include <variant>

namespace mx::target {

/// One failure. Lower case, no full stop: it becomes part of a longer sentence.
struct Fault {
  std::string message;
};

/// A value, or the fault that prevented it.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : content(std::in_place_index<0>, std::move(value)) {}
  Result(Fault fault) : content(std::in_place_index<1>, std::move(fault)) {}

  bool ok() const { return content.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// Only if ok().
  T &value() { return *std::get_if<0>(&content); }
  const T &value() const { return *std::get_if<0>(&content); }
  T &operator*() { return value(); }
  T *operator->() { return &value(); }
  T take() { return std::move(value()); }

  /// Only if not ok().
  const Fault &fault() const { return *std::get_if<1>(&content); }
  const std::string &message() const { return fault().message; }

private:
  std::variant<T, Fault> content;
};

} // namespace mx::target
