"""Reference values with a bound on the error that mx may have made.

A Value of floats holds what exact arithmetic gives, computed in numbers wider than those of mx, and
for each element how far a correct program may be from it: the error its operands had, carried
through the op, plus the rounding of the op itself. Integers and bools are exact. Where a result
cannot be told (a comparison closer than the errors, an overflow, a bound that says nothing any
more), Unclear is raised, and the generator takes another op.
"""

import numpy as np

WIDE = np.longdouble
NP = {"bool": np.bool_, "i8": np.int8, "u8": np.uint8, "i32": np.int32, "i64": np.int64}
INTS, FLOATS = ("i8", "u8", "i32", "i64"), ("f16", "f32", "f64")
# Half an ulp of 1, half of the smallest number, and what counts as too large.
UNIT = {"f16": WIDE(2) ** -11, "f32": WIDE(2) ** -24, "f64": WIDE(2) ** -53}
TINY = {"f16": WIDE(2) ** -25, "f32": WIDE(2) ** -150, "f64": WIDE(2) ** -1075}
LARGE = {"f16": WIDE(2) ** 13, "f32": WIDE(2) ** 100, "f64": WIDE(2) ** 900}
NATIVE = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
# A bound above this part of the value (or of 1) shows too little to go on with.
USEFUL = {"f16": WIDE("0.1"), "f32": WIDE("1e-3"), "f64": WIDE("1e-9")}
# Functions of the mathematical library are within this many half ulps.
LIBRARY = 8


class Unclear(Exception):
    """The result of an op cannot be predicted, or the op does not apply."""


class Value:
    def __init__(self, elem, ref, err=None):
        self.elem, self.ref = elem, np.asarray(ref)
        if elem in FLOATS:
            self.ref = self.ref.astype(WIDE)
            self.err = np.zeros(self.ref.shape, WIDE) if err is None else np.broadcast_to(err, self.ref.shape)
        else:
            self.ref, self.err = self.ref.astype(NP[elem]), None

    @property
    def shape(self):
        return self.ref.shape

    @property
    def size(self):
        return self.ref.size

    @property
    def is_float(self):
        return self.elem in FLOATS

    def type_text(self):
        return self.elem + (f"[{', '.join(map(str, self.shape))}]" if self.shape else "")

    def moved(self, f):
        """The same elements at other indices: `f` of the array."""
        return Value(self.elem, f(self.ref), f(self.err) if self.is_float else None)

    def exact(self):
        return not self.is_float or not np.any(self.err)


def rounded(elem, ref, err, half_ulps=1, special=False, correct=False):
    """A float Value after rounding. `special`: where an operand was infinite or NaN; `correct`: the
    op is correctly rounded, so a result that fits the type from exact operands is exact."""
    ref = np.asarray(ref, WIDE)
    err = np.broadcast_to(np.asarray(err, WIDE), ref.shape).copy()
    finite = np.isfinite(ref)
    if np.any(~finite & ~np.broadcast_to(special, ref.shape)):
        raise Unclear("finite operands give no finite result")
    err[(np.isnan(err) & np.broadcast_to(special, ref.shape)) | ~finite] = 0
    total = np.asarray(err + half_ulps * UNIT[elem] * (np.abs(ref) + err) + (TINY[elem] if half_ulps else 0))
    if correct:
        fits = (err == 0) & (ref.astype(NATIVE[elem]).astype(WIDE) == ref)
        total[fits] = 0
    total[~finite] = 0
    if np.any(~np.isfinite(total)) or np.any(finite & (np.abs(ref) + total > LARGE[elem])):
        raise Unclear("too large")
    if np.any(total > USEFUL[elem] * np.maximum(np.abs(ref), 1), where=finite):
        raise Unclear("the bound says nothing")
    return Value(elem, ref, total)


def special(*values):
    """Where any operand is infinite or NaN."""
    out = False
    for v in values:
        out = out | ~np.isfinite(v.ref)
    return out


# ------------------------------------------------------------------------------------ elementwise

