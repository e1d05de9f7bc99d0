// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instruction set of the host VM (register-based bytecode) and its static properties.

#ifndef MXRT_HOST_BYTECODE_H
#define MXRT_HOST_BYTECODE_H

#include "mxrt/status.h"

#include <cstdint>
#include <string_view>

namespace mxrt::host {

enum class Kind : uint8_t {
#define MX_KIND(Name, text, storage) Name,
#include "host/Kinds.def"
};
inline constexpr unsigned kindCount = unsigned(Kind::Any) + 1;

/// The number is stored in the value itself: no reference count and no release.
inline constexpr bool isInline(Kind k) {
  return k >= Kind::Bool && k <= Kind::DType;
}
inline constexpr bool isCounted(Kind k) {
  return k >= Kind::Str && k <= Kind::Error;
}
/// Whether a register may be declared with this kind. Neither Unset nor Unit may.
inline constexpr bool isRegisterKind(Kind k) {
  return isInline(k) || isCounted(k) || k == Kind::Any;
}
inline constexpr bool isAggregate(Kind k) {
  return k >= Kind::Tuple && k <= Kind::Struct;
}
/// Whether a value of kind `from` may be stored in a register declared as `to`.
inline constexpr bool fits(Kind from, Kind to) {
  return from == to || to == Kind::Any;
}
const char *kindName(Kind kind);
/// Kind::Unset if the text is not a kind name.
Kind kindFromName(std::string_view text);

enum class Opcode : uint16_t {
#define MX_FAST(Name, mnemonic, A, B, C, doc) Name,
#define MX_SLOW(Name, mnemonic, A, B, C, doc) Name,
#include "host/Opcodes.def"
};
inline constexpr unsigned opcodeCount = 0
#define MX_FAST(Name, mnemonic, A, B, C, doc) +1
#define MX_SLOW(Name, mnemonic, A, B, C, doc) +1
#include "host/Opcodes.def"
    ;

/// Unused operands are 0.
struct Instr {
  uint16_t op;
  uint16_t a;
  uint16_t b;
  uint16_t c;

  int32_t wideAB() const { return int32_t(uint32_t(a) | uint32_t(b) << 16); }
  int32_t wideBC() const { return int32_t(uint32_t(b) | uint32_t(c) << 16); }
};
static_assert(sizeof(Instr) == 8);

/// In: read. Out: written, its old value is released. InOut: both.
enum class Role : uint8_t {
  None,
  Wide, // upper half of the previous operand
  // Registers.
  InBool, InInt, InF32, InF64, InDType, InStr, InFn, InTensor, InError,
  InScalar, InAgg, InAny,
  OutBool, OutInt, OutF32, OutF64, OutDType, OutStr, OutTuple, OutArray,
  OutStruct, OutFn, OutError, OutScalar, OutAny,
  OptOut, // OutAny, or noRegister
  InOutInt, InOutArray, InOutAgg, InOutAny,
  // Numbers.
  Imm16, Imm32, Flag, DTypeCode, Index, ErrCode,
  // Code offsets.
  Jump16, Jump32,
  // Rows of tables.
  Const16, Const32, List, Func, Native, TensorOp, Graph, Type, Global,
};

inline constexpr bool isRegister(Role role) {
  return role >= Role::InBool && role <= Role::InOutAny;
}
inline constexpr bool readsRegister(Role role) {
  return (role >= Role::InBool && role <= Role::InAny) ||
         (role >= Role::InOutInt && role <= Role::InOutAny);
}
inline constexpr bool writesRegister(Role role) {
  return role >= Role::OutBool && role <= Role::InOutAny;
}
/// Whether a register of `kind` may be used in this role.
bool acceptsKind(Role role, Kind kind);

struct OpcodeInfo {
  const char *name; // as in the table: "AddInt"
  const char *mnemonic;
  Role roles[3];
  const char *doc;
};
const OpcodeInfo &opcodeInfo(Opcode op);
/// opcodeCount for an unknown mnemonic.
unsigned opcodeFromMnemonic(std::string_view text);

/// In OptOut: the result is discarded.
inline constexpr uint16_t noRegister = 0xffff;
/// In an operand list: the register is moved in and out.
inline constexpr uint16_t mutBit = 0x8000;
inline constexpr unsigned maxRegisters = 0x7fff;

/// Codes that a program may raise and catch. Faults of the runtime and requests to stop are
/// excluded.
inline constexpr bool isCatchable(mxrt_code code) {
  return code != MXRT_INTERNAL && code != MXRT_CANCELLED &&
         code != MXRT_HOST_LIMIT && code != MXRT_HOST_BYTECODE;
}
/// Whether the number is in codes.def, other than OK.
bool isKnownCode(unsigned number);

/// In the location table: the instruction begins a statement, so a stepper stops there.
inline constexpr uint32_t locationIsStatement = 1;

enum class ImportKind : uint8_t { Native = 0, TensorOp = 1, Graph = 2 };
inline constexpr unsigned importKindCount = 3;

} // namespace mxrt::host

#endif // MXRT_HOST_BYTECODE_H
