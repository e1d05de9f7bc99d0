// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `mxrt` dialect: registration, and parsing and printing of its types.
#include "dialects/mxrt/Mxrt.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "dialects/mxrt/MxrtDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/mxrt/MxrtAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/mxrt/MxrtTypes.cpp.inc"

namespace mx::rt {

void MxrtDialect::initialize() {
  // Buffers have tensor types, and kernels hold ops of mx.
  getContext()->getOrLoadDialect<ir::MxDialect>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/mxrt/MxrtAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/mxrt/MxrtTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/mxrt/MxrtOps.cpp.inc"
      >();
}

Type scalarType(Type element) {
  return element.isUnsignedInteger(8) ? IntegerType::get(element.getContext(), 8) : element;
}
Type BufferType::scalar() const { return scalarType(getElement()); }

Type BufferType::parse(AsmParser &parser) {
  auto tensor = dyn_cast_or_null<ir::TensorType>(ir::TensorType::parse(parser));
  return tensor ? get(parser.getContext(), tensor) : Type();
}
void BufferType::print(AsmPrinter &printer) const { getTensor().print(printer); }

} // namespace mx::rt
