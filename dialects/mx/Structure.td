// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions, graphs, kernels, control flow, sizes and aggregates.
#ifndef MX_STRUCTURE_TD
#define MX_STRUCTURE_TD
include "dialects/mx/Dialect.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Mx_FunctionOp<string name, list<Trait> traits = []>
    : Mx_Op<name, !listconcat([FunctionOpInterface, IsolatedFromAbove, Symbol], traits)> {
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<StrAttr>:$sym_visibility,
                       DefaultValuedAttr<StrArrayAttr, "{}">:$sizes,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return isExternal() ? nullptr : &getBody(); }
  }];
}
def Mx_FuncOp : Mx_FunctionOp<"func"> {
  let summary = "a function of the host";
  let description = [{
    `sizes` are names that types and `mx.size` inside may use; a call gives their values. `mut`
    parameters (argument attribute `mx.mut`) come back as the first results, in order.
  }];
}
def Mx_GraphOp : Mx_FunctionOp<"graph"> {
  let summary = "a unit of compilation: a `graph fn`, or a `graph { }` with what it captures";
  let description = [{
    As `mx.func`; it holds no host op. `mx.dyn` (a dictionary from names to bounds) lists the sizes that
    stay open in a variant; all others become numbers when it is specialised.
  }];
}
def Mx_ReturnOp : Mx_Op<"return", [Pure, Terminator, ReturnLike, ParentOneOf<["FuncOp", "GraphOp"]>]> {
  let summary = "the results of a function or graph";
  let arguments = (ins Variadic<Mx_Value>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}
def Mx_CallOp : Mx_Op<"call"> {
  let summary = "calls a function or graph by name";
  let description = [{ `sizes` are the callee's sizes, in order, in terms of the caller's. }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<Mx_Value>:$args,
                       DefaultValuedAttr<Mx_SizeArray, "{}">:$sizes);
  let results = (outs Variadic<Mx_Value>:$outs);
  let assemblyFormat = "$callee `(` $args `)` (`sizes` $sizes^)? attr-dict `:` functional-type($args, $outs)";
}

def Mx_GradOp : Mx_Op<"grad"> {
  let summary = "the value of a function and its gradients";
  let description = [{
    Results: those of the function, then the gradients of its first result, a float of rank 0, by the
    arguments that `wrt` lists. The gradient of a tensor has its type; that of a model is an aggregate of
    the parts that have one, with the same names. The pass `Differentiate` replaces it by a call of
    derived code, which is ordinary code.
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<Mx_Value>:$args,
                       DenseI64ArrayAttr:$wrt, DefaultValuedAttr<Mx_SizeArray, "{}">:$sizes);
  let results = (outs Variadic<Mx_Value>:$outs);
  let assemblyFormat = "$callee `(` $args `)` `wrt` $wrt (`sizes` $sizes^)? attr-dict `:` functional-type($args, $outs)";
}

// ------------------------------------------------------------------------------------------ kernels

def Mx_KernelKind : I32EnumAttr<"KernelKind", "how a kernel is computed", [
    I32EnumAttrCase<"Elementwise", 0, "elementwise">, // each element of the outputs from others
    I32EnumAttrCase<"Gather", 1, "gather">,   // the same, with computed indices or sums of a few (take, fold, windows)
    I32EnumAttrCase<"Reduce", 2, "reduce">,   // reductions, and ops on their results
    I32EnumAttrCase<"Rows", 3, "rows">,       // reductions over the last axes, read again over the whole row
    I32EnumAttrCase<"Matmul", 4, "matmul">,   // one matmul with an elementwise epilogue
    I32EnumAttrCase<"Conv", 5, "conv">,       // one convolution with an elementwise epilogue
    I32EnumAttrCase<"Scatter", 6, "scatter">, // rows added to a tensor
    I32EnumAttrCase<"Move", 7, "move">,       // concat or update
    I32EnumAttrCase<"Random", 8, "random">,
    I32EnumAttrCase<"Routine", 9, "routine">  // a routine of the runtime
  ]> {
  let cppNamespace = "::mx::ir";
  let genSpecializedAttr = 0;
}
def Mx_KernelKindAttr : EnumAttr<Mx_Dialect, Mx_KernelKind, "kernel_kind">;
def Mx_InputLists : TypedArrayAttrBase<DenseI64ArrayAttr, "lists of inputs">;

def Mx_KernelOp : Mx_Op<"kernel", [IsolatedFromAbove, RecursiveMemoryEffects,
                                   SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "fused ops that become one function from buffers to buffers";
  let description = [{
    `mx.kernel(%x) rows [8, 64] overwrites [[0]] attributes {sizes = ["N"]} : … { … }`.
    The body's arguments are the inputs. It yields the outputs, each written once to a buffer that the
    caller names. `workspace` is the number of bytes the code needs besides. `sizes` are the size names
    that are open in it, in the order in which the code gets their values. Inputs are dense, except
    those that `strided` marks: their strides follow the sizes. Made by `Fuse`.

    `kind` says which emitter computes it, over the iteration space `space`. `overwrites` lists for each
    output the inputs whose memory it may have; `mx.over` names one that it does have. All three follow
    from the body (Kernels.h): `classify()` sets them, and the verifier compares. In text they may be
    left out.
  }];
  let arguments = (ins Variadic<Mx_TensorType>:$inputs, DefaultValuedAttr<I64Attr, "0">:$workspace,
                       DefaultValuedAttr<StrArrayAttr, "{}">:$sizes,
                       OptionalAttr<DenseBoolArrayAttr>:$strided,
                       OptionalAttr<Mx_KernelKindAttr>:$kind, OptionalAttr<Mx_SizeArray>:$space,
                       OptionalAttr<Mx_InputLists>:$overwrites);
  let results = (outs Variadic<Mx_TensorType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$outputs, "::mlir::ValueRange":$inputs)>];
  let extraClassDeclaration = [{
    /// Sets kind, space and overwrites, after the body was made or changed.
    void classify();
    /// Only of kernels that are classified.
    KernelKind kind() { return *getKind(); }
    ::llvm::SmallVector<SizeAttr> spaceSizes();
    /// The inputs whose memory an output may have.
    ::llvm::ArrayRef<int64_t> mayOverwrite(unsigned output);
    bool hasStrides();
  }];
}

// ------------------------------------------------------------------------------------- control flow

def Mx_YieldOp : Mx_Op<"yield", [Pure, Terminator, ReturnLike,
    ParentOneOf<["KernelOp", "IfOp", "ForOp", "WhileOp", "TryOp"]>]> {
  let summary = "the values of a block";
  let arguments = (ins Variadic<Mx_Value>:$values);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}
def Mx_IfOp : Mx_Op<"if", [RecursiveMemoryEffects, RecursivelySpeculatable]> {
  let summary = "one of two blocks";
  let arguments = (ins Mx_Scalar:$condition);
  let results = (outs Variadic<Mx_Value>:$outs);
  let regions = (region SizedRegion<1>:$thenRegion, SizedRegion<1>:$elseRegion);
  let assemblyFormat = "$condition attr-dict `:` functional-type($condition, $outs) $thenRegion `else` $elseRegion";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}
def Mx_ForOp : Mx_Op<"for", [RecursiveMemoryEffects]> {
  let summary = "counted loop over [from, to) with loop-carried values";
  let description = [{ The body has the index (of the type of `from`) and the carried values as its
    arguments, and yields the carried values of the next iteration. }];
  let arguments = (ins Mx_Scalar:$from, Mx_Scalar:$to, Variadic<Mx_Value>:$carried);
  let results = (outs Variadic<Mx_Value>:$outs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$from `to` $to `carries` `(` $carried `)` attr-dict `:` functional-type(operands, $outs) $body";
  let hasVerifier = 1;
}
def Mx_WhileOp : Mx_Op<"while", [RecursiveMemoryEffects, AttrSizedOperandSegments]> {
  let summary = "loop while a condition holds, with loop-carried values";
  let description = [{ The first block yields the condition and nothing else; both have the carried
    values as arguments. With `limit`, more iterations than that are an error, R0305. }];
  let arguments = (ins Variadic<Mx_Value>:$carried, Optional<Mx_Scalar>:$limit);
  let results = (outs Variadic<Mx_Value>:$outs);
  let regions = (region SizedRegion<1>:$condition, SizedRegion<1>:$body);
  let assemblyFormat = [{ `carries` `(` $carried `)` (`limit` $limit^ `:` type($limit))? attr-dict
    `:` functional-type($carried, $outs) $condition `do` $body }];
  let hasVerifier = 1;
}

// -------------------------------------------------------------------------------- sizes, aggregates

def Mx_SizeOp : Mx_Op<"size", [Pure]> {
  let summary = "a size as a number of the host";
  let arguments = (ins Mx_Size:$size);
  let results = (outs Mx_HostInt:$result);
  let assemblyFormat = "$size attr-dict `->` type($result)";
  let hasFolder = 1;
}
def Mx_BindSizeOp : Mx_Op<"bind_size"> {
  let summary = "names a number of the host, so that types below may use it as a size";
  let arguments = (ins Mx_HostInt:$value, StrAttr:$name);
  let assemblyFormat = "$name `=` $value attr-dict `:` type($value)";
}
def Mx_UndefOp : Mx_Op<"undef", [Pure]> {
  let summary = "an undefined value that is never read: the result of a branch that was not taken";
  let results = (outs Mx_Value:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}
def Mx_MakeOp : Mx_Op<"make", [Pure]> {
  let summary = "a tuple, struct, model or array of its parts";
  let arguments = (ins Variadic<Mx_Value>:$parts);
  let results = (outs AnyTypeOf<[Mx_AggregateType, Mx_ArrayType]>:$result);
  let assemblyFormat = "`(` $parts `)` attr-dict `:` functional-type($parts, $result)";
  let hasVerifier = 1;
}
def Mx_GetOp : Mx_Op<"get", [Pure]> {
  let summary = "one part of an aggregate";
  let arguments = (ins Mx_AggregateType:$aggregate, I64Attr:$part);
  let results = (outs Mx_Value:$result);
  let assemblyFormat = "$aggregate $part attr-dict `:` type($aggregate) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Mx_SetOp : Mx_Op<"set", [Pure]> {
  let summary = "the aggregate with one part replaced";
  let arguments = (ins Mx_AggregateType:$aggregate, Mx_Value:$value, I64Attr:$part);
  let results = (outs Mx_AggregateType:$result);
  let assemblyFormat = "$aggregate $part `=` $value attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}
def Mx_AtOp : Mx_Op<"at", [NoMemoryEffect]> {
  let summary = "one element of an array";
  let arguments = (ins Mx_ArrayType:$array, Mx_Scalar:$index);
  let results = (outs Mx_Value:$result);
  let assemblyFormat = "$array `[` $index `]` attr-dict `:` functional-type(operands, $result)";
}
def Mx_SetAtOp : Mx_Op<"set_at", [NoMemoryEffect]> {
  let summary = "the array with one element replaced";
  let arguments = (ins Mx_ArrayType:$array, Mx_Scalar:$index, Mx_Value:$value);
  let results = (outs Mx_ArrayType:$result);
  let assemblyFormat = "$array `[` $index `]` `=` $value attr-dict `:` functional-type(operands, $result)";
}
def Mx_LengthOp : Mx_Op<"length", [Pure]> {
  let summary = "the number of elements of an array, or of characters of a text";
  let arguments = (ins Mx_Value:$value);
  let results = (outs Mx_HostInt:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasFolder = 1;
}
def Mx_AssertOp : Mx_Op<"assert"> {
  let summary = "ends with an error, R0302, if the condition does not hold";
  let arguments = (ins Mx_Scalar:$condition, Optional<Mx_StrType>:$message, StrAttr:$text);
  let assemblyFormat = "$condition (`,` $message^ `:` type($message))? $text attr-dict `:` type($condition)";
}

#endif // MX_STRUCTURE_TD
