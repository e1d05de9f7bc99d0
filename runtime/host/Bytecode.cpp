// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables of the instruction set: kinds, opcodes, operand roles.

#include "host/Bytecode.h"

namespace mxrt::host {

static const char *const kindNames[] = {
#define MX_KIND(Name, text, storage) text,
#include "host/Kinds.def"
};

// The predicates in the header are ranges; this checks that they match the table.
enum class Storage { Empty, Inline, Counted, Declared };
#define MX_KIND(Name, text, storage)                                           \
  static_assert(isInline(Kind::Name) == (Storage::storage == Storage::Inline)); \
  static_assert(isCounted(Kind::Name) ==                                       \
                (Storage::storage == Storage::Counted));
#include "host/Kinds.def"

const char *kindName(Kind kind) {
  return unsigned(kind) < kindCount ? kindNames[unsigned(kind)] : "?";
}

Kind kindFromName(std::string_view text) {
  for (unsigned k = 0; k < kindCount; ++k)
    if (text == kindNames[k])
      return Kind(k);
  return Kind::Unset;
}

static const OpcodeInfo opcodeInfos[] = {
#define MX_FAST(Name, mnemonic, A, B, C, doc)                                  \
  {#Name, mnemonic, {Role::A, Role::B, Role::C}, doc},
#define MX_SLOW(Name, mnemonic, A, B, C, doc)                                  \
  {#Name, mnemonic, {Role::A, Role::B, Role::C}, doc},
#include "host/Opcodes.def"
};

const OpcodeInfo &opcodeInfo(Opcode op) { return opcodeInfos[unsigned(op)]; }

unsigned opcodeFromMnemonic(std::string_view text) {
  for (unsigned op = 0; op < opcodeCount; ++op)
    if (text == opcodeInfos[op].mnemonic)
      return op;
  return opcodeCount;
}

bool acceptsKind(Role role, Kind kind) {
  switch (role) {
  case Role::InBool:
  case Role::OutBool:
    return kind == Kind::Bool;
  case Role::InInt:
  case Role::OutInt:
  case Role::InOutInt:
    return kind == Kind::Int;
  case Role::InF32:
  case Role::OutF32:
    return kind == Kind::F32;
  case Role::InF64:
  case Role::OutF64:
    return kind == Kind::F64;
  case Role::InDType:
  case Role::OutDType:
    return kind == Kind::DType;
  case Role::InStr:
  case Role::OutStr:
    return kind == Kind::Str;
  case Role::OutTuple:
    return kind == Kind::Tuple;
  case Role::OutArray:
  case Role::InOutArray:
    return kind == Kind::Array;
  case Role::OutStruct:
    return kind == Kind::Struct;
  case Role::InFn:
  case Role::OutFn:
    return kind == Kind::Fn;
  case Role::InTensor:
    return kind == Kind::Tensor;
  case Role::InError:
  case Role::OutError:
    return kind == Kind::Error;
  case Role::InScalar:
  case Role::OutScalar:
    return isInline(kind);
  case Role::InAgg:
  case Role::InOutAgg:
    return isAggregate(kind);
  case Role::InAny:
  case Role::OutAny:
  case Role::OptOut:
  case Role::InOutAny:
    return true;
  default:
    return false;
  }
}

bool isKnownCode(unsigned number) {
  switch (number) {
#define MXRT_CODE(name, number, text) case number:
#include "mxrt/codes.def"
    return true;
  default:
    return false;
  }
}

} // namespace mxrt::host
