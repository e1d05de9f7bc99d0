// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One element in, one element out. Operands are broadcast: aligned at the right, sizes equal or 1.
#ifndef MX_ELEMENTWISE_TD
#define MX_ELEMENTWISE_TD
include "dialects/mx/Dialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Mx_Elementwise : NativeOpTrait<"Elementwise"> { let cppNamespace = "::mx::ir"; }
/// Computes nothing if a divisor is 0, but says so: it must not be moved to where it would not run.
def Mx_MayFail : NativeOpTrait<"MayFail"> { let cppNamespace = "::mx::ir"; }

class Mx_ElementwiseOp<string name, dag ins, string doc, list<Trait> traits>
    : Mx_Op<name, !listconcat([Mx_Elementwise], traits)> {
  let summary = doc;
  let arguments = ins;
  let results = (outs Mx_TensorType:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() { return ::mx::ir::verifyElementwise(*this); }
    ::mlir::OpFoldResult $cppClass::fold(FoldAdaptor adaptor) {
      return ::mx::ir::foldElementwise(*this, adaptor.getOperands());
    }
  }];
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}
class Mx_Unary<string name, string doc> : Mx_ElementwiseOp<name, (ins Mx_TensorType:$x), doc, [Pure]>;
class Mx_Binary<string name, string doc, list<Trait> traits = [Pure]>
    : Mx_ElementwiseOp<name, (ins Mx_TensorType:$x, Mx_TensorType:$y), doc, traits>;
class Mx_Compare<string name, string doc> : Mx_Binary<name, doc>;

// The functions of mxrt/functions.def.
include "dialects/mx/Functions.td"

def Mx_NegOp : Mx_Unary<"neg", "-x; integers wrap">;
def Mx_AbsOp : Mx_Unary<"abs", "absolute value; integers wrap">;
def Mx_SignOp : Mx_Unary<"sign", "-1, 0 or 1; NaN stays">;
def Mx_SqrtOp : Mx_Unary<"sqrt", "square root">;
def Mx_RsqrtOp : Mx_Unary<"rsqrt", "1 / sqrt(x)">;
def Mx_FloorOp : Mx_Unary<"floor", "largest whole number not above x">;
def Mx_CeilOp : Mx_Unary<"ceil", "smallest whole number not below x">;
def Mx_RoundOp : Mx_Unary<"round", "nearest whole number, ties to even">;
def Mx_NotOp : Mx_Unary<"not", "true where x is false">;
def Mx_BitNotOp : Mx_Unary<"bit_not", "all bits flipped">;
def Mx_IsNanOp : Mx_Unary<"isnan", "true where x is NaN">;
def Mx_IsFiniteOp : Mx_Unary<"isfinite", "true where x is neither infinite nor NaN">;

def Mx_AddOp : Mx_Binary<"add", "x + y; integers wrap">;
def Mx_SubOp : Mx_Binary<"sub", "x - y; integers wrap">;
def Mx_MulOp : Mx_Binary<"mul", "x * y; integers wrap">;
def Mx_DivOp : Mx_Binary<"div", "x / y; of integers in f32, where a divisor 0 fails",
                         [NoMemoryEffect, Mx_MayFail]>;
def Mx_FloorDivOp : Mx_Binary<"floordiv", "x // y, rounded down; an integer divisor 0 fails",
                              [NoMemoryEffect, Mx_MayFail]>;
def Mx_ModOp : Mx_Binary<"mod", "x % y with the sign of y; an integer divisor 0 fails",
                         [NoMemoryEffect, Mx_MayFail]>;
def Mx_PowOp : Mx_Binary<"pow", "x ** y; a negative integer exponent fails",
                         [NoMemoryEffect, Mx_MayFail]>;
def Mx_MaximumOp : Mx_Binary<"maximum", "the larger; NaN if either is">;
def Mx_MinimumOp : Mx_Binary<"minimum", "the smaller; NaN if either is">;
def Mx_AndOp : Mx_Binary<"and", "both hold">;
def Mx_OrOp : Mx_Binary<"or", "one of them holds">;
def Mx_BitAndOp : Mx_Binary<"bit_and", "bitwise and">;
def Mx_BitOrOp : Mx_Binary<"bit_or", "bitwise or">;
def Mx_BitXorOp : Mx_Binary<"bit_xor", "bitwise exclusive or">;
def Mx_ShiftLeftOp : Mx_Binary<"shift_left", "bits moved to the left; 0 for shifts beyond the width">;
def Mx_ShiftRightOp : Mx_Binary<"shift_right", "bits moved to the right, the sign kept">;

def Mx_EqOp : Mx_Compare<"eq", "x == y">;
def Mx_NeOp : Mx_Compare<"ne", "x != y">;
def Mx_LtOp : Mx_Compare<"lt", "x < y">;
def Mx_LeOp : Mx_Compare<"le", "x <= y">;
def Mx_GtOp : Mx_Compare<"gt", "x > y">;
def Mx_GeOp : Mx_Compare<"ge", "x >= y">;

def Mx_SelectOp : Mx_ElementwiseOp<"select",
    (ins Mx_TensorType:$condition, Mx_TensorType:$x, Mx_TensorType:$y),
    "x where the condition holds, else y", [Pure]>;
def Mx_CastOp : Mx_ElementwiseOp<"cast", (ins Mx_TensorType:$x),
    "another element type; floats to integers truncate and saturate, NaN gives 0; integers wrap",
    [Pure]>;

#endif // MX_ELEMENTWISE_TD
