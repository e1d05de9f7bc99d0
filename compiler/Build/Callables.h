// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversion of the compiler's graphs and variants to call descriptors for host code
// (Run/GraphCode.h).
#pragma once
#include "Pipeline/Pipeline.h"
#include "Run/GraphCode.h"
#include "llvm/Support/Allocator.h"

namespace mx::build {

/// Owns the memory that the descriptions point to.
class Callables {
public:
  /// A graph without code.
  run::Graph describe(ir::GraphOp graph);
  /// A variant of `of` for these values of its sizes, without its entry.
  run::Code describe(const pipeline::Variant &variant, const run::Graph &of, ir::GraphOp graph,
                     llvm::ArrayRef<std::pair<std::string, int64_t>> sizes);

  const char *text(llvm::StringRef text);
  template <typename T> const T *keep(llvm::ArrayRef<T> items) {
    T *made = memory.Allocate<T>(items.size());
    std::uninitialized_copy(items.begin(), items.end(), made);
    return made;
  }

private:
  run::Part part(mlir::Type type);
  run::Size size(llvm::StringRef text, const run::Graph &of, ir::SizeTable &table);

  llvm::BumpPtrAllocator memory;
};

} // namespace mx::build
