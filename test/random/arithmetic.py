"""Ops of random programs that compute: elementwise ops, reductions and products (see registry.py)."""

import itertools

import numpy as np

import bounds as B
from bounds import FLOATS, INTS, NATIVE, Unclear, Value
from registry import NUMBERS, Op, number


def constant(v, elem):
    return Value(elem, v)


# ------------------------------------------------------------------------------------ elementwise

def aligned(names, types):
    """Operands with the same number of dimensions, as mx asks for (S12)."""
    rank = max(len(t[1]) for t in types)
    return [n if not t[1] or len(t[1]) == rank else
            f"{n}[{', '.join(['new'] * (rank - len(t[1])) + [':'] * len(t[1]))}]" for n, t in zip(names, types)]


def fit(a, b):
    return all(x == y or x == 1 or y == 1 for x, y in zip(a[::-1], b[::-1]))


def pair(g, elems):
    a = g.some(lambda v: v.elem in elems)
    if a is None:
        return None
    x = g.value(a)
    b = g.some(lambda v: v.elem == x.elem and fit(v.shape, x.shape))
    return [a, b]


def binary(symbol, elems, ref, weight=1.0, call=False):
    def text(names, attrs, types):
        a, b = aligned(names, types)
        return f"{symbol}({a}, {b})" if call else f"{a} {symbol} {b}"

    def make(g):
        names = pair(g, elems)
        return names and (names, {})
    Op(symbol, make, text, lambda v, attrs: ref(*v), weight)

    def make_literal(g):
        a = g.some(lambda v: v.elem in elems)
        if a is None:
            return None
        elem = g.value(a).elem
        # Neutral numbers are likely: passes look for them.
        choices = ([0, 1, 1, 2, 3] if elem in INTS else [True, False] if elem == "bool"
                   else [0.0, 1.0, 1.0, 0.5, 2.0, -3.0, 0.1])
        return [a], {"value": g.choice(choices), "left": g.chance(0.3)}

    def literal(v, attrs):
        elem = v[0].elem
        value = float(NATIVE[elem](attrs["value"])) if elem in FLOATS else attrs["value"]
        operands = [v[0], constant(value, elem)]
        return ref(*(operands[::-1] if attrs["left"] else operands))

    def literal_text(names, attrs, types):
        parts = [names[0], number(types[0][0], attrs["value"])]
        a, b = parts[::-1] if attrs["left"] else parts
        return f"{symbol}({a}, {b})" if call else f"{a} {symbol} {b}"
    Op(symbol + " literal", make_literal, literal_text, literal, weight * 0.7)


def int_divide(f):
    def ref(a, b):
        if np.any(b.ref == 0):
            raise Unclear("division by 0")
        return Value(a.elem, f(a.ref, b.ref))
    return ref


binary("+", NUMBERS, B.add, 3)
binary("-", NUMBERS, B.sub, 3)
binary("*", NUMBERS, B.mul, 3)
binary("/", NUMBERS, B.div, 1.5)
binary("//", INTS, int_divide(np.floor_divide), 0.6)
binary("%", INTS, int_divide(np.mod), 0.6)
binary("maximum", NUMBERS, B.larger, 1, call=True)
binary("minimum", NUMBERS, lambda a, b: B.larger(a, b, np.minimum), 1, call=True)
for symbol, f in [("==", np.equal), ("!=", np.not_equal), ("<", np.less), ("<=", np.less_equal), (">", np.greater),
                  (">=", np.greater_equal)]:
    binary(symbol, NUMBERS, lambda a, b, f=f: B.compare(f, a, b), 0.5)
for name, f in [("bit_and", np.bitwise_and), ("bit_or", np.bitwise_or), ("bit_xor", np.bitwise_xor)]:
    binary(name, INTS, lambda a, b, f=f: Value(a.elem, f(a.ref, b.ref)), 0.3, call=True)
binary("and", ("bool",), lambda a, b: Value("bool", a.ref & b.ref), 0.7)
binary("or", ("bool",), lambda a, b: Value("bool", a.ref | b.ref), 0.7)


def unary(name, elems, ref, weight=0.5, text=None):
    def make(g):
        a = g.some(lambda v: v.elem in elems)
        return a and ([a], {})
    Op(name, make, lambda names, attrs, types: (text or name + "({})").format(names[0]),
       lambda v, attrs: ref(v[0]), weight)


def negated(a):
    return Value(a.elem, -a.ref if a.elem != "u8" else np.uint8(0) - a.ref, a.err)


