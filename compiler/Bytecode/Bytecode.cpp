// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code generation of host code: emits the bytecode of all functions, and disassembles it.
#include "Bytecode/Bytecode.h"
#include "Bytecode/FunctionEmitter.h"
#include "host/text/Assembler.h"

using namespace mlir;

namespace mx::bytecode {

std::optional<std::vector<uint8_t>> emitBytecode(ModuleOp module, const BytecodeOptions &options) {
  ModuleTables tables;
  if (!tables.declare(module))
    return std::nullopt;
  for (ir::FuncOp function : tables.functions())
    if (!FunctionEmitter(tables, function, options.locations).run())
      return std::nullopt;
  if (!options.entry.empty()) {
    const Callee *entry = tables.callee(options.entry);
    if (!entry || entry->isGraph || !entry->params.empty()) {
      module.emitError() << "the entry `" << options.entry
                         << "` is not a function without parameters";
      return std::nullopt;
    }
    tables.builder.entry = entry->row;
  }
  if (std::string over = tables.overLimit(); !over.empty()) {
    module.emitError() << "E0002 the program has " << over << ", at most " << host::maxTableRows
                       << " are possible";
    return std::nullopt;
  }
  return tables.builder.finish();
}

std::optional<std::string> showBytecode(const std::vector<uint8_t> &bytes, std::string &message) {
  host::Heap heap(mxrt_system_allocator(), SIZE_MAX / 2);
  host::Module module(heap);
  mxrt::Status status = host::decodeModule(heap, bytes, module);
  if (status.ok())
    status = host::verifyModule(heap, module);
  if (status.failed()) {
    message = status.message();
    return std::nullopt;
  }
  return host::disassemble(module);
}

} // namespace mx::bytecode
