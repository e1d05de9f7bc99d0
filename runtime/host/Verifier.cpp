// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytecode verifier. One pass over each function: registers have one declared kind for the whole
// function, so no data-flow analysis is needed and the work is linear in the size of the module.
// Checked at run time instead: whether a counted register is set, the kind of a value out of an
// aggregate, and everything about calls through function values.

#include "host/Format.h"
#include "host/Module.h"

#include <cstdio>

namespace mxrt::host {

namespace {

class Verifier {
public:
  Verifier(Heap &heap, const Module &module, Finding *finding)
      : heap(heap), module(module), finding(finding) {}

  Status run() {
    if (module.entry != noEntry &&
        (module.entry >= module.functions.size() ||
         !module.functions[module.entry].params.empty()))
      return refuse(Rule::EntryPoint, "entry function %u", module.entry);
    for (function = 0; function < module.functions.size(); ++function) {
      fn = &module.functions[function];
      MXRT_CHECK(verifyFunction());
    }
    return success();
  }

private:
  template <typename... Args>
  Status refuse(Rule rule, const char *format, Args... args) {
    if (finding) {
      finding->rule = rule;
      finding->function = function;
      finding->instruction = offset;
    }
    char detail[160];
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wformat-nonliteral"
#pragma clang diagnostic ignored "-Wformat-security"
    std::snprintf(detail, sizeof(detail), format, args...);
#pragma clang diagnostic pop
    std::string_view name =
        function < module.functions.size() ? module.functionName(function) : "";
    const char *mnemonic = "";
    if (function < module.functions.size() && offset < fn->code.size() &&
        fn->code[offset].op < opcodeCount)
      mnemonic = opcodeInfo(Opcode(fn->code[offset].op)).mnemonic;
    if (offset == noEntry)
      return error(heap.baseAllocator(), MXRT_HOST_BYTECODE, noLocation,
                   "bytecode refused in function '%.*s': %s: %s\nrule: %s", nameSize(name),
                   name.data(), ruleName(rule), detail, ruleDoc(rule));
    return error(heap.baseAllocator(), MXRT_HOST_BYTECODE, noLocation,
                 "bytecode refused in function '%.*s' at instruction %u (%s): "
                 "%s: %s\nrule: %s",
                 nameSize(name), name.data(), offset, mnemonic, ruleName(rule), detail,
                 ruleDoc(rule));
  }
  static int nameSize(std::string_view name) {
    return int(name.size() < 200 ? name.size() : 200);
  }

  Status verifyFunction() {
    offset = noEntry;
    if (fn->params.size() > fn->registers.size())
      return refuse(Rule::Parameters, "%zu parameters, %zu registers",
                    fn->params.size(), fn->registers.size());
    for (size_t i = 0; i < fn->params.size(); ++i)
      if (fn->params[i].kind != fn->registers[i])
        return refuse(Rule::Parameters, "register %zu is not of its kind", i);
    if (fn->code.empty() || !isEnd(fn->code.back()))
      return refuse(Rule::FallsOff, "%zu instructions", fn->code.size());
    for (const HandlerData &handler : fn->handlers)
      MXRT_CHECK(verifyHandler(handler));
    for (size_t i = 0; i < fn->locations.size(); ++i) {
      uint32_t here = fn->locations[i].offset;
      if (here >= fn->code.size() || (i && fn->locations[i - 1].offset >= here))
        return refuse(Rule::LocationOrder, "location %zu", i);
    }
    MXRT_CHECK(verifyLists());
    for (offset = 0; offset < fn->code.size(); ++offset)
      MXRT_CHECK(verifyInstruction(fn->code[offset]));
    return success();
  }

  static bool isEnd(const Instr &last) {
    return last.op == uint16_t(Opcode::Jump) ||
           last.op == uint16_t(Opcode::Ret) ||
           last.op == uint16_t(Opcode::RetUnit) ||
           last.op == uint16_t(Opcode::Raise);
  }

