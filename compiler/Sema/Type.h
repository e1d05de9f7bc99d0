// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interned types: equal types have the same pointer. The device is an attribute
// that a type may carry (S16). `plain` is the same type without it, and types are compared by
// `plain`.
#pragma once
#include "Support/Arena.h"
#include "Support/ElementType.h"
#include "Support/Shape.h"
#include "Syntax/Ast.h"
#include <deque>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace mx::sema {

class Type;
struct NominalInfo;
struct ModuleInfo;
struct FunctionInfo;

/// An element type, or a variable for one (`T: float`).
class Elem {
public:
  Elem() = default;
  Elem(ElementType type) : code(static_cast<uint32_t>(type) + 1) {}
  static Elem variable(uint32_t id) {
    Elem e;
    e.code = id + kFirstVariable;
    return e;
  }
  bool valid() const { return code != 0; }
  bool isVariable() const { return code >= kFirstVariable; }
  uint32_t variableId() const { return code - kFirstVariable; }
  ElementType type() const { return static_cast<ElementType>(code - 1); }
  bool is(ElementType t) const { return code == static_cast<uint32_t>(t) + 1; }
  bool operator==(const Elem &) const = default;
  uint32_t raw() const { return code; }

private:
  static constexpr uint32_t kFirstVariable = 64;
  uint32_t code = 0;
};

enum class ElemKind : uint8_t { Any, Num, Int, Float }; ///< Any: bool too

struct ElemVariable {
  std::string name;
  ElemKind kind = ElemKind::Num;
};

struct TypeVariable {
  std::string name;
  bool takesValues = false;
};

enum class Kind : uint8_t {
  Error,   ///< an error that has been reported; fits everything
  Nothing, ///< no value
  Tensor,  ///< also scalars: rank 0
  Str,
  Tuple,
  Array,   ///< [T; n]
  Nominal, ///< a model or struct
  Grad,    ///< M.grad
  Fn,
  TypeVar, ///< M of `[M: model]`, T of `[T: value]`
  Range,   ///< 0..n
  Shape,   ///< x.shape, and a literal list of ints where a shape is expected
  Dtype,   ///< an element type as a value
  Axes,    ///< an axis or a list of them
  Device,
  Dataset,  ///< items of one type
  Loader,   ///< batches of items
  Progress, ///< an iterable with a progress bar
  Rule,     ///< an optimizer without a model
  Error_,   ///< a caught error
  Any,      ///< parameters of builtins that accept any value
  TypeName, ///< a type in the position of a value
  Module,
};

/// A static argument of a type: part of its identity.
struct StaticValue {
  enum Kind : uint8_t { None, Int, Bool, Float, Str, Elem, Open } kind = None;
  Dim dim;               ///< Int
  bool flag = false;     ///< Bool
  double number = 0;     ///< Float
  std::string text;      ///< Str
  sema::Elem elem;       ///< Elem
  uint32_t variable = 0; ///< Open: not known yet, a generic parameter
  bool operator==(const StaticValue &) const = default;
};

/// An argument in brackets: a size, a list of sizes, an element type or a model type.
struct TypeArg {
  enum Kind : uint8_t { Size, Pack, Element, Model } kind = Size;
  Dim dim;
  Shape pack;
  Elem elem;
  const Type *type = nullptr;
  bool operator==(const TypeArg &) const = default;
};

/// A device, interned by name ("cpu:0"); null: unspecified.
struct DeviceInfo {
  std::string name;
  std::string spelled; ///< its first spelling in the program: `d0`
};
using Device = const DeviceInfo *;

class Type {
public:
  Kind kind = Kind::Error;
  Elem elem;                       ///< Tensor, Dtype
  Shape shape;                     ///< Tensor, Shape
  std::vector<const Type *> parts; ///< Tuple, Fn parameters, Dataset items
  const Type *element = nullptr;   ///< Array, Grad (of), Fn result, Loader item, Progress, TypeName
  Dim count;                       ///< Array length, Loader batch (null: fresh per iteration)
  NominalInfo *nominal = nullptr;  ///< Nominal, Rule
  std::vector<TypeArg> args;       ///< Nominal
  std::vector<StaticValue> statics; ///< Nominal
  ModuleInfo *module = nullptr;     ///< Module
  uint32_t variable = 0;            ///< TypeVar
  std::string note;                 ///< Loader: the reason for the batch size
  Device device = nullptr;
  const Type *plain = nullptr; ///< without the device; itself if there is none
  int depth = 1;

