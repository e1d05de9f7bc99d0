// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interning, substitution and printing of types.
#include "Sema/Type.h"
#include "Sema/Info.h"
#include "Sema/Replaced.h"
#include "Support/Limits.h"
#include <algorithm>
#include <cstdio>

namespace mx::sema {

/// A session may redefine a name. Values of the older type remain.
static bool isReplaced(const NominalInfo &nominal) {
  if (!nominal.module)
    return false;
  auto now = nominal.module->scope.names.find(nominal.name);
  return now != nominal.module->scope.names.end() && now->second->nominal &&
         now->second->nominal != &nominal &&
         now->second->span.file != (nominal.syntax ? nominal.syntax->name.span.file : 0);
}

TypeContext::TypeContext(DimContext &dimContext) : dims(dimContext) {
  auto simple = [&](Kind kind) {
    Type t;
    t.kind = kind;
    return intern(std::move(t));
  };
  errorType = simple(Kind::Error);
  nothingType = simple(Kind::Nothing);
  strType = simple(Kind::Str);
  rangeType = simple(Kind::Range);
  anyType = simple(Kind::Any);
  axesType = simple(Kind::Axes);
  deviceTypeNode = simple(Kind::Device);
  caughtErrorType = simple(Kind::Error_);
}

namespace {
void put(std::string &out, const void *p) {
  out.append(reinterpret_cast<const char *>(&p), sizeof p);
}
void put(std::string &out, uint64_t n) { out.append(reinterpret_cast<const char *>(&n), sizeof n); }
void put(std::string &out, const Shape &shape) {
  put(out, shape.size());
  for (const Axis &axis : shape) {
    put(out, static_cast<const void *>(axis.dim.get()));
    put(out, axis.pack);
  }
}
} // namespace

/// Identity of a type as a byte string. Children are interned, so their pointers suffice.
std::string TypeContext::key(const Type &t) {
  std::string k;
  put(k, static_cast<uint64_t>(t.kind));
  put(k, t.elem.raw());
  put(k, t.shape);
  put(k, t.parts.size());
  for (const Type *p : t.parts)
    put(k, static_cast<const void *>(p));
  put(k, static_cast<const void *>(t.element));
  put(k, static_cast<const void *>(t.count.get()));
  put(k, static_cast<const void *>(t.nominal));
  put(k, t.args.size());
  for (const TypeArg &a : t.args) {
    put(k, static_cast<uint64_t>(a.kind));
    put(k, static_cast<const void *>(a.dim.get()));
    put(k, a.pack);
    put(k, a.elem.raw());
    put(k, static_cast<const void *>(a.type));
  }
  put(k, t.statics.size());
  for (const StaticValue &s : t.statics) {
    put(k, static_cast<uint64_t>(s.kind));
    put(k, static_cast<const void *>(s.dim.get()));
    put(k, static_cast<uint64_t>(s.flag));
    uint64_t bits;
    static_assert(sizeof bits == sizeof s.number);
    __builtin_memcpy(&bits, &s.number, sizeof bits);
    put(k, bits);
    put(k, s.text.size());
    k += s.text;
    put(k, s.elem.raw());
    put(k, s.variable);
  }
  put(k, static_cast<const void *>(t.module));
  put(k, t.variable);
  put(k, static_cast<const void *>(t.device));
  k += t.note;
  return k;
}

const Type *TypeContext::intern(Type t) {
  auto deeper = [&](const Type *p) {
    if (p)
      t.depth = std::max(t.depth, p->depth + 1);
  };
  for (const Type *p : t.parts)
    deeper(p);
  deeper(t.element);
  for (const TypeArg &a : t.args)
    deeper(a.type);
  // A type nested past the limit becomes an error type. The caller's message has the location.
  if (t.depth > limits::kMaxTypeDepth) {
    overflowed = true;
    return errorType;
  }
  std::string k = key(t);
  auto it = interned.find(k);
  if (it != interned.end())
    return it->second;
  types.push_back(std::move(t));
  Type &kept = types.back();
  kept.plain = &kept;
  if (kept.device) {
    Type bare = kept;
    bare.device = nullptr;
    kept.plain = intern(std::move(bare));
  }
  interned.emplace(std::move(k), &kept);
  return &kept;
}

const Type *TypeContext::tensor(Elem elem, Shape shape, Device device) {
  Type t;
  t.kind = Kind::Tensor;
  t.elem = elem;
  t.shape = std::move(shape);
  t.device = device;
  return intern(std::move(t));
}
const Type *TypeContext::tuple(std::vector<const Type *> parts) {
  Type t;
  t.kind = Kind::Tuple;
  t.parts = std::move(parts);
  return intern(std::move(t));
}
const Type *TypeContext::array(const Type *element, Dim count) {
  Type t;
  t.kind = Kind::Array;
  t.element = element;
  t.count = count;
  return intern(std::move(t));
}
const Type *TypeContext::nominal(NominalInfo *info, std::vector<TypeArg> args,
                                 std::vector<StaticValue> statics) {
  Type t;
  t.kind = Kind::Nominal;
  t.nominal = info;
  t.args = std::move(args);
  t.statics = std::move(statics);
  return intern(std::move(t));
}
const Type *TypeContext::grad(const Type *of) {
  Type t;
  t.kind = Kind::Grad;
  t.element = of->plain;
  return intern(std::move(t));
}
const Type *TypeContext::fn(std::vector<const Type *> params, const Type *result) {
  Type t;
  t.kind = Kind::Fn;
  t.parts = std::move(params);
  t.element = result;
  return intern(std::move(t));
}
const Type *TypeContext::typeVar(uint32_t id) {
  Type t;
  t.kind = Kind::TypeVar;
  t.variable = id;
  return intern(std::move(t));
}
const Type *TypeContext::shape(Shape s) {
  Type t;
  t.kind = Kind::Shape;
  t.shape = std::move(s);
  return intern(std::move(t));
}
const Type *TypeContext::dtype(Elem elem) {
  Type t;
  t.kind = Kind::Dtype;
  t.elem = elem;
  return intern(std::move(t));
}
const Type *TypeContext::dataset(std::vector<const Type *> items) {
  Type t;
  t.kind = Kind::Dataset;
  t.parts = std::move(items);
  return intern(std::move(t));
}
const Type *TypeContext::loader(std::vector<const Type *> items, Dim batch, std::string note) {
  Type t;
  t.kind = Kind::Loader;
  t.parts = std::move(items);
  t.count = batch;
  t.note = std::move(note);
  return intern(std::move(t));
}
const Type *TypeContext::progress(const Type *over) {
  Type t;
  t.kind = Kind::Progress;
  t.element = over;
  return intern(std::move(t));
}
const Type *TypeContext::rule(NominalInfo *info) {
  Type t;
  t.kind = Kind::Rule;
  t.nominal = info;
  return intern(std::move(t));
}
const Type *TypeContext::typeName(const Type *type) {
  Type t;
  t.kind = Kind::TypeName;
  t.element = type;
  return intern(std::move(t));
}
const Type *TypeContext::module(ModuleInfo *info) {
  Type t;
  t.kind = Kind::Module;
  t.module = info;
  return intern(std::move(t));
}

const Type *TypeContext::onDevice(const Type *type, Device device) {
  if (!device || type->device == device)
    return type;
  switch (type->kind) {
  case Kind::Tensor:
  case Kind::Nominal:
  case Kind::Grad: {
    Type t = *type->plain;
    t.device = device;
    return intern(std::move(t));
  }
  case Kind::Tuple: {
    std::vector<const Type *> parts;
    for (const Type *p : type->parts)
      parts.push_back(onDevice(p, device));
    return tuple(std::move(parts));
  }
  case Kind::Array:
    return array(onDevice(type->element, device), type->count);
  default:
    return type;
  }
}

Device TypeContext::device(std::string_view name, std::string_view spelled) {
  for (const DeviceInfo &d : devices)
    if (d.name == name)
      return &d;
  devices.push_back({std::string(name), std::string(spelled)});
  return &devices.back();
}

uint32_t TypeContext::newElemVariable(std::string name, ElemKind kind) {
  elemVariables.push_back({std::move(name), kind});
  return static_cast<uint32_t>(elemVariables.size() - 1);
}
PackId TypeContext::newPack(std::string name) {
  packNames.push_back(std::move(name));
  return static_cast<PackId>(packNames.size() - 1);
}
uint32_t TypeContext::newTypeVariable(std::string name, bool takesValues) {
  typeVariables.push_back({std::move(name), takesValues});
  return static_cast<uint32_t>(typeVariables.size() - 1);
}

bool TypeContext::elemFits(Elem elem, ElemKind kind) const {
  if (!elem.valid() || kind == ElemKind::Any)
    return true;
  if (elem.isVariable()) {
    ElemKind own = elemVariables[elem.variableId()].kind;
    return own == kind ||
           (kind == ElemKind::Num && (own == ElemKind::Float || own == ElemKind::Int));
  }
  ElementClass c = elementInfo(elem.type()).kind;
  switch (kind) {
  case ElemKind::Float:
    return c == ElementClass::Float;
  case ElemKind::Int:
    return c == ElementClass::Int;
  case ElemKind::Num:
    return c != ElementClass::Bool;
  case ElemKind::Any:
    return true;
  }
  return true;
}

Shape TypeContext::substitute(const Shape &shape, const Bindings &by) {
  Shape out;
  for (const Axis &axis : shape) {
    if (!axis.isPack()) {
      out.push_back(axisOf(dims.substitute(axis.dim, by.dims)));
      continue;
    }
    auto it = by.packs.find(axis.pack);
    if (it == by.packs.end())
      out.push_back(axis);
    else
      out.insert(out.end(), it->second.begin(), it->second.end());
  }
  return out;
}

StaticValue TypeContext::substitute(const StaticValue &value, const Bindings &by) {
  StaticValue out = value;
  if (value.kind == StaticValue::Int)
    out.dim = dims.substitute(value.dim, by.dims);
  if (value.kind == StaticValue::Open) {
    auto it = by.statics.find(value.variable);
    if (it != by.statics.end())
      return it->second;
  }
  return out;
}

TypeArg TypeContext::substitute(const TypeArg &arg, const Bindings &by) {
  TypeArg out = arg;
  switch (arg.kind) {
  case TypeArg::Size:
    out.dim = dims.substitute(arg.dim, by.dims);
    break;
  case TypeArg::Pack:
    out.pack = substitute(arg.pack, by);
    break;
  case TypeArg::Element:
    if (arg.elem.isVariable())
      if (auto it = by.elems.find(arg.elem.variableId()); it != by.elems.end())
        out.elem = it->second;
    break;
  case TypeArg::Model:
    out.type = substitute(arg.type, by);
    break;
  }
  return out;
}

const Type *TypeContext::substitute(const Type *type, const Bindings &by) {
  if (!type || by.empty())
    return type;
  Type t = *type->plain;
  switch (type->kind) {
  case Kind::TypeVar: {
    auto it = by.types.find(type->variable);
    return it == by.types.end() ? type : it->second;
  }
  case Kind::Tensor:
  case Kind::Dtype:
  case Kind::Shape:
    if (t.elem.isVariable())
      if (auto it = by.elems.find(t.elem.variableId()); it != by.elems.end())
        t.elem = it->second;
    t.shape = substitute(t.shape, by);
    break;
  case Kind::Grad:
  case Kind::Progress:
  case Kind::TypeName:
    t.element = substitute(t.element, by);
    if (t.kind == Kind::Grad)
      t.element = t.element->plain;
    break;
  case Kind::Tuple:
  case Kind::Fn:
  case Kind::Array:
  case Kind::Dataset:
  case Kind::Loader:
    for (const Type *&p : t.parts)
      p = substitute(p, by);
    t.element = substitute(t.element, by);
    if (t.count)
      t.count = dims.substitute(t.count, by.dims);
    break;
  case Kind::Nominal:
    for (TypeArg &a : t.args)
      a = substitute(a, by);
    for (StaticValue &s : t.statics)
      s = substitute(s, by);
    break;
  default:
    return type;
  }
  return onDevice(intern(std::move(t)), type->device);
}

// ------------------------------------------------------------------------------------- printing

std::string TypeContext::print(Elem elem) const {
  if (!elem.valid())
    return "?";
  if (elem.isVariable())
    return elemVariables[elem.variableId()].name;
  return std::string(elementInfo(elem.type()).name);
}

std::string TypeContext::print(const Shape &shape) const {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    out += (i ? ", " : "") +
           (shape[i].isPack() ? "..." + packNames[shape[i].pack] : dims.print(shape[i].dim));
  return out + "]";
}

std::string TypeContext::print(const StaticValue &value) const {
  switch (value.kind) {
  case StaticValue::Int:
    return dims.print(value.dim);
  case StaticValue::Bool:
    return value.flag ? "true" : "false";
  case StaticValue::Float: {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%g", value.number);
    return buffer;
  }
  case StaticValue::Str:
    return "\"" + value.text + "\"";
  case StaticValue::Elem:
    return print(value.elem);
  case StaticValue::None:
  case StaticValue::Open:
    return "_";
  }
  return "_";
}

std::string TypeContext::print(const Type *type) const {
  std::string out;
  printTo(out, type);
  if (out.size() > static_cast<size_t>(limits::kMaxPrintedType)) {
    out.resize(limits::kMaxPrintedType - 3);
    while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xC0) == 0x80)
      out.pop_back();
    out += "...";
  }
  return out;
}