  Status verifyHandler(const HandlerData &handler) {
    if (handler.begin >= handler.end || handler.end > fn->code.size() ||
        handler.target >= fn->code.size())
      return refuse(Rule::HandlerRange, "%u..%u to %u", handler.begin,
                    handler.end, handler.target);
    if (handler.error == noRegister)
      return success();
    if (handler.error >= fn->registers.size())
      return refuse(Rule::RegisterRange, "register %u", handler.error);
    if (!fits(Kind::Error, fn->registers[handler.error]))
      return refuse(Rule::RegisterKind, "the error goes to register %u of %s",
                    handler.error, kindName(fn->registers[handler.error]));
    return success();
  }

  /// Checks of a list that do not depend on the instruction that uses it. A register may be read
  /// twice, but one that is moved in and out must occur once; the check is quadratic only in mut
  /// registers, of which few are ever passed.
  Status verifyLists() {
    for (std::span<const uint16_t> list : fn->lists) {
      for (uint16_t entry : list) {
        unsigned reg = entry & ~mutBit;
        if (reg >= fn->registers.size())
          return refuse(Rule::RegisterRange, "register %u in a list", reg);
        if (!(entry & mutBit))
          continue;
        if (list.size() > maxMutListSize)
          return refuse(Rule::ListMut, "mut in a list of more than %u",
                        maxMutListSize);
        unsigned times = 0;
        for (uint16_t other : list)
          times += (other & ~mutBit) == reg;
        if (times > 1)
          return refuse(Rule::ListMut, "mut register %u is named twice", reg);
      }
    }
    return success();
  }
  static constexpr unsigned maxMutListSize = 1024;

  Status verifyInstruction(const Instr &instr) {
    if (instr.op >= opcodeCount)
      return refuse(Rule::OpcodeRange, "opcode %u", instr.op);
    const OpcodeInfo &info = opcodeInfo(Opcode(instr.op));
    const uint16_t operands[3] = {instr.a, instr.b, instr.c};
    for (unsigned i = 0; i < 3; ++i) {
      uint32_t operand = operands[i];
      if (i < 2 && info.roles[i + 1] == Role::Wide)
        operand |= uint32_t(operands[i + 1]) << 16;
      MXRT_CHECK(verifyOperand(info.roles[i], operand, i));
    }
    return verifyTogether(instr);
  }

  Status verifyOperand(Role role, uint32_t operand, unsigned position) {
    char letter = char('a' + position);
    if (isRegister(role)) {
      if (role == Role::OptOut && operand == noRegister)
        return success();
      if (operand >= fn->registers.size())
        return refuse(Rule::RegisterRange, "operand %c is register %u of %zu",
                      letter, operand, fn->registers.size());
      if (!acceptsKind(role, fn->registers[operand]))
        return refuse(Rule::RegisterKind, "operand %c, register %u, is %s",
                      letter, operand, kindName(fn->registers[operand]));
      return success();
    }
    auto row = [&](Rule rule, size_t size) {
      return operand < size ? success()
                            : refuse(rule, "operand %c is row %u of %zu",
                                     letter, operand, size);
    };
    switch (role) {
    case Role::None:
      return operand == 0 ? success()
                          : refuse(Rule::UnusedOperand, "operand %c is %u",
                                   letter, operand);
    case Role::Flag:
      return operand <= 1 ? success()
                          : refuse(Rule::ImmediateRange, "flag %u", operand);
    case Role::DTypeCode:
      return operand < MXRT_DTYPE_COUNT
                 ? success()
                 : refuse(Rule::ImmediateRange, "element type %u", operand);
    case Role::ErrCode:
      return isKnownCode(operand) && isCatchable(mxrt_code(operand))
                 ? success()
                 : refuse(Rule::ImmediateRange, "error code %u", operand);
    case Role::Jump16:
      return verifyJump(int16_t(operand));
    case Role::Jump32:
      return verifyJump(int32_t(operand));
    case Role::Const16:
    case Role::Const32:
      return row(Rule::ConstantIndex, module.constants.size());
    case Role::List:
      return row(Rule::ListIndex, fn->lists.size());
    case Role::Func:
      return row(Rule::FunctionIndex, module.functions.size());
    case Role::Type:
      return row(Rule::TypeIndex, module.types.size());
    case Role::Global:
      return row(Rule::GlobalIndex, module.globals.size());
    case Role::Native:
      return verifyImport(operand, ImportKind::Native);
    case Role::TensorOp:
      return verifyImport(operand, ImportKind::TensorOp);
    case Role::Graph:
      return verifyImport(operand, ImportKind::Graph);
    default: // Wide, Imm16, Imm32, Index: any number is valid
      return success();
    }
  }

