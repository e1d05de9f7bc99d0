// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cache keys from parts.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace mx::target {

using Digest = std::array<uint8_t, 32>;

/// BLAKE3 over parts, each with its length before it: ("ab", "c") and ("a", "bc") differ. Equal
/// parts in equal order give equal keys on every machine.
class Hasher {
public:
  Hasher();
  ~Hasher();

  Hasher &add(std::string_view part);
  Hasher &add(uint64_t part);
  /// More parts may follow.
  Digest digest() const;
  /// 64 digits.
  std::string hex() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace mx::target
