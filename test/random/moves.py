"""Ops that move elements, make tensors, take parts and run over index ranges (see registry.py)."""

import numpy as np

import bounds as B
from bounds import INTS, Unclear, Value
from registry import NUMBERS, Op, number

ANY = ("bool",) + NUMBERS


def moving(name, make, text, f, weight=1.0):
    """`f(array, attrs)` puts elements elsewhere; it is used on values and on their bounds alike."""
    Op(name, make, text, lambda v, attrs: v[0].moved(lambda x: f(x, attrs)), weight)


def ranked(lowest):
    return lambda v: len(v.shape) >= lowest


def make_reshape(g):
    a = g.some(lambda v: True)
    size = g.value(a).size
    shapes = [(size,), (1, size), (size, 1)]
    if size:
        shapes += [(k, size // k) for k in range(2, 12) if size % k == 0]
        shapes += [(k, j, size // k // j) for k in (2, 3, 5) for j in (2, 3) if size % (k * j) == 0]
    if size == 1:
        shapes += [(1, 1, 1)]
    return [a], {"shape": g.choice(shapes)}


moving("reshape", make_reshape, lambda n, attrs, t: f"{n[0]}.reshape({list(attrs['shape'])})",
       lambda x, attrs: np.reshape(x, attrs["shape"]), 2)


def make_transpose(g):
    a = g.some(ranked(2))
    if a is None:
        return None
    order = list(range(len(g.value(a).shape)))
    g.shuffle(order)
    return [a], {"order": order}


moving("transpose", make_transpose, lambda n, attrs, t: f"{n[0]}.transpose({attrs['order']})",
       lambda x, attrs: np.transpose(x, attrs["order"]), 2)
moving("T", lambda g: (lambda a: a and ([a], {}))(g.some(ranked(2))), lambda n, attrs, t: f"{n[0]}.T",
       lambda x, attrs: np.swapaxes(x, -1, -2), 1)


def make_broadcast(g):
    a = g.some(lambda v: v.size <= 12)
    if a is None:
        return None
    shape = [g.choice(g.sizes) if s == 1 else s for s in g.value(a).shape]
    return [a], {"shape": [g.choice(g.sizes) for _ in range(g.number(0, 1))] + shape}


moving("broadcast", make_broadcast, lambda n, attrs, t: f"{n[0]}.broadcast({attrs['shape']})",
       lambda x, attrs: np.broadcast_to(x, attrs["shape"]), 1)


def one_index(g, size):
    """A part of a dimension: None takes all, a number one, a triple a range."""
    kind = g.number(0, 9)
    if kind < 3 or size == 0:
        return None
    if kind < 5:
        return g.number(-size, size - 1)
    step = g.choice([1, 1, 1, 2, -1, -2])
    low, high = sorted((g.number(0, size), g.number(0, size)))
    if step > 0:
        return (low, high, step)
    return (high - 1, low - 1 if low else None, step) if high > low else (None, None, step)


def index_text(parts):
    def one(p):
        if p is None:
            return ":"
        if p == "new":
            return "new"
        if not isinstance(p, (tuple, list)):
            return str(p)
        a, b, s = ["" if q is None else str(q) for q in p]
        return f"{a}:{b}" + (f":{s}" if p[2] != 1 else "")
    return ", ".join(one(p) for p in parts)


def key_of(parts):
    return tuple(slice(None) if p is None else None if p == "new" else slice(*p) if isinstance(p, (tuple, list)) else p
                 for p in parts)


def inside(parts, shape):
    """mx refuses what NumPy clamps: every given bound must lie in its dimension."""
    sizes = iter(shape)
    for p in parts:
        n = next(sizes, None) if p != "new" else 0
        if n is None:
            raise Unclear("more entries than dimensions")
        if isinstance(p, (tuple, list)):
            begin, end, step = p
            last = n if step > 0 else n - 1
            if not (begin is None or 0 <= begin <= last) or not (end is None or 0 <= end <= n):
                raise Unclear("a range outside")


def make_slice(g):
    a = g.some(ranked(1))
    if a is None:
        return None
    parts = [one_index(g, s) for s in g.value(a).shape]
    if g.chance(0.2):
        parts.insert(g.number(0, len(parts)), "new")
    return [a], {"index": parts}


def sliced(x, attrs):
    inside(attrs["index"], x.shape)
    return x[key_of(attrs["index"])]


moving("slice", make_slice, lambda n, attrs, t: f"{n[0]}[{index_text(attrs['index'])}]", sliced, 4)


def make_update(g):
    a = g.some(ranked(1))
    if a is None:
        return None
    x = g.value(a)
    for _ in range(6):
        parts = [one_index(g, s) for s in x.shape]
        shape = x.ref[key_of(parts)].shape
        b = g.some(lambda v: v.elem == x.elem and v.shape == shape)
        if b is not None:
            return [a, b], {"index": parts, "add": x.elem != "bool" and g.chance(0.4)}
    return None


def update(v, attrs):
    x, y = v
    inside(attrs["index"], x.shape)
    key = key_of(attrs["index"])
    part = x.moved(lambda a: a[key])
    if part.shape != y.shape or part.elem != y.elem or (attrs["add"] and x.elem == "bool"):
        raise Unclear("a value that does not fit")
    if attrs["add"]:
        y = B.add(part, y)
    ref = x.ref.copy()
    ref[key] = y.ref
    if not x.is_float:
        return Value(x.elem, ref)
    err = np.array(x.err)
    err[key] = y.err
    return Value(x.elem, ref, err)


Op("update", make_update, None, update, 2,
   lines=lambda name, n, attrs, t: [f"var {name} = {n[0]}",
                                    f"{name}[{index_text(attrs['index'])}] {'+=' if attrs['add'] else '='} {n[1]}"])


def same_but(g, a, axis):
    x = g.value(a)
    return g.some(lambda v: v.elem == x.elem and len(v.shape) == len(x.shape) and
                  all(p == q for i, (p, q) in enumerate(zip(v.shape, x.shape)) if i != axis))


def make_concat(g):
    a = g.some(ranked(1))
    if a is None:
        return None
    rank = len(g.value(a).shape)
    axis = g.number(0, rank - 1)
    return [a] + [same_but(g, a, axis) for _ in range(g.number(1, 2))], {"axis": g.choice([axis, axis - rank])}


def joined(f):
    def ref(v, attrs):
        err = f([x.err for x in v], axis=attrs["axis"]) if v[0].is_float else None
        return Value(v[0].elem, f([x.ref for x in v], axis=attrs["axis"]), err)
    return ref


Op("concat", make_concat, lambda n, attrs, t: f"concat({', '.join(n)}, axis={attrs['axis']})",
   joined(np.concatenate), 2)


def make_stack(g):
    a = g.some(lambda v: True)
    x = g.value(a)
    b = g.some(lambda v: v.elem == x.elem and v.shape == x.shape)
    return [a, b], {"axis": g.number(0, len(x.shape))}


Op("stack", make_stack, lambda n, attrs, t: f"stack({', '.join(n)}, axis={attrs['axis']})", joined(np.stack), 1)


def make_tile(g):
    a = g.some(lambda v: len(v.shape) >= 1 and v.size <= 30)
    return a and ([a], {"times": [g.choice([1, 1, 2, 3]) for _ in g.value(a).shape]})


moving("tile", make_tile, lambda n, attrs, t: f"tile({n[0]}, {attrs['times']})",
       lambda x, attrs: np.tile(x, attrs["times"]), 0.3)


def make_pad(g):
    a = g.some(lambda v: 1 <= len(v.shape) <= 3 and v.size <= 30)
    if a is None:
        return None
    shape = g.value(a).shape
    mode = "constant" if 0 in shape else g.choice(["constant", "constant", "edge"])
    return [a], {"before": [g.number(0, 2) for _ in shape], "after": [g.number(0, 2) for _ in shape], "mode": mode}


moving("pad", make_pad,
       lambda n, attrs, t: f'pad({n[0]}, {attrs["before"]}, {attrs["after"]}, mode="{attrs["mode"]}")',
       lambda x, attrs: np.pad(x, list(zip(attrs["before"], attrs["after"])), mode=attrs["mode"]), 0.5)


def make_roll(g):
    a = g.some(lambda v: len(v.shape) >= 1 and v.size > 0)
    return a and ([a], {"shift": g.number(-4, 4), "axis": g.number(0, len(g.value(a).shape) - 1)})


moving("roll", make_roll, lambda n, attrs, t: f"roll({n[0]}, {attrs['shift']}, axis={attrs['axis']})",
       lambda x, attrs: np.roll(x, attrs["shift"], attrs["axis"]), 0.4)


def make_take(g):
    index = g.some(lambda v: v.elem == "i32" and len(v.shape) == 1)
    a = index and g.some(ranked(1))
    return a and ([a, index], {"axis": g.number(0, len(g.value(a).shape) - 1)})


def taken(v, attrs):
    index, n = v[1].ref, v[0].shape[attrs["axis"]]
    if index.size and (index.min() < -n or index.max() >= n):
        raise Unclear("an index outside")
    return v[0].moved(lambda x: np.take(x, index, attrs["axis"]))


Op("take", make_take, lambda n, attrs, t: f"take({n[0]}, {n[1]}, axis={attrs['axis']})", taken, 1.5)

# ----------------------------------------------------------------------------------------- making


def make_iota(g):
    return [], {"n": g.choice(g.sizes), "elem": g.choice(NUMBERS)}


Op("iota", make_iota, lambda n, attrs, t: f"iota({attrs['n']}, dtype={attrs['elem']})",
   lambda v, attrs: Value(attrs["elem"], np.arange(attrs["n"])), 0.6)


def make_full(g):
    elem = g.choice(ANY)
    value = g.choice([True, False] if elem == "bool" else [0, 1, 2] if elem in INTS else [0.0, 1.0, 0.5, -2.0])
    return [], {"elem": elem, "value": value, "shape": [g.choice(g.sizes) for _ in range(g.number(0, 2))]}


def full_text(n, attrs, t):
    word = {0: "zeros", 1: "ones"}.get(attrs["value"])
    if word and attrs["shape"]:
        return f"{word}({attrs['shape']}, dtype={attrs['elem']})"
    return f"full({attrs['elem']}({number(attrs['elem'], attrs['value'])}), {attrs['shape']})"


Op("full", make_full, full_text, lambda v, attrs: Value(attrs["elem"], np.full(attrs["shape"], attrs["value"])), 0.6)


def make_eye(g):
    return [], {"n": g.choice(g.sizes), "elem": g.choice(NUMBERS)}


Op("eye", make_eye, lambda n, attrs, t: f"eye({attrs['n']}, dtype={attrs['elem']})",
   lambda v, attrs: Value(attrs["elem"], np.eye(attrs["n"])), 0.3)
Op("tril", lambda g: ([], {"shape": [g.choice(g.sizes), g.choice(g.sizes)]}),
   lambda n, attrs, t: f"tril({attrs['shape']})", lambda v, attrs: Value("bool", np.tri(*attrs["shape"])), 0.3)

# --------------------------------------------------------------------------- loops over index ranges


def make_comprehension(g):
    """Over the first dimension of one or two tensors."""
    a = g.some(ranked(1))
    if a is None:
        return None
    x = g.value(a)
    b = g.some(lambda v: v.elem == x.elem and v.shape == x.shape)
    if x.elem in NUMBERS and len(x.shape) == 2 and g.chance(0.4):
        return [a, b], {"form": "products", "n": x.shape[0], "m": x.shape[0]}
    return [a, b], {"form": g.choice(["turned", "larger"] if x.elem in NUMBERS and len(x.shape) == 2 else ["row"]),
                    "n": x.shape[0], "m": x.shape[-1]}


COMPREHENSIONS = {
    "row": "[{0}[i] for i in 0..{n}]",
    "turned": "[{0}[i, j] + {1}[i, j] for j in 0..{m}, i in 0..{n}]",
    "larger": "[select({0}[i, j] > {1}[i, 0], {0}[i, j], {1}[i, j]) for i in 0..{n}, j in 0..{m}]",
    "products": "[sum({0}[i] * {1}[j]) for i in 0..{n}, j in 0..{m}]",
}


def comprehension(v, attrs):
    x, y = v
    if attrs["form"] == "row":
        return x
    if attrs["form"] == "turned":
        return B.add(x, y).moved(np.transpose)
    if attrs["form"] == "products":
        return B.matmul(x, y.moved(np.transpose))
    if attrs["m"] == 0:
        raise Unclear("no first column")
    return B.select(B.compare(np.greater, x, y.moved(lambda a: a[:, :1])), x, y)


Op("comprehension", make_comprehension,
   lambda n, attrs, t: COMPREHENSIONS[attrs["form"]].format(*n, n=attrs["n"], m=attrs["m"]), comprehension, 0.8)

# The iteration number of a loop: the second name is the loop's index, a number of the host.


def make_at(g):
    index = g.turn()
    a = index and g.some(lambda v: len(v.shape) >= 1 and v.shape[0] >= g.turns)
    return a and ([a, index], {})


def at_turn(v, attrs):
    if v[1] >= v[0].shape[0]:
        raise Unclear("an iteration beyond the end")
    return v[0].moved(lambda x: x[v[1]])


Op("at", make_at, lambda n, attrs, t: f"{n[0]}[{n[1]}]", at_turn, 6)
Op("turn", lambda g: (lambda i: i and ([i], {"elem": g.choice(NUMBERS)}))(g.turn()),
   lambda n, attrs, t: f"{attrs['elem']}({n[0]})", lambda v, attrs: Value(attrs["elem"], v[0]), 3)
