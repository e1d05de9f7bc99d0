// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops of host code only: text, printing, errors, variables of modules, functions as values.
#ifndef MX_HOST_TD
#define MX_HOST_TD
include "dialects/mx/Dialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Mx_TextOp : Mx_Op<"text", [Pure]> {
  let summary = "a text constant";
  let arguments = (ins StrAttr:$value);
  let results = (outs Mx_StrType:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
}
def Mx_ElementTypeOp : Mx_Op<"element_type", [Pure]> {
  let summary = "an element type as a value";
  let arguments = (ins TypeAttr:$value);
  let results = (outs Mx_DtypeType:$result);
  let assemblyFormat = "$value attr-dict `->` type($result)";
}
def Mx_JoinOp : Mx_Op<"join", [Pure]> {
  let summary = "texts one after the other";
  let arguments = (ins Variadic<Mx_StrType>:$parts);
  let results = (outs Mx_StrType:$result);
  let assemblyFormat = "$parts attr-dict `:` functional-type(operands, results)";
}
def Mx_FormatOp : Mx_Op<"format"> {
  let summary = "a value as text; `spec` is the format of an f-string, empty: as print shows it";
  let arguments = (ins Mx_Value:$value, StrAttr:$spec);
  let results = (outs Mx_StrType:$result);
  let assemblyFormat = "$value $spec attr-dict `:` type($value) `->` type($result)";
}
def Mx_PrintOp : Mx_Op<"print"> {
  let summary = "writes values, separated by blanks, and a newline";
  let arguments = (ins Variadic<Mx_Value>:$values);
  let assemblyFormat = "$values attr-dict (`:` type($values)^)?";
}
def Mx_CompareOp : Mx_Op<"compare", [Pure]> {
  let summary = "== < <= of texts and other values that are not tensors; gives a bool of the host";
  let arguments = (ins StrAttr:$relation, Mx_Value:$x, Mx_Value:$y);
  let results = (outs Mx_Scalar:$result);
  let assemblyFormat = "$relation $x `,` $y attr-dict `:` functional-type(operands, results)";
}
def Mx_ReadOp : Mx_Op<"read"> {
  let summary = "waits for a number of a device and takes it to the host";
  let arguments = (ins Mx_Scalar:$x);
  let results = (outs Mx_Scalar:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
}
def Mx_NativeOp : Mx_Op<"native"> {
  let summary = "calls a function of the runtime by name";
  let arguments = (ins StrAttr:$name, Variadic<Mx_Value>:$args);
  let results = (outs Optional<Mx_Value>:$result);
  let assemblyFormat = "$name `(` $args `)` attr-dict `:` functional-type(operands, results)";
}

// ------------------------------------------------------------------------------------------- errors

def Mx_MakeErrorOp : Mx_Op<"make_error", [Pure]> {
  let summary = "an error with a message, to raise";
  let arguments = (ins Mx_StrType:$message);
  let results = (outs Mx_ErrorType:$result);
  let assemblyFormat = "$message attr-dict `:` functional-type(operands, results)";
}
def Mx_ErrorPartOp : Mx_Op<"error_part", [Pure]> {
  let summary = "message, code or location of an error";
  let arguments = (ins Mx_ErrorType:$error, StrAttr:$part);
  let results = (outs Mx_StrType:$result);
  let assemblyFormat = "$part $error attr-dict `:` functional-type(operands, results)";
}
def Mx_RaiseOp : Mx_Op<"raise"> {
  let summary = "raises an error; what follows it in the block does not run";
  let arguments = (ins Mx_ErrorType:$error);
  let assemblyFormat = "$error attr-dict `:` type($error)";
}
def Mx_TryOp : Mx_Op<"try", [RecursiveMemoryEffects]> {
  let summary = "a block and another for its errors, which has the error as its argument";
  let description = [{ Variables that the body assigns and that are seen outside are cells. }];
  let arguments = (ins);
  let results = (outs Variadic<Mx_Value>:$outs);
  let regions = (region SizedRegion<1>:$body, SizedRegion<1>:$handler);
  let assemblyFormat = "attr-dict `:` functional-type(operands, $outs) $body `catch` $handler";
  let hasVerifier = 1;
}

// ---------------------------------------------------------------------------------------- variables

def Mx_CellType : Mx_Type<"Cell", "cell"> {
  let summary = "a variable that a `try` may leave half way";
  let parameters = (ins "::mlir::Type":$element);
  let assemblyFormat = "`<` $element `>`";
}
def Mx_CellOp : Mx_Op<"cell", []> {
  let summary = "makes a variable";
  let arguments = (ins Mx_Value:$initial);
  let results = (outs Mx_CellType:$result);
  let assemblyFormat = "$initial attr-dict `:` functional-type(operands, results)";
}
def Mx_LoadOp : Mx_Op<"load"> {
  let summary = "the value of a variable";
  let arguments = (ins Mx_CellType:$cell);
  let results = (outs Mx_Value:$result);
  let assemblyFormat = "$cell attr-dict `:` functional-type(operands, results)";
}
def Mx_StoreOp : Mx_Op<"store"> {
  let summary = "gives a variable another value";
  let arguments = (ins Mx_Value:$value, Mx_CellType:$cell);
  let assemblyFormat = "$value `to` $cell attr-dict `:` type(operands)";
}
def Mx_GlobalLoadOp : Mx_Op<"global_load"> {
  let summary = "the value of a module's variable";
  let arguments = (ins StrAttr:$name);
  let results = (outs Mx_Value:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
}
def Mx_GlobalStoreOp : Mx_Op<"global_store"> {
  let summary = "gives a module's variable another value";
  let arguments = (ins StrAttr:$name, Mx_Value:$value);
  let assemblyFormat = "$name `=` $value attr-dict `:` type($value)";
}

// ------------------------------------------------------------------------------- functions as values

def Mx_ClosureOp : Mx_Op<"closure"> {
  let summary = "a function whose first arguments are given";
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<Mx_Value>:$captured,
                       DefaultValuedAttr<Mx_SizeArray, "{}">:$sizes);
  let results = (outs Mx_FnType:$result);
  let assemblyFormat = "$callee `(` $captured `)` (`sizes` $sizes^)? attr-dict `:` functional-type(operands, results)";
}
def Mx_CallValueOp : Mx_Op<"call_value"> {
  let summary = "calls a function value";
  let arguments = (ins Mx_FnType:$callee, Variadic<Mx_Value>:$args);
  let results = (outs Variadic<Mx_Value>:$outs);
  let assemblyFormat = "$callee `(` $args `)` attr-dict `:` functional-type(operands, results)";
}

#endif // MX_HOST_TD
