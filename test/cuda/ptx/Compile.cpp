// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Resolves names, inlines calls and decodes statements into a Kernel.
#include "ptx/Decoder.h"

#include <algorithm>

namespace mxemu {

namespace {

uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

const std::map<std::string, uint32_t> &specialRows() {
  static const std::map<std::string, uint32_t> rows = {{"%tid.x", TidX},
                                                       {"%tid.y", TidY},
                                                       {"%tid.z", TidZ},
                                                       {"%ntid.x", NtidX},
                                                       {"%ntid.y", NtidY},
                                                       {"%ntid.z", NtidZ},
                                                       {"%ctaid.x", CtaidX},
                                                       {"%ctaid.y", CtaidY},
                                                       {"%ctaid.z", CtaidZ},
                                                       {"%nctaid.x", NctaidX},
                                                       {"%nctaid.y", NctaidY},
                                                       {"%nctaid.z", NctaidZ},
                                                       {"%laneid", LaneId},
                                                       {"%warpid", WarpId},
                                                       {"%nwarpid", NWarpId},
                                                       {"%lanemask_eq", MaskEq},
                                                       {"%lanemask_le", MaskLe},
                                                       {"%lanemask_lt", MaskLt},
                                                       {"%lanemask_ge", MaskGe},
                                                       {"%lanemask_gt", MaskGt},
                                                       {"%smid", SmId},
                                                       {"%nsmid", NSmId},
                                                       {"%gridid", GridId},
                                                       {"%dynamic_smem_size", DynSmem},
                                                       {"%total_smem_size", TotalSmem}};
  return rows;
}

class KernelBuilder : public Builder {
public:
  KernelBuilder(const ModuleText &module, Program &program, const FunctionText &function)
      : module(module), program(program), result(std::make_shared<Kernel>()) {
    result->name = function.name;
    if (function.maxThreads)
      result->maxThreads = function.maxThreads;
    result->rowBytes = SpecialRows * 128;
    openScope();
    Symbol carry;
    carry.type = Ty::U32;
    carry.row = newRow(4);
    declare("%carry-flag", carry, function.line);
    layOutParameters(function);
    layOutShared();
    emitBody(function, true);
    result->dynamicOffset =
        uint32_t(alignUp(result->sharedBytes, std::max(16u, result->sharedAlignment)));
    // Extern arrays start behind the static ones, which are all known now.
    for (auto &[offset, row] : dynamicRows)
      patchConstant(row, result->dynamicOffset + offset);
    result->registers = std::min(255u, (result->rowBytes - SpecialRows * 128) / 128 + 8);
  }

  std::shared_ptr<Kernel> take() { return std::move(result); }

  const Symbol *find(const std::string &name) override {
    for (size_t i = scopes.size(); i-- > 0;)
      if (auto found = scopes[i].find(name); found != scopes[i].end())
        return &found->second;
    if (auto special = specialRows().find(name); special != specialRows().end()) {
      Symbol &symbol = scopes[0][name];
      symbol.type = Ty::U32;
      symbol.row = {special->second * 128, 0, 4, false};
      return &symbol;
    }
    if (auto global = program.globals.find(name); global != program.globals.end()) {
      Symbol &symbol = scopes[0][name];
      symbol.kind = Symbol::Global;
      symbol.value = global->second.address;
      return &symbol;
    }
    return nullptr;
  }

  Operand constant(uint64_t bits, unsigned bytes) override {
    if (bits - dynamicMarker < 1u << 20) {
      Operand row = newConstant(0, bytes);
      dynamicRows.push_back({uint32_t(bits - dynamicMarker), row});
      return row;
    }
    if (bytes < 8)
      bits &= (uint64_t(1) << (8 * std::max(1u, bytes))) - 1;
    auto [known, isNew] = constants.try_emplace({bits, bytes});
    if (isNew)
      known->second = newConstant(bits, bytes);
    return known->second;
  }
  Operand scratch(unsigned bytes) override { return newRow(bytes); }
  Kernel &kernel() override { return *result; }

private:
  // Stands for the start of dynamic shared memory until the static size is known.
  static constexpr uint64_t dynamicMarker = 0x5eed00d1a3d1c000;
  const ModuleText &module;
  Program &program;
  std::shared_ptr<Kernel> result;
  std::vector<std::map<std::string, Symbol>> scopes;
  std::map<std::pair<uint64_t, unsigned>, Operand> constants;
  std::vector<std::pair<uint32_t, Operand>> dynamicRows;
  std::vector<std::string> callStack;