  bool isTensor() const { return kind == Kind::Tensor; }
  bool isError() const { return kind == Kind::Error; }
  bool isScalar() const { return kind == Kind::Tensor && shape.empty(); }
  bool isNominal() const { return kind == Kind::Nominal; }
  bool is(Kind k) const { return kind == k; }
};

inline bool same(const Type *a, const Type *b) { return a->plain == b->plain; }

/// Bindings of generic names at one use.
struct Bindings {
  DimContext::Substitution dims;
  std::map<PackId, Shape> packs;
  std::map<uint32_t, Elem> elems;
  std::map<uint32_t, const Type *> types;
  std::map<uint32_t, StaticValue> statics; ///< open static values that are not sizes
  bool empty() const {
    return dims.empty() && packs.empty() && elems.empty() && types.empty() && statics.empty();
  }
};

class TypeContext {
public:
  explicit TypeContext(DimContext &dimContext);

  DimContext &dims;

  /// True once after a type was nested past the limit and became an error type, for the caller's
  /// message.
  bool tookTooDeep() { return std::exchange(overflowed, false); }

  const Type *error() const { return errorType; }
  const Type *nothing() const { return nothingType; }
  const Type *str() const { return strType; }
  const Type *range() const { return rangeType; }
  const Type *any() const { return anyType; }
  const Type *axes() const { return axesType; }
  const Type *deviceType() const { return deviceTypeNode; }
  const Type *caughtError() const { return caughtErrorType; }
  const Type *tensor(Elem elem, Shape shape, Device device = nullptr);
  const Type *scalar(Elem elem) { return tensor(elem, {}); }
  const Type *tuple(std::vector<const Type *> parts);
  const Type *array(const Type *element, Dim count);
  const Type *nominal(NominalInfo *info, std::vector<TypeArg> args,
                      std::vector<StaticValue> statics);
  const Type *grad(const Type *of);
  const Type *fn(std::vector<const Type *> params, const Type *result);
  const Type *typeVar(uint32_t id);
  const Type *shape(Shape shape);
  const Type *dtype(Elem elem);
  const Type *dataset(std::vector<const Type *> items);
  const Type *loader(std::vector<const Type *> items, Dim batch, std::string note);
  const Type *progress(const Type *over);
  const Type *rule(NominalInfo *info);
  const Type *typeName(const Type *type);
  const Type *module(ModuleInfo *info);
  const Type *onDevice(const Type *type, Device device);

  Device device(std::string_view name, std::string_view spelled);
  uint32_t newElemVariable(std::string name, ElemKind kind);
  const ElemVariable &elemVariable(uint32_t id) const { return elemVariables[id]; }
  PackId newPack(std::string name);
  const std::string &packName(PackId id) const { return packNames[id]; }
  /// `takesValues`: for a tensor or a tuple of tensors (`T: value`), not for a model.
  uint32_t newTypeVariable(std::string name, bool takesValues);
  const std::string &typeVariableName(uint32_t id) const { return typeVariables[id].name; }
  bool takesValues(uint32_t id) const { return typeVariables[id].takesValues; }
  uint32_t newStaticVariable() { return nextStaticVariable++; }

  bool elemFits(Elem elem, ElemKind kind) const;
  bool isFloat(Elem elem) const { return elemFits(elem, ElemKind::Float); }
  bool isInt(Elem elem) const { return elemFits(elem, ElemKind::Int); }
  bool isBool(Elem elem) const { return elem.is(ElementType::Bool); }

  const Type *substitute(const Type *type, const Bindings &by);
  Shape substitute(const Shape &shape, const Bindings &by);
  StaticValue substitute(const StaticValue &value, const Bindings &by);
  TypeArg substitute(const TypeArg &arg, const Bindings &by);

  std::string print(const Type *type) const;
  std::string print(const Shape &shape) const; ///< `[B, D]`
  std::string print(Elem elem) const;
  std::string print(const StaticValue &value) const;

private:
  std::deque<Type> types;
  std::map<std::string, const Type *> interned;
  std::deque<DeviceInfo> devices;
  std::vector<ElemVariable> elemVariables;
  std::vector<std::string> packNames{""};
  std::vector<TypeVariable> typeVariables;
  uint32_t nextStaticVariable = 1;
  const Type *errorType, *nothingType, *strType, *rangeType, *anyType, *axesType, *deviceTypeNode,
      *caughtErrorType;

  bool overflowed = false;

  const Type *intern(Type type);
  static std::string key(const Type &type);
  void printTo(std::string &out, const Type *type) const;
};

} // namespace mx::sema