  Status verifyJump(int32_t distance) {
    int64_t target = int64_t(offset) + 1 + distance;
    if (target < 0 || target >= int64_t(fn->code.size()))
      return refuse(Rule::JumpTarget, "to instruction %lld of %zu",
                    static_cast<long long>(target), fn->code.size());
    return success();
  }

  Status verifyImport(uint32_t index, ImportKind sort) {
    if (index >= module.imports.size() || module.imports[index].sort != sort)
      return refuse(Rule::ImportIndex, "import %u", index);
    return success();
  }

  /// Rules about more than one operand.
  Status verifyTogether(const Instr &instr) {
    auto kind = [&](uint16_t reg) { return fn->registers[reg]; };
    auto differ = [&] {
      return refuse(Rule::KindsDiffer, "%s and %s", kindName(kind(instr.a)),
                    kindName(kind(instr.b)));
    };
    switch (Opcode(instr.op)) {
    case Opcode::Mov:
      return kind(instr.a) == kind(instr.b) ? success() : differ();
    case Opcode::Copy:
      return fits(kind(instr.b), kind(instr.a)) ? success() : differ();
    case Opcode::Move:
      return fits(kind(instr.b), kind(instr.a)) && !isInline(kind(instr.b))
                 ? success()
                 : differ();
    case Opcode::Drop:
      return !isInline(kind(instr.a))
                 ? success()
                 : refuse(Rule::RegisterKind, "operand a is %s",
                          kindName(kind(instr.a)));
    case Opcode::Cast:
      return kind(instr.b) == Kind::Any ? success() : differ();
    case Opcode::UnitImm:
      return kind(instr.a) == Kind::Any
                 ? success()
                 : refuse(Rule::RegisterKind, "operand a is %s",
                          kindName(kind(instr.a)));
    case Opcode::Const: {
      const ConstantData &constant = module.constants[uint32_t(instr.wideBC())];
      return fits(constant.kind, kind(instr.a))
                 ? success()
                 : refuse(Rule::ConstantIndex, "a constant of %s for %s",
                          kindName(constant.kind), kindName(kind(instr.a)));
    }
    case Opcode::Format:
      return verifyFormat(instr.c);
    case Opcode::GetGlobal:
    case Opcode::TakeGlobal: {
      Kind global = module.globals[instr.b].kind;
      return fits(global, kind(instr.a)) ? success()
                                         : refuse(Rule::KindsDiffer,
                                                  "a global of %s for %s",
                                                  kindName(global),
                                                  kindName(kind(instr.a)));
    }
    case Opcode::SetGlobal: {
      Kind global = module.globals[instr.a].kind;
      return fits(kind(instr.b), global) ? success()
                                         : refuse(Rule::KindsDiffer,
                                                  "%s for a global of %s",
                                                  kindName(kind(instr.b)),
                                                  kindName(global));
    }
    case Opcode::Call: {
      const FunctionData &callee = module.functions[instr.b];
      return verifyCall(instr, callee.params, false, callee.result);
    }
    case Opcode::CallNative:
    case Opcode::CallTensor:
    case Opcode::CallGraph: {
      const ImportData &import = module.imports[instr.b];
      return verifyCall(instr, import.params, import.variadic, import.result);
    }
    case Opcode::Closure:
      return verifyClosure(instr);
    case Opcode::Ret:
      return fits(kind(instr.a), fn->result)
                 ? success()
                 : refuse(Rule::ResultKind, "%s from a function of %s",
                          kindName(kind(instr.a)), kindName(fn->result));
    case Opcode::RetUnit:
      return fn->result == Kind::Unit
                 ? success()
                 : refuse(Rule::ResultKind, "nothing from a function of %s",
                          kindName(fn->result));
    case Opcode::Join:
      return verifyPlainList(instr.b, Kind::Str);
    case Opcode::Print:
      return verifyPlainList(instr.a, Kind::Any);
    case Opcode::MakeTuple:
    case Opcode::MakeArray:
      return verifyPlainList(instr.b, Kind::Any);
    case Opcode::MakeStruct:
      MXRT_CHECK(verifyPlainList(instr.c, Kind::Any));
      if (fn->lists[instr.c].size() != module.types[instr.b].fields.size())
        return refuse(Rule::Arity, "%zu values for %zu fields",
                      fn->lists[instr.c].size(),
                      module.types[instr.b].fields.size());
      return success();
    default:
      return success();
    }
  }

