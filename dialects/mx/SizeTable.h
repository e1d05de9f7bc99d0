// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The symbolic sizes of one MLIR context. In the IR a size name is just a name: `N` of one function
// is not `N` of another. Within a type, an op and a function a name has one meaning; the shape
// rules need no more.
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
  /// Guards `dims`: MLIR creates types on several threads.
  std::recursive_mutex lock;

  /// The size with this name.
  Dim named(llvm::StringRef name);
  /// Parses the output of DimContext::print; nothing if the text is not a size.
  std::optional<Dim> parse(llvm::StringRef text);

private:
  std::map<std::string, AtomId, std::less<>> names;
};

} // namespace mx::ir
