// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generator of a Python module on ctypes and NumPy, next to the shared library that it opens.
#include "Build/Write.h"
#include "Support/ElementFacts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

namespace mx::build {
namespace {

constexpr const char *kHead = R"PY(import ctypes as _ctypes
import os as _os
import threading as _threading

import numpy as _numpy

_lib = _ctypes.CDLL(_os.path.join(_os.path.dirname(_os.path.abspath(__file__)), @LIBRARY@))
_lib.@PREFIX@_error.restype = _ctypes.c_char_p
_room = _threading.local()


class Error(RuntimeError):
    """What went wrong; `code` is the number of the error (201 is R0201)."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def _check(code):
    if code:
        raise Error(code, _lib.@PREFIX@_error().decode())


def _array(value, dtype, rank, name, change=False):
    """The value as a dense array, without a copy where there can be one. Takes all that speaks DLPack."""
    if not isinstance(value, _numpy.ndarray):
        value = _numpy.from_dlpack(value) if hasattr(value, "__dlpack__") else _numpy.asarray(value, dtype)
    if value.dtype != dtype:
        raise TypeError(f"{name} is {value.dtype}, not {_numpy.dtype(dtype)}")
    if value.ndim != rank:
        raise ValueError(f"{name} has {value.ndim} dimensions, not {rank}")
    if change and not (value.flags.c_contiguous and value.flags.writeable):
        raise ValueError(f"{name} is changed, so it must be dense and writable")
    return _numpy.ascontiguousarray(value).reshape(value.shape)


def _fit(array, shape, name):
    if array.shape != shape:
        raise ValueError(f"{name} is {list(array.shape)}, not {list(shape)}")


def _workspace(size):
    """Memory for a call, kept for the next one of this thread."""
    if getattr(_room, "size", -1) < size:
        _room.memory = _ctypes.create_string_buffer(max(size, 1))
        _room.size = size
    return _room.memory
)PY";

constexpr const char *kClass = R"PY(

class @CLASS@:
    """@PARAMETER@, @COUNT@ tensors: `@CLASS@("w.safetensors")` reads them, `@CLASS@()` are zeros. A tensor is a view
    that can be read and written: `value["@FIRST@"][...] = 0`."""

    tensors = {
@TENSORS@    }

    def __init__(self, source=None):
        self._handle = _ctypes.c_void_p()
        out = _ctypes.byref(self._handle)
        if source is None:
            _check(_lib.@NAME@_new(out))
        elif isinstance(source, (bytes, bytearray)):
            _check(_lib.@NAME@_load_memory(out, bytes(source), _ctypes.c_size_t(len(source))))
        else:
            _check(_lib.@NAME@_load(out, _os.fsencode(source)))

    def __del__(self):
        _lib.@NAME@_free(self._handle)

    def __getitem__(self, name):
        dtype, shape = self.tensors[name]
        size = _ctypes.c_size_t()
        data = _lib.@NAME@_data(self._handle, name.encode(), _ctypes.byref(size))
        memory = (_ctypes.c_char * size.value).from_address(data) if size.value else b""
        memory_owner = _numpy.frombuffer(memory, dtype).reshape(shape).view(_View)
        memory_owner.owner = self
        return memory_owner

    def __setitem__(self, name, value):
        self[name][...] = value


_lib.@NAME@_data.restype = _ctypes.c_void_p
)PY";

constexpr const char *kView = R"PY(

class _View(_numpy.ndarray):
    """Keeps what it is a view of."""

    owner = None

    def __array_finalize__(self, other):
        self.owner = getattr(other, "owner", None)
)PY";

std::string numpyType(ElementType element) {
  return std::string("_numpy.") + elementFacts(element).inNumpy;
}
std::string ctypesNumber(ElementType element) {
  return std::string("_ctypes.") + elementFacts(element).inCtypes;
}

/// A number as a C argument.
std::string number(ElementType element, const std::string &name) {
  if (element == ElementType::F16)
    return "_ctypes.c_uint16(_numpy.float16(" + name + ").view(_numpy.uint16).item())";
  return ctypesNumber(element) + "(" + name + ")";
}

std::string fill(std::string text,
                 std::initializer_list<std::pair<const char *, std::string>> values) {
  for (const auto &[name, value] : values) {
    std::string mark = std::string("@") + name + "@";
    for (size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += value.size())
      text.replace(at, mark.size(), value);
  }
  return text;
}

std::string quoted(llvm::StringRef text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    out += c;
  }
  return out + "\"";
}

/// The class of `net` is `Net`.
std::string className(llvm::StringRef name) {
  std::string out;
  bool up = true;
  for (char c : name) {
    if (c == '_') {
      up = true;
      continue;
    }
    out += up ? llvm::toUpper(c) : c;
    up = false;
  }
  return out;
}

/// A valid Python identifier: a C name, except for a few reserved words.
std::string pythonName(const std::string &name) {
  static constexpr llvm::StringLiteral reserved[] = {
      "None", "True",   "False",    "as",      "assert", "async",  "await",  "def",
      "del",  "elif",   "except",   "finally", "from",   "global", "import", "in",
      "is",   "lambda", "nonlocal", "pass",    "raise",  "with",   "yield"};
  return llvm::is_contained(reserved, name) ? name + "_" : name;
}

class FunctionWriter {
public:
  FunctionWriter(const Interface &interface, const Function &function)
      : interface(interface), function(function) {}
  std::string write();

private:
  std::string sizeText(llvm::StringRef text) const;
  std::string shape(const Argument &argument) const;
  void line(const std::string &text) { body += "    " + text + "\n"; }
  void bindSizes();

  const Interface &interface;
  const Function &function;
  std::string body;
};

/// A size of the graph in terms of the names of the call.
std::string FunctionWriter::sizeText(llvm::StringRef text) const {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && (llvm::isAlnum(text[end]) || text[end] == '_' || text[end] == '$' ||
                                 (end > i && text[end] == '.')))
      ++end;
    if (end == i) {
      out += text[i++];
      continue;
    }
    llvm::StringRef word = text.slice(i, end);
    std::string name = word.str();
    for (const SizeArgument &size : function.sizes)
      if (size.size == word)
        name = pythonName(size.name);
    out += name;
    i = end;
  }
  return out;
}

std::string FunctionWriter::shape(const Argument &argument) const {
  std::string out = "(";
  for (const std::string &size : argument.sizes)
    out += sizeText(size) + ", ";
  return (argument.sizes.size() > 1 ? out.substr(0, out.size() - 2)
          : argument.sizes.empty()  ? out
                                    : out.substr(0, out.size() - 1)) +
         ")";
}

/// Reads the sizes of the call from the first argument that has them.
void FunctionWriter::bindSizes() {
  std::set<size_t> bound;
  for (const Argument &argument : function.arguments) {
    if (argument.kind != Argument::Tensor)
      continue;
    for (size_t axis = 0; axis < argument.sizes.size(); ++axis)
      for (size_t i = 0; i < function.sizes.size(); ++i)
        if (argument.sizes[axis] == function.sizes[i].size && bound.insert(i).second)
          line(pythonName(function.sizes[i].name) + " = " + pythonName(argument.name) + ".shape[" +
               std::to_string(axis) + "]");
  }
}

std::string FunctionWriter::write() {
  std::vector<std::string> parameters, call;
  std::set<size_t> read; // sizes that arguments determine
  for (const Argument &argument : function.arguments)
    for (const std::string &text : argument.sizes)
      for (size_t i = 0; i < function.sizes.size(); ++i)
        if (argument.kind == Argument::Tensor && text == function.sizes[i].size)
          read.insert(i);
  for (const Parameter &p : function.parameters)
    if (p.kind == Parameter::Argument)
      parameters.push_back(pythonName(function.arguments[p.index].name));
    else if (p.kind == Parameter::Size && !read.count(p.index))
      parameters.push_back(pythonName(function.sizes[p.index].name));
  for (const Argument &argument : function.arguments) {
    std::string name = pythonName(argument.name);
    if (argument.kind == Argument::Tensor || (argument.kind == Argument::Number && argument.isMut))
      line(name + " = _array(" + name + ", " + numpyType(argument.element) + ", " +
           std::to_string(argument.sizes.size()) + ", " + quoted(name) +
           (argument.isMut ? ", change=True)" : ")"));
  }
  bindSizes();
  for (const Argument &argument : function.arguments)
    if (argument.kind == Argument::Tensor)
      line("_fit(" + pythonName(argument.name) + ", " + shape(argument) + ", " +
           quoted(argument.name) + ")");
  std::vector<std::string> results;
  for (const Argument &result : function.results) {
    results.push_back(pythonName(result.name));
    line(results.back() + " = _numpy.empty(" + shape(result) + ", " + numpyType(result.element) +
         ")");
  }
  for (const Parameter &p : function.parameters) {
    if (p.kind == Parameter::Size)
      call.push_back("_ctypes.c_int64(" + pythonName(function.sizes[p.index].name) + ")");
    else if (p.kind == Parameter::Workspace)
      call.push_back("_workspace(" + std::to_string(function.workspace) + ")");
    else if (p.kind == Parameter::Result)
      call.push_back("_ctypes.c_void_p(" + results[p.index] + ".ctypes.data)");
    else {
      const Argument &argument = function.arguments[p.index];
      std::string name = pythonName(argument.name);
      call.push_back(argument.kind == Argument::Value ? name + "._handle"
                     : argument.kind == Argument::Number && !argument.isMut
                         ? number(argument.element, name)
                         : "_ctypes.c_void_p(" + name + ".ctypes.data)");
    }
  }
  line("_check(_lib." + interface.prefix + "_" + function.name + "(");
  for (const std::string &each : call)
    line("    " + each + ",");
  line("))");
  for (size_t i = 0; i < results.size(); ++i)
    if (function.results[i].sizes.empty())
      results[i] += "[()]"; // a scalar
  if (!results.empty())
    line("return " + llvm::join(results, ", "));
  return "\n\ndef " + pythonName(function.name) + "(" + llvm::join(parameters, ", ") + "):\n    " +
         "\"\"\"" + function.source.header + "\"\"\"\n" + body;
}

} // namespace

std::string writePython(const Interface &interface, const std::string &moduleName,
                        const std::string &library) {
  std::string out = "\"\"\"" + moduleName + " - generated by mxc.\"\"\"\n" +
                    fill(kHead, {{"LIBRARY", quoted(library)}, {"PREFIX", interface.prefix}});
  bool first = true;
  for (const ValueType &type : interface.types) {
    if (type.embedded)
      continue;
    if (first)
      out += kView;
    first = false;
    std::string tensors;
    for (const Leaf &leaf : type.leaves) {
      tensors += "        " + quoted(leaf.path) + ": (" + numpyType(leaf.element) + ", (";
      for (int64_t size : leaf.sizes)
        tensors += std::to_string(size) + ", ";
      tensors += ")),\n";
    }
    out += fill(kClass, {{"CLASS", className(type.name)},
                         {"PARAMETER", type.parameter},
                         {"COUNT", std::to_string(type.leaves.size())},
                         {"FIRST", type.leaves.empty() ? "" : type.leaves.front().path},
                         {"TENSORS", tensors},
                         {"NAME", interface.prefix + "_" + type.name}});
  }
  for (const Function &function : interface.functions)
    out += FunctionWriter(interface, function).write();
  return out;
}

} // namespace mx::build
