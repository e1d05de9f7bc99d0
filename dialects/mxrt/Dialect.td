// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `mxrt` dialect: buffers, arenas and kernel calls. docs/internals/dialects.md is generated
// from these files.
#ifndef MXRT_DIALECT_TD
#define MXRT_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"

def Mxrt_Dialect : Dialect {
  let name = "mxrt";
  let summary = "programs as calls: buffers, slices of arenas, kernels with what they read and write";
  let description = [{
    One `mxrt.program` is one compiled variant of a graph. Between its ops control flows through
    `scf`, and numbers of the host are builtin `i1`, `i64`, `f32`, …, computed by `arith`. Buffers are
    memory, not values: each is an argument, a slice or a slot, and none passes through `scf`.
    A memory plan is the set of `mxrt.slice` ops; the verifier checks it against the types.
  }];
  let cppNamespace = "::mx::rt";
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

// ------------------------------------------------------------------------------- attributes, types

def Mxrt_Open : AttrDef<Mxrt_Dialect, "Open"> {
  let mnemonic = "open";
  let summary = "a size that a call of the program chooses, from 0 to a bound: `<\"N\" to 1024>`";
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$bound);
  let assemblyFormat = "`<` $name `to` $bound `>`";
}
def Mxrt_Arena : AttrDef<Mxrt_Dialect, "Arena"> {
  let mnemonic = "arena";
  let summary = "the memory that one call needs on a device: `<\"cpu:1\" 4096>`; the default device is `\"\"`";
  let parameters = (ins "::mlir::StringAttr":$device, "int64_t":$bytes);
  let assemblyFormat = "`<` $device $bytes `>`";
}
def Mxrt_OpenArray : TypedArrayAttrBase<Mxrt_Open, "open sizes">;
def Mxrt_ArenaArray : TypedArrayAttrBase<Mxrt_Arena, "arenas">;

def Mxrt_BufferType : TypeDef<Mxrt_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "memory for one tensor, dense and row-major, from element 0 on";
  let description = [{ The text is that of the tensor: `!mxrt.buffer<f32[N, 784]>`. A buffer
    `on host` holds one number of the host. }];
  let parameters = (ins "::mx::ir::TensorType":$tensor);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    ::mlir::Type getElement() const { return getTensor().getElement(); }
    ::llvm::ArrayRef<::mx::ir::SizeAttr> getSizes() const { return getTensor().getSizes(); }
    ::mlir::StringAttr getDevice() const { return getTensor().getDevice(); }
    bool isHost() const { return getTensor().isHost(); }
    bool isScalar() const { return getTensor().isScalar(); }
    /// The builtin type of one element as a number in a register: u8 is i8 there.
    ::mlir::Type scalar() const;
  }];
}

class Mxrt_Op<string opMnemonic, list<Trait> traits = []> : Op<Mxrt_Dialect, opMnemonic, traits>;

#endif // MXRT_DIALECT_TD
