// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types of gradients of models: a module lists their names.
#pragma once
#include "dialects/mx/Mx.h"

namespace mx::ir {

/// On a module: the names of those aggregate types that are gradients of models. Set by IRGen, which
/// makes the types.
inline constexpr llvm::StringLiteral kGradients = "mx.gradients";

inline void markGradient(mlir::ModuleOp module, mlir::StringAttr name) {
  llvm::SmallVector<mlir::Attribute> names;
  if (auto known = module->getAttrOfType<mlir::ArrayAttr>(kGradients))
    names.append(known.begin(), known.end());
  if (llvm::is_contained(names, name))
    return;
  names.push_back(name);
  module->setAttr(kGradients, mlir::ArrayAttr::get(module.getContext(), names));
}
inline bool isGradient(mlir::ModuleOp module, AggregateType type) {
  auto names = module ? module->getAttrOfType<mlir::ArrayAttr>(kGradients) : mlir::ArrayAttr();
  return names && llvm::is_contained(names, type.getName());
}

} // namespace mx::ir