unary("neg", NUMBERS, negated, 1, "-{}")
unary("abs", NUMBERS, lambda a: Value(a.elem, np.abs(a.ref), a.err), 1)
unary("not", ("bool",), lambda a: Value("bool", ~a.ref), 0.7, "not {}")
unary("bit_not", INTS, lambda a: Value(a.elem, np.invert(a.ref)), 0.4)
unary("sign", FLOATS, lambda a: B.stepped(np.sign, a))
unary("exp", FLOATS, lambda a: B.monotone(np.exp, a), 1)
unary("expm1", FLOATS, lambda a: B.monotone(np.expm1, a), 0.3)
unary("log", FLOATS, lambda a: B.monotone(np.log, a, lowest=1e-3))
unary("log1p", FLOATS, lambda a: B.monotone(np.log1p, a, lowest=-0.9), 0.3)
unary("sqrt", FLOATS, lambda a: B.monotone(np.sqrt, a, 1, lowest=1e-6))
unary("rsqrt", FLOATS, lambda a: B.monotone(lambda x: 1 / np.sqrt(x), a, lowest=1e-3), 0.3)
unary("tanh", FLOATS, lambda a: B.monotone(np.tanh, a), 1)
unary("sin", FLOATS, lambda a: B.wave(np.sin, a))
unary("cos", FLOATS, lambda a: B.wave(np.cos, a))
unary("floor", FLOATS, lambda a: B.stepped(np.floor, a), 0.3)
unary("ceil", FLOATS, lambda a: B.stepped(np.ceil, a), 0.3)
unary("round", FLOATS, lambda a: B.stepped(np.rint, a), 0.3)
unary("isnan", FLOATS, lambda a: Value("bool", np.isnan(a.ref)), 0.3)
unary("isfinite", FLOATS, lambda a: Value("bool", np.isfinite(a.ref)), 0.3)
# Functions of the program, which graphs take in.
unary("twice", NUMBERS, lambda a: B.add(a, a), 0.4)
unary("shifted", FLOATS, lambda a: B.sub(B.mul(a, Value(a.elem, 0.5)), a), 0.4)


def make_cast(g):
    a = g.some(lambda v: True)
    return [a], {"to": g.choice([e for e in ("bool",) + INTS + FLOATS + ("f32", "f32", "f64")])}


Op("cast", make_cast, lambda names, attrs, types: f"{attrs['to']}({names[0]})",
   lambda v, attrs: B.cast(v[0], attrs["to"]), 2)


def make_select(g):
    c = g.some(lambda v: v.elem == "bool")
    if c is None:
        return None
    shape = g.value(c).shape
    a = g.some(lambda v: fit(v.shape, shape))
    if a is None:
        return None
    x = g.value(a)
    b = g.some(lambda v: v.elem == x.elem and fit(v.shape, x.shape) and fit(v.shape, shape))
    return b and ([c, a, b], {})


Op("select", make_select, lambda names, attrs, types: f"select({', '.join(aligned(names, types))})",
   lambda v, attrs: B.select(*v), 2)

# ------------------------------------------------------------------------------------- reductions


def axis_text(attrs):
    axis = np_axis(attrs)
    out = "" if axis is None else f", axis={list(axis) if isinstance(axis, tuple) else axis}"
    return out + (", keep=true" if attrs.get("keep") else "")


def np_axis(attrs):
    axis = attrs["axis"]
    return tuple(axis) if isinstance(axis, (tuple, list)) else axis


def reduction(name, elems, ref, weight=0.5, one_axis=False, several=True):
    def make(g):
        a = g.some(lambda v: v.elem in elems and len(v.shape) >= 1)
        if a is None:
            return None
        rank = len(g.value(a).shape)
        axes = list(range(-rank, rank))
        if not one_axis:
            axes += [None] + (list(itertools.combinations(range(rank), 2)) if several else [])
        return [a], {"axis": g.choice(axes)} | ({} if one_axis else {"keep": g.chance(0.4)})
    Op(name, make, lambda names, attrs, types: f"{name}({names[0]}{axis_text(attrs)})",
       lambda v, attrs: ref(v[0], np_axis(attrs), attrs.get("keep", False)), weight)


def variance(a, axis, keep):
    d = B.sub(a, B.mean(a, axis, True))
    return B.mean(B.mul(d, d), axis, keep)


def logsumexp(a, axis, keep):
    e, top = B.exp_shifted(a, axis)
    z = B.add(B.monotone(np.log, B.total(e, axis, True)), top)
    return z if keep else z.moved(lambda x: np.sum(x, axis=axis))


def softmax(a, axis, keep):
    e, _ = B.exp_shifted(a, axis)
    return B.div(e, B.total(e, axis, True))


def running(a, axis, start, step):
    parts, out = [a.moved(lambda x: np.take(x, i, axis)) for i in range(a.shape[axis])], []
    for part in parts:
        out.append(step(out[-1], part) if out else part)
    if not out:
        return a
    # Sums may be taken in another order than from left to right: every partial sum counts.
    ref = np.stack([v.ref for v in out], axis)
    if not a.is_float:
        return Value(a.elem, ref)
    err = np.maximum.accumulate(np.stack([v.err for v in out], axis), axis)
    return B.rounded(a.elem, ref, err * a.shape[axis], a.shape[axis], B.special(Value(a.elem, ref)))


