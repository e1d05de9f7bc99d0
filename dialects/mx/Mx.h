// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `mx` dialect in C++: attributes, types and ops of Dialect.td, Elementwise.td, Tensors.td,
// Structure.td and Host.td.
#pragma once
#include "Support/ElementType.h"
#include "Support/Shape.h"
#include "dialects/mx/SizeTable.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mx::ir {

class SizeAttr;

/// An attribute of ops and calls inside of `on d { }`, until the pass AssignDevices has run: the device.
inline constexpr llvm::StringLiteral kOn = "mx.on";
/// An attribute of a module: the types of variables that earlier REPL inputs defined, with their
/// devices.
inline constexpr llvm::StringLiteral kHeld = "mx.held";

/// Whether the op costs many times an addition per element.
bool isExpensive(mlir::Operation *op);

bool isHostInt(mlir::Type type);
bool isScalarTensor(mlir::Type type);

/// Converts between element types and builtin types. Bool is i1, u8 is ui8.
mlir::Type elementToMlir(mlir::MLIRContext *context, ElementType element);
ElementType elementFromMlir(mlir::Type type);
inline bool isFloatElement(mlir::Type type) { return mlir::isa<mlir::FloatType>(type); }
inline bool isBoolElement(mlir::Type type) { return type.isInteger(1); }

// Shared by the ops of a family; called by the generated code.
llvm::LogicalResult verifyElementwise(mlir::Operation *op);
/// Builds the op `mx.<op>` with its inferred type: operands broadcast to each other; on the host if
/// all are, else on the device of the tensor operands. `element`: the result's element type, if it
/// is not that of the last operand.
mlir::Value makeElementwise(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef op,
                            llvm::ArrayRef<mlir::Value> operands, mlir::Type element = {});
mlir::OpFoldResult foldElementwise(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> operands);
llvm::LogicalResult verifyReduction(mlir::Operation *op, llvm::ArrayRef<int64_t> axes, bool keep);

/// Sizes in text, up to a `,`, `]` or `>`.
llvm::FailureOr<SizeAttr> parseSize(mlir::AsmParser &parser);
void printSize(mlir::AsmPrinter &printer, SizeAttr size);

/// One entry of the `spec` of mx.slice and mx.update.
struct SpecEntry {
  enum Kind : uint8_t { Index, Whole, Range, New } kind;
  bool from = false, to = false, step = false;
};
/// The entries of a `spec`, or nothing if it is malformed.
std::optional<llvm::SmallVector<SpecEntry>> readSpec(mlir::ArrayAttr spec);

// Traits without code of their own; passes query them.
template <class Op> class Elementwise : public mlir::OpTrait::TraitBase<Op, Elementwise> {};
template <class Op> class MayFail : public mlir::OpTrait::TraitBase<Op, MayFail> {};
template <class Op> class Reduction : public mlir::OpTrait::TraitBase<Op, Reduction> {};

} // namespace mx::ir

#include "dialects/mx/MxDialect.h.inc"
#include "dialects/mx/MxEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/mx/MxAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/mx/MxTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/mx/MxOps.h.inc"