void TypeContext::printTo(std::string &out, const Type *t) const {
  if (out.size() > static_cast<size_t>(limits::kMaxPrintedType))
    return;
  auto list = [&](const std::vector<const Type *> &parts) {
    for (size_t i = 0; i < parts.size(); ++i) {
      out += i ? ", " : "";
      printTo(out, parts[i]);
    }
  };
  switch (t->kind) {
  case Kind::Error:
    out += "?";
    break;
  case Kind::Nothing:
    out += "nothing";
    break;
  case Kind::Tensor:
    out += print(t->elem);
    if (!t->shape.empty())
      out += print(t->shape);
    break;
  case Kind::Str:
    out += "str";
    break;
  case Kind::Tuple:
    out += "(";
    list(t->parts);
    out += ")";
    break;
  case Kind::Array:
    out += "[";
    printTo(out, t->element);
    out += "; " + dims.print(t->count) + "]";
    break;
  case Kind::Rule:
    out += t->nominal ? t->nominal->name + " without a model" : "an optimizer";
    break;
  case Kind::Nominal: {
    out += t->nominal->name;
    for (size_t i = 0; i < t->args.size(); ++i) {
      const TypeArg &a = t->args[i];
      out += i ? ", " : "[";
      if (a.kind == TypeArg::Size)
        out += dims.print(a.dim);
      else if (a.kind == TypeArg::Pack)
        out += print(a.pack);
      else if (a.kind == TypeArg::Element)
        out += print(a.elem);
      else
        printTo(out, a.type);
    }
    if (!t->args.empty())
      out += "]";
    // Prints static arguments that differ from their defaults.
    std::string statics;
    for (size_t i = 0; i < t->statics.size(); ++i)
      if (t->statics[i].kind != StaticValue::Open && t->statics[i].kind != StaticValue::None &&
          !t->nominal->isDefaultStatic(i, t->statics[i]))
        statics +=
            (statics.empty() ? "" : ", ") + t->nominal->staticName(i) + "=" + print(t->statics[i]);
    if (!statics.empty())
      out += "(" + statics + ")";
    if (isReplaced(*t->nominal))
      out += kReplaced;
    break;
  }
  case Kind::Grad:
    printTo(out, t->element);
    out += ".grad";
    break;
  case Kind::Fn:
    out += "fn(";
    list(t->parts);
    out += ") -> ";
    if (t->element)
      printTo(out, t->element);
    else
      out += "_";
    break;
  case Kind::TypeVar:
    out += typeVariableName(t->variable);
    break;
  case Kind::Range:
    out += "a range";
    break;
  case Kind::Shape:
    out += "shape" + print(t->shape);
    break;
  case Kind::Dtype:
    out += "dtype " + print(t->elem);
    break;
  case Kind::Axes:
    out += "an axis";
    break;
  case Kind::Device:
    out += "Device";
    break;
  case Kind::Dataset:
    out += "Dataset[";
    list(t->parts);
    out += "]";
    break;
  case Kind::Loader:
    out += "Loader[";
    list(t->parts);
    out += "]";
    break;
  case Kind::Progress:
    out += "Progress";
    break;
  case Kind::Error_:
    out += "Error";
    break;
  case Kind::Any:
    out += "any value";
    break;
  case Kind::TypeName:
    out += "the type ";
    printTo(out, t->element);
    break;
  case Kind::Module:
    out += "module " + t->module->name;
    break;
  }
}

} // namespace mx::sema
