// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions, matmul, convolutions, shapes, indexing and constructors of tensors. The result type
// has the sizes of the result; verifiers compare it with the shape rules of compiler/Support.
#ifndef MX_TENSORS_TD
#define MX_TENSORS_TD
include "dialects/mx/Elementwise.td"

class Mx_TensorOp<string name, string doc, list<Trait> traits = [Pure]> : Mx_Op<name, traits> {
  let summary = doc;
  let results = (outs Mx_TensorType:$result);
  let hasVerifier = 1;
}

// -------------------------------------------------------------------------------------- reductions

def Mx_Reduction : NativeOpTrait<"Reduction"> { let cppNamespace = "::mx::ir"; }

class Mx_ReduceOp<string name, string doc> : Mx_TensorOp<name, doc, [Pure, Mx_Reduction]> {
  let arguments = (ins Mx_TensorType:$x, DenseI64ArrayAttr:$axes, UnitAttr:$keep);
  let description = [{ `axes` are counted from the front, sorted, each once; with `keep` their sizes
    become 1 instead of being removed. }];
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() { return ::mx::ir::verifyReduction(*this, getAxes(), getKeep()); }
  }];
  let assemblyFormat = [{ $x `over` $axes (`keep` $keep^)? attr-dict `:` type($x) `->` type($result) }];
}
def Mx_SumOp : Mx_ReduceOp<"sum", "sum; 0 for no elements">;
def Mx_ProdOp : Mx_ReduceOp<"prod", "elements multiplied; 1 for no elements">;
def Mx_MaxOp : Mx_ReduceOp<"max", "largest; NaN if one is; fails for no elements">;
def Mx_MinOp : Mx_ReduceOp<"min", "smallest; NaN if one is; fails for no elements">;
def Mx_AnyOp : Mx_ReduceOp<"any", "true if one is not 0">;
def Mx_AllOp : Mx_ReduceOp<"all", "true if none is 0">;
def Mx_ArgmaxOp : Mx_ReduceOp<"argmax", "index of the largest (i32), the first of equals, NaN counts as largest">;
def Mx_ArgminOp : Mx_ReduceOp<"argmin", "index of the smallest (i32), the first of equals, NaN counts as smallest">;

// ------------------------------------------------------------------------------------------ matmul

def Mx_MatmulOp : Mx_TensorOp<"matmul", "x @ y: the last two dims multiply as matrices, those before are broadcast; a vector is a row on the left and a column on the right"> {
  let arguments = (ins Mx_TensorType:$x, Mx_TensorType:$y, Optional<Mx_TensorType>:$init,
                       UnitAttr:$panels);
  let description = [{ With `panels` y is prepacked as [N / P, K, P]: a matrix of K rows and N columns in
    panels of P contiguous columns. Made by `Prepack`. The accumulators start at 0, or at the
    elements of `init`, f32 or f64 as the result: then a matmul over a K-block continues the one over the
    steps before it, and both give the bits of one matmul over all of K. Made by `TileChains`. }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$x, "::mlir::Value":$y),
      [{ build($_builder, $_state, result, x, y, ::mlir::Value(), /*panels=*/false); }]>];
  let assemblyFormat = [{ $x `,` $y (`from` $init^)? (`panels` $panels^)? attr-dict
    `:` functional-type(operands, results) }];
  let extraClassDeclaration = [{
    /// Columns of a panel; 0 if y is not prepacked.
    int64_t panelColumns();
    /// The type of the right matrix, whatever its memory layout.
    TensorType rightType();
  }];
}

// ----------------------------------------------------------------------------------------- windows
//
// Sizes of the last axes, one entry for each in order.
def Mx_Sizes : TypedArrayAttrBase<Mx_Size, "sizes">;

