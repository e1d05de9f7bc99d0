// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `mx.Session`: options from keyword arguments, programs from files and text, output to Python.
#include "Python/Binding.h"

#include <string>
#include <vector>

namespace mx::python {

/// Passes text on to a Python function, or to a stream of `sys`. Runs on any thread.
static void write(PyObject *function, const char *stream, const char *text, size_t size) {
  PyGILState_STATE lock = PyGILState_Ensure();
  {
    Ref line(PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(size), "replace"));
    Ref result;
    if (line && function)
      result = Ref(PyObject_CallFunctionObjArgs(function, line.get(), nullptr));
    else if (PyObject *file = line ? PySys_GetObject(stream) : nullptr; file && file != Py_None)
      result = Ref(PyObject_CallMethod(file, "write", "O", line.get()));
    if (PyErr_Occurred())
      PyErr_WriteUnraisable(function);
  }
  PyGILState_Release(lock);
}
static void print(void *user, const char *text, size_t size) {
  write(static_cast<Session *>(user)->print, "stdout", text, size);
}
static void notice(void *user, const char *text, size_t size) {
  write(static_cast<Session *>(user)->notice, "stderr", text, size);
}

/// The text of an option of a program: what one would write behind `name=` on the command line.
static bool settingText(PyObject *value, std::string &out) {
  if (PyBool_Check(value)) {
    out = value == Py_True ? "true" : "false";
    return true;
  }
  Ref text(PyObject_Str(value));
  const char *raw = text ? PyUnicode_AsUTF8AndSize(text.get(), nullptr) : nullptr;
  if (raw)
    out = raw;
  return raw != nullptr;
}

static bool readSettings(PyObject *dict, std::vector<std::pair<std::string, std::string>> &out) {
  if (!dict || dict == Py_None)
    return true;
  if (!PyDict_Check(dict)) {
    PyErr_SetString(PyExc_TypeError, "`settings` is a dict of names and values");
    return false;
  }
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(dict, &position, &key, &value)) {
    const char *name = PyUnicode_AsUTF8AndSize(key, nullptr);
    std::string text;
    if (!name || !settingText(value, text))
      return false;
    out.emplace_back(name, text);
  }
  return true;
}

static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  mxc_options options;
  mxc_options_init(&options);
  PyObject *settings = nullptr, *print = nullptr, *notice = nullptr;
  int eager = 0, checkNan = 0, tune = 0;
  long long memory = 0, arena = 0, seed = 0;
  static const char *names[] = {"threads", "memory_limit", "arena_limit", "seed",  "settings",
                                "eager",   "check_nan",    "tune",        "print", "notice",
                                "cache",   "stdlib",       "log",         nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$iLLLOpppOOzzz:Session",
                                   const_cast<char **>(names), &options.threads, &memory, &arena,
                                   &seed, &settings, &eager, &checkNan, &tune, &print, &notice,
                                   &options.cache_folder, &options.stdlib_folder,
                                   &options.log_folder))
    return nullptr;
  std::vector<std::pair<std::string, std::string>> texts;
  if (!readSettings(settings, texts))
    return nullptr;
  std::vector<mxc_setting> raw;
  for (auto &[name, value] : texts)
    raw.push_back({name.c_str(), value.c_str()});
  for (PyObject *function : {print, notice})
    if (function && function != Py_None && !PyCallable_Check(function)) {
      PyErr_SetString(PyExc_TypeError, "`print` and `notice` are functions of a text");
      return nullptr;
    }

  auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  Ref self(allocate(type, 0));
  if (!self)
    return nullptr;
  Session *session = reinterpret_cast<Session *>(self.get());
  session->print = print == Py_None ? nullptr : Py_XNewRef(print);
  session->notice = notice == Py_None ? nullptr : Py_XNewRef(notice);
  options.memory_limit = memory;
  options.arena_limit = arena;
  options.seed = seed;
  options.eager = eager;
  options.check_nan = checkNan;
  options.tune = tune;
  options.settings = raw.data();
  options.setting_count = raw.size();
  options.print = python::print;
  options.notice = python::notice;
  options.user = session;
  if (mxc_error *error = mxc_session_create(&options, &session->handle))
    return raise(error);
  return self.take();
}

