// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// BLAKE3 hashes for cache keys.
#include "Target/Hasher.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Endian.h"

namespace mx::target {

struct Hasher::State {
  llvm::BLAKE3 blake;
};

Hasher::Hasher() : state(std::make_unique<State>()) {}
Hasher::~Hasher() = default;

Hasher &Hasher::add(std::string_view part) {
  add(static_cast<uint64_t>(part.size()));
  state->blake.update(llvm::StringRef(part));
  return *this;
}

Hasher &Hasher::add(uint64_t part) {
  uint8_t bytes[8];
  llvm::support::endian::write64le(bytes, part);
  state->blake.update(llvm::ArrayRef<uint8_t>(bytes));
  return *this;
}

Digest Hasher::digest() const { return state->blake.final<32>(); }

std::string Hasher::hex() const { return llvm::toHex(digest(), /*LowerCase=*/true); }

} // namespace mx::target