def add(a, b, sign=1):
    if not a.is_float:
        return Value(a.elem, a.ref + b.ref if sign > 0 else a.ref - b.ref)
    return rounded(a.elem, a.ref + sign * b.ref, a.err + b.err, special=special(a, b), correct=True)


def sub(a, b):
    return add(a, b, -1)


def mul(a, b):
    if not a.is_float:
        return Value(a.elem, a.ref * b.ref)
    err = np.abs(a.ref) * b.err + np.abs(b.ref) * a.err + a.err * b.err
    return rounded(a.elem, a.ref * b.ref, err, special=special(a, b), correct=True)


def div(a, b):
    if not a.is_float:  # two conversions to f32 and a division there
        return div(cast(a, "f32"), cast(b, "f32"))
    near = np.abs(b.ref) - b.err
    if np.any(near <= 0):
        raise Unclear("division by what may be 0")
    z = a.ref / b.ref
    return rounded(a.elem, z, (a.err + np.abs(z) * b.err) / near, special=special(a, b), correct=True)


def monotone(f, a, half_ulps=LIBRARY, lowest=None):
    """A function that rises or falls everywhere: its error is that at the ends of the interval."""
    if lowest is not None and np.any(a.ref - a.err < lowest):
        raise Unclear("outside of the function's domain")
    z = f(a.ref)
    err = np.maximum(np.abs(f(a.ref + a.err) - z), np.abs(f(a.ref - a.err) - z))
    return rounded(a.elem, z, err, half_ulps, special(a))


def wave(f, a):
    if np.any(np.abs(a.ref) > 1000, where=np.isfinite(a.ref)):
        raise Unclear("far from 0")
    z = f(a.ref)
    return rounded(a.elem, z, a.err + LIBRARY * UNIT[a.elem], LIBRARY, special(a))


def stepped(f, a):
    """A function with steps, floor and its like: both ends of the interval must agree."""
    z = f(a.ref)
    low, high = f(a.ref - a.err), f(a.ref + a.err)
    if np.any((low != high) & np.isfinite(a.ref)):
        raise Unclear("at a step")
    return Value(a.elem, z)


def larger(a, b, pick=np.maximum):
    z = pick(a.ref, b.ref)
    if not a.is_float:
        return Value(a.elem, z)
    err = np.where(np.isfinite(z), np.where(np.isfinite(a.ref) & np.isfinite(b.ref),
                                            np.maximum(a.err, b.err),
                                            np.where(np.isfinite(a.ref), a.err, b.err)), 0)
    return Value(a.elem, z, err)


def compare(f, a, b):
    if a.is_float:
        gap = np.abs(a.ref - b.ref)
        close = (gap <= a.err + b.err) & ((a.err > 0) | (b.err > 0))
        if np.any(close & np.isfinite(a.ref) & np.isfinite(b.ref)):
            raise Unclear("closer than the errors")
    return Value("bool", f(a.ref, b.ref))


def select(c, a, b):
    ref = np.where(c.ref, a.ref, b.ref)
    return Value(a.elem, ref, np.where(c.ref, a.err, b.err) if a.is_float else None)


def cast(a, elem):
    if elem == "bool":
        return compare(np.not_equal, a, Value(a.elem, np.zeros(a.shape)))
    if elem in FLOATS:
        ref = a.ref.astype(WIDE)
        err = a.err if a.is_float else np.zeros(a.shape, WIDE)
        return rounded(elem, ref, err, special=~np.isfinite(ref), correct=True)
    if not a.is_float:
        return Value(elem, a.ref.astype(NP[elem]))
    whole = stepped(np.trunc, a).ref
    info = np.iinfo(NP[elem])
    inside = np.clip(np.where(np.isnan(whole), 0, whole), WIDE(info.min), WIDE(info.max))
    out = [int(v) for v in inside.reshape(-1)]
    return Value(elem, np.array(out, dtype=NP[elem]).reshape(a.shape))


# ------------------------------------------------------------------------------------- reductions

def count_along(shape, axis):
    axes = range(len(shape)) if axis is None else np.atleast_1d(axis)
    return int(np.prod([shape[i] for i in axes], dtype=np.int64))


