// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reference interpreter for functions of the mx dialect on plain values: the oracle for bytecode.
#pragma once
#include "dialects/mx/Mx.h"
#include <map>
#include <memory>

namespace mx::bytecode {

struct Plain {
  int64_t number = 0;
  std::vector<double> tensor;
  std::vector<Plain> parts;
  std::shared_ptr<Plain> cell;
};

class Reference {
public:
  explicit Reference(mlir::ModuleOp module) : module(module) {}
  struct Raised {
    std::string message;
  };
  /// The results, or what was raised.
  std::vector<Plain> call(llvm::StringRef name, std::vector<Plain> args);
  std::string output;

private:
  using Values = std::map<void *, Plain>;
  std::vector<Plain> block(mlir::Block &block, Values &values);
  void op(mlir::Operation &op, Values &values);
  void control(mlir::Operation &op, Values &values);
  std::vector<Plain> operands(mlir::Operation &op, Values &values);

  mlir::ModuleOp module;
};

std::string show(const Plain &value, mlir::Type type);

} // namespace mx::bytecode
