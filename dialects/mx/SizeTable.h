// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sizes of one MLIR context. In the IR a size name is a name: `N` of one function is not `N` of
// another, but within a type, an op and a function a name means one thing, and that is all the
// shape rules need.
#pragma once
#include "Support/Dim.h"
#include "llvm/ADT/StringRef.h"
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace mx::ir {

class SizeTable {
public:
  DimContext dims;
  /// Guards `dims`: MLIR makes types on several threads.
  std::recursive_mutex lock;

  /// The size that is called so.
  Dim named(llvm::StringRef name);
  /// Reads what DimContext::print writes; nothing if the text is no size.
  std::optional<Dim> parse(llvm::StringRef text);

private:
  std::map<std::string, AtomId, std::less<>> names;
};

} // namespace mx::ir