static void destroy(PyObject *self) {
  Session *session = reinterpret_cast<Session *>(self);
  if (session->handle) {
    Py_BEGIN_ALLOW_THREADS; // running calls may print
    mxc_session_destroy(session->handle);
    Py_END_ALLOW_THREADS;
  }
  Py_CLEAR(session->print);
  Py_CLEAR(session->notice);
  PyTypeObject *type = Py_TYPE(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

static PyObject *makeModule(PyObject *session, mxc_module *handle) {
  Ref functions(PyDict_New());
  Module *module = functions ? PyObject_New(Module, types.module) : nullptr;
  if (!module)
    return nullptr;
  module->functions = functions.take();
  module->handle = handle;
  module->session = Py_NewRef(session);
  return reinterpret_cast<PyObject *>(module);
}

static PyObject *load(PyObject *self, PyObject *path) {
  PyObject *bytes = nullptr;
  if (!PyUnicode_FSConverter(path, &bytes))
    return nullptr;
  Ref owned(bytes);
  mxc_session *session = reinterpret_cast<Session *>(self)->handle;
  mxc_module *module = nullptr;
  mxc_error *error = nullptr;
  const char *file = PyBytes_AsString(bytes);
  if (!withoutLock(session, &error, [&] { return mxc_load_file(session, file, &module); }))
    return nullptr;
  return makeModule(self, module);
}

static PyObject *compile(PyObject *self, PyObject *args, PyObject *keywords) {
  const char *text = nullptr, *name = "<string>";
  Py_ssize_t size = 0;
  static const char *names[] = {"source", "name", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "s#|s:compile", const_cast<char **>(names),
                                   &text, &size, &name))
    return nullptr;
  mxc_session *session = reinterpret_cast<Session *>(self)->handle;
  mxc_module *module = nullptr;
  mxc_error *error = nullptr;
  if (!withoutLock(session, &error, [&] {
        return mxc_load_source(session, name, text, static_cast<size_t>(size), &module);
      }))
    return nullptr;
  return makeModule(self, module);
}

static PyObject *memory(PyObject *self, PyObject *) {
  mxc_memory memory;
  if (mxc_error *error = mxc_session_memory(reinterpret_cast<Session *>(self)->handle, &memory))
    return raise(error);
  return Py_BuildValue("{s:L,s:L,s:L,s:L}", "live", static_cast<long long>(memory.live_bytes),
                       "peak", static_cast<long long>(memory.peak_bytes), "held",
                       static_cast<long long>(memory.held_bytes), "limit",
                       static_cast<long long>(memory.limit_bytes));
}

static PyObject *cancel(PyObject *self, PyObject *) {
  mxc_session_cancel(reinterpret_cast<Session *>(self)->handle);
  Py_RETURN_NONE;
}
static PyObject *resume(PyObject *self, PyObject *) {
  mxc_session_resume(reinterpret_cast<Session *>(self)->handle);
  Py_RETURN_NONE;
}

bool addSession(PyObject *module) {
  static PyMethodDef methods[] = {
      {"load", load, METH_O, "load(path): checks a program, runs its top level, and returns it."},
      {"compile", reinterpret_cast<PyCFunction>(compile), METH_VARARGS | METH_KEYWORDS,
       "compile(source, name=\"<string>\"): the same for a text."},
      {"memory", memory, METH_NOARGS, "memory(): bytes of tensors: live, peak, held, limit."},
      {"cancel", cancel, METH_NOARGS, "cancel(): ends all that runs with R0004, until resume()."},
      {"resume", resume, METH_NOARGS, "resume(): accepts calls again."},
      {nullptr, nullptr, 0, nullptr}};
  static const char doc[] =
      "Session(*, threads=0, memory_limit=0, arena_limit=0, seed=0, settings=None, eager=False,\n"
      "        check_nan=False, tune=False, print=None, notice=None, cache=None, stdlib=None, "
      "log=None)\n\nCompiles and runs programs. Sessions share nothing but the cache on disk.";
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void *>(create)},
                         {Py_tp_dealloc, reinterpret_cast<void *>(destroy)},
                         {Py_tp_methods, methods},
                         {Py_tp_doc, const_cast<char *>(doc)},
                         {0, nullptr}};
  PyType_Spec spec = {"mx.Session", sizeof(Session), 0, Py_TPFLAGS_DEFAULT, slots};
  types.session = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
  return types.session && PyModule_AddObjectRef(module, "Session",
                                                reinterpret_cast<PyObject *>(types.session)) == 0;
}

} // namespace mx::python