  /// Labels of one inlined body.
  struct Labels {
    std::map<std::string, uint32_t> where;
    std::map<std::string, std::vector<std::string>> tables;
    std::vector<std::pair<uint32_t, std::string>> jumps, tableJumps;
    std::vector<uint32_t> returns;
  };

  void openScope() { scopes.emplace_back(); }

  Operand newRow(unsigned bytes) {
    Operand row{result->rowBytes, 0, uint8_t(bytes), false};
    result->rowBytes += bytes == 8 ? 256 : 128;
    return row;
  }
  Operand newConstant(uint64_t bits, unsigned bytes) {
    unsigned stride = bytes == 8 ? 8 : 4;
    Operand row{uint32_t(result->constants.size()), 1, uint8_t(bytes), false};
    for (int lane = 0; lane < 32; ++lane)
      for (unsigned i = 0; i < stride; ++i)
        result->constants.push_back(char(bits >> (8 * i)));
    return row;
  }
  void patchConstant(Operand row, uint64_t bits) {
    unsigned stride = row.bytes == 8 ? 8 : 4;
    for (int lane = 0; lane < 32; ++lane)
      std::memcpy(&result->constants[row.offset + lane * stride], &bits, stride);
  }

  void declare(const std::string &name, Symbol symbol, unsigned line) {
    if (!scopes.back().emplace(name, symbol).second)
      throw PtxError(line, "'" + name + "' is declared twice");
  }

  void layOutParameters(const FunctionText &function) {
    uint64_t offset = 0;
    for (auto &param : function.params) {
      offset = alignUp(offset, param.alignment);
      Symbol symbol;
      symbol.kind = Symbol::KernelParam;
      symbol.value = offset;
      declare(param.name, symbol, param.line);
      result->params.push_back({uint32_t(offset), uint32_t(param.bytes())});
      offset += param.bytes();
    }
    if (offset > 32764)
      throw PtxError(function.line, "more than 32764 bytes of parameters");
    result->paramBytes = uint32_t(offset);
  }

  void declareShared(const Declaration &variable) {
    Symbol symbol;
    symbol.kind = Symbol::Shared;
    result->sharedAlignment = std::max(result->sharedAlignment, variable.alignment);
    if (variable.unsizedArray || (variable.external && variable.bytes() == 0)) {
      symbol.value = dynamicMarker;
    } else {
      symbol.value = alignUp(result->sharedBytes, variable.alignment);
      if (symbol.value + variable.bytes() > 48 * 1024)
        throw PtxError(variable.line, "more than 48 KiB of static shared memory");
      result->sharedBytes = uint32_t(symbol.value + variable.bytes());
    }
    declare(variable.name, symbol, variable.line);
  }
  void layOutShared() {
    for (auto &variable : module.variables)
      if (variable.space == Space::Shared)
        declareShared(variable);
  }

  void declareVariable(const Declaration &variable) {
    Symbol symbol;
    symbol.type = variable.type;
    switch (variable.space) {
    case Space::Reg:
      if (!variable.count) {
        symbol.row = newRow(bytesOf(variable.type));
        return declare(variable.name, symbol, variable.line);
      }
      for (unsigned i = 0; i < variable.count; ++i) {
        symbol.row = newRow(bytesOf(variable.type));
        declare(variable.name + std::to_string(i), symbol, variable.line);
      }
      return;
    case Space::Shared:
      return declareShared(variable);
    case Space::Local:
    case Space::Param: {
      symbol.kind = Symbol::Local;
      symbol.value = alignUp(result->localBytes, std::max(variable.alignment, 1u));
      if (symbol.value + variable.bytes() > 512 * 1024)
        throw PtxError(variable.line, "more than 512 KiB of local memory");
      result->localBytes = uint32_t(symbol.value + variable.bytes());
      return declare(variable.name, symbol, variable.line);
    }
    default:
      throw PtxError(variable.line, "this variable belongs outside of functions");
    }
  }

