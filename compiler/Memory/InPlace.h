// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In-place reuse: which outputs of a kernel may overwrite which inputs. A property of the kernel's
// body.
#pragma once
#include "dialects/mxrt/Mxrt.h"

namespace mx::memory {

/// For each output: the inputs whose memory it may reuse.
using Choices = llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 1>;
Choices choicesOf(ir::KernelOp kernel);

/// The same for calls, cached: each kernel is analysed once.
class KernelChoices {
public:
  explicit KernelChoices(mlir::SymbolTable &symbols) : symbols(symbols) {}
  const Choices &of(rt::CallOp call);

private:
  mlir::SymbolTable &symbols;
  llvm::DenseMap<mlir::Attribute, Choices> known;
};

} // namespace mx::memory
