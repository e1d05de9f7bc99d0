// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of primitives, expanded from primitives.def.
#include "Support/Primitives.h"

namespace mx {

const std::vector<PrimitiveInfo> &allPrimitives() {
  static const std::vector<PrimitiveInfo> table = {
#define MX_PRIMITIVE(NAME, FAMILY, SIGNATURE, RULE, EFFECTS, GRADIENT, DOC)                        \
  {NAME, FAMILY, SIGNATURE, ShapeRule::RULE, EFFECTS, Gradient::GRADIENT, DOC},
#include "Support/primitives.def"
  };
  return table;
}

} // namespace mx
