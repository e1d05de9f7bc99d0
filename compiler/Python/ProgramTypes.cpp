// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `mx.Module` and `mx.Function`: the names of a program as attributes, and calls.
#include "Python/Binding.h"

#include <memory>
#include <string>
#include <vector>

namespace mx::python {

static mxc_session *sessionOf(PyObject *session) {
  return reinterpret_cast<Session *>(session)->handle;
}

// ------------------------------------------------------------------------------------- modules

static void destroyModule(PyObject *self) {
  Py_CLEAR(reinterpret_cast<Module *>(self)->functions);
  Py_CLEAR(reinterpret_cast<Module *>(self)->session);
  PyTypeObject *type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

/// A function, graph or model by name, or a variable of the top level. nullptr without an exception
/// if there is none; `missing` says why.
static PyObject *lookUp(Module *module, const char *name, std::string &missing) {
  if (PyObject *known = PyDict_GetItemString(module->functions, name))
    return Py_NewRef(known);
  mxc_function *found = nullptr;
  mxc_error *error = mxc_module_function(module->handle, name, &found);
  if (!error) {
    Function *function = PyObject_New(Function, types.function);
    if (!function)
      return nullptr;
    function->handle = found;
    function->session = Py_NewRef(module->session);
    Ref object(reinterpret_cast<PyObject *>(function));
    return PyDict_SetItemString(module->functions, name, object.get()) == 0 ? object.take() : nullptr;
  }
  mxc_value *value = nullptr;
  if (mxc_error *none = mxc_module_value(module->handle, name, &value)) {
    mxc_error_release(none);
    missing = mxc_error_text(error);
    mxc_error_release(error);
    return nullptr;
  }
  mxc_error_release(error);
  return toPython(value, module->session);
}

static PyObject *moduleAttribute(PyObject *self, PyObject *name) {
  if (PyObject *usual = PyObject_GenericGetAttr(self, name))
    return usual;
  if (!PyErr_ExceptionMatches(PyExc_AttributeError))
    return nullptr;
  const char *text = PyUnicode_AsUTF8AndSize(name, nullptr);
  if (!text || (text[0] == '_' && text[1] == '_'))
    return nullptr;
  PyErr_Clear();
  std::string missing;
  PyObject *found = lookUp(reinterpret_cast<Module *>(self), text, missing);
  if (!found && !PyErr_Occurred())
    PyErr_SetString(PyExc_AttributeError, missing.c_str());
  return found;
}

static PyObject *moduleItem(PyObject *self, PyObject *name) {
  const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, nullptr) : nullptr;
  if (!text) {
    if (!PyErr_Occurred())
      PyErr_SetString(PyExc_TypeError, "a name is expected, such as \"Net\" or \"Linear[2, 1]\"");
    return nullptr;
  }
  std::string missing;
  PyObject *found = lookUp(reinterpret_cast<Module *>(self), text, missing);
  if (!found && !PyErr_Occurred())
    PyErr_SetString(PyExc_KeyError, missing.c_str());
  return found;
}

static PyObject *functions(PyObject *self, void *) {
  mxc_module *handle = reinterpret_cast<Module *>(self)->handle;
  Ref list(PyList_New(0));
  for (size_t i = 0; list && i < mxc_module_function_count(handle); ++i) {
    Ref name(PyUnicode_FromString(mxc_module_function_name(handle, i)));
    if (!name || PyList_Append(list.get(), name.get()) < 0)
      return nullptr;
  }
  return list.take();
}
static PyObject *listNames(PyObject *self, PyObject *) { return functions(self, nullptr); }

// ----------------------------------------------------------------------------------- functions

static void destroyFunction(PyObject *self) {
  Py_CLEAR(reinterpret_cast<Function *>(self)->session);
  PyTypeObject *type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

namespace {
/// The arguments of a call as mxc.h takes them. Values that the call changes are out of reach for
/// everybody else until `putBack`.
class Arguments {
public:
  Arguments(Function *function, Memory memory) : function(function), memory(memory) {}
  ~Arguments() {
    putBack();
    for (size_t i = 0; i < count; ++i)
      if (!targets()[i])
        mxc_value_release(data()[i].value);
  }
  Arguments(const Arguments &) = delete;

  bool read(PyObject *positional, PyObject *keywords) {
    Py_ssize_t given = PyTuple_Size(positional);
    size_t total = static_cast<size_t>(given) +
                   static_cast<size_t>(keywords ? PyDict_Size(keywords) : 0);
    if (total > kUsual) {
      manyData.reset(new mxc_argument[total]);
      manyTargets.reset(new Value *[total]);
    }
    for (Py_ssize_t i = 0; i < given; ++i)
      if (!add(PyTuple_GetItem(positional, i), nullptr))
        return false;
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (keywords && PyDict_Next(keywords, &position, &key, &value)) {
      const char *name = PyUnicode_AsUTF8AndSize(key, nullptr);
      if (!name || !add(value, name))
        return false;
    }
    return takeChanged();
  }

  mxc_argument *data() { return manyData ? manyData.get() : fewData; }
  size_t size() const { return count; }

  /// The changed values have their new handles.
  void putBack() {
    for (size_t i = 0; taken && i < count; ++i)
      if (Value *target = targets()[i])
        target->handle = data()[i].value;
    taken = false;
  }

private:
  Value **targets() { return manyTargets ? manyTargets.get() : fewTargets; }

  bool add(PyObject *object, const char *name) {
    mxc_argument &argument = data()[count];
    argument = {nullptr, name, 0};
    targets()[count] = nullptr;
    if (Py_TYPE(object) == types.mut) {
      PyObject *target = reinterpret_cast<Mut *>(object)->target;
      argument.flags = MXC_MUT;
      if (PyObject_TypeCheck(target, types.value)) {
        targets()[count] = reinterpret_cast<Value *>(target);
        ++count;
        return handleOf(target) != nullptr;
      }
      argument.value = borrowWritable(target);
    } else {
      argument.value = fromPython(object, sessionOf(function->session), memory);
    }
    if (!argument.value)
      return false;
    ++count;
    return true;
  }

  /// Only when all arguments are there: a value may also be an argument that is not changed.
  bool takeChanged() {
    for (size_t i = 0; i < count; ++i)
      for (size_t k = 0; targets()[i] && k < i; ++k)
        if (targets()[k] == targets()[i]) {
          PyErr_SetString(PyExc_ValueError, "one value is passed as mx.mut twice");
          return false;
        }
    for (size_t i = 0; i < count; ++i)
      if (Value *target = targets()[i])
        data()[i].value = std::exchange(target->handle, nullptr);
    taken = true;
    return true;
  }

  static constexpr size_t kUsual = 8; // more need memory
  Function *function;
  Memory memory;
  mxc_argument fewData[kUsual];
  Value *fewTargets[kUsual];
  std::unique_ptr<mxc_argument[]> manyData;
  std::unique_ptr<Value *[]> manyTargets;
  size_t count = 0;
  bool taken = false;
};
} // namespace

static PyObject *run(PyObject *self, PyObject *positional, PyObject *keywords, uint32_t flags) {
  Function *function = reinterpret_cast<Function *>(self);
  // A graph that is waited for reads arrays where they are. Host code may keep its arguments, and
  // arrays may change before a call that was only issued reads them.
  bool borrows = mxc_function_is_graph(function->handle) && !(flags & MXC_ASYNC);
  Arguments arguments(function, borrows ? Memory::Borrowed : Memory::Copied);
  if (!arguments.read(positional, keywords))
    return nullptr;
  mxc_value *result = nullptr;
  mxc_error *error = nullptr;
  bool fine = withoutLock(sessionOf(function->session), &error, [&] {
    return mxc_call(function->handle, arguments.data(), arguments.size(), flags, &result);
  });
  arguments.putBack();
  if (!fine) {
    mxc_value_release(result);
    return nullptr;
  }
  return toPython(result, function->session);
}

static PyObject *call(PyObject *self, PyObject *positional, PyObject *keywords) {
  return run(self, positional, keywords, 0);
}
static PyObject *start(PyObject *self, PyObject *positional, PyObject *keywords) {
  return run(self, positional, keywords, MXC_ASYNC);
}

static PyObject *functionName(PyObject *self, void *) {
  return PyUnicode_FromString(mxc_function_name(reinterpret_cast<Function *>(self)->handle));
}
static PyObject *signature(PyObject *self, void *) {
  return PyUnicode_FromString(mxc_function_signature(reinterpret_cast<Function *>(self)->handle));
}
static PyObject *isGraph(PyObject *self, void *) {
  return PyBool_FromLong(mxc_function_is_graph(reinterpret_cast<Function *>(self)->handle));
}
static PyObject *parameters(PyObject *self, void *) {
  mxc_function *handle = reinterpret_cast<Function *>(self)->handle;
  Ref list(PyList_New(0));
  for (size_t i = 0; list && i < mxc_function_param_count(handle); ++i) {
    Ref name(PyUnicode_FromString(mxc_function_param(handle, i).name));
    if (!name || PyList_Append(list.get(), name.get()) < 0)
      return nullptr;
  }
  return list.take();
}
static PyObject *describe(PyObject *self) {
  return PyUnicode_FromFormat("<mx function %s>",
                              mxc_function_signature(reinterpret_cast<Function *>(self)->handle));
}

template <class T> static void *slot(T *function) { return reinterpret_cast<void *>(function); }

bool addProgram(PyObject *module) {
  static PyGetSetDef moduleMembers[] = {
      {"functions", functions, nullptr, "The names of its functions, in the program's order.", nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyMethodDef moduleMethods[] = {
      {"__dir__", listNames, METH_NOARGS, "The names of its functions."},
      {nullptr, nullptr, 0, nullptr}};
  PyType_Slot moduleSlots[] = {
      {Py_tp_dealloc, slot(destroyModule)},
      {Py_tp_getattro, slot(moduleAttribute)},
      {Py_mp_subscript, slot(moduleItem)},
      {Py_tp_getset, moduleMembers},
      {Py_tp_methods, moduleMethods},
      {Py_tp_doc, const_cast<char *>("A program: its functions, models and variables are attributes; "
                                     "program[\"Linear[2, 1]\"] is a model of given sizes.")},
      {0, nullptr}};
  PyType_Spec moduleSpec = {"mx.Module", sizeof(Module), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, moduleSlots};
  types.module = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&moduleSpec));

  static PyGetSetDef members[] = {
      {"__name__", functionName, nullptr, nullptr, nullptr},
      {"signature", signature, nullptr, "As the program declares it.", nullptr},
      {"is_graph", isGraph, nullptr, "Whether it is compiled whole.", nullptr},
      {"parameters", parameters, nullptr, "The names of its parameters.", nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyMethodDef methods[] = {
      {"start", reinterpret_cast<PyCFunction>(start), METH_VARARGS | METH_KEYWORDS,
       "start(...): issues the call and returns at once; reading its results waits."},
      {nullptr, nullptr, 0, nullptr}};
  PyType_Slot slots[] = {
      {Py_tp_dealloc, slot(destroyFunction)},
      {Py_tp_call, slot(call)},
      {Py_tp_repr, slot(describe)},
      {Py_tp_getset, members},
      {Py_tp_methods, methods},
      {Py_tp_doc, const_cast<char *>("A function, graph or model of a program.")},
      {0, nullptr}};
  PyType_Spec spec = {"mx.Function", sizeof(Function), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  types.function = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
  return types.module && types.function &&
         PyModule_AddObjectRef(module, "Module", reinterpret_cast<PyObject *>(types.module)) == 0 &&
         PyModule_AddObjectRef(module, "Function", reinterpret_cast<PyObject *>(types.function)) == 0;
}

} // namespace mx::python