def total(a, axis, keep=False):
    if not a.is_float:
        return Value(a.elem, np.sum(a.ref, axis=axis, keepdims=keep, dtype=NP[a.elem]))
    n = count_along(a.shape, axis)
    size = np.sum(np.abs(a.ref) + a.err, axis=axis, keepdims=keep)
    z = np.sum(a.ref, axis=axis, keepdims=keep)
    err = np.sum(a.err, axis=axis, keepdims=keep) + n * UNIT[a.elem] * np.where(np.isfinite(size), size, 0)
    return rounded(a.elem, z, err, special=np.any(~np.isfinite(a.ref), axis=axis, keepdims=keep))


def mean(a, axis, keep=False):
    n = count_along(a.shape, axis)
    if n == 0:
        raise Unclear("mean of nothing")
    return div(total(a, axis, keep), Value(a.elem, n))


def product(a, axis, keep=False):
    if not a.is_float:
        return Value(a.elem, np.prod(a.ref, axis=axis, keepdims=keep, dtype=NP[a.elem]))
    if np.any(~np.isfinite(a.ref)):
        raise Unclear("a product of what is not finite")
    high = np.prod(np.maximum(np.abs(a.ref) + a.err, 1), axis=axis, keepdims=keep)
    low = np.prod(np.minimum(np.where(a.ref == 0, 1, np.abs(a.ref)), 1), axis=axis, keepdims=keep)
    if np.any(high > LARGE[a.elem]) or np.any(low < 1 / LARGE[a.elem]):
        raise Unclear("a factor of the product may leave the range")
    n = count_along(a.shape, axis)
    z = np.prod(a.ref, axis=axis, keepdims=keep)
    wide = np.prod(np.abs(a.ref) + a.err, axis=axis, keepdims=keep)
    return rounded(a.elem, z, wide - np.abs(z) + n * UNIT[a.elem] * wide)


def largest(a, axis, keep=False, pick=np.max):
    if count_along(a.shape, axis) == 0:
        raise Unclear("the largest of nothing")
    z = pick(a.ref, axis=axis, keepdims=keep)
    if not a.is_float:
        return Value(a.elem, z)
    return Value(a.elem, z, np.where(np.isfinite(z), np.max(a.err, axis=axis, keepdims=keep), 0))


def index_of(a, axis, pick):
    """argmax and argmin: clear if no other element can be as large."""
    if a.shape[axis] == 0 or (a.is_float and np.any(~np.isfinite(a.ref))):
        raise Unclear("the index in an empty array")
    at = pick(a.ref, axis=axis)
    if a.is_float:
        best = np.take_along_axis(a.ref, np.expand_dims(at, axis), axis)
        slack = np.take_along_axis(a.err, np.expand_dims(at, axis), axis)
        near = (np.abs(a.ref - best) <= a.err + slack) & ((a.err > 0) | (slack > 0))
        if np.any(np.sum(near, axis=axis) > (np.take_along_axis(near, np.expand_dims(at, axis), axis)
                                             .squeeze(axis))):
            raise Unclear("two are as large")
    return Value("i32", at)


def matmul(a, b):
    if not a.is_float:
        return Value(a.elem, np.matmul(a.ref, b.ref))
    n = a.shape[-1]
    z = np.matmul(a.ref, b.ref)
    size = np.matmul(np.abs(a.ref) + a.err, np.abs(b.ref) + b.err)
    err = size - np.matmul(np.abs(a.ref), np.abs(b.ref)) + (n + 1) * UNIT[a.elem] * size
    bad = ~np.isfinite(np.matmul(np.abs(a.ref), np.abs(b.ref)))
    return rounded(a.elem, z, np.abs(err), special=bad)


def exp_shifted(a, axis):
    """exp(x - max x), which softmax and its like begin with, and the largest."""
    top = largest(a, axis, True)
    if np.any(~np.isfinite(a.ref)):
        raise Unclear("softmax of what is not finite")
    return monotone(np.exp, sub(a, top)), top
