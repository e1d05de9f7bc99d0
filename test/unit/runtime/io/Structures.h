// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mutations of files that know how a format is made: a file is taken apart,
// one of its parts is changed, and lengths, offsets, compression and checksums
// are rebuilt around it. Bytes turned at random hardly ever get past those.

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
  /// What is worth a try as a part.
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

/// Bytes turned, left out and put in: for builds without a fuzzer that does it better.
void changeSomeBytes(std::string &text, std::minstd_rand &random);

} // namespace mxrt::test

#endif // MX_TEST_UNIT_RUNTIME_IO_STRUCTURES_H
