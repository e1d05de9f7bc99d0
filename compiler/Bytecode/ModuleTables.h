// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables that the functions of a module share: deduplicated rows for functions, imports, struct
// types and globals, and the register kinds of IR values in the VM.
#pragma once
#include "Bytecode/Registers.h"
#include "dialects/mx/Mx.h"
#include "llvm/ADT/StringMap.h"
#include <map>

namespace mx::bytecode {

namespace host = mxrt::host;
using host::ImportKind;
using host::Opcode;
using host::ParamData;

/// The kind of register that holds a scalar on the host. f16 and bf16 are held as f32.
Kind kindOfElement(mlir::Type element);
Kind kindOf(mlir::Type type);
inline bool isHostTensor(mlir::Type type) {
  auto tensor = mlir::dyn_cast<ir::TensorType>(type);
  return tensor && tensor.isHost();
}
inline bool isDeviceTensor(mlir::Type type) {
  auto tensor = mlir::dyn_cast<ir::TensorType>(type);
  return tensor && !tensor.isHost();
}
/// The element type in names of operations: f32.
std::string elementName(mlir::Type element);

/// A function or graph that can be called by name. Its parameters are its sizes, then its
/// arguments. `mut` arguments are returned first; the results after those are the results of the
/// call.
struct Callee {
  bool isGraph = false;
  uint16_t row = 0; ///< row of a function; graphs are imported when they are called
  size_t sizeCount = 0;
  std::vector<ParamData> params;
  std::vector<size_t> mutArguments; ///< indices of arguments, without the sizes
  llvm::SmallVector<mlir::Type> results;
  /// Unit, the kind of the only result, or a tuple.
  Kind resultKind() const;
};

class ModuleTables {
public:
  host::ModuleBuilder builder;

  /// Declares all functions and graphs. false: an error was reported.
  bool declare(mlir::ModuleOp module);
  /// Null if there is none.
  const Callee *callee(llvm::StringRef name) const;
  llvm::ArrayRef<ir::FuncOp> functions() const { return bodies; }
  host::FunctionBuilder &builderOf(ir::FuncOp op);

  uint16_t import(ImportKind sort, llvm::StringRef name, std::vector<ParamData> params,
                  Kind result);
  uint16_t graphImport(llvm::StringRef name, const Callee &graph);
  /// A wrapper function that calls a graph, for use as a value.
  uint16_t graphAsFunction(llvm::StringRef name, const Callee &graph);
  uint16_t structType(ir::AggregateType type);
  /// Nothing if the variable already has another kind.
  std::optional<uint16_t> global(llvm::StringRef name, Kind kind);

  /// The table of the file that overflows, or an empty text.
  std::string overLimit() const;

private:
  bool declareFunction(mlir::FunctionOpInterface op, mlir::ArrayAttr sizes, Callee &callee);

  llvm::SmallVector<ir::FuncOp> bodies;
  llvm::StringMap<Callee> callees;
  std::map<std::pair<std::string, std::vector<std::pair<Kind, bool>>>, uint16_t> importRows;
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Attribute>, uint16_t> typeRows;
  llvm::StringMap<uint16_t> globalRows, graphFunctions;
};

} // namespace mx::bytecode
