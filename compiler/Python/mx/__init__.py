# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mx in Python: programs are loaded or compiled from text, and called with NumPy arrays.

    import mx, numpy as np

    program = mx.compile('''
    graph fn smooth(x: f32[N]) -> f32[N] { 0.5 * x + 0.5 * tanh(x) }
    ''')
    y = program.smooth(np.linspace(-3, 3, 7, dtype=np.float32))
    print(np.asarray(y))

Functions, graphs, models and variables of a program are its attributes; `program["Linear[2, 1]"]`
is a model of given sizes. Numbers, texts, NumPy arrays and whatever supports DLPack can be
arguments; element types are never converted. Results are `Value`s, which NumPy and DLPack read
without a copy, or numbers and texts of Python. `mx.mut(x)` marks an argument that the call changes.
Errors of the compiler and of a run are `mx.Error`, with the text that the command `mxc` prints.
"""

import numpy as _np

from . import _mx
from ._mx import Error, Function, Module, Session, mut

__all__ = ["Error", "Function", "Module", "Session", "Value", "compile", "load", "mut", "session"]
__version__ = _mx.version()


class Value(_mx.Value, _np.lib.mixins.NDArrayOperatorsMixin):
    """A tensor, struct or model of mx. Arithmetic and indexing are NumPy's; fields are attributes."""

    __slots__ = ()

    def numpy(self):
        """The elements as a read-only array, without a copy."""
        return _np.asarray(self)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        if any(isinstance(x, Value) for x in options.get("out", ())):
            return NotImplemented
        arrays = [x.numpy() if isinstance(x, Value) else x for x in inputs]
        return getattr(ufunc, method)(*arrays, **options)

    def __getattr__(self, name):
        if name.startswith("__") or name not in self.fields():
            raise AttributeError(f"{self.type} has no `{name}`")
        return self.field(name)

    def __dir__(self):
        return [*super().__dir__(), *self.fields()]

    def __getitem__(self, index):
        return self.field(index) if isinstance(index, str) else self.numpy()[index]

    def __len__(self):
        return len(self.numpy())

    def __iter__(self):
        return iter(self.numpy())

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, _):
        return self.copy()  # values never change under another name

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __index__(self):
        return self.item().__index__()

    def __bool__(self):
        return bool(self.item())

    def __complex__(self):
        return complex(self.item())

    def __format__(self, spec):
        return format(self.item() if spec else self, spec)

    def __str__(self):
        return repr(self) if self.fields() or self.shape else str(self.item())

    def __repr__(self):
        if self.fields():
            return f"<mx {self.type}>"
        return f"{self.type} {self.numpy()}" if self.dtype != "bf16" else self.type


Value.__module__ = "mx"
_mx.use_value_type(Value)

_default = None


def session():
    """The session of `load` and `compile`, made when it is first needed."""
    global _default
    if _default is None:
        _default = Session()
    return _default


def load(path):
    """Checks the program in a file, runs its top level, and returns it as a `Module`."""
    return session().load(path)


def compile(source, name="<string>"):  # pylint: disable=redefined-builtin
    """The same for a program that is a text; `name` is what messages call it."""
    return session().compile(source, name)


def load_ipython_extension(shell):
    """`%load_ext mx` in a notebook or IPython: see mx.notebook."""
    from . import notebook

    notebook.register(shell)