  Status verifyFormat(uint16_t index) {
    const ConstantData &constant = module.constants[index];
    if (constant.kind != Kind::Str)
      return refuse(Rule::FormatText, "constant %u is not a string", index);
    FormatSpec spec;
    if (const char *wrong =
            parseFormatSpec(module.strings[constant.string], spec))
      return refuse(Rule::FormatText, "%s", wrong);
    return success();
  }

  Status verifyCall(const Instr &instr, std::span<const ParamData> params,
                    bool variadic, Kind result) {
    std::span<const uint16_t> list = fn->lists[instr.c];
    if (variadic ? list.size() < params.size() : list.size() != params.size())
      return refuse(Rule::Arity, "%zu arguments for %zu parameters",
                    list.size(), params.size());
    for (size_t i = 0; i < list.size(); ++i) {
      Kind kind = fn->registers[list[i] & ~mutBit];
      bool isMut = list[i] & mutBit;
      ParamData param =
          i < params.size() ? params[i] : ParamData{Kind::Any, false};
      if (isMut != param.isMut ||
          (isMut ? kind != param.kind : !fits(kind, param.kind)))
        return refuse(Rule::ArgumentKind, "argument %zu is %s%s, not %s%s", i,
                      isMut ? "mut " : "", kindName(kind),
                      param.isMut ? "mut " : "", kindName(param.kind));
    }
    if (instr.a != noRegister && !fits(result, fn->registers[instr.a]))
      return refuse(Rule::ResultKind, "%s for register %u of %s",
                    kindName(result), instr.a, kindName(fn->registers[instr.a]));
    return success();
  }

  Status verifyClosure(const Instr &instr) {
    const FunctionData &callee = module.functions[instr.b];
    std::span<const uint16_t> list = fn->lists[instr.c];
    if (list.size() > callee.params.size())
      return refuse(Rule::Arity, "%zu captured values for %zu parameters",
                    list.size(), callee.params.size());
    for (size_t i = 0; i < list.size(); ++i) {
      ParamData param = callee.params[i];
      if (list[i] & mutBit || param.isMut)
        return refuse(Rule::ListMut, "captured value %zu is mut", i);
      if (!fits(fn->registers[list[i]], param.kind))
        return refuse(Rule::ArgumentKind, "captured value %zu is %s, not %s", i,
                      kindName(fn->registers[list[i]]), kindName(param.kind));
    }
    return success();
  }

  Status verifyPlainList(uint16_t index, Kind wanted) {
    for (uint16_t entry : fn->lists[index]) {
      if (entry & mutBit)
        return refuse(Rule::ListMut, "mut register %u", entry & ~mutBit);
      if (!fits(fn->registers[entry], wanted))
        return refuse(Rule::ArgumentKind, "register %u is %s, not %s", entry,
                      kindName(fn->registers[entry]), kindName(wanted));
    }
    return success();
  }

  Heap &heap;
  const Module &module;
  Finding *finding;
  const FunctionData *fn = nullptr;
  uint32_t function = noEntry;
  uint32_t offset = noEntry;
};

} // namespace

Status verifyModule(Heap &heap, const Module &module, Finding *finding) {
  return Verifier(heap, module, finding).run();
}

} // namespace mxrt::host
