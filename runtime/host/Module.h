// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module as decoded from its file: plain tables in one arena. Decoding checks only indices into
// the string table; verifyModule() checks the rest. Only linkProgram() makes a runnable program,
// and it verifies.
//
// File format, version 1.0, little endian, no padding:
//
//   header     "MXBC", u16 major, u16 minor, u32 flags (0), u64 size of what
//              follows the header, u32 CRC-32 of it
//   strings    u32 count, each u32 bytes, UTF-8
//   constants  u32 count, each u8 kind and i64 | f32 | f64 | u32 string
//   types      u32 count, each u32 name, u32 count of u32 field names
//   imports    u32 count, each u8 sort, u32 name, u8 flags (1 variadic),
//              u8 result kind, u32 count of parameters
//   globals    u32 count, each u32 name, u8 kind
//   functions  u32 count, each
//                u32 name, u32 file name, u8 result kind, u32 parameters,
//                u32 count of u8 register kinds,
//                u32 count of lists, each u16 count of u16 register | mut bit,
//                u32 count of 8-byte instructions,
//                u32 count of tries: u32 begin, u32 end, u32 target, u16 register,
//                u32 count of locations: u32 instruction, line, column, flags
//   entry      u32 function, or 0xffffffff
//   parameter  u8 kind, u8 flags (1 mut)

#ifndef MXRT_HOST_MODULE_H
#define MXRT_HOST_MODULE_H

#include "host/Bytecode.h"
#include "host/Heap.h"

#include <span>
#include <string_view>

namespace mxrt::host {

inline constexpr char moduleMagic[4] = {'M', 'X', 'B', 'C'};
inline constexpr uint16_t moduleMajor = 1;
inline constexpr uint16_t moduleMinor = 0;
inline constexpr size_t moduleHeaderBytes = 24;
inline constexpr uint32_t noEntry = 0xffffffff;
inline constexpr uint32_t maxTableRows = 65535;
inline constexpr uint32_t maxCode = 1 << 24;

struct ConstantData {
  Kind kind; // Int, F32, F64 or Str
  union {
    int64_t i;
    float f;
    double d;
    uint32_t string;
  };
};
struct ParamData {
  Kind kind;
  bool isMut;
  bool operator==(const ParamData &) const = default;
};
struct TypeData {
  uint32_t name;
  std::span<const uint32_t> fields;
};
struct ImportData {
  ImportKind sort;
  bool variadic; // accepts more arguments of any kind, not mut
  Kind result;   // a register kind, or Unit
  uint32_t name;
  std::span<const ParamData> params;
};
struct GlobalData {
  uint32_t name;
  Kind kind;
};
struct HandlerData {
  uint32_t begin, end; // instructions [begin, end)
  uint32_t target;
  uint16_t error; // the register of the error, or noRegister
};
struct LocationData {
  uint32_t offset;
  uint32_t line, column;
  uint32_t flags;
};
struct FunctionData {
  uint32_t name;
  uint32_t file;
  Kind result; // a register kind, or Unit
  std::span<const ParamData> params;
  std::span<const Kind> registers;
  std::span<const std::span<const uint16_t>> lists;
  std::span<const Instr> code;
  std::span<const HandlerData> handlers; // innermost first
  std::span<const LocationData> locations;
};

struct Module {
  explicit Module(Heap &heap) : arena(heap) {}
  Arena arena;
  std::span<const std::string_view> strings;
  std::span<const ConstantData> constants;
  std::span<const TypeData> types;
  std::span<const ImportData> imports;
  std::span<const GlobalData> globals;
  std::span<const FunctionData> functions;
  uint32_t entry = noEntry;

  std::string_view functionName(uint32_t index) const {
    return strings[functions[index].name];
  }
};

enum class Rule : uint8_t {
#define MX_RULE(Name, text, doc) Name,
#include "host/Rules.def"
};
inline constexpr unsigned ruleCount = 0
#define MX_RULE(Name, text, doc) +1
#include "host/Rules.def"
    ;
const char *ruleName(Rule rule);
const char *ruleDoc(Rule rule);

/// Where and why a module was refused, for tools; the status has the message.
struct Finding {
  Rule rule = Rule::Header;
  uint32_t function = noEntry;
  uint32_t instruction = noEntry;
  size_t byte = 0; // byte offset, for decoding errors
};

/// Decodes `module` from `bytes`, which need not outlive the call. Allocates nothing for a count
/// before the bytes it needs are known to be present.
Status decodeModule(Heap &heap, std::span<const uint8_t> bytes, Module &module,
                    Finding *finding = nullptr);

/// Success means that running the code is memory-safe: it cannot leave its registers, tables and
/// instructions, nor read a value as another kind.
Status verifyModule(Heap &heap, const Module &module,
                    Finding *finding = nullptr);

uint32_t crc32(std::span<const uint8_t> bytes);

} // namespace mxrt::host

#endif // MXRT_HOST_MODULE_H
