"""The ops that random programs are made of: how each is chosen, written and evaluated.

An Op has `make(g)` (the names and attributes of a new use, or None), `text(names, attrs, types)` (mx
text; types are pairs of element type and shape) and `ref(values, attrs)` (the reference Value, or
Unclear). Attributes are plain data, so programs can be stored and cut down.
"""

import numpy as np

from bounds import FLOATS, INTS, Unclear

OPS = {}
NUMBERS = INTS + FLOATS
LIMIT = 240  # elements of a value


class Op:
    def __init__(self, name, make, text, ref, weight=1.0, lines=None):
        self.name, self.make, self.weight = name, make, weight
        self._text, self._ref, self._lines = text, ref, lines
        OPS[name] = self

    def lines(self, name, names, attrs, types):
        if self._lines:
            return self._lines(name, names, attrs, types)
        return [f"let {name} = {self._text(names, attrs, types)}"]

    def ref(self, values, attrs):
        with np.errstate(all="ignore"):
            out = self._ref(values, attrs)
        if out.size > LIMIT:
            raise Unclear("too large a tensor")
        return out


def number(elem, v):
    """A literal; it takes the type of what it is combined with."""
    if elem in FLOATS:
        return repr(float(v))
    return ("true" if v else "false") if elem == "bool" else str(int(v))
