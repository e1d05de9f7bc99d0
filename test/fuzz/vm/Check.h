// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Invariants of the VM for arbitrary bytes: a module is refused with a rule, or it
// runs to its end, an error or a limit; all memory is freed.

#ifndef MX_TEST_FUZZ_VM_CHECK_H
#define MX_TEST_FUZZ_VM_CHECK_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mxrt::host {

enum class Verdict { Refused, Finished, Failed };

/// Aborts if an invariant is violated. `textToo` also takes the module through
/// the disassembler and back.
Verdict checkProgram(std::span<const uint8_t> bytes, bool textToo);

/// Programs that use every instruction, as module files.
const std::vector<std::vector<uint8_t>> &seedPrograms();

/// A small generator of fixed sequence (splitmix64).
struct Random {
  uint64_t state;
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  /// Below `bound`; 0 if that is 0.
  uint64_t below(uint64_t bound) { return bound ? next() % bound : 0; }
  bool chance(unsigned percent) { return below(100) < percent; }
};

/// Changes bytes anywhere; the header is sealed again most of the time.
void mutateBytes(Random &random, std::vector<uint8_t> &bytes);
/// Changes instructions, operands, registers, lists and handlers so that the
/// result often verifies. false if the bytes do not decode.
bool mutateModule(Random &random, std::vector<uint8_t> &bytes);

} // namespace mxrt::host

#endif // MX_TEST_FUZZ_VM_CHECK_H
