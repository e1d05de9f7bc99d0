// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `mx.Value`: a tensor, struct or model. Elements are exported without a copy through the buffer
// protocol and DLPack, read-only, since what two values share never changes.
#include "Python/Binding.h"

namespace mx::python {

mxc_value *handleOf(PyObject *value) {
  mxc_value *handle = reinterpret_cast<Value *>(value)->handle;
  if (!handle)
    PyErr_SetString(PyExc_RuntimeError, "a call that has not ended changes this value");
  return handle;
}

PyObject *makeValue(mxc_value *handle, PyObject *session) {
  PyTypeObject *type =
      types.madeValue ? reinterpret_cast<PyTypeObject *>(types.madeValue) : types.value;
  auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  PyObject *self = allocate(type, 0);
  if (!self) {
    mxc_value_release(handle);
    return nullptr;
  }
  reinterpret_cast<Value *>(self)->handle = handle;
  reinterpret_cast<Value *>(self)->session = Py_NewRef(session);
  return self;
}

static void destroy(PyObject *self) {
  Value *value = reinterpret_cast<Value *>(self);
  mxc_value_release(value->handle);
  Py_CLEAR(value->session);
  PyTypeObject *type = Py_TYPE(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

static mxc_session *sessionOf(PyObject *self) {
  return reinterpret_cast<Session *>(reinterpret_cast<Value *>(self)->session)->handle;
}

/// A reference of its own, so that no call changes the value meanwhile.
namespace {
class Held {
public:
  explicit Held(PyObject *value) : handle(handleOf(value)) {
    if (handle)
      mxc_value_retain(handle);
  }
  ~Held() { mxc_value_release(handle); }
  Held(const Held &) = delete;
  mxc_value *get() const { return handle; }
  mxc_value *take() { return std::exchange(handle, nullptr); }

private:
  mxc_value *handle;
};
} // namespace

/// Waits until the elements are there.
static const void *elements(PyObject *self, mxc_value *handle) {
  const void *data = nullptr;
  mxc_error *error = nullptr;
  if (!withoutLock(sessionOf(self), &error, [&] { return mxc_tensor_data(handle, &data); }))
    return nullptr;
  static const char nothing = 0; // of an empty tensor
  return data ? data : &nothing;
}

// ------------------------------------------------------------------------------ the buffer

struct ElementFormat {
  const char *format; // of the `struct` module; null: none
  Py_ssize_t bytes;
  const char *name;
};
static const ElementFormat formats[] = {{"?", 1, "bool"}, {"b", 1, "i8"},  {"B", 1, "u8"},
                                        {"i", 4, "i32"},  {"q", 8, "i64"}, {"e", 2, "f16"},
                                        {nullptr, 2, "bf16"}, {"f", 4, "f32"}, {"d", 8, "f64"}};

namespace {
/// What an exported buffer refers to.
struct Export {
  mxc_value *handle;
  Py_ssize_t shape[MXC_MAX_RANK], strides[MXC_MAX_RANK];
};
} // namespace

static int getBuffer(PyObject *self, Py_buffer *view, int flags) {
  view->obj = nullptr;
  Held held(self);
  if (!held.get())
    return -1;
  if (mxc_value_kind(held.get()) != MXC_TENSOR) {
    PyErr_Format(PyExc_BufferError, "%s is not a tensor", mxc_value_type(held.get()));
    return -1;
  }
  const ElementFormat &type = formats[mxc_tensor_dtype(held.get())];
  if (!type.format) {
    PyErr_SetString(PyExc_BufferError, "NumPy has no bf16: convert the tensor in mx, f32(x), or "
                                       "take it by DLPack");
    return -1;
  }
  if (flags & PyBUF_WRITABLE) {
    PyErr_SetString(PyExc_BufferError, "values of mx are read-only: copy the array to change it");
    return -1;
  }
  const void *data = elements(self, held.get());
  Export *exported = data ? new Export : nullptr;
  if (!exported)
    return -1;
  int rank = mxc_tensor_rank(held.get());
  Py_ssize_t stride = type.bytes;
  for (int i = rank - 1; i >= 0; --i) {
    exported->shape[i] = static_cast<Py_ssize_t>(mxc_tensor_shape(held.get())[i]);
    exported->strides[i] = stride;
    stride *= exported->shape[i] ? exported->shape[i] : 1;
  }
  view->buf = const_cast<void *>(data);
  view->len = static_cast<Py_ssize_t>(mxc_tensor_elements(held.get())) * type.bytes;
  view->itemsize = type.bytes;
  view->readonly = 1;
  view->ndim = rank;
  view->format = flags & PyBUF_FORMAT ? const_cast<char *>(type.format) : nullptr;
  view->shape = flags & PyBUF_ND ? exported->shape : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? exported->strides : nullptr;
  view->suboffsets = nullptr;
  exported->handle = held.take();
  view->internal = exported;
  view->obj = Py_NewRef(self);
  return 0;
}

static void releaseBuffer(PyObject *, Py_buffer *view) {
  Export *exported = static_cast<Export *>(view->internal);
  mxc_value_release(exported->handle);
  delete exported;
}

// ---------------------------------------------------------------------------------- DLPack

/// The start of DLManagedTensor and DLManagedTensorVersioned, up to their deleters.
struct Unversioned {
  struct {
    void *data;
    int32_t device[2];
    int32_t rank;
    uint8_t type[4];
    int64_t *shape, *strides;
    uint64_t offset;
  } tensor;
  void *context;
  void (*deleter)(Unversioned *);
};
struct Versioned {
  uint32_t major, minor;
  void *context;
  void (*deleter)(Versioned *);
};

template <class Managed> static void destroyCapsule(PyObject *capsule, const char *name) {
  if (!PyCapsule_IsValid(capsule, name)) // its consumer renamed it and calls the deleter
    return;
  auto *managed = static_cast<Managed *>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}
static void destroyUnversioned(PyObject *capsule) {
  destroyCapsule<Unversioned>(capsule, "dltensor");
}
static void destroyVersioned(PyObject *capsule) {
  destroyCapsule<Versioned>(capsule, "dltensor_versioned");
}

static PyObject *toDlpack(PyObject *self, PyObject *args, PyObject *keywords) {
  PyObject *stream = nullptr, *device = nullptr, *copy = nullptr, *newest = nullptr;
  static const char *names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$OOOO:__dlpack__", const_cast<char **>(names),
                                   &stream, &newest, &device, &copy))
    return nullptr;
  bool versioned = false;
  if (newest && PyTuple_Check(newest) && PyTuple_Size(newest) == 2)
    versioned = PyLong_AsLong(PyTuple_GetItem(newest, 0)) >= 1;
  if (copy == Py_True) {
    PyErr_SetString(PyExc_BufferError, "values of mx are exported without a copy");
    return nullptr;
  }
  Held held(self);
  if (!held.get())
    return nullptr;
  void *managed = nullptr;
  mxc_error *error = nullptr;
  if (!withoutLock(sessionOf(self), &error,
                   [&] { return mxc_tensor_to_dlpack(held.get(), versioned, &managed); }))
    return nullptr;
  return PyCapsule_New(managed, versioned ? "dltensor_versioned" : "dltensor",
                       versioned ? destroyVersioned : destroyUnversioned);
}
static PyObject *dlpackDevice(PyObject *, PyObject *) { return Py_BuildValue("(ii)", 1, 0); }

// -------------------------------------------------------------------------------- members

static PyObject *type(PyObject *self, void *) {
  Held held(self);
  return held.get() ? PyUnicode_FromString(mxc_value_type(held.get())) : nullptr;
}
static bool isTensor(PyObject *self, mxc_value *handle) {
  if (handle && mxc_value_kind(handle) != MXC_TENSOR)
    PyErr_Format(PyExc_AttributeError, "%s is not a tensor", mxc_value_type(handle));
  return handle && mxc_value_kind(handle) == MXC_TENSOR;
}
static PyObject *shape(PyObject *self, void *) {
  Held held(self);
  if (!isTensor(self, held.get()))
    return nullptr;
  int rank = mxc_tensor_rank(held.get());
  Ref tuple(PyTuple_New(rank));
  for (int i = 0; tuple && i < rank; ++i)
    if (PyTuple_SetItem(tuple.get(), i, PyLong_FromLongLong(mxc_tensor_shape(held.get())[i])) < 0)
      return nullptr;
  return tuple.take();
}
static PyObject *dtype(PyObject *self, void *) {
  Held held(self);
  return isTensor(self, held.get()) ? PyUnicode_FromString(formats[mxc_tensor_dtype(held.get())].name)
                                    : nullptr;
}

static PyObject *item(PyObject *self, PyObject *) {
  Held held(self);
  if (!isTensor(self, held.get()))
    return nullptr;
  mxc_dtype type = mxc_tensor_dtype(held.get());
  bool isFloat = type >= MXC_F16;
  double real = 0;
  int64_t whole = 0;
  mxc_error *error = nullptr;
  if (!withoutLock(sessionOf(self), &error, [&] {
        return isFloat ? mxc_value_as_float(held.get(), &real) : mxc_value_as_int(held.get(), &whole);
      }))
    return nullptr;
  return isFloat            ? PyFloat_FromDouble(real)
         : type == MXC_BOOL ? PyBool_FromLong(whole != 0)
                            : PyLong_FromLongLong(whole);
}

static PyObject *wait(PyObject *self, PyObject *) {
  Held held(self);
  mxc_error *error = nullptr;
  if (!held.get() ||
      !withoutLock(sessionOf(self), &error, [&] { return mxc_value_wait(held.get()); }))
    return nullptr;
  return Py_NewRef(self);
}

static PyObject *copy(PyObject *self, PyObject *) {
  Held held(self);
  return held.get() ? makeValue(held.take(), reinterpret_cast<Value *>(self)->session) : nullptr;
}

static PyObject *field(PyObject *self, PyObject *path) {
  Held held(self);
  const char *text = PyUnicode_Check(path) ? PyUnicode_AsUTF8AndSize(path, nullptr) : nullptr;
  if (!text) {
    if (!PyErr_Occurred())
      PyErr_SetString(PyExc_TypeError, "a path is expected, such as \"fc1.w\"");
    return nullptr;
  }
  mxc_value *out = nullptr;
  if (!held.get())
    return nullptr;
  if (mxc_error *error = mxc_value_field(held.get(), text, &out))
    return raise(error);
  return toPython(out, reinterpret_cast<Value *>(self)->session);
}

static PyObject *fields(PyObject *self, PyObject *) {
  Held held(self);
  Ref list(held.get() ? PyList_New(0) : nullptr);
  size_t count = list && mxc_value_kind(held.get()) == MXC_STRUCT ? mxc_value_count(held.get()) : 0;
  for (size_t i = 0; i < count; ++i) {
    Ref name(PyUnicode_FromString(mxc_value_field_name(held.get(), i)));
    if (!name || PyList_Append(list.get(), name.get()) < 0)
      return nullptr;
  }
  return list.take();
}

template <class T> static void *slot(T *function) { return reinterpret_cast<void *>(function); }

bool addValue(PyObject *module) {
  static PyGetSetDef members[] = {
      {"type", type, nullptr, "Its type in mx: \"f32[32, 10]\", \"Net\".", nullptr},
      {"shape", shape, nullptr, "The sizes of a tensor.", nullptr},
      {"dtype", dtype, nullptr, "The element type of a tensor: \"f32\".", nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyMethodDef methods[] = {
      {"item", item, METH_NOARGS, "item(): the one element of a tensor as a number of Python."},
      {"wait", wait, METH_NOARGS, "wait(): waits until it is computed, or raises why it is not."},
      {"copy", copy, METH_NOARGS, "copy(): a snapshot; memory is copied when one of the two changes."},
      {"field", field, METH_O, "field(path): a part of a struct or model, such as \"fc1.w\"."},
      {"fields", fields, METH_NOARGS, "fields(): the names of the parts of a struct or model."},
      {"__dlpack__", reinterpret_cast<PyCFunction>(toDlpack), METH_VARARGS | METH_KEYWORDS, nullptr},
      {"__dlpack_device__", dlpackDevice, METH_NOARGS, nullptr},
      {nullptr, nullptr, 0, nullptr}};
  PyType_Slot slots[] = {{Py_tp_dealloc, slot(destroy)},
                         {Py_bf_getbuffer, slot(getBuffer)},
                         {Py_bf_releasebuffer, slot(releaseBuffer)},
                         {Py_tp_getset, members},
                         {Py_tp_methods, methods},
                         {0, nullptr}};
  PyType_Spec spec = {"mx._mx.Value", sizeof(Value), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                      slots};
  types.value = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
  return types.value &&
         PyModule_AddObjectRef(module, "Value", reinterpret_cast<PyObject *>(types.value)) == 0;
}

} // namespace mx::python
