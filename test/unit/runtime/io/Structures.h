// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Structure-aware mutation of files: a file is split into parts, one of them is
// changed, and lengths, offsets, compression and checksums are recomputed. Random
// byte flips hardly ever pass those checks.

#ifndef MX_TEST_UNIT_RUNTIME_IO_STRUCTURES_H
#define MX_TEST_UNIT_RUNTIME_IO_STRUCTURES_H

#include <functional>
#include <random>
#include <string>
#include <vector>

namespace mxrt::test {

using Pieces = std::vector<std::string>;

struct Structure {
  const char *format; // its name in Golden.cpp
  /// The parts of a file; of one that is not of the format, as far as it is.
  Pieces (*split)(const std::string &file);
  /// A file of any parts.
  std::string (*join)(const Pieces &pieces);
  /// A dictionary of parts for mutations.
  std::vector<std::string> words;
};

/// nullptr for a format that has none.
const Structure *structureOf(const char *format);

/// Changes some bytes of a text of any length.
using ChangeBytes = std::function<void(std::string &text)>;

/// A file that is the given one but for one to four changes: of bytes in a part, or parts left out,
/// repeated, exchanged, or replaced by a known word.
std::string mutate(const Structure &structure, const std::string &file, std::minstd_rand &random,
                   const ChangeBytes &changeBytes);

/// Flips, removes and inserts bytes: for builds without a fuzzer.
void changeSomeBytes(std::string &text, std::minstd_rand &random);

} // namespace mxrt::test

#endif // MX_TEST_UNIT_RUNTIME_IO_STRUCTURES_H
