// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values between Python and mx: numbers, texts, arrays through the buffer protocol (NumPy) and
// DLPack (PyTorch, JAX and others). Element types are never converted.
#include "Python/Binding.h"

#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

namespace mx::python {

// --------------------------------------------------------------------------- arrays to tensors

/// The element type of a buffer's format: one native item of the `struct` module.
static std::optional<mxc_dtype> elementType(const Py_buffer &view) {
  const char *format = view.format ? view.format : "B";
  if (*format == '@' || *format == '=' || *format == '<') // this machine is little-endian
    ++format;
  if (!format[0] || format[1])
    return std::nullopt;
  switch (*format) {
  case '?':
    return MXC_BOOL;
  case 'b':
    return MXC_I8;
  case 'B':
    return MXC_U8;
  case 'e':
    return MXC_F16;
  case 'f':
    return MXC_F32;
  case 'd':
    return MXC_F64;
  case 'i':
  case 'l':
  case 'q':
    if (view.itemsize == 4)
      return MXC_I32;
    if (view.itemsize == 8)
      return MXC_I64;
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

static mxc_value *unsupportedElements(PyObject *object, const Py_buffer &view) {
  Ref dtype(PyObject_GetAttrString(object, "dtype"));
  if (!dtype) {
    PyErr_Clear();
    dtype = Ref(PyUnicode_FromString(view.format ? view.format : "B"));
  }
  PyErr_Format(PyExc_TypeError,
               "tensors have no elements of type %S: convert the array to bool, int8, uint8, int32, "
               "int64, float16, float32 or float64",
               dtype.get());
  return nullptr;
}

/// Strides in elements; nullopt if they are not whole elements.
static std::optional<std::vector<int64_t>> elementStrides(const Py_buffer &view) {
  std::vector<int64_t> strides;
  for (int i = 0; i < view.ndim; ++i) {
    if (view.strides[i] % view.itemsize)
      return std::nullopt;
    strides.push_back(view.strides[i] / view.itemsize);
  }
  return strides;
}

/// Called by mx on any thread once no value refers to the memory.
static void releaseView(void *user) {
  if (!Py_IsInitialized())
    return; // the process ends, and the array with it
  PyGILState_STATE lock = PyGILState_Ensure();
  Py_buffer *view = static_cast<Py_buffer *>(user);
  PyBuffer_Release(view);
  delete view;
  PyGILState_Release(lock);
}

static mxc_value *finished(mxc_error *error, mxc_value *value) {
  if (error)
    raise(error);
  return value;
}

static mxc_value *copied(const Py_buffer &view, mxc_dtype type) {
  std::vector<int64_t> shape(view.shape, view.shape + view.ndim);
  std::unique_ptr<char, decltype(&std::free)> packed(nullptr, std::free);
  const void *elements = view.buf;
  if (!PyBuffer_IsContiguous(&view, 'C')) {
    packed.reset(static_cast<char *>(std::malloc(static_cast<size_t>(view.len) + 1)));
    if (!packed) {
      PyErr_NoMemory();
      return nullptr;
    }
    if (PyBuffer_ToContiguous(packed.get(), const_cast<Py_buffer *>(&view), view.len, 'C') < 0)
      return nullptr;
    elements = packed.get();
  }
  mxc_value *value = nullptr;
  mxc_error *error = mxc_tensor_copy(type, view.ndim, shape.data(), elements, &value);
  return finished(error, value);
}

static mxc_value *fromBuffer(PyObject *object, Memory memory) {
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(object, view.get(), PyBUF_RECORDS_RO) < 0)
    return nullptr;
  auto type = elementType(*view);
  std::optional<std::vector<int64_t>> strides;
  bool isAligned = type && reinterpret_cast<uintptr_t>(view->buf) % static_cast<size_t>(view->itemsize) == 0;
  if (type && memory == Memory::Borrowed && isAligned)
    strides = elementStrides(*view);
  mxc_value *value = nullptr;
  if (!type) {
    unsupportedElements(object, *view);
  } else if (!strides) {
    value = copied(*view, *type);
  } else {
    std::vector<int64_t> shape(view->shape, view->shape + view->ndim);
    mxc_error *error = mxc_tensor_borrow(*type, view->ndim, shape.data(), strides->data(), view->buf,
                                         0, releaseView, view.get(), &value);
    if (!error) {
      view.release();
      return value;
    }
    raise(error);
  }
  PyBuffer_Release(view.get());
  return value;
}

mxc_value *borrowWritable(PyObject *array) {
  if (!PyObject_CheckBuffer(array)) {
    PyErr_Format(PyExc_TypeError, "mx.mut takes a value of mx or a NumPy array, not %R",
                 reinterpret_cast<PyObject *>(Py_TYPE(array)));
    return nullptr;
  }
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(array, view.get(), PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE | PyBUF_FORMAT) < 0)
    return nullptr; // "ndarray is not C-contiguous", "… not writable"
  auto type = elementType(*view);
  mxc_value *value = nullptr;
  if (!type) {
    unsupportedElements(array, *view);
  } else {
    std::vector<int64_t> shape(view->shape, view->shape + view->ndim);
    mxc_error *error = mxc_tensor_borrow(*type, view->ndim, shape.data(), nullptr, view->buf,
                                         MXC_WRITABLE, releaseView, view.get(), &value);
    if (!error) {
      view.release();
      return value;
    }
    raise(error);
  }
  PyBuffer_Release(view.get());
  return value;
}

static mxc_value *fromDlpack(PyObject *object, mxc_session *session, Memory memory) {
  Ref capsule(PyObject_CallMethod(object, "__dlpack__", nullptr));
  if (!capsule)
    return nullptr;
  void *managed = PyCapsule_GetPointer(capsule.get(), "dltensor");
  if (!managed)
    return nullptr;
  mxc_value *value = nullptr;
  if (mxc_error *error = mxc_tensor_from_dlpack(session, managed, /*versioned=*/0, &value)) {
    raise(error);
    return nullptr;
  }
  if (PyCapsule_SetName(capsule.get(), "used_dltensor") < 0)
    PyErr_Clear(); // its deleter is called by mx alone
  if (memory == Memory::Borrowed)
    return value;
  const void *elements = nullptr;
  mxc_value *copy = nullptr;
  mxc_error *error = mxc_tensor_data(value, &elements);
  if (!error)
    error = mxc_tensor_copy(mxc_tensor_dtype(value), mxc_tensor_rank(value), mxc_tensor_shape(value),
                            elements, &copy);
  mxc_value_release(value);
  return finished(error, copy);
}

mxc_value *fromPython(PyObject *object, mxc_session *session, Memory memory) {
  mxc_value *value = nullptr;
  if (PyObject_TypeCheck(object, types.value)) {
    mxc_value *handle = handleOf(object);
    return handle ? mxc_value_retain(handle) : nullptr;
  }
  if (PyBool_Check(object)) {
    value = mxc_bool(object == Py_True);
  } else if (PyLong_Check(object)) {
    long long number = PyLong_AsLongLong(object);
    if (number == -1 && PyErr_Occurred())
      return nullptr;
    value = mxc_int(number);
  } else if (PyFloat_Check(object)) {
    value = mxc_float(PyFloat_AsDouble(object));
  } else if (PyUnicode_Check(object)) {
    Py_ssize_t size = 0;
    const char *text = PyUnicode_AsUTF8AndSize(object, &size);
    if (!text)
      return nullptr;
    value = mxc_text(text, static_cast<size_t>(size));
  } else if (PyObject_CheckBuffer(object)) {
    return fromBuffer(object, memory);
  } else if (PyObject_HasAttrString(object, "__dlpack__")) {
    return fromDlpack(object, session, memory);
  } else {
    bool isList = PyList_Check(object) || PyTuple_Check(object);
    PyErr_Format(PyExc_TypeError, "%R cannot be passed to mx: %s",
                 reinterpret_cast<PyObject *>(Py_TYPE(object)),
                 isList ? "make an array of it, such as np.array(x, np.float32)"
                        : "values of mx, numbers, texts, NumPy arrays and tensors with DLPack can");
    return nullptr;
  }
  if (!value)
    PyErr_NoMemory();
  return value;
}

// ------------------------------------------------------------------------------- results

static PyObject *parts(mxc_value *handle, PyObject *session, bool isTuple) {
  Py_ssize_t count = static_cast<Py_ssize_t>(mxc_value_count(handle));
  Ref all(isTuple ? PyTuple_New(count) : PyList_New(count));
  for (Py_ssize_t i = 0; all && i < count; ++i) {
    mxc_value *item = nullptr;
    if (mxc_error *error = mxc_value_item(handle, static_cast<size_t>(i), &item))
      return raise(error);
    PyObject *part = toPython(item, session);
    if (!part || (isTuple ? PyTuple_SetItem(all.get(), i, part) : PyList_SetItem(all.get(), i, part)) < 0)
      return nullptr;
  }
  return all.take();
}

/// A number or text, without taking the handle over.
static PyObject *number(mxc_value *handle, mxc_kind kind) {
  double real = 0;
  int64_t whole = 0;
  if (kind == MXC_FLOAT_NUMBER) {
    mxc_error *error = mxc_value_as_float(handle, &real);
    return error ? raise(error) : PyFloat_FromDouble(real);
  }
  if (mxc_error *error = mxc_value_as_int(handle, &whole))
    return raise(error);
  return kind == MXC_BOOL_NUMBER ? PyBool_FromLong(whole != 0) : PyLong_FromLongLong(whole);
}

PyObject *toPython(mxc_value *handle, PyObject *session) {
  if (!handle)
    Py_RETURN_NONE;
  PyObject *result = nullptr;
  switch (mxc_kind kind = mxc_value_kind(handle)) {
  case MXC_TENSOR:
  case MXC_STRUCT:
    return makeValue(handle, session);
  case MXC_BOOL_NUMBER:
  case MXC_INT_NUMBER:
  case MXC_FLOAT_NUMBER:
    result = number(handle, kind);
    break;
  case MXC_TEXT: {
    size_t size = 0;
    const char *text = mxc_value_as_text(handle, &size);
    result = PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(size), "replace");
    break;
  }
  case MXC_TUPLE:
    result = parts(handle, session, /*isTuple=*/true);
    break;
  case MXC_ARRAY:
    result = parts(handle, session, /*isTuple=*/false);
    break;
  }
  mxc_value_release(handle);
  return result;
}

} // namespace mx::python