def Mx_ConvOp : Mx_TensorOp<"conv", "convolution: x[B, C, spatial…] with w[O, C / groups, window…]"> {
  let description = [{
    Position p of the result sees, at position t of the window, position p * stride + t * dilation - padding_low
    of x with `lhs_dilation` - 1 zeros between its elements, and zeros all around it. The sizes of the result's
    spatial axes are those of its type. With `lhs_dilation` the gradients of a convolution are convolutions.
  }];
  let arguments = (ins Mx_TensorType:$x, Mx_TensorType:$w, Mx_Sizes:$stride, Mx_Sizes:$dilation,
                       Mx_Sizes:$padding_low, Mx_Sizes:$lhs_dilation, Mx_Size:$groups);
  let assemblyFormat = "$x `,` $w attr-dict `:` functional-type(operands, results)";
}
def Mx_WindowsOp : Mx_TensorOp<"windows", "the elements under each position of a window, not copied"> {
  let description = [{ x[…, spatial…] to […, positions in the window…, positions of the window…]: position p
    sees, at position t of the window, position p * stride + t * dilation of x. }];
  let arguments = (ins Mx_TensorType:$x, Mx_Sizes:$stride, Mx_Sizes:$dilation);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
}
def Mx_FoldOp : Mx_TensorOp<"fold", "col2im, the adjoint of `windows`: adds the elements that came from the same index"> {
  let arguments = (ins Mx_TensorType:$x, Mx_Sizes:$stride, Mx_Sizes:$dilation);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
}

// ------------------------------------------------------------------------------------------ shapes

def Mx_ReshapeOp : Mx_TensorOp<"reshape", "the same elements in the shape of the result"> {
  let arguments = (ins Mx_TensorType:$x);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasFolder = 1;
}
def Mx_TransposeOp : Mx_TensorOp<"transpose", "dim i of the result is dim order[i] of x"> {
  let arguments = (ins Mx_TensorType:$x, DenseI64ArrayAttr:$order);
  let assemblyFormat = "$x `by` $order attr-dict `:` type($x) `->` type($result)";
  let hasFolder = 1;
}
def Mx_BroadcastOp : Mx_TensorOp<"broadcast", "broadcast to the shape of the result"> {
  let arguments = (ins Mx_TensorType:$x);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasFolder = 1;
}
def Mx_ConcatOp : Mx_TensorOp<"concat", "one after the other along an axis"> {
  let arguments = (ins Variadic<Mx_TensorType>:$parts, I64Attr:$axis);
  let assemblyFormat = "$parts `along` $axis attr-dict `:` functional-type(operands, results)";
}

// ---------------------------------------------------------------------------------------- indexing

defvar specDoc = [{
    `spec` has one entry for each axis of x, and one for each new axis: `i` one index (the axis is removed; a
    negative one counts from the end), `:` all of the axis, `r` a range followed by those of `f t s`
    (from, to, step) that are given, `n` a new axis of size 1. `at` are the numbers they name, in order:
    rank-0 integers of the host or the device. Indices out of range are an error at run time, R0204.
}];
def Mx_SliceOp : Mx_TensorOp<"slice", "x[…]", [NoMemoryEffect, Mx_MayFail]> {
  let description = specDoc;
  let arguments = (ins Mx_TensorType:$x, Variadic<Mx_Scalar>:$at, StrArrayAttr:$spec);
  let assemblyFormat = "$x $spec `at` `(` $at `)` attr-dict `:` functional-type(operands, results)";
}
def Mx_UpdateOp : Mx_TensorOp<"update", "x with x[…] replaced by a value that is broadcast to it",
                              [NoMemoryEffect, Mx_MayFail]> {
  let description = specDoc;
  let arguments = (ins Mx_TensorType:$x, Mx_TensorType:$value, Variadic<Mx_Scalar>:$at,
                       StrArrayAttr:$spec);
  let assemblyFormat = "$x `,` $value $spec `at` `(` $at `)` attr-dict `:` functional-type(operands, results)";
}
def Mx_TakeOp : Mx_TensorOp<"take", "entries of one axis by number: the axis is replaced by the index's dims",
                            [NoMemoryEffect, Mx_MayFail]> {
  let arguments = (ins Mx_TensorType:$x, Mx_TensorType:$index, I64Attr:$axis);
  let assemblyFormat = "$x `,` $index `along` $axis attr-dict `:` functional-type(operands, results)";
}

