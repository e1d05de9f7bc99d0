// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Serialisation of module files.

#include "host/text/ModuleBuilder.h"

#include <algorithm>
#include <bit>

namespace mxrt::host {

uint16_t FunctionBuilder::addParam(Kind kind, bool isMut) {
  params.push_back({kind, isMut});
  return addRegister(kind);
}

uint16_t FunctionBuilder::addRegister(Kind kind) {
  registers.push_back(kind);
  return uint16_t(registers.size() - 1);
}

uint16_t FunctionBuilder::list(std::vector<uint16_t> entries) {
  auto found = std::find(lists.begin(), lists.end(), entries);
  if (found == lists.end())
    found = lists.insert(found, std::move(entries));
  return uint16_t(found - lists.begin());
}

uint32_t FunctionBuilder::emit(Opcode op, uint16_t a, uint16_t b, uint16_t c) {
  code.push_back({uint16_t(op), a, b, c});
  return uint32_t(code.size() - 1);
}

uint32_t FunctionBuilder::emitWide(Opcode op, uint16_t a, int32_t wide) {
  return emit(op, a, uint16_t(uint32_t(wide)), uint16_t(uint32_t(wide) >> 16));
}

bool FunctionBuilder::patchJump(uint32_t from, uint32_t to) {
  Instr &jump = code[from];
  int64_t distance = int64_t(to) - int64_t(from) - 1;
  const OpcodeInfo &info = opcodeInfo(Opcode(jump.op));
  if (info.roles[2] == Role::Jump16) {
    jump.c = uint16_t(int16_t(distance));
    return distance == int16_t(distance);
  }
  uint32_t wide = uint32_t(int32_t(distance));
  uint16_t &low = info.roles[0] == Role::Jump32 ? jump.a : jump.b;
  uint16_t &high = info.roles[0] == Role::Jump32 ? jump.b : jump.c;
  low = uint16_t(wide);
  high = uint16_t(wide >> 16);
  return distance == int32_t(distance);
}

void FunctionBuilder::location(uint32_t line, uint32_t column, bool statement) {
  LocationData location = {uint32_t(code.size()), line, column,
                     statement ? locationIsStatement : 0};
  if (!locations.empty() && locations.back().offset == location.offset)
    locations.back() = location;
  else
    locations.push_back(location);
}

uint32_t ModuleBuilder::string(std::string_view text) {
  auto found = stringRows.find(text);
  if (found != stringRows.end())
    return found->second;
  uint32_t row = uint32_t(strings.size());
  strings.emplace_back(text);
  stringRows.emplace(text, row);
  return row;
}

uint32_t ModuleBuilder::constant(Kind kind, uint64_t bits) {
  auto [at, fresh] =
      constantRows.try_emplace({kind, bits}, uint32_t(constants.size()));
  if (fresh)
    constants.emplace_back(kind, bits);
  return at->second;
}
uint32_t ModuleBuilder::constant(int64_t number) {
  return constant(Kind::Int, uint64_t(number));
}
uint32_t ModuleBuilder::constantF32(float number) {
  return constant(Kind::F32, std::bit_cast<uint32_t>(number));
}
uint32_t ModuleBuilder::constantF64(double number) {
  return constant(Kind::F64, std::bit_cast<uint64_t>(number));
}
uint32_t ModuleBuilder::constant(std::string_view text) {
  return constant(Kind::Str, string(text));
}

namespace {
struct Writer {
  std::vector<uint8_t> bytes;
  template <typename T> void number(T value) {
    for (size_t i = 0; i < sizeof(T); ++i)
      bytes.push_back(uint8_t(uint64_t(value) >> (8 * i)));
  }
  void count(size_t rows) { number(uint32_t(rows)); }
  void kind(Kind kind) { number(uint8_t(kind)); }
  void params(const std::vector<ParamData> &rows) {
    count(rows.size());
    for (const ParamData &param : rows) {
      kind(param.kind);
      number(uint8_t(param.isMut));
    }
  }
};
} // namespace

static void writeFunction(Writer &out, const FunctionBuilder &fn,
                          uint32_t name, uint32_t file) {
  out.number(name);
  out.number(file);
  out.kind(fn.result);
  out.params(fn.params);
  out.count(fn.registers.size());
  for (Kind kind : fn.registers)
    out.kind(kind);
  out.count(fn.lists.size());
  for (const std::vector<uint16_t> &list : fn.lists) {
    out.number(uint16_t(list.size()));
    for (uint16_t entry : list)
      out.number(entry);
  }
  out.count(fn.code.size());
  for (const Instr &instr : fn.code) {
    out.number(instr.op);
    out.number(instr.a);
    out.number(instr.b);
    out.number(instr.c);
  }
  out.count(fn.handlers.size());
  for (const HandlerData &handler : fn.handlers) {
    out.number(handler.begin);
    out.number(handler.end);
    out.number(handler.target);
    out.number(handler.error);
  }
  out.count(fn.locations.size());
  for (const LocationData &location : fn.locations) {
    out.number(location.offset);
    out.number(location.line);
    out.number(location.column);
    out.number(location.flags);
  }
}

std::vector<uint8_t> ModuleBuilder::finish() {
  // Everything after the strings is written first: it adds names.
  Writer rest;
  rest.count(constants.size());
  for (auto [kind, bits] : constants) {
    rest.kind(kind);
    if (kind == Kind::Str || kind == Kind::F32)
      rest.number(uint32_t(bits));
    else
      rest.number(bits);
  }
  rest.count(types.size());
  for (const TypeDecl &type : types) {
    rest.number(string(type.name));
    rest.count(type.fields.size());
    for (const std::string &field : type.fields)
      rest.number(string(field));
  }
  rest.count(imports.size());
  for (const ImportDecl &import : imports) {
    rest.number(uint8_t(import.sort));
    rest.number(string(import.name));
    rest.number(uint8_t(import.variadic));
    rest.kind(import.result);
    rest.params(import.params);
  }
  rest.count(globals.size());
  for (const GlobalDecl &global : globals) {
    rest.number(string(global.name));
    rest.kind(global.kind);
  }
  rest.count(functions.size());
  for (const FunctionBuilder &fn : functions)
    writeFunction(rest, fn, string(fn.name), string(fn.file));
  rest.number(entry);

  Writer file;
  file.bytes.assign(moduleMagic, moduleMagic + 4);
  file.number(moduleMajor);
  file.number(moduleMinor);
  file.number(uint32_t(0)); // flags
  file.number(uint64_t(0)); // size and checksum: sealModule
  file.number(uint32_t(0));
  file.count(strings.size());
  for (const std::string &text : strings) {
    file.count(text.size());
    file.bytes.insert(file.bytes.end(), text.begin(), text.end());
  }
  file.bytes.insert(file.bytes.end(), rest.bytes.begin(), rest.bytes.end());
  sealModule(file.bytes);
  return std::move(file.bytes);
}

void sealModule(std::vector<uint8_t> &bytes) {
  if (bytes.size() < moduleHeaderBytes)
    return;
  uint64_t size = bytes.size() - moduleHeaderBytes;
  uint32_t sum = crc32(std::span(bytes).subspan(moduleHeaderBytes));
  for (size_t i = 0; i < 8; ++i)
    bytes[12 + i] = uint8_t(size >> (8 * i));
  for (size_t i = 0; i < 4; ++i)
    bytes[20 + i] = uint8_t(sum >> (8 * i));
}

} // namespace mxrt::host
