// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `mx` dialect: SSA values with symbolic sizes. docs/internals/dialects.md is generated
// from these files; Rationale.md has the reasons.
#ifndef MX_DIALECT_TD
#define MX_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"

def Mx_Dialect : Dialect {
  let name = "mx";
  let summary = "programs as values: tensors with named sizes, models, graphs, host code";
  let description = [{
    Every op is a function of its operands; nothing is changed in place and nothing is aliased.
    Sizes are polynomials over names that the enclosing function declares (`sizes`), so a type says
    the same as the source: `!mx.tensor<f32[N, 784]>`. Specialisation replaces names by numbers.
  }];
  let cppNamespace = "::mx::ir";
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    /// The sizes of this context's types and the rules for them (compiler/Support).
    SizeTable &sizes() { return *table; }
  private:
    std::shared_ptr<SizeTable> table;
  public:
  }];
  let hasConstantMaterializer = 1;
}

// ------------------------------------------------------------------------------------ sizes, types

def Mx_Size : AttrDef<Mx_Dialect, "Size"> {
  let mnemonic = "size";
  let summary = "a size: a polynomial over size names, in normal form";
  let description = [{ Two sizes that are equal as polynomials are one attribute. }];
  let parameters = (ins StringRefParameter<"normal form">:$text);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// The number, if it is one.
    std::optional<int64_t> constant() const;
    static SizeAttr get(::mlir::MLIRContext *context, int64_t value);
    static SizeAttr get(::mlir::MLIRContext *context, ::mx::Dim dim);
    /// In terms of the context's SizeTable.
    ::mx::Dim dim() const;
    /// Names replaced by sizes, all at once. Null if the result is not a size: it overflows, or divides by 0.
    SizeAttr substitute(const ::llvm::DenseMap<::mlir::StringAttr, SizeAttr> &by) const;
    /// 0 on overflow: the code that computes the value reports it.
    SizeAttr plus(SizeAttr other) const;
    SizeAttr minus(SizeAttr other) const;
    SizeAttr times(SizeAttr other) const;
    SizeAttr over(SizeAttr other) const; ///< rounded down
    /// Appends the names in it, each once.
    void names(::llvm::SmallVectorImpl<::mlir::StringAttr> &out) const;
  }];
  let skipDefaultBuilders = 1;
}

class Mx_Type<string name, string typeMnemonic> : TypeDef<Mx_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Mx_TensorType : Mx_Type<"Tensor", "tensor"> {
  let summary = "a tensor: element type, sizes, device";
  let description = [{
    `!mx.tensor<f32[N, 784]>`, `!mx.tensor<f32[]>`, `!mx.tensor<f32[4] on "cpu:1">`. The device `host`
    marks numbers that host code computes at once: `!mx.tensor<i64[] on host>`; only rank 0 is there.
    Elements are i1 (bool), i8, ui8 (u8), i32, i64, f16, bf16, f32, f64.
  }];
  let parameters = (ins "::mlir::Type":$element, ArrayRefParameter<"::mx::ir::SizeAttr">:$sizes,
                        "::mlir::StringAttr":$device);
  let hasCustomAssemblyFormat = 1;
  let builders = [
    TypeBuilder<(ins "::mlir::Type":$element, "::llvm::ArrayRef<::mx::ir::SizeAttr>":$sizes), [{
      return $_get($_ctxt, element, sizes, ::mlir::StringAttr::get($_ctxt, ""));
    }]>
  ];
  let extraClassDeclaration = [{
    size_t rank() const { return getSizes().size(); }
    bool isHost() const { return getDevice().getValue() == "host"; }
    bool isScalar() const { return getSizes().empty(); }
    /// No size has a name.
    bool isStatic() const;
    /// Sizes as numbers; only of static types.
    ::llvm::SmallVector<int64_t> numbers() const;
    ::mx::Shape shape() const;
    TensorType withElement(::mlir::Type element) const;
    TensorType withSizes(::llvm::ArrayRef<SizeAttr> sizes) const;
    TensorType onDevice(::llvm::StringRef device) const;
    static TensorType host(::mlir::Type element);
    static TensorType get(::mlir::MLIRContext *context, ::mlir::Type element,
                          const ::mx::Shape &shape, ::llvm::StringRef device = "");
  }];
}
def Mx_StrType : Mx_Type<"Str", "str"> { let summary = "text, on the host"; }
def Mx_DtypeType : Mx_Type<"Dtype", "dtype"> { let summary = "an element type as a value"; }
def Mx_ErrorType : Mx_Type<"Error", "error"> { let summary = "a caught error"; }
def Mx_HandleType : Mx_Type<"Handle", "handle"> {
  let summary = "a reference to something outside: a file, a bar, a data set";
  let parameters = (ins "::mlir::StringAttr":$name);
  let assemblyFormat = "`<` $name `>`";
}
def Mx_AggregateType : Mx_Type<"Aggregate", "aggregate"> {
  let summary = "a tuple (no name), a struct or a model";
  let description = [{ Parts have names, except in tuples: `!mx.aggregate<"Dense" ["w", "b"] (…)>`. }];
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::ArrayAttr":$fields,
                        OptionalArrayRefParameter<"::mlir::Type">:$parts);
  let assemblyFormat = "`<` $name $fields (`(` $parts^ `)`)? `>`";
  let extraClassDeclaration = [{
    static AggregateType tuple(::mlir::MLIRContext *context, ::llvm::ArrayRef<::mlir::Type> parts);
  }];
}
def Mx_ArrayType : Mx_Type<"Array", "array"> {
  let summary = "[T; n]: values of one type";
  let parameters = (ins "::mlir::Type":$element, "::mx::ir::SizeAttr":$count);
  let assemblyFormat = "`<` $element `,` $count `>`";
}
def Mx_FnType : Mx_Type<"Fn", "fn"> {
  let summary = "a function as a value";
  let parameters = (ins "::mlir::FunctionType":$type);
  let assemblyFormat = "`<` $type `>`";
}

def Mx_Value : AnyTypeOf<[Mx_TensorType, Mx_StrType, Mx_DtypeType, Mx_ErrorType, Mx_HandleType,
                          Mx_AggregateType, Mx_ArrayType, Mx_FnType], "a value of the language">;
def Mx_HostInt : Type<CPred<"::mx::ir::isHostInt($_self)">, "an i64 of the host">;
def Mx_Scalar : Type<CPred<"::mx::ir::isScalarTensor($_self)">, "a rank-0 tensor">;

class Mx_Op<string opMnemonic, list<Trait> traits = []> : Op<Mx_Dialect, opMnemonic, traits>;

def Mx_SizeArray : TypedArrayAttrBase<Mx_Size, "sizes">;

#endif // MX_DIALECT_TD
