# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""libmxc from Python, as far as the benchmark needs it: mxc/mxc.h by ctypes, tensors as NumPy arrays. Those of uint16
are the bits of bf16, which NumPy does not have."""
import ctypes as c

import numpy as np

DTYPES = {np.dtype(np.bool_): 0, np.dtype(np.int8): 1, np.dtype(np.uint8): 2, np.dtype(np.int32): 3,
          np.dtype(np.int64): 4, np.dtype(np.float16): 5, np.dtype(np.uint16): 6, np.dtype(np.float32): 7, np.dtype(np.float64): 8}
OF_NUMBER = {number: dtype for dtype, number in DTYPES.items()}
TENSOR, MUT = 0, 1


class Options(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("threads", c.c_int32), ("memory_limit", c.c_int64),
                ("arena_limit", c.c_int64), ("cache_folder", c.c_char_p), ("stdlib_folder", c.c_char_p),
                ("log_folder", c.c_char_p), ("seed", c.c_int64), ("settings", c.c_void_p),
                ("setting_count", c.c_size_t), ("eager", c.c_int32), ("check_nan", c.c_int32),
                ("print", c.c_void_p), ("notice", c.c_void_p), ("user", c.c_void_p)]


class Argument(c.Structure):
    _fields_ = [("value", c.c_void_p), ("name", c.c_char_p), ("flags", c.c_uint32)]


class Library:
    def __init__(self, path):
        self.c = c.CDLL(path)
        for name in ["mxc_session_create", "mxc_load_source", "mxc_module_function", "mxc_call", "mxc_tensor_copy",
                     "mxc_value_wait", "mxc_tensor_data", "mxc_value_item"]:
            getattr(self.c, name).restype = c.c_void_p
        for name in ["mxc_error_text", "mxc_function_signature"]:
            getattr(self.c, name).restype = c.c_char_p
        for name in ["mxc_value_count", "mxc_module_function_count"]:
            getattr(self.c, name).restype = c.c_size_t
        self.c.mxc_tensor_shape.restype = c.POINTER(c.c_int64)

    def check(self, error):
        if error:
            text = self.c.mxc_error_text(c.c_void_p(error)).decode()
            self.c.mxc_error_release(c.c_void_p(error))
            raise RuntimeError(text)

    def value(self, array):
        array = np.ascontiguousarray(array)
        shape = (c.c_int64 * max(array.ndim, 1))(*array.shape)
        out = c.c_void_p()
        self.check(self.c.mxc_tensor_copy(DTYPES[array.dtype], array.ndim, shape, array.ctypes.data_as(c.c_void_p),
                                          c.byref(out)))
        return out

    def arrays(self, value):
        """A tensor as an array; anything with parts as a list."""
        if self.c.mxc_value_kind(value) != TENSOR:
            out = []
            for i in range(self.c.mxc_value_count(value)):
                part = c.c_void_p()
                self.check(self.c.mxc_value_item(value, c.c_size_t(i), c.byref(part)))
                out.append(self.arrays(part))
                self.c.mxc_value_release(part)
            return out
        data = c.c_void_p()
        self.check(self.c.mxc_tensor_data(value, c.byref(data)))
        rank = self.c.mxc_tensor_rank(value)
        shape = [self.c.mxc_tensor_shape(value)[i] for i in range(rank)]
        dtype = OF_NUMBER[self.c.mxc_tensor_dtype(value)]
        count = int(np.prod(shape, dtype=np.int64))
        return np.frombuffer(c.string_at(data, count * dtype.itemsize), dtype).reshape(shape).copy()


class Session:
    def __init__(self, library, threads, cache=None):
        self.library = library
        options = Options(struct_size=c.sizeof(Options), threads=threads)
        if cache:
            options.cache_folder = cache.encode()
        self.handle = c.c_void_p()
        library.check(library.c.mxc_session_create(c.byref(options), c.byref(self.handle)))

    def load(self, name, text):
        module, data = c.c_void_p(), text.encode()
        self.library.check(self.library.c.mxc_load_source(self.handle, name.encode(), data, c.c_size_t(len(data)),
                                                          c.byref(module)))
        return module

    def function(self, module, name):
        out = c.c_void_p()
        self.library.check(self.library.c.mxc_module_function(module, name.encode(), c.byref(out)))
        return out

    def destroy(self):
        self.library.c.mxc_session_destroy(self.handle)


class Call:
    """A call of a function with arguments that stay; those that it changes become what it made of them."""

    def __init__(self, session, function, arguments, changed=()):
        self.library, self.f = session.library, function
        self.arguments = (Argument * max(len(arguments), 1))()
        for i, value in enumerate(arguments):
            self.arguments[i] = Argument(value, None, MUT if i in changed else 0)
        self.count = c.c_size_t(len(arguments))

    def __call__(self):
        result = c.c_void_p()
        self.library.check(self.library.c.mxc_call(self.f, self.arguments, self.count, 0, c.byref(result)))
        if result:
            self.library.check(self.library.c.mxc_value_wait(result))
        return result

    def run(self, times):
        for _ in range(times):
            self.library.c.mxc_value_release(self())

    def release(self):
        for i in range(self.count.value):
            self.library.c.mxc_value_release(c.c_void_p(self.arguments[i].value))