  void emitBody(const FunctionText &function, bool outermost) {
    Labels labels;
    openScope();
    size_t depth = scopes.size();
    for (auto &statement : function.body) {
      switch (statement.kind) {
      case Statement::Open:
        openScope();
        break;
      case Statement::Close:
        scopes.pop_back();
        break;
      case Statement::Declare:
        declareVariable(statement.declaration);
        break;
      case Statement::Label:
        if (!labels.where.emplace(statement.names[0], uint32_t(result->code.size())).second)
          throw PtxError(statement.line, "label '" + statement.names[0] + "' is there twice");
        break;
      case Statement::Targets:
        labels.tables[statement.names[0]] = {statement.names.begin() + 1, statement.names.end()};
        break;
      case Statement::Instruction:
        emit(statement, labels, outermost);
        break;
      }
    }
    scopes.resize(depth - 1);
    // Running off the end is a return.
    if (outermost) {
      Statement exit;
      exit.line = function.line;
      exit.opcode = "exit";
      emit(exit, labels, true);
    }
    auto resolve = [&](const std::string &label, unsigned line) {
      auto found = labels.where.find(label);
      if (found == labels.where.end())
        throw PtxError(line, "unknown label '" + label + "'");
      return found->second;
    };
    for (auto &[index, label] : labels.jumps)
      result->code[index].target = resolve(label, result->code[index].line);
    for (auto &[index, table] : labels.tableJumps) {
      Inst &inst = result->code[index];
      if (!labels.tables.count(table))
        throw PtxError(inst.line, "unknown .branchtargets '" + table + "'");
      for (auto &label : labels.tables[table])
        inst.targets.push_back(resolve(label, inst.line));
    }
    for (uint32_t index : labels.returns)
      result->code[index].target = uint32_t(result->code.size());
  }

  void emit(const Statement &statement, Labels &labels, bool outermost) {
    if (statement.opcode == "call")
      return emitCall(statement, labels);
    bool isReturn = statement.opcode == "ret";
    auto found = decodeTable().find(isReturn ? (outermost ? "exit" : "bra") : statement.opcode);
    if (found == decodeTable().end())
      throw PtxError(statement.line, "unknown opcode '" + statement.opcode + "'");
    uint32_t index = uint32_t(result->code.size());
    Inst inst;
    inst.line = statement.line;
    inst.name = found->first.c_str();
    Decoder decoder(*this, statement, inst);
    if (!statement.guard.empty()) {
      const Symbol *guard = find(statement.guard);
      if (!guard || guard->type != Ty::Pred)
        decoder.fail("unknown predicate '" + statement.guard + "'");
      inst.guarded = true;
      inst.guard = guard->row;
      inst.guard.inverted = statement.guardInverted;
    }
    found->second(decoder);
    decoder.finish();
    if (isReturn && !outermost)
      labels.returns.push_back(index);
    else if (statement.opcode == "bra")
      labels.jumps.push_back({index, decoder.written(0).name});
    else if (statement.opcode == "brx")
      labels.tableJumps.push_back({index, decoder.written(1).name});
    result->code.push_back(std::move(inst));
    if (result->code.size() > 1u << 22)
      throw PtxError(statement.line, "the kernel is too long");
  }