def cumsum(a, axis, keep):
    if a.is_float and np.any(~np.isfinite(a.ref)):
        raise Unclear("a running sum of what is not finite")
    out = running(a, axis, 0, B.add)
    if a.is_float:
        n = a.shape[axis]
        size = np.sum(np.abs(a.ref), axis=axis, keepdims=True)
        out = Value(a.elem, out.ref, out.err + n * B.UNIT[a.elem] * size)
    return out


def in_order(a, axis, keep):
    if a.is_float and np.any(~np.isfinite(a.ref)):
        raise Unclear("order of what is not finite")
    ref = np.sort(a.ref, axis=axis)
    return Value(a.elem, ref, np.max(a.err, axis=axis, keepdims=True) if a.is_float and a.size else None)


reduction("sum", NUMBERS, B.total, 3)
reduction("mean", FLOATS, B.mean, 1)
reduction("max", NUMBERS, B.largest, 1)
reduction("min", NUMBERS, lambda a, axis, keep: B.largest(a, axis, keep, np.min), 1)
reduction("prod", NUMBERS, B.product)
reduction("variance", FLOATS, variance, 0.4)
reduction("logsumexp", FLOATS, logsumexp, 0.4, several=False)
reduction("any", ("bool",), lambda a, axis, keep: Value("bool", np.any(a.ref, axis=axis, keepdims=keep)), 0.8)
reduction("all", ("bool",), lambda a, axis, keep: Value("bool", np.all(a.ref, axis=axis, keepdims=keep)), 0.8)
reduction("argmax", NUMBERS, lambda a, axis, keep: B.index_of(a, axis, np.argmax), 0.6, one_axis=True)
reduction("argmin", NUMBERS, lambda a, axis, keep: B.index_of(a, axis, np.argmin), 0.4, one_axis=True)
reduction("softmax", FLOATS, softmax, 0.6, one_axis=True)
reduction("cumsum", NUMBERS, cumsum, 0.2, one_axis=True)
reduction("sort", NUMBERS, in_order, 0.15, one_axis=True)
reduction("flip", ("bool",) + NUMBERS, lambda a, axis, keep: a.moved(lambda x: np.flip(x, axis)), 0.4, one_axis=True)


def make_product(g):
    a = g.some(lambda v: v.elem in NUMBERS and len(v.shape) >= 1)
    if a is None:
        return None
    x = g.value(a)

    def fits(v):
        if v.elem != x.elem or not v.shape or (len(v.shape) > 2 or len(x.shape) > 2) and v.shape[:-2] != x.shape[:-2]:
            return False
        return (v.shape[0] if len(v.shape) == 1 else v.shape[-2]) == x.shape[-1]
    b = g.some(fits)
    return b and ([a, b], {})


Op("@", make_product, lambda names, attrs, types: f"{names[0]} @ {names[1]}",
   lambda v, attrs: B.matmul(*v), 5)


def make_outer(g):
    """x.T @ y, y.T @ x … of matrices: a product that reads its operands in another order."""
    a = g.some(lambda v: v.elem in NUMBERS and len(v.shape) == 2)
    if a is None:
        return None
    x = g.value(a)
    b = g.some(lambda v: v.elem == x.elem and len(v.shape) == 2 and v.shape[0] == x.shape[0])
    return [a, b], {}


Op("T @", make_outer, lambda names, attrs, types: f"{names[0]}.T @ {names[1]}",
   lambda v, attrs: B.matmul(v[0].moved(np.transpose), v[1]), 2)


def make_chain(g):
    """Two products with ops on rows between them, as in attention."""
    a = g.some(lambda v: v.elem in FLOATS and len(v.shape) >= 2)
    if a is None:
        return None
    x = g.value(a)
    like = lambda v: v.elem == x.elem and len(v.shape) == len(x.shape) and v.shape[:-2] == x.shape[:-2]
    b = g.some(lambda v: like(v) and v.shape[-1] == x.shape[-1])
    c = g.some(lambda v: like(v) and v.shape[-2] == g.value(b).shape[-2])
    return [a, b, c], {"form": g.choice(["softmax", "plain", "turned"])}


CHAINS = {"softmax": "(({0} @ {1}.T).softmax(axis=-1)) @ {2}", "plain": "abs({0} @ {1}.T) @ {2}",
          "turned": "{2}.T @ abs({0} @ {1}.T).T"}


def chain(v, attrs):
    turned = lambda y: y.moved(lambda a: np.swapaxes(a, -1, -2))
    s = B.matmul(v[0], turned(v[1]))
    p = softmax(s, -1, True) if attrs["form"] == "softmax" else Value(s.elem, np.abs(s.ref), s.err)
    return turned(B.matmul(p, v[2])) if attrs["form"] == "turned" else B.matmul(p, v[2])


Op("chain", make_chain, lambda n, attrs, t: CHAINS[attrs["form"]].format(*n), chain, 1)