def Mx_ScatterAddOp : Mx_TensorOp<"scatter_add", "x with y added to the entries of one axis that the index names, in its order: the adjoint of `take`",
                                  [NoMemoryEffect, Mx_MayFail]> {
  let description = [{ y has the shape of `take x, index`. Duplicate indices accumulate. }];
  let arguments = (ins Mx_TensorType:$x, Mx_TensorType:$index, Mx_TensorType:$y, I64Attr:$axis);
  let assemblyFormat = "$x `,` $index `,` $y `along` $axis attr-dict `:` functional-type(operands, results)";
}

// ------------------------------------------------------------------------------------ constructors

def Mx_ConstantOp : Mx_TensorOp<"constant", "a number, or a tensor of numbers", [Pure, ConstantLike]> {
  let description = [{ `value` is an IntegerAttr or FloatAttr for rank 0 (bool as i1), or a
    DenseElementsAttr of a builtin tensor type of the same sizes. }];
  let arguments = (ins AnyAttr:$value);
  let assemblyFormat = "$value attr-dict `->` type($result)";
  let hasFolder = 1;
}
def Mx_FullOp : Mx_TensorOp<"full", "one value everywhere"> {
  let arguments = (ins Mx_Scalar:$value);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
}
def Mx_IotaOp : Mx_TensorOp<"iota", "0, 1, 2, … along the one axis"> {
  let arguments = (ins);
  let assemblyFormat = "attr-dict `:` type($result)";
}
def Mx_RandomOp : Mx_TensorOp<"random", "random samples: a function of seed and counter (counter-based RNG)"> {
  let description = [{
    `kind` is uniform (low, high), normal (mean, deviation), bernoulli (p), randint (low, high),
    permutation () or categorical (logits). The same seed and counter give the same samples; the
    program advances the counter by the number of elements.
  }];
  let arguments = (ins StrAttr:$kind, Mx_Scalar:$seed, Mx_Scalar:$counter,
                       Variadic<Mx_TensorType>:$parameters);
  let assemblyFormat = "$kind `(` $seed `,` $counter (`,` $parameters^)? `)` attr-dict `:` functional-type(operands, results)";
}
def Mx_RoutineOp : Mx_TensorOp<"routine", "a library routine of the runtime on whole tensors",
                               [NoMemoryEffect, Mx_MayFail]> {
  let description = [{
    `kind` is argsort (indices, i32), argsort_top (of as many of the largest as the result has), cumsum, cumprod (x), recurrence (a, b) along `axis`;
    scatter_add, scatter_set, scatter_max (x, index of i64, y) along axis 0; or, of the matrices in the
    last two axes, cholesky (x), solve, solve_lower, solve_upper (a, b), qr, svd, eigh (x). The last three
    have several results, which are flat and one after the other in the last axis of the result: q and r;
    u, s and v; values and vectors.
  }];
  let arguments = (ins StrAttr:$kind, Variadic<Mx_TensorType>:$inputs,
                       DefaultValuedAttr<I64Attr, "0">:$axis);
  let assemblyFormat = "$kind `(` $inputs `)` (`along` $axis^)? attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    bool worksAlongAxis();
    /// The sizes that the runtime's function gets, three or four; each the number of elements of some axes.
    ::llvm::SmallVector<::llvm::SmallVector<SizeAttr>, 3> callSizes();
  }];
}
def Mx_ToDeviceOp : Mx_TensorOp<"to", "the same value on the device of the result type"> {
  let arguments = (ins Mx_TensorType:$x);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasFolder = 1;
}

def Mx_StopOp : Mx_TensorOp<"stop", "x itself; no gradient passes. Gone after `Differentiate`"> {
  let arguments = (ins Mx_TensorType:$x);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() {
      return getX().getType() == getType() ? ::llvm::success()
                                           : emitOpError() << "operand and result differ in type";
    }
  }];
}

#endif // MX_TENSORS_TD
