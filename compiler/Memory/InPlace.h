// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which outputs of a kernel may be written over which inputs: a property of its body.
#pragma once
#include "dialects/mxrt/Mxrt.h"

namespace mx::memory {

/// Of each output: inputs whose memory it may take.
using Choices = llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 1>;
Choices choicesOf(ir::KernelOp kernel);

/// The same by calls: each kernel is looked at once.
class KernelChoices {
public:
  explicit KernelChoices(mlir::SymbolTable &symbols) : symbols(symbols) {}
  const Choices &of(rt::CallOp call);

private:
  mlir::SymbolTable &symbols;
  llvm::DenseMap<mlir::Attribute, Choices> known;
};

} // namespace mx::memory
