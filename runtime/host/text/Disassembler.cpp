// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Disassembler: module to assembly text.

#include "host/text/Assembler.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <set>

namespace mxrt::host {

static bool isIdentifier(std::string_view name) {
  auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (name.empty() || !letter(name[0]) || name == "_" || name == "mut")
    return false;
  for (char c : name)
    if (!letter(c) && c != '.' && !(c >= '0' && c <= '9'))
      return false;
  return true;
}

static std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      char code[8];
      std::snprintf(code, sizeof(code), "\\x%02x", unsigned(c));
      out += code;
    } else {
      out += c;
    }
  }
  return out + '"';
}

static std::string nameText(std::string_view name) {
  return isIdentifier(name) ? std::string(name) : quoted(name);
}

/// Shortest decimal that parses to the same value; bits for values without a decimal.
template <typename T, typename Bits>
static std::string floatText(T number, char ending) {
  char text[64];
  if (!std::isfinite(number)) {
    std::snprintf(text, sizeof(text), "#%0*llx%c", int(sizeof(T) * 2),
                  static_cast<unsigned long long>(std::bit_cast<Bits>(number)),
                  ending);
    return text;
  }
  char *end = std::to_chars(text, text + sizeof(text), number).ptr;
  return std::string(text, end) + ending;
}

namespace {

class Disassembler {
public:
  explicit Disassembler(const Module &module) : module(module) {}

  std::string run() {
    for (const TypeData &type : module.types) {
      out += "type " + name(type.name) + '(';
      for (size_t i = 0; i < type.fields.size(); ++i)
        out += (i ? ", " : "") + name(type.fields[i]);
      out += ")\n";
    }
    static const char *const sorts[] = {"native", "tensor", "graph"};
    for (const ImportData &import : module.imports) {
      out += std::string(sorts[unsigned(import.sort)]) + ' ' +
             name(import.name);
      signature(import.params, import.variadic, import.result);
      out += '\n';
    }
    for (const GlobalData &global : module.globals)
      out += "global " + name(global.name) + ": " + kindName(global.kind) +
             '\n';
    if (module.entry < module.functions.size())
      out += "entry " + functionRef(module.entry) + '\n';
    for (const FunctionData &fn : module.functions)
      function(fn);
    return std::move(out);
  }

  std::string one(uint32_t function, uint32_t offset) {
    instruction(module.functions[function], offset);
    return std::move(out);
  }

private:
  std::string name(uint32_t string) { return nameText(module.strings[string]); }

  void signature(std::span<const ParamData> params, bool variadic,
                 Kind result) {
    out += '(';
    const char *comma = "";
    for (const ParamData &param : params) {
      out += std::string(comma) + (param.isMut ? "mut " : "") +
             kindName(param.kind);
      comma = ", ";
    }
    if (variadic)
      out += std::string(comma) + "...";
    out += ')';
    if (result != Kind::Unit)
      out += std::string(" -> ") + kindName(result);
  }

  template <typename Row>
  std::string ref(std::span<const Row> rows, uint32_t index) {
    if (index >= rows.size())
      return '@' + std::to_string(index);
    std::string_view text = module.strings[rows[index].name];
    for (size_t i = 0; i < rows.size(); ++i)
      if (i != index && module.strings[rows[i].name] == text)
        return '@' + std::to_string(index);
    return nameText(text);
  }
  std::string functionRef(uint32_t index) {
    return ref(module.functions, index);
  }

  static int64_t jumpTarget(const Instr &instr, uint32_t offset) {
    const OpcodeInfo &info = opcodeInfo(Opcode(instr.op));
    if (info.roles[0] == Role::Jump32)
      return int64_t(offset) + 1 + instr.wideAB();
    if (info.roles[1] == Role::Jump32)
      return int64_t(offset) + 1 + instr.wideBC();
    if (info.roles[2] == Role::Jump16)
      return int64_t(offset) + 1 + int16_t(instr.c);
    return -1;
  }

