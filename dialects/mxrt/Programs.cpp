// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs and kernels: parsing, printing and accessors.
#include "dialects/mxrt/Mxrt.h"

using namespace mlir;

namespace mx::rt {
namespace {

using Arguments = SmallVector<OpAsmParser::Argument>;

ParseResult parseArguments(OpAsmParser &parser, Arguments &arguments) {
  return parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true);
}
void printArguments(OpAsmPrinter &printer, ArrayRef<BlockArgument> arguments) {
  printer << "(";
  llvm::interleaveComma(arguments, printer,
                        [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ")";
}
/// Parses `word [ … ]`; an empty array if it is absent.
ParseResult parseArray(OpAsmParser &parser, StringRef word, StringAttr name,
                       OperationState &state) {
  ArrayAttr array = parser.getBuilder().getArrayAttr({});
  if (succeeded(parser.parseOptionalKeyword(word)) && parser.parseAttribute(array))
    return failure();
  state.addAttribute(name, array);
  return success();
}
void printArray(OpAsmPrinter &printer, StringRef word, ArrayAttr array) {
  if (!array.empty())
    printer << " " << word << " " << array;
}

} // namespace

void ProgramOp::build(OpBuilder &builder, OperationState &state, StringRef name, TypeRange inputs,
                      TypeRange outputs, ArrayRef<Attribute> sizes) {
  state.addAttribute(getSymNameAttrName(state.name), builder.getStringAttr(name));
  state.addAttribute(getInputsAttrName(state.name), builder.getI64IntegerAttr(inputs.size()));
  state.addAttribute(getSizesAttrName(state.name), builder.getArrayAttr(sizes));
  state.addAttribute(getArenasAttrName(state.name), builder.getArrayAttr({}));
  Block &block = state.addRegion()->emplaceBlock();
  for (TypeRange types : {inputs, outputs})
    for (Type type : types)
      block.addArgument(type, state.location);
}

ParseResult ProgramOp::parse(OpAsmParser &parser, OperationState &state) {
  StringAttr name;
  Arguments arguments, outputs;
  if (parser.parseSymbolName(name, getSymNameAttrName(state.name), state.attributes) ||
      parseArguments(parser, arguments))
    return failure();
  state.addAttribute(getInputsAttrName(state.name),
                     parser.getBuilder().getI64IntegerAttr(arguments.size()));
  if (succeeded(parser.parseOptionalKeyword("writes")) && parseArguments(parser, outputs))
    return failure();
  arguments.append(outputs);
  if (parseArray(parser, "sizes", getSizesAttrName(state.name), state) ||
      parseArray(parser, "arenas", getArenasAttrName(state.name), state) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();
  Region *body = state.addRegion();
  if (parser.parseRegion(*body, arguments))
    return failure();
  ensureTerminator(*body, parser.getBuilder(), state.location);
  return success();
}
void ProgramOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printer.printSymbolName(getSymName());
  printArguments(printer, inputArguments());
  if (!outputArguments().empty()) {
    printer << " writes ";
    printArguments(printer, outputArguments());
  }
  printArray(printer, "sizes", getSizes());
  printArray(printer, "arenas", getArenas());
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {getSymNameAttrName(), getInputsAttrName(), getSizesAttrName(), getArenasAttrName()});
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}
SizeBounds ProgramOp::bounds() {
  SizeBounds bounds;
  for (auto open : getSizes().getAsRange<OpenAttr>())
    bounds[open.getName().getValue()] = open.getBound();
  return bounds;
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &state) {
  StringAttr name;
  Arguments arguments;
  if (parser.parseSymbolName(name, getSymNameAttrName(state.name), state.attributes) ||
      parseArguments(parser, arguments) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();
  return parser.parseRegion(*state.addRegion(), arguments);
}
void KernelOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printer.printSymbolName(getSymName());
  printArguments(printer, getBody().getArguments());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {getSymNameAttrName()});
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}
ir::KernelOp KernelOp::kernel() {
  Block &block = getBody().front();
  return block.empty() ? ir::KernelOp() : dyn_cast<ir::KernelOp>(block.front());
}

} // namespace mx::rt

#define GET_OP_CLASSES
#include "dialects/mxrt/MxrtOps.cpp.inc"
