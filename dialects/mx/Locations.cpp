// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Traversal of MLIR locations for source locations.
#include "dialects/mx/Locations.h"
#include "Support/LocationText.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace mx::ir {

bool findSourceLocation(Location location, llvm::function_ref<bool(FileLineColLoc)> visit) {
  if (auto source = dyn_cast<FileLineColLoc>(location))
    return source.getLine() > 0 && visit(source);
  if (auto named = dyn_cast<NameLoc>(location))
    return findSourceLocation(named.getChildLoc(), visit);
  if (auto opaque = dyn_cast<OpaqueLoc>(location))
    return findSourceLocation(opaque.getFallbackLocation(), visit);
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return findSourceLocation(call.getCallee(), visit) ||
           findSourceLocation(call.getCaller(), visit);
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (findSourceLocation(part, visit))
        return true;
  return false;
}

FileLineColLoc sourceLocation(Location location) {
  FileLineColLoc found;
  findSourceLocation(location, [&](FileLineColLoc source) {
    found = source;
    return true;
  });
  return found;
}

std::string locationText(FileLineColLoc location) {
  if (!location)
    return "";
  return mx::locationText(location.getFilename().str(), location.getLine(), location.getColumn());
}

} // namespace mx::ir
