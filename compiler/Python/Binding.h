// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Python extension module `mx._mx`: sessions, programs, functions and values of mxc.h as Python
// objects. It uses the stable ABI of Python 3.11 and the public C interface, nothing else; the
// package `mx` (mx/__init__.py) adds what is easier to write in Python.
//
// Threads: the interpreter's lock is released while mx compiles, runs or waits. Values that a
// running call changes are out of reach for other threads until it ends.
#ifndef MXC_PYTHON_BINDING_H
#define MXC_PYTHON_BINDING_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include "mxc/mxc.h"

#include <utility>

namespace mx::python {

/// An owned reference to a Python object.
class Ref {
public:
  Ref() = default;
  explicit Ref(PyObject *object) : object(object) {}
  Ref(Ref &&other) noexcept : object(std::exchange(other.object, nullptr)) {}
  Ref &operator=(Ref other) noexcept {
    std::swap(object, other.object);
    return *this;
  }
  Ref(const Ref &) = delete;
  ~Ref() { Py_XDECREF(object); }

  static Ref borrowed(PyObject *object) { return Ref(Py_XNewRef(object)); }
  PyObject *get() const { return object; }
  PyObject *take() { return std::exchange(object, nullptr); }
  explicit operator bool() const { return object != nullptr; }

private:
  PyObject *object = nullptr;
};

struct Session {
  PyObject_HEAD
  mxc_session *handle;
  PyObject *print;  // called with each line of a program's output; null: sys.stdout
  PyObject *notice; // called with warnings and notes; null: sys.stderr
};
struct Module {
  PyObject_HEAD
  mxc_module *handle;
  PyObject *session;
  PyObject *functions; // by name, cached at the first lookup
};
struct Function {
  PyObject_HEAD
  mxc_function *handle;
  PyObject *session;
};
struct Value {
  PyObject_HEAD
  mxc_value *handle; // null while a call changes it
  PyObject *session;
};
/// An argument that a call changes: a Value, or an array whose memory it writes.
struct Mut {
  PyObject_HEAD
  PyObject *target;
};

/// The types of the module, created once on import.
struct Types {
  PyTypeObject *session, *module, *function, *value, *mut;
  /// The class of new values: `Value` of the package, a subclass of `value`.
  PyObject *madeValue;
  PyObject *error;
};
extern Types types;

/// Creates the type in `types`, and adds it to the module under its name.
bool addSession(PyObject *module);
bool addProgram(PyObject *module);
bool addValue(PyObject *module);

/// Raises mx.Error with the code and text of `error`, which is released. Always nullptr.
PyObject *raise(mxc_error *error);

/// The value as Python sees it: a number, str, tuple, list or Value; None for a null handle. Takes
/// the handle over.
PyObject *toPython(mxc_value *handle, PyObject *session);
/// A new Value that owns the handle.
PyObject *makeValue(mxc_value *handle, PyObject *session);
/// The handle of a Value; raises RuntimeError if a running call changes it.
mxc_value *handleOf(PyObject *value);

/// Ownership of an argument's memory.
enum class Memory {
  Copied,  // the call may return before the memory is read, or keep it
  Borrowed // it is read during the call only
};
/// The value of an argument, owned by the caller; raises TypeError if there is none.
mxc_value *fromPython(PyObject *object, mxc_session *session, Memory memory);
/// A tensor over the memory of an array, which the call writes.
mxc_value *borrowWritable(PyObject *array);

/// A call into mx that may take long. The interpreter's lock is released; on the main thread Ctrl-C
/// cancels what the session runs, and the exception of Python's handler is raised.
template <class Body> bool withoutLock(mxc_session *session, mxc_error **error, Body &&body);

/// Cancels the session on SIGINT while it exists, then lets Python's handler see the signal. Does
/// nothing on other threads.
class Interruptible {
public:
  explicit Interruptible(mxc_session *session);
  ~Interruptible();
  Interruptible(const Interruptible &) = delete;

  /// Whether there was a SIGINT; ends the state that it left in the session.
  bool finish();

private:
  mxc_session *session = nullptr;
  bool finished = false;
};

template <class Body> bool withoutLock(mxc_session *session, mxc_error **error, Body &&body) {
  Interruptible guard(session);
  Py_BEGIN_ALLOW_THREADS;
  *error = body();
  Py_END_ALLOW_THREADS;
  if (guard.finish() && PyErr_CheckSignals()) {
    mxc_error_release(*error); // of the cancellation: the exception says why
    *error = nullptr;
    return false;
  }
  if (*error)
    raise(*error);
  return !PyErr_Occurred();
}

} // namespace mx::python

#endif // MXC_PYTHON_BINDING_H
