// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The extension module itself: its types, its exception, its functions.
#include "Python/Binding.h"

namespace mx::python {

Types types = {};

PyObject *raise(mxc_error *error) {
  const char *text = mxc_error_text(error);
  Py_ssize_t size = static_cast<Py_ssize_t>(strlen(text));
  while (size > 0 && text[size - 1] == '\n')
    --size;
  Ref message(PyUnicode_DecodeUTF8(text, size, "replace"));
  Ref code(PyUnicode_FromString(mxc_error_code(error)));
  bool isMissingMut = strcmp(mxc_error_code(error), "E0203") == 0;
  mxc_error_release(error);
  if (!message || !code)
    return nullptr;
  Ref exception(PyObject_CallFunctionObjArgs(types.error, message.get(), nullptr));
  if (!exception || PyObject_SetAttrString(exception.get(), "code", code.get()) < 0)
    return nullptr;
  if (isMissingMut) {
    Ref noted(PyObject_CallMethod(exception.get(), "add_note", "s",
                                  "in Python an argument that the call changes is mx.mut(x)"));
    if (!noted)
      return nullptr;
  }
  PyErr_SetObject(types.error, exception.get());
  return nullptr;
}

static PyObject *makeMut(PyObject *, PyObject *target) {
  Mut *mut = PyObject_New(Mut, types.mut);
  if (mut)
    mut->target = Py_NewRef(target);
  return reinterpret_cast<PyObject *>(mut);
}

static void destroyMut(PyObject *self) {
  Py_CLEAR(reinterpret_cast<Mut *>(self)->target);
  PyTypeObject *type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

static bool addMut(PyObject *module) {
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(destroyMut)},
                         {Py_tp_doc, const_cast<char *>("An argument that a call changes.")},
                         {0, nullptr}};
  PyType_Spec spec = {"mx.Mut", sizeof(Mut), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  types.mut = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
  return types.mut &&
         PyModule_AddObjectRef(module, "Mut", reinterpret_cast<PyObject *>(types.mut)) == 0;
}

static PyObject *useValueType(PyObject *, PyObject *type) {
  if (!PyType_Check(type) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject *>(type), types.value)) {
    PyErr_SetString(PyExc_TypeError, "a subclass of _mx.Value is expected");
    return nullptr;
  }
  Ref old(std::exchange(types.madeValue, Py_NewRef(type)));
  Py_RETURN_NONE;
}

static PyObject *version(PyObject *, PyObject *) { return PyUnicode_FromString(mxc_version()); }

} // namespace mx::python

using namespace mx::python;

PyMODINIT_FUNC PyInit__mx() {
  static PyMethodDef functions[] = {
      {"mut", makeMut, METH_O,
       "mut(target): an argument that the call changes, a Value or a NumPy array."},
      {"use_value_type", useValueType, METH_O, "use_value_type(type): what results are created as."},
      {"version", version, METH_NOARGS, "version(): of libmxc."},
      {nullptr, nullptr, 0, nullptr}};
  static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_mx", "mx over mxc.h", -1, functions,
                                   nullptr, nullptr, nullptr, nullptr};
  Ref module(PyModule_Create(&definition));
  if (!module)
    return nullptr;
  types.error = PyErr_NewExceptionWithDoc(
      "mx.Error", "An error of the compiler or of a run: `code`, and the text with source lines.",
      nullptr, nullptr);
  if (!types.error || PyModule_AddObjectRef(module.get(), "Error", types.error) < 0 ||
      !addMut(module.get()) || !addValue(module.get()) || !addSession(module.get()) ||
      !addProgram(module.get()))
    return nullptr;
  return module.take();
}
