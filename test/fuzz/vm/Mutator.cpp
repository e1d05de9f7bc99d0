// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Check.h"

#include "host/text/ModuleBuilder.h"

#include <algorithm>

namespace mxrt::host {

void mutateBytes(Random &random, std::vector<uint8_t> &bytes) {
  static const uint8_t edges[] = {0, 1, 2, 0x0f, 0x7f, 0x80, 0xfe, 0xff};
  for (uint64_t left = 1 + random.below(6); left; --left) {
    size_t at = random.below(bytes.size());
    switch (random.below(bytes.empty() ? 1 : 6)) {
    case 0:
      bytes.insert(bytes.begin() + long(at), uint8_t(random.next()));
      break;
    case 1:
      bytes[at] ^= uint8_t(1 << random.below(8));
      break;
    case 2:
      bytes[at] = edges[random.below(std::size(edges))];
      break;
    case 3: {
      size_t count = std::min<size_t>(1 + random.below(16), bytes.size() - at);
      bytes.erase(bytes.begin() + long(at), bytes.begin() + long(at + count));
      break;
    }
    case 4: { // a range over another one
      size_t from = random.below(bytes.size());
      size_t count = std::min(1 + random.below(24), bytes.size() - std::max(at, from));
      std::copy_n(std::vector<uint8_t>(bytes.begin() + long(from), bytes.begin() + long(from + count)).begin(),
                  count, bytes.begin() + long(at));
      break;
    }
    default:
      bytes[at] = uint8_t(bytes[at] + (random.chance(50) ? 1 : -1));
    }
  }
  if (random.chance(95))
    sealModule(bytes);
}

/// The tables of a module as a builder's, to be changed and written again.
static ModuleBuilder lift(const Module &module) {
  ModuleBuilder out;
  auto text = [&](uint32_t row) { return std::string(module.strings[row]); };
  for (const ConstantData &constant : module.constants) {
    if (constant.kind == Kind::Int)
      out.constant(constant.i);
    else if (constant.kind == Kind::F32)
      out.constantF32(constant.f);
    else if (constant.kind == Kind::F64)
      out.constantF64(constant.d);
    else
      out.constant(module.strings[constant.string]);
  }
  for (const TypeData &type : module.types) {
    TypeDecl &decl = out.types.emplace_back();
    decl.name = text(type.name);
    for (uint32_t field : type.fields)
      decl.fields.push_back(text(field));
  }
  for (const ImportData &import : module.imports)
    out.imports.push_back({import.sort, text(import.name), import.variadic, import.result,
                           {import.params.begin(), import.params.end()}});
  for (const GlobalData &global : module.globals)
    out.globals.push_back({text(global.name), global.kind});
  for (const FunctionData &data : module.functions) {
    FunctionBuilder &fn = out.functions.emplace_back();
    fn.name = text(data.name);
    fn.file = text(data.file);
    fn.result = data.result;
    fn.params.assign(data.params.begin(), data.params.end());
    fn.registers.assign(data.registers.begin(), data.registers.end());
    for (std::span<const uint16_t> list : data.lists)
      fn.lists.emplace_back(list.begin(), list.end());
    fn.code.assign(data.code.begin(), data.code.end());
    fn.handlers.assign(data.handlers.begin(), data.handlers.end());
    fn.locations.assign(data.locations.begin(), data.locations.end());
  }
  out.entry = module.entry;
  return out;
}

/// A register that may stand in the role, if there is one.
static uint16_t pickRegister(Random &random, const FunctionBuilder &fn, Role role) {
  size_t count = fn.registers.size();
  size_t start = random.below(count);
  for (size_t i = 0; i < count; ++i)
    if (acceptsKind(role, fn.registers[(start + i) % count]))
      return uint16_t((start + i) % count);
  return uint16_t(start);
}

static uint16_t pickOperand(Random &random, const ModuleBuilder &module, const FunctionBuilder &fn,
                            Role role, size_t at) {
  if (random.chance(3))
    return uint16_t(random.next());
  if (isRegister(role))
    return role == Role::OptOut && random.chance(30) ? noRegister : pickRegister(random, fn, role);
  switch (role) {
  case Role::Flag:
    return uint16_t(random.below(2));
  case Role::DTypeCode:
    return uint16_t(random.below(MXRT_DTYPE_COUNT));
  case Role::ErrCode:
    return MXRT_RAISED;
  case Role::Jump16:
  case Role::Jump32:
    return uint16_t(int16_t(int64_t(random.below(fn.code.size())) - int64_t(at) - 1));
  case Role::Const16:
  case Role::Const32:
    return uint16_t(random.below(8));
  case Role::List:
    return uint16_t(random.below(fn.lists.size()));
  case Role::Func:
    return uint16_t(random.below(module.functions.size()));
  case Role::Native:
  case Role::TensorOp:
  case Role::Graph:
    return uint16_t(random.below(module.imports.size()));
  case Role::Type:
    return uint16_t(random.below(module.types.size()));
  case Role::Global:
    return uint16_t(random.below(module.globals.size()));
  case Role::Index:
    return uint16_t(random.below(4));
  case Role::None:
  case Role::Wide:
    return 0;
  default:
    return uint16_t(random.next());
  }
}

static Instr pickInstr(Random &random, const ModuleBuilder &module, const FunctionBuilder &fn, size_t at) {
  Instr instr = {uint16_t(random.below(opcodeCount)), 0, 0, 0};
  const OpcodeInfo &info = opcodeInfo(Opcode(instr.op));
  uint16_t *operands[] = {&instr.a, &instr.b, &instr.c};
  for (unsigned i = 0; i < 3; ++i) {
    if (info.roles[i] != Role::Wide)
      *operands[i] = pickOperand(random, module, fn, info.roles[i], at);
    else if (info.roles[i - 1] != Role::Const32 && *operands[i - 1] & 0x8000)
      *operands[i] = 0xffff; // sign of a jump or a number
  }
  return instr;
}

static void mutateFunction(Random &random, ModuleBuilder &module, FunctionBuilder &fn) {
  size_t at = random.below(fn.code.size());
  switch (random.below(10)) {
  case 0:
  case 1:
  case 2:
    if (!fn.code.empty())
      fn.code[at] = pickInstr(random, module, fn, at);
    break;
  case 3:
  case 4:
    if (!fn.code.empty() && fn.code[at].op < opcodeCount) {
      unsigned i = unsigned(random.below(3));
      Role role = opcodeInfo(Opcode(fn.code[at].op)).roles[i];
      (i == 0 ? fn.code[at].a : i == 1 ? fn.code[at].b : fn.code[at].c) =
          pickOperand(random, module, fn, role, at);
    }
    break;
  case 5:
    fn.code.insert(fn.code.begin() + long(at), pickInstr(random, module, fn, at));
    break;
  case 6:
    if (fn.code.size() > 1)
      std::swap(fn.code[at], fn.code[random.below(fn.code.size())]);
    break;
  case 7:
    if (!fn.lists.empty()) {
      std::vector<uint16_t> &list = fn.lists[random.below(fn.lists.size())];
      uint16_t reg = uint16_t(random.below(fn.registers.size()) | (random.chance(10) ? mutBit : 0));
      if (list.empty() || random.chance(30))
        list.push_back(reg);
      else
        list[random.below(list.size())] = reg;
    }
    break;
  case 8: {
    uint32_t size = uint32_t(fn.code.size());
    uint32_t begin = uint32_t(random.below(size));
    fn.handlers.push_back({begin, begin + 1 + uint32_t(random.below(size - begin)),
                           uint32_t(random.below(size)),
                           random.chance(50) ? noRegister : pickRegister(random, fn, Role::InError)});
    break;
  }
  default:
    if (random.chance(50) || fn.registers.empty())
      fn.registers.push_back(Kind(unsigned(Kind::Bool) + random.below(kindCount - unsigned(Kind::Bool))));
    else
      fn.registers[random.below(fn.registers.size())] =
          Kind(unsigned(Kind::Bool) + random.below(kindCount - unsigned(Kind::Bool)));
  }
}

bool mutateModule(Random &random, std::vector<uint8_t> &bytes) {
  Heap heap(mxrt_system_allocator(), SIZE_MAX / 2);
  ModuleBuilder lifted;
  {
    Module module(heap);
    if (decodeModule(heap, bytes, module).failed())
      return false;
    lifted = lift(module);
  }
  if (lifted.functions.empty())
    return false;
  for (uint64_t left = 1 + random.below(3); left; --left)
    mutateFunction(random, lifted, lifted.functions[random.below(lifted.functions.size())]);
  bytes = lifted.finish();
  return true;
}

} // namespace mxrt::host
