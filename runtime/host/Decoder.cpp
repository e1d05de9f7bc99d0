// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Module decoder. Reads nothing outside the bytes, allocates nothing that their size does not
// cover, and does not interpret instructions.

#include "host/Module.h"
#include "host/Text.h"

#include <array>
#include <bit>
#include <cstring>

namespace mxrt::host {

static const char *const ruleNames[] = {
#define MX_RULE(Name, text, doc) text,
#include "host/Rules.def"
};
static const char *const ruleDocs[] = {
#define MX_RULE(Name, text, doc) doc,
#include "host/Rules.def"
};
const char *ruleName(Rule rule) { return ruleNames[unsigned(rule)]; }
const char *ruleDoc(Rule rule) { return ruleDocs[unsigned(rule)]; }

static constexpr std::array<uint32_t, 256> crcTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit)
      c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
    table[i] = c;
  }
  return table;
}();

uint32_t crc32(std::span<const uint8_t> bytes) {
  uint32_t c = 0xffffffffu;
  for (uint8_t byte : bytes)
    c = crcTable[(c ^ byte) & 0xff] ^ c >> 8;
  return ~c;
}

namespace {

class Decoder {
public:
  Decoder(Heap &heap, std::span<const uint8_t> bytes, Module &module,
          Finding *finding)
      : heap(heap), bytes(bytes), module(module), finding(finding) {}

  Status run() {
    MXRT_CHECK(header());
    MXRT_CHECK(strings());
    MXRT_CHECK(table(module.constants, 2, &Decoder::constant));
    MXRT_CHECK(table(module.types, 8, &Decoder::type));
    MXRT_CHECK(table(module.imports, 11, &Decoder::import));
    MXRT_CHECK(table(module.globals, 5, &Decoder::global));
    MXRT_CHECK(table(module.functions, 33, &Decoder::function));
    MXRT_CHECK(number(module.entry));
    if (at != bytes.size())
      return refuse(Rule::Trailing);
    return success();
  }

private:
  Status refuse(Rule rule) {
    if (finding) {
      finding->rule = rule;
      finding->byte = at;
    }
    return error(heap.baseAllocator(), MXRT_HOST_BYTECODE, noLocation,
                 "bytecode refused at byte %zu: %s\nrule: %s", at,
                 ruleName(rule), ruleDoc(rule));
  }

  /// Little endian on every machine.
  template <typename T> Status number(T &out) {
    if (bytes.size() - at < sizeof(T))
      return refuse(Rule::Truncated);
    uint64_t value = 0;
    for (size_t i = 0; i < sizeof(T); ++i)
      value |= uint64_t(bytes[at + i]) << (8 * i);
    out = T(value);
    at += sizeof(T);
    return success();
  }

  /// Reads a count of rows that take at least `rowBytes` each.
  Status count(uint32_t &out, size_t rowBytes, uint32_t limit) {
    MXRT_CHECK(number(out));
    if (out > limit)
      return refuse(Rule::TableLimit);
    if (out > (bytes.size() - at) / rowBytes)
      return refuse(Rule::Truncated);
    return success();
  }

  template <typename T, typename Row>
  Status table(std::span<const T> &out, size_t rowBytes, Row row,
               uint32_t limit = maxTableRows) {
    uint32_t rows = 0;
    MXRT_CHECK(count(rows, rowBytes, limit));
    T *items = module.arena.array<T>(rows);
    if (!items)
      return heap.exhausted();
    for (uint32_t i = 0; i < rows; ++i) {
      ::new (items + i) T();
      MXRT_CHECK((this->*row)(items[i]));
    }
    out = {items, rows};
    return success();
  }

  Status header() {
    if (bytes.size() < moduleHeaderBytes ||
        std::memcmp(bytes.data(), moduleMagic, 4) != 0)
      return refuse(Rule::Header);
    at = 4;
    uint16_t major = 0, minor = 0;
    uint32_t flags = 0, checksum = 0;
    uint64_t size = 0;
    MXRT_CHECK(number(major));
    MXRT_CHECK(number(minor));
    if (major != moduleMajor || minor > moduleMinor)
      return refuse(Rule::Version);
    MXRT_CHECK(number(flags));
    if (flags != 0)
      return refuse(Rule::FlagBits);
    MXRT_CHECK(number(size));
    if (size != bytes.size() - moduleHeaderBytes)
      return refuse(Rule::Size);
    MXRT_CHECK(number(checksum));
    if (checksum != crc32(bytes.subspan(moduleHeaderBytes)))
      return refuse(Rule::Checksum);
    return success();
  }

  Status strings() { return table(module.strings, 4, &Decoder::string); }

  Status string(std::string_view &out) {
    uint32_t size = 0;
    MXRT_CHECK(count(size, 1, UINT32_MAX));
    char *text = module.arena.array<char>(size ? size : 1);
    if (!text)
      return heap.exhausted();
    std::memcpy(text, bytes.data() + at, size);
    out = {text, size};
    if (!isUtf8(out))
      return refuse(Rule::Utf8);
    at += size;
    return success();
  }