  void function(const FunctionData &fn) {
    out += "\nfunc " + name(fn.name);
    signature(fn.params, false, fn.result);
    if (!module.strings[fn.file].empty())
      out += " in " + quoted(module.strings[fn.file]);
    out += " {\n";
    for (size_t i = fn.params.size(); i < fn.registers.size();) {
      out += "  reg ";
      for (size_t row = 0; row < 8 && i < fn.registers.size(); ++row, ++i)
        out += std::string(row ? ", " : "") + kindName(fn.registers[i]);
      out += '\n';
    }
    std::set<int64_t> labels;
    for (uint32_t i = 0; i < fn.code.size(); ++i)
      if (fn.code[i].op < opcodeCount)
        labels.insert(jumpTarget(fn.code[i], i));
    for (const HandlerData &handler : fn.handlers)
      labels.insert({handler.begin, handler.end, handler.target});
    size_t location = 0;
    for (uint32_t i = 0; i < fn.code.size(); ++i) {
      if (labels.count(i))
        out += 'L' + std::to_string(i) + ":\n";
      for (; location < fn.locations.size() && fn.locations[location].offset <= i; ++location)
        if (fn.locations[location].offset == i)
          out += "  line " + std::to_string(fn.locations[location].line) + ':' +
                 std::to_string(fn.locations[location].column) +
                 (fn.locations[location].flags & locationIsStatement ? " stmt\n" : "\n");
      out += "  ";
      instruction(fn, i);
      out += '\n';
    }
    if (labels.count(int64_t(fn.code.size())))
      out += 'L' + std::to_string(fn.code.size()) + ":\n";
    for (const HandlerData &handler : fn.handlers)
      out += "  try L" + std::to_string(handler.begin) + ", L" +
             std::to_string(handler.end) + ", L" +
             std::to_string(handler.target) + ", " + reg(handler.error) + '\n';
    out += "}\n";
  }

  void instruction(const FunctionData &fn, uint32_t offset) {
    const Instr &instr = fn.code[offset];
    if (instr.op >= opcodeCount) {
      out += "op " + std::to_string(instr.op); // refused by the assembler
      return;
    }
    const OpcodeInfo &info = opcodeInfo(Opcode(instr.op));
    out += info.mnemonic;
    const uint16_t operands[3] = {instr.a, instr.b, instr.c};
    const char *comma = " ";
    for (unsigned i = 0; i < 3; ++i) {
      if (info.roles[i] == Role::None || info.roles[i] == Role::Wide)
        continue;
      uint32_t value = operands[i];
      if (i < 2 && info.roles[i + 1] == Role::Wide)
        value |= uint32_t(operands[i + 1]) << 16;
      out += comma + operand(fn, info.roles[i], value, offset);
      comma = ", ";
    }
  }

  static std::string reg(uint16_t number) {
    return number == noRegister ? "_" : 'r' + std::to_string(number);
  }

  std::string constant(uint32_t index) {
    if (index >= module.constants.size())
      return '@' + std::to_string(index);
    const ConstantData &data = module.constants[index];
    switch (data.kind) {
    case Kind::Int:
      return std::to_string(data.i);
    case Kind::F32:
      return floatText<float, uint32_t>(data.f, 'f');
    case Kind::F64:
      return floatText<double, uint64_t>(data.d, 'd');
    default:
      return quoted(module.strings[data.string]);
    }
  }

  std::string operand(const FunctionData &fn, Role role, uint32_t value,
                      uint32_t offset) {
    if (isRegister(role))
      return reg(uint16_t(value));
    switch (role) {
    case Role::Imm16:
      return std::to_string(int16_t(value));
    case Role::Imm32:
      return std::to_string(int32_t(value));
    case Role::Flag:
      return value == 0 ? "false" : value == 1 ? "true" : std::to_string(value);
    case Role::DTypeCode:
      return value < MXRT_DTYPE_COUNT ? mxrt_dtype_name(mxrt_dtype(value))
                                      : std::to_string(value);
    case Role::ErrCode: {
      char text[16];
      std::snprintf(text, sizeof(text), "R%04u", value);
      return text;
    }
    case Role::Jump16:
    case Role::Jump32: {
      int64_t target = jumpTarget(fn.code[offset], offset);
      if (target < 0 || target >= int64_t(fn.code.size()))
        return "+" + std::to_string(target - offset - 1); // does not verify
      return 'L' + std::to_string(target);
    }
    case Role::Const16:
    case Role::Const32:
      return constant(value);
    case Role::List: {
      if (value >= fn.lists.size())
        return '@' + std::to_string(value);
      std::string text = "[";
      for (size_t i = 0; i < fn.lists[value].size(); ++i) {
        uint16_t entry = fn.lists[value][i];
        text += std::string(i ? ", " : "") + (entry & mutBit ? "mut " : "") +
                'r' + std::to_string(entry & ~mutBit);
      }
      return text + ']';
    }
    case Role::Func:
      return functionRef(value);
    case Role::Type:
      return ref(module.types, value);
    case Role::Global:
      return ref(module.globals, value);
    case Role::Native:
    case Role::TensorOp:
    case Role::Graph:
      return ref(module.imports, value);
    default:
      return std::to_string(value);
    }
  }

  const Module &module;
  std::string out;
};

} // namespace

std::string disassemble(const Module &module) {
  return Disassembler(module).run();
}

std::string disassemble(const Module &module, uint32_t function,
                        uint32_t instruction) {
  return Disassembler(module).one(function, instruction);
}

} // namespace mxrt::host
