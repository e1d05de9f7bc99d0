// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Assembler and disassembler of bytecode: tests are written in it, --emit=bytecode prints it.
// Tools, not part of the VM (std containers).
//
//   ; a comment
//   type Point(x, y)
//   native clock() -> i64
//   native log(str, ...)                  ; further arguments of any kind
//   tensor matmul(tensor, tensor) -> tensor
//   graph step(mut struct, tensor) -> f32
//   global counter: i64
//   entry main
//
//   func fill(mut array, i64) -> i64 in "fill.mx" {
//     reg i64, bool                       ; after the parameters r0 and r1
//     line 3:5 stmt                       ; source location of what follows
//     int r2, 0
//   more:
//     push r0, r2
//     next.i r2, r1, more
//     ret r2
//     try more, done, failed, r4          ; covers [more, done)
//   }
//
// A name that is not an identifier is written in quotes. Operands: r7 a register, _ none,
// [r1, mut r2] a list, 5 | 1.5f | 1.5d | #7fc00000f | "text" a constant, names of functions, types,
// imports and globals (@3 if the name is not unique), R0303 an error code, f32 an element type.

#ifndef MXRT_HOST_ASSEMBLER_H
#define MXRT_HOST_ASSEMBLER_H

#include "host/Module.h"

#include <string>
#include <string_view>
#include <vector>

namespace mxrt::host {

/// Assembles a module file, or reports "line:column: what is wrong" in `message`. Only text without
/// an encoding is an error here; the verifier checks the rest.
bool assemble(std::string_view text, std::vector<uint8_t> &bytes,
              std::string &message);

/// Any module that decodes can be disassembled, also one that does not verify.
/// assemble(disassemble(m)) disassembles to the same text.
std::string disassemble(const Module &module);

/// Disassembles one instruction of a function.
std::string disassemble(const Module &module, uint32_t function,
                        uint32_t instruction);

} // namespace mxrt::host

#endif // MXRT_HOST_ASSEMBLER_H
