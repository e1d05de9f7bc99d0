// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs and kernels, memory, and calls.
#ifndef MXRT_OPS_TD
#define MXRT_OPS_TD
include "dialects/mxrt/Dialect.td"
include "dialects/mx/Dialect.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// ------------------------------------------------------------------------------ programs, kernels

def Mxrt_ProgramOp : Mxrt_Op<"program", [IsolatedFromAbove, Symbol,
    SingleBlockImplicitTerminator<"ReturnOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one variant of a graph";
  let description = [{
    `mxrt.program @name(%x: !mxrt.buffer<f32[N]>, %n: i64) writes (%y: !mxrt.buffer<f32[N]>)`.
    Arguments are the inputs, buffers or numbers of the host, and then the buffers of the outputs.
    Inputs are only read. Outputs do not alias inputs: the caller gives distinct memory, except where
    `mxrt.over` names the input that an output overwrites in place. `sizes` are the
    open sizes, in the order in which a call gives their values; `arenas` the memory of each device.
    Slices may share memory; `verify-plan` proves that no read sees what another slice wrote.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$inputs,
                       DefaultValuedAttr<Mxrt_OpenArray, "{}">:$sizes,
                       DefaultValuedAttr<Mxrt_ArenaArray, "{}">:$arenas);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::TypeRange":$inputs,
                                 "::mlir::TypeRange":$outputs, "::llvm::ArrayRef<::mlir::Attribute>":$sizes)>];
  let extraClassDeclaration = [{
    ::mlir::Block &block() { return getBody().front(); }
    ::llvm::ArrayRef<::mlir::BlockArgument> inputArguments() {
      return getBody().getArguments().take_front(getInputs());
    }
    ::llvm::ArrayRef<::mlir::BlockArgument> outputArguments() {
      return getBody().getArguments().drop_front(getInputs());
    }
    /// Bounds of the open sizes.
    SizeBounds bounds();
  }];
}
def Mxrt_KernelOp : Mxrt_Op<"kernel", [IsolatedFromAbove, Symbol, SingleBlock, NoTerminator]> {
  let summary = "code that programs call by name";
  let description = [{
    Holds one `mx.kernel`, whose inputs are the arguments in order. The name is made from its text, so
    equal kernels are one.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{ ::mx::ir::KernelOp kernel(); }];
}
def Mxrt_ReturnOp : Mxrt_Op<"return", [Pure, Terminator, HasParent<"ProgramOp">]> {
  let summary = "the end of a program that did not fail";
  let assemblyFormat = "attr-dict";
}

// ----------------------------------------------------------------------------------------- memory

def Mxrt_SliceOp : Mxrt_Op<"slice", [Pure]> {
  let summary = "a buffer in the arena of its device";
  let description = [{ `mxrt.slice 128 bytes 64 : <f32[16]>`. The offset is a multiple of 64. `bytes` are
    enough for the type at the bounds of the open sizes. }];
  let arguments = (ins I64Attr:$offset, I64Attr:$bytes);
  let results = (outs Mxrt_BufferType:$result);
  let assemblyFormat = "$offset `bytes` $bytes attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Mxrt_SlotOp : Mxrt_Op<"slot", [MemoryEffects<[MemAlloc]>]> {
  let summary = "a buffer for one number of the host, for as long as the call lasts";
  let results = (outs Mxrt_BufferType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Mxrt_LoadOp : Mxrt_Op<"load", [MemoryEffects<[MemRead]>]> {
  let summary = "the number in a buffer of rank 0";
  let arguments = (ins Mxrt_BufferType:$buffer);
  let results = (outs AnyTypeOf<[AnySignlessInteger, AnyFloat]>:$result);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}
def Mxrt_StoreOp : Mxrt_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "puts a number into a buffer of rank 0";
  let arguments = (ins AnyTypeOf<[AnySignlessInteger, AnyFloat]>:$value, Mxrt_BufferType:$buffer);
  let assemblyFormat = "$value `to` $buffer attr-dict `:` type($value) `,` type($buffer)";
  let hasVerifier = 1;
}
def Mxrt_CopyOp : Mxrt_Op<"copy", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the elements of one buffer into another, which may be on another device";
  let arguments = (ins Mxrt_BufferType:$from, Mxrt_BufferType:$to);
  let assemblyFormat = "$from `to` $to attr-dict `:` type($from) `,` type($to)";
  let hasVerifier = 1;
}

// ------------------------------------------------------------------------------------------ calls

def Mxrt_SizeOp : Mxrt_Op<"size", [Pure]> {
  let summary = "the value of a size in this call";
  let arguments = (ins Mx_Size:$size);
  let results = (outs I64:$result);
  let assemblyFormat = "$size attr-dict";
}
def Mxrt_CallOp : Mxrt_Op<"call", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "runs a kernel; an error ends the program";
  let description = [{
    `reads` are the kernel's inputs; `writes` its outputs and, if it has a workspace, a buffer of as many
    u8; `sizes` the values of its open sizes. Each output is written once. It aliases an input only
    where the kernel works in place (`mx.over`).
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Mxrt_BufferType>:$reads,
                       Variadic<Mxrt_BufferType>:$writes, Variadic<I64>:$sizes);
  let assemblyFormat = [{ $kernel `reads` `(` ($reads^ `:` type($reads))? `)`
    `writes` `(` ($writes^ `:` type($writes))? `)` (`sizes` `(` $sizes^ `)`)? attr-dict }];
  let hasVerifier = 1;
}
def Mxrt_FailOp : Mxrt_Op<"fail", []> {
  let summary = "ends the program with an error if a condition holds";
  let description = [{ `code` is 302 for R0302; the error has the op's location. }];
  let arguments = (ins I1:$condition, I32Attr:$code, StrAttr:$message);
  let assemblyFormat = "`if` $condition `with` $code $message attr-dict";
  let hasVerifier = 1;
}
def Mxrt_ReadyOp : Mxrt_Op<"ready", []> {
  let summary = "an output is complete before the program ends";
  let description = [{
    `mxrt.ready %y : <f32[16]>`. The program neither reads nor writes the output from here on, so the caller
    may use it while the program runs (`mxrt_ready`). Programs that say `mxrt.announces` have such ops.
  }];
  let arguments = (ins Mxrt_BufferType:$buffer);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}
def Mxrt_PollOp : Mxrt_Op<"poll", []> {
  let summary = "ends the program if it was cancelled";
  let assemblyFormat = "attr-dict";
}

#endif // MXRT_OPS_TD
