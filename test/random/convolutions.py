"""Convolutions in random programs: of one to three axes, plain and transposed, values and gradients (see registry.py).

The references are sums over the taps of the filter, straight from the definition, in wide numbers. Images and filters are
other values of the program in another shape; where there are not as many elements, they are repeated.
"""

import itertools

import numpy as np

from bounds import FLOATS, UNIT, Unclear, Value, rounded
from registry import Op

MOST_WORK = 60_000  # products; references are slow
MOST_ELEMENTS = 72  # of a result: no more are printed
CHANNELS = [1, 1, 2, 2, 3, 4, 5, 7, 8, 16, 17, 33, 48, 49, 64, 65]


# ------------------------------------------------------------------------------------- definitions

def outs_of(c):
    """The spatial sizes of the result of the plain convolution, whose images have `sizes`."""
    return tuple((n + 2 * c["pad"] - c["dilation"] * (k - 1) - 1) // c["stride"] + 1 for n, k in zip(c["sizes"], c["kernel"]))


def image_shape(c):
    return (c["batch"], c["groups"] * c["channels"], *c["sizes"])


def filter_shape(c):
    return (c["groups"] * c["outputs"], c["channels"], *c["kernel"])


def result_shape(c):
    return (c["batch"], c["groups"] * c["outputs"], *outs_of(c))


def taps(c):
    """Each position in the filter, and what it sees of the padded image."""
    for tap in itertools.product(*map(range, c["kernel"])):
        seen = tuple(slice(t * c["dilation"], t * c["dilation"] + (n - 1) * c["stride"] + 1, c["stride"])
                     for t, n in zip(tap, outs_of(c)))
        yield tap, (slice(None),) * 3 + seen


def by_groups(c, x, w=None, y=None):
    """With an axis of the groups: padded images, filters, results."""
    if x is not None:
        pads = [(0, 0)] * 3 + [(c["pad"], c["pad"])] * len(c["sizes"])
        x = np.pad(x.reshape(c["batch"], c["groups"], c["channels"], *c["sizes"]), pads)
    if w is not None:
        w = w.reshape(c["groups"], c["outputs"], c["channels"], *c["kernel"])
    if y is not None:
        y = y.reshape(c["batch"], c["groups"], c["outputs"], *outs_of(c))
    return x, w, y


def forward(c, x, w):
    x, w, _ = by_groups(c, x, w)
    y = np.zeros((c["batch"], c["groups"], c["outputs"], *outs_of(c)), x.dtype)
    for tap, seen in taps(c):
        y += np.einsum("bgc...,goc->bgo...", x[seen], w[(..., *tap)])
    return y.reshape(result_shape(c))


def by_image(c, y, w):
    """The gradient by the image, of one by the result."""
    x, w, y = by_groups(c, np.zeros(image_shape(c), y.dtype), w, y)
    for tap, seen in taps(c):
        x[seen] += np.einsum("bgo...,goc->bgc...", y, w[(..., *tap)])
    inner = (slice(None),) * 3 + tuple(slice(c["pad"], c["pad"] + n) for n in c["sizes"])
    return x[inner].reshape(image_shape(c))


def by_filter(c, y, x):
    x, _, y = by_groups(c, x, None, y)
    w = np.zeros((c["groups"], c["outputs"], c["channels"], *c["kernel"]), x.dtype)
    y = y.reshape(*y.shape[:3], -1)
    for tap, seen in taps(c):
        w[(..., *tap)] = np.einsum("bgop,bgcp->goc", y, x[seen].reshape(*x.shape[:3], -1))
    return w.reshape(filter_shape(c))


def bounded(f, c, a, b, terms):
    """f is linear in both operands: what errors of these do to it is what it gives for their sizes."""
    if not (np.all(np.isfinite(a.ref)) and np.all(np.isfinite(b.ref))):
        raise Unclear("zeros of the padding times what is not finite")
    size = f(c, np.abs(a.ref) + a.err, np.abs(b.ref) + b.err)
    err = size - f(c, np.abs(a.ref), np.abs(b.ref)) + (terms + 1) * UNIT[a.elem] * size
    return rounded(a.elem, f(c, a.ref, b.ref), np.abs(err))


# ------------------------------------------------------------------------------------------ making

def divisors(n):
    return [d for d in range(1, n + 1) if n % d == 0]


def cut(g, n, parts):
    """n as a product of so many factors."""
    out = []
    for _ in range(parts - 1):
        out.append(g.choice(divisors(n)))
        n //= out[-1]
    return [n, *out]


def any_shapes(g, rank, groups):
    kernel = [g.choice([1, 1, 2, 3, 3, 4, 5])] * rank if g.chance(0.7) else [g.choice([1, 2, 3, 5]) for _ in range(rank)]
    return dict(batch=g.choice([1, 1, 2, 3]), groups=groups, channels=g.choice(CHANNELS), outputs=g.choice(CHANNELS),
                sizes=[g.choice([1, 1, 2, 3, 4, 5, 7, 9, 14]) for _ in range(rank)], kernel=kernel)


def shapes_of_values(g, rank, groups, x, w):
    """Images and filters that have as many elements as these values, or nothing."""
    channels = g.choice([d for d in divisors(x.size) if w.size % d == 0])
    if (x.size // channels) % groups or (w.size // channels) % groups:
        return None
    batch, *sizes = cut(g, x.size // channels // groups, rank + 1)
    outputs, *kernel = cut(g, w.size // channels // groups, rank + 1)
    return dict(batch=batch, groups=groups, channels=channels, outputs=outputs, sizes=sizes, kernel=kernel)


def operands(c):
    """The shapes of x, of w and of the result, as the op has them."""
    x, w, y = image_shape(c), filter_shape(c), result_shape(c)
    return (y, w, x) if c["transposed"] else (x, w, y)


def result_of(c):
    x, w, y = operands(c)
    return {"y": y, "x": x, "w": w}[c["what"]]


def is_small(c):
    return (min(c["sizes"]) > 0 and min(outs_of(c)) > 0 and int(np.prod(result_of(c))) <= MOST_ELEMENTS and
            int(np.prod(filter_shape(c))) * c["batch"] * int(np.prod(outs_of(c))) <= MOST_WORK)


def make_convolution(g):
    # Few elements, repeated, would hide what is read at the wrong index.
    x = g.some(lambda v: v.elem in FLOATS and v.size > 2)
    if x is None:
        return None
    elem = g.value(x).elem
    w, r = (g.some(lambda v: v.elem == elem and v.size > 2) for _ in range(2))
    for _ in range(20):
        rank, transposed = g.choice([1, 2, 2, 3]), g.chance(0.3)
        groups = 1 if transposed else g.choice([1, 1, 1, 2, 3])
        c = (any_shapes(g, rank, groups) if transposed or g.chance(0.6)
             else shapes_of_values(g, rank, groups, g.value(x), g.value(w)))
        if c is None:
            continue
        stride, dilation = g.choice([1, 1, 1, 2, 2, 3, 5]), 1 if transposed else g.choice([1, 1, 1, 2, 3])
        reach = (max(c["kernel"]) - 1) * dilation
        pad = g.choice([0, 0, g.number(0, reach), g.number(reach, reach + 4)])
        if transposed:  # its images are results of the plain one
            c["sizes"] = [(n - 1) * stride + k - 2 * pad for n, k in zip(c["sizes"], c["kernel"])]
        c |= dict(transposed=transposed, stride=stride, dilation=dilation, pad=pad, what=g.choice(["y", "y", "x", "w"]),
                  swapped=g.choice(["", "", "", "x", "w"]), weighted=g.chance(0.6))
        if is_small(c):
            return [x, w, r], c
    return None


# ----------------------------------------------------------------------------- writing and evaluating

def turned(shape, c, name):
    """The shape in which an operand is made: its first two axes may be exchanged afterwards."""
    return (shape[1], shape[0], *shape[2:]) if c["swapped"] == name else tuple(shape)


def operand_text(name, shape, c, which, elements):
    size, at = int(np.prod(shape)), turned(shape, c, which)
    flat = name if elements == size else f"take({name}.reshape([{elements}]), iota({size}) % {elements})"
    text = f"{flat}.reshape({list(at)})"
    return f"transpose({text}, {[1, 0, *range(2, len(at))]})" if c["swapped"] == which else text


def operand_value(value, shape, c, which):
    size, at = int(np.prod(shape)), turned(shape, c, which)

    def moved(a):
        out = np.resize(a.reshape(-1), size).reshape(at)
        return np.swapaxes(out, 0, 1) if c["swapped"] == which else out
    return value.moved(moved)


def lines(name, names, c, types):
    texts = [operand_text(n, s, c, which, int(np.prod(t[1])))
             for n, s, which, t in zip(names, operands(c), "xwr", types)]
    options = {"stride": c["stride"], "pad": c["pad"]}
    if not c["transposed"]:
        options |= {"dilation": c["dilation"], "groups": c["groups"]}
    call = f"conv{len(c['sizes'])}d{'_transpose' if c['transposed'] else ''}"
    x, w, r = (f"{name}{n}" for n in "xwr")
    y = f"{call}({x}, {w}, {', '.join(f'{k}={v}' for k, v in options.items())})"
    out = [f"let {x} = {texts[0]}", f"let {w} = {texts[1]}"]
    if c["what"] == "y":
        return [*out, f"let {name} = {y}"]
    if c["weighted"]:
        out.append(f"let {r} = {texts[2]}")
    by = x if c["what"] == "x" else w
    return [*out, f"let (_, {name}) = grad({by}) {{ {f'({y} * {r})' if c['weighted'] else y}.sum() }}"]


def convolution(v, c):
    if any(a.elem != v[0].elem or a.size == 0 for a in v) or not is_small(c):
        raise Unclear("it does not fit")
    x, w, r = (operand_value(a, s, c, which) for a, s, which in zip(v, operands(c), "xwr"))
    if not c["weighted"]:
        r = Value(r.elem, np.ones(r.shape))
    pixels, windows = int(np.prod(outs_of(c))), int(np.prod(c["kernel"]))
    terms = {"y": c["channels"] * windows, "x": c["outputs"] * windows, "w": c["batch"] * pixels}
    if c["transposed"]:
        terms["y"], terms["x"] = terms["x"], terms["y"]
        f, a, b = {"y": (by_image, x, w), "x": (forward, r, w), "w": (by_filter, x, r)}[c["what"]]
    else:
        f, a, b = {"y": (forward, x, w), "x": (by_image, r, w), "w": (by_filter, r, x)}[c["what"]]
    return bounded(f, c, a, b, terms[c["what"]])


Op("convolution", make_convolution, None, convolution, 0, lines)