  Status name(uint32_t &out) {
    MXRT_CHECK(number(out));
    if (out >= module.strings.size())
      return refuse(Rule::StringIndex);
    return success();
  }

  Status kind(Kind &out, bool (*allowed)(Kind)) {
    uint8_t code = 0;
    MXRT_CHECK(number(code));
    if (code >= kindCount || !allowed(Kind(code)))
      return refuse(Rule::KindCode);
    out = Kind(code);
    return success();
  }
  static bool isResultKind(Kind k) {
    return isRegisterKind(k) || k == Kind::Unit;
  }

  Status flag(bool &out) {
    uint8_t bits = 0;
    MXRT_CHECK(number(bits));
    if (bits > 1)
      return refuse(Rule::FlagBits);
    out = bits;
    return success();
  }

  Status constant(ConstantData &out) {
    MXRT_CHECK(kind(out.kind, [](Kind k) {
      return k == Kind::Int || k == Kind::F32 || k == Kind::F64 ||
             k == Kind::Str;
    }));
    if (out.kind == Kind::Str)
      return name(out.string);
    if (out.kind == Kind::F32) {
      uint32_t bits = 0;
      MXRT_CHECK(number(bits));
      out.f = std::bit_cast<float>(bits);
      return success();
    }
    uint64_t bits = 0;
    MXRT_CHECK(number(bits));
    out.i = int64_t(bits); // f64: the same bits, reinterpreted
    if (out.kind == Kind::F64)
      out.d = std::bit_cast<double>(bits);
    return success();
  }

  Status type(TypeData &out) {
    MXRT_CHECK(name(out.name));
    return table(out.fields, 4, &Decoder::name);
  }

  Status parameter(ParamData &out) {
    MXRT_CHECK(kind(out.kind, isRegisterKind));
    return flag(out.isMut);
  }

  Status import(ImportData &out) {
    uint8_t sort = 0;
    MXRT_CHECK(number(sort));
    if (sort >= importKindCount)
      return refuse(Rule::KindCode);
    out.sort = ImportKind(sort);
    MXRT_CHECK(name(out.name));
    MXRT_CHECK(flag(out.variadic));
    MXRT_CHECK(kind(out.result, isResultKind));
    return table(out.params, 2, &Decoder::parameter, maxRegisters);
  }

  Status global(GlobalData &out) {
    MXRT_CHECK(name(out.name));
    return kind(out.kind, isRegisterKind);
  }

  Status registerKind(Kind &out) { return kind(out, isRegisterKind); }
  Status listEntry(uint16_t &out) { return number(out); }

  Status list(std::span<const uint16_t> &out) {
    uint16_t size = 0;
    MXRT_CHECK(number(size));
    if (size > (bytes.size() - at) / 2)
      return refuse(Rule::Truncated);
    uint16_t *items = module.arena.array<uint16_t>(size);
    if (!items)
      return heap.exhausted();
    for (unsigned i = 0; i < size; ++i)
      MXRT_CHECK(number(items[i]));
    out = {items, size};
    return success();
  }

  Status instruction(Instr &out) {
    MXRT_CHECK(number(out.op));
    MXRT_CHECK(number(out.a));
    MXRT_CHECK(number(out.b));
    return number(out.c);
  }

  Status handler(HandlerData &out) {
    MXRT_CHECK(number(out.begin));
    MXRT_CHECK(number(out.end));
    MXRT_CHECK(number(out.target));
    return number(out.error);
  }

  Status location(LocationData &out) {
    MXRT_CHECK(number(out.offset));
    MXRT_CHECK(number(out.line));
    MXRT_CHECK(number(out.column));
    MXRT_CHECK(number(out.flags));
    if (out.flags & ~locationIsStatement || out.line > INT32_MAX ||
        out.column > INT32_MAX)
      return refuse(Rule::FlagBits);
    return success();
  }

  Status function(FunctionData &out) {
    MXRT_CHECK(name(out.name));
    MXRT_CHECK(name(out.file));
    MXRT_CHECK(kind(out.result, isResultKind));
    MXRT_CHECK(table(out.params, 2, &Decoder::parameter, maxRegisters));
    MXRT_CHECK(table(out.registers, 1, &Decoder::registerKind, maxRegisters));
    MXRT_CHECK(table(out.lists, 2, &Decoder::list));
    MXRT_CHECK(table(out.code, 8, &Decoder::instruction, maxCode));
    MXRT_CHECK(table(out.handlers, 14, &Decoder::handler));
    return table(out.locations, 16, &Decoder::location, maxCode);
  }

  Heap &heap;
  std::span<const uint8_t> bytes;
  Module &module;
  Finding *finding;
  size_t at = 0;
};

} // namespace

Status decodeModule(Heap &heap, std::span<const uint8_t> bytes, Module &module,
                    Finding *finding) {
  return Decoder(heap, bytes, module, finding).run();
}

} // namespace mxrt::host