  /// call (results), name, (arguments): the callee's parameters are other names of the caller's.
  void emitCall(const Statement &statement, Labels &labels) {
    auto fail = [&](const std::string &text) { return PtxError(statement.line, text); };
    for (auto &modifier : statement.modifiers)
      if (modifier != "uni")
        throw fail("unknown modifier '." + modifier + "' in 'call'");
    size_t at = 0;
    std::vector<Argument> results, arguments;
    if (at < statement.operands.size() && statement.operands[at].kind == Argument::List)
      results = statement.operands[at++].parts;
    if (at >= statement.operands.size() || statement.operands[at].kind != Argument::Name)
      throw fail("call without a function");
    std::string name = statement.operands[at++].name;
    if (at < statement.operands.size() && statement.operands[at].kind == Argument::List)
      arguments = statement.operands[at++].parts;
    if (at != statement.operands.size())
      throw fail("indirect calls are not supported");
    auto found = module.functions.find(name);
    if (found == module.functions.end() || found->second->entry)
      throw fail("unknown function '" + name + "'");
    const FunctionText &callee = *found->second;
    if (!callee.defined)
      throw fail("function '" + name + "' is declared, but not defined in this module");
    if (std::find(callStack.begin(), callStack.end(), name) != callStack.end())
      throw fail("recursive calls are not supported ('" + name + "')");
    if (results.size() != callee.results.size() || arguments.size() != callee.params.size())
      throw fail("call of '" + name + "' with another number of arguments");

    // A guard skips the whole body.
    uint32_t skip = uint32_t(result->code.size());
    if (!statement.guard.empty()) {
      Statement jump = statement;
      jump.opcode = "bra";
      jump.modifiers.clear();
      jump.guardInverted = !jump.guardInverted;
      jump.operands.assign(1, Argument());
      Labels unused;
      emit(jump, unused, false);
    }
    std::map<std::string, Symbol> bound;
    auto bind = [&](const Declaration &formal, const Argument &actual, bool isResult) {
      Symbol symbol;
      const Symbol *known = actual.kind == Argument::Name ? find(actual.name) : nullptr;
      if (known) {
        symbol = *known;
      } else if (actual.kind == Argument::Immediate && !isResult && formal.space == Space::Reg) {
        symbol.type = formal.type;
        symbol.row = constant(actual.negative ? -actual.value.bits : actual.value.bits,
                              bytesOf(formal.type));
      } else {
        throw fail("bad argument of '" + name + "'");
      }
      if ((formal.space == Space::Reg) != (symbol.kind == Symbol::Register))
        throw fail("argument of '" + name + "' in another state space");
      bound[formal.name] = symbol;
    };
    for (size_t i = 0; i < results.size(); ++i)
      bind(callee.results[i], results[i], true);
    for (size_t i = 0; i < arguments.size(); ++i)
      bind(callee.params[i], arguments[i], false);
    callStack.push_back(name);
    // The callee sees its own names and the module's.
    std::vector<std::map<std::string, Symbol>> outer;
    outer.assign(scopes.begin() + 1, scopes.end());
    scopes.resize(1);
    scopes.push_back(std::move(bound));
    emitBody(callee, false);
    scopes.resize(1);
    scopes.insert(scopes.end(), outer.begin(), outer.end());
    callStack.pop_back();
    if (!statement.guard.empty())
      result->code[skip].target = uint32_t(result->code.size());
  }
};

} // namespace

Program compile(std::string_view text, const Allocate &allocate) {
  ModuleText module = parse(text);
  Program program;
  for (auto &variable : module.variables) {
    if (variable.space == Space::Shared)
      continue;
    if (variable.external || variable.unsizedArray)
      throw PtxError(variable.line,
                     "extern variable '" + variable.name + "' is not defined in this module");
    if (variable.initial.size() > variable.elements * variable.lanes)
      throw PtxError(variable.line, "too many initial values of '" + variable.name + "'");
    program.globals[variable.name] = {variable, allocate(variable)};
  }
  for (auto &[name, function] : module.functions)
    if (function->entry && function->defined)
      program.kernels[name] = KernelBuilder(module, program, *function).take();
  return program;
}

} // namespace mxemu
