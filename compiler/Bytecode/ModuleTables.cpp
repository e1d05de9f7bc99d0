// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables of a bytecode module, and the mapping of IR types to register kinds.
#include "Bytecode/ModuleTables.h"
#include "dialects/mx/Marks.h"

using namespace mlir;

namespace mx::bytecode {

Kind kindOfElement(Type element) {
  if (element.isInteger(1))
    return Kind::Bool;
  if (element.isIntOrIndex())
    return Kind::Int;
  return element.isF64() ? Kind::F64 : Kind::F32;
}

Kind kindOf(Type type) {
  if (auto tensor = dyn_cast<ir::TensorType>(type))
    return tensor.isHost() ? kindOfElement(tensor.getElement()) : Kind::Tensor;
  if (auto cell = dyn_cast<ir::CellType>(type))
    return kindOf(cell.getElement());
  if (auto aggregate = dyn_cast<ir::AggregateType>(type))
    return aggregate.getName().getValue().empty() ? Kind::Tuple : Kind::Struct;
  if (isa<ir::StrType>(type))
    return Kind::Str;
  if (isa<ir::DtypeType>(type))
    return Kind::DType;
  if (isa<ir::ErrorType>(type))
    return Kind::Error;
  if (isa<ir::HandleType>(type))
    return Kind::Handle;
  if (isa<ir::ArrayType>(type))
    return Kind::Array;
  if (isa<ir::FnType>(type))
    return Kind::Fn;
  return Kind::Any;
}

std::string elementName(Type element) {
  return std::string(elementInfo(ir::elementFromMlir(element)).name);
}

Kind Callee::resultKind() const {
  if (results.empty())
    return Kind::Unit;
  return results.size() == 1 ? kindOf(results.front()) : Kind::Tuple;
}

bool ModuleTables::declareFunction(FunctionOpInterface op, ArrayAttr sizes, Callee &callee) {
  callee.sizeCount = sizes.size();
  callee.params.assign(sizes.size(), {Kind::Int, false});
  callee.results.assign(op.getResultTypes().begin(), op.getResultTypes().end());
  for (auto [i, type] : llvm::enumerate(op.getArgumentTypes())) {
    bool isMut = op.getArgAttr(unsigned(i), ir::kMut) != nullptr;
    callee.params.push_back({kindOf(type), isMut});
    if (!isMut)
      continue;
    size_t result = callee.mutArguments.size();
    if (result >= op.getNumResults() || op.getResultTypes()[result] != type) {
      op->emitOpError() << "does not give its mut argument " << i << " back as result " << result;
      return false;
    }
    callee.mutArguments.push_back(i);
  }
  callee.results.erase(callee.results.begin(),
                       callee.results.begin() + long(callee.mutArguments.size()));
  return true;
}

bool ModuleTables::declare(ModuleOp module) {
  for (Operation &op : *module.getBody()) {
    Callee callee;
    if (auto graph = dyn_cast<ir::GraphOp>(op)) {
      callee.isGraph = true;
      if (!declareFunction(graph, graph.getSizes(), callee))
        return false;
      callees[graph.getSymName()] = std::move(callee);
    } else if (auto function = dyn_cast<ir::FuncOp>(op)) {
      if (function.isExternal()) {
        function.emitOpError() << "`" << function.getSymName()
                               << "` has no body: there is nothing to make bytecode of";
        return false;
      }
      if (!declareFunction(function, function.getSizes(), callee))
        return false;
      callee.row = uint16_t(builder.functions.size());
      builder.functions.emplace_back().name = function.getSymName().str();
      builder.functions.back().result = callee.resultKind();
      callees[function.getSymName()] = std::move(callee);
      bodies.push_back(function);
    }
  }
  return true;
}

const Callee *ModuleTables::callee(StringRef name) const {
  auto found = callees.find(name);
  return found == callees.end() ? nullptr : &found->second;
}

host::FunctionBuilder &ModuleTables::builderOf(ir::FuncOp op) {
  return builder.functions[callee(op.getSymName())->row];
}

uint16_t ModuleTables::import(ImportKind sort, StringRef name, std::vector<ParamData> params,
                              Kind result) {
  std::vector<std::pair<Kind, bool>> signature{{result, false}};
  for (ParamData param : params)
    signature.push_back({param.kind, param.isMut});
  std::string key = std::to_string(unsigned(sort)) + name.str();
  auto [row, isNew] = importRows.try_emplace({std::move(key), std::move(signature)},
                                             uint16_t(builder.imports.size()));
  if (isNew)
    builder.imports.push_back({sort, name.str(), /*variadic=*/false, result, std::move(params)});
  return row->second;
}

uint16_t ModuleTables::graphImport(StringRef name, const Callee &graph) {
  return import(ImportKind::Graph, name, graph.params, graph.resultKind());
}

uint16_t ModuleTables::graphAsFunction(StringRef name, const Callee &graph) {
  auto [row, isNew] = graphFunctions.try_emplace(name, uint16_t(builder.functions.size()));
  if (!isNew)
    return row->second;
  host::FunctionBuilder &function = builder.functions.emplace_back();
  function.name = name.str();
  function.result = graph.resultKind();
  std::vector<uint16_t> arguments;
  for (ParamData param : graph.params)
    arguments.push_back(function.addParam(param.kind, param.isMut));
  uint16_t import = graphImport(name, graph);
  if (function.result == Kind::Unit) {
    function.emit(Opcode::CallGraph, host::noRegister, import, function.list(arguments));
    function.emit(Opcode::RetUnit);
  } else {
    Reg result = function.addRegister(function.result);
    function.emit(Opcode::CallGraph, result, import, function.list(arguments));
    function.emit(Opcode::Ret, result);
  }
  return row->second;
}

uint16_t ModuleTables::structType(ir::AggregateType type) {
  auto [row, isNew] =
      typeRows.try_emplace({type.getName(), type.getFields()}, uint16_t(builder.types.size()));
  if (isNew) {
    host::TypeDecl &decl = builder.types.emplace_back();
    decl.name = type.getName().str();
    for (Attribute field : type.getFields())
      decl.fields.push_back(cast<StringAttr>(field).str());
  }
  return row->second;
}

std::optional<uint16_t> ModuleTables::global(StringRef name, Kind kind) {
  auto [row, isNew] = globalRows.try_emplace(name, uint16_t(builder.globals.size()));
  if (isNew)
    builder.globals.push_back({name.str(), kind});
  if (builder.globals[row->second].kind != kind)
    return std::nullopt;
  return row->second;
}

std::string ModuleTables::overLimit() const {
  std::pair<const char *, size_t> tables[] = {{"functions", builder.functions.size()},
                                              {"imports", builder.imports.size()},
                                              {"struct types", builder.types.size()},
                                              {"module variables", builder.globals.size()},
                                              {"constants", builder.constantCount()},
                                              {"strings", builder.stringCount()}};
  for (auto [what, count] : tables)
    if (count > host::maxTableRows)
      return std::to_string(count) + " " + what;
  // Names are strings too; they join the table when the file is written.
  size_t names = builder.stringCount() + 2 * builder.functions.size() + builder.imports.size() +
                 builder.globals.size();
  for (const host::TypeDecl &type : builder.types)
    names += 1 + type.fields.size();
  return names > host::maxTableRows ? std::to_string(names) + " strings and names" : "";
}

} // namespace mx::bytecode
