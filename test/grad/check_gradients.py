#!/usr/bin/env python3
"""Compares gradients with central differences, eagerly and in a graph.

Usage: check_gradients.py MXC GROUP [TYPE]

Each case is an expression of one or two tensors as mx and as NumPy. The program differentiates
sum(w * expression) with random weights w, so that each element of the gradient matters; NumPy takes
differences of the same function in f64. TYPE is what mx computes in: f64, f32 or f16. Points stay
away from kinks. The group `second` takes the slope of the gradient along a direction, of all cases
but control flow, and compares it with differences of second order.
"""

import os
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ops"))
from functions import ALL, FUNCTIONS  # noqa: E402

MXC, GROUP = sys.argv[1], sys.argv[2]
TYPE = sys.argv[3] if len(sys.argv) > 3 else "f64"
rng = np.random.default_rng(11)
LIMIT = {"f64": 1e-6, "f32": 2e-4, "f16": 5e-2}[TYPE]


def literal(x):
    if x.ndim == 0:
        text = repr(float(x))
        return text if "." in text or "e" in text else text + ".0"
    return "[" + ", ".join(literal(r) for r in x) + "]"


def typed(name, x):
    shape = f"[{', '.join(map(str, x.shape))}]" if x.ndim else ""
    return f"let {name}: {TYPE}{shape} = {literal(x)}"


def difference(f, args, k):
    """The gradient of f by its argument k."""
    x = args[k]
    out = np.zeros(x.shape)
    for i in np.ndindex(x.shape):
        step = 1e-5 * max(1.0, abs(x[i]))
        def at(d):
            y = x.copy()
            y[i] += d
            return f(*args[:k], y, *args[k + 1:])
        # Of fourth order: the error is far below the limit.
        out[i] = (8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step)
    return out


class Cases:
    def __init__(self):
        self.lines, self.wanted, self.names, self.graphs = [], [], 0, []

    def add(self, text, f, *args, setup=""):
        """`text` has {0}, {1} where the arguments stand; `setup` is mx code of its own."""
        names = []
        for x in args:
            names.append(f"v{self.names}")
            self.names += 1
            self.lines.append(typed(names[-1], x))
        shape = np.shape(f(*args))
        w = rng.uniform(0.5, 1.5, shape)
        self.lines.append(typed(f"w{len(self.wanted)}", np.asarray(w)))
        value = f"w{len(self.wanted)} * ({text.format(*names)})"
        body = f"({value}).sum()" if shape else value
        body = setup.format(*names) + "\n    " + body if setup else body
        loss = lambda *a: float(np.sum(w * f(*a)))
        i = len(self.wanted)
        self.wanted.append((text, [difference(loss, list(args), k) for k in range(len(args))]))
        targets = ", ".join(names)
        for way in ("eager", "graph"):
            grads = [f"{way}{i}_{k}" for k in range(len(args))]
            pattern = grads[0] if len(grads) == 1 else "(" + ", ".join(grads) + ")"
            text = f"let (_, {pattern}) = grad({targets}) {{\n    {body}\n  }}".replace("f64", TYPE)
            if way == "graph":
                self.graphs.append((text, grads))
                continue
            self.lines.append(text)
            self.show(grads)

    def show(self, grads):
        for g in grads:
            way, i, k = re.match(r"([a-z]+)(\d+)_(\d+)", g).groups()
            self.lines.append(f'print("#{way} {i} {k}")\nprint(f"{{{g}:.17g}}")')

    def compile(self):
        """Graphs of several cases each, since each graph is compiled on its own."""
        for at in range(0, len(self.graphs), 6):
            part = self.graphs[at:at + 6]
            names = [g for _, grads in part for g in grads]
            whole = "(" + ", ".join(names) + ")" if len(names) > 1 else names[0]
            inner = "\n  ".join(text for text, _ in part)
            self.lines.append(f"let {whole} = graph {{\n  {inner}\n  {whole}\n}}")
            self.show(names)

    def run(self):
        self.compile()
        with tempfile.NamedTemporaryFile("w", suffix=".mx", delete=False) as f:
            f.write("\n".join(self.lines) + "\n")
        done = subprocess.run([MXC, "run", f.name], capture_output=True, text=True)
        if done.returncode != 0:
            print(f"{f.name} failed:\n{done.stderr[:3000]}")
            return 1
        wrong = checked = 0
        for block in re.split(r"^#", done.stdout, flags=re.M)[1:]:
            head, _, body = block.partition("\n")
            way, i, k = head.split()
            text, wants = self.wanted[int(i)]
            want = wants[int(k)].reshape(-1)
            body = re.sub(r"^\s*f(64|32|16)\[[0-9, ]*\]", "", body)
            got = np.array([float(w) for w in re.findall(r"-?nan|-?inf|-?[0-9][0-9.e+-]*", body)])
            checked += 1
            scale = max(1e-3, float(np.max(np.abs(want), initial=0)))
            limit = 1e-5 * max(1.0, scale) if GROUP == "second" else LIMIT * scale
            if got.shape != want.shape or not np.all(np.abs(got - want) <= limit):
                wrong += 1
                print(f"{f.name}: {way}: {text}, by argument {k}\n  got  {got[:8]}\n  want {want[:8]}")
        ways = 1 if GROUP == "second" else 2
        if checked != ways * sum(len(w) for _, w in self.wanted):
            print(f"{f.name}: {checked} results for {len(self.wanted)} cases")
            return 1
        if wrong == 0:
            print(f"{checked} gradients agree")
        return wrong != 0


def ops_of(text, setup):
    """The names of the ops in a case: functions, members, symbols, indexing and updates."""
    found = set(re.findall(r"\b([a-z_0-9]+)\(", text)) | set(re.findall(r"\.(T|[a-z]+)\b", text))
    symbols = re.sub(r"\{\d\}(\[.*\])?|[a-z_]+=|\b[0-9.]+\b", " ", text)
    found |= set(re.findall(r"\*\*|[-+*/%@]", symbols))
    if re.search(r"\{0\}\[|\)\[", text):
        found.add("x[i]")
    if re.search(r"\]\s*=", setup) and "let" not in setup:
        found.add("x[i] = v")
    return found


class Second(Cases):
    """The gradient's own gradient, op by op, along a random direction."""

    def __init__(self):
        super().__init__()
        self.ops = set()

    def add(self, text, f, *args, setup=""):
        if "sign(" in text or "floor(" in text or any(x.size > 12 for x in args):
            return
        self.ops.update(ops_of(text, setup))
        names = []
        for x in args:
            names.append(f"a{self.names}")
            self.names += 1
            self.lines.append(typed(names[-1], x))
        i = len(self.wanted)
        w = rng.uniform(0.5, 1.5, np.shape(f(*args)))
        loss = lambda *a: float(np.sum(w * f(*a)))
        self.lines.append(typed(f"w{i}", np.asarray(w)))
        value = f"w{i} * ({text.format(*names)})"
        body = f"({value}).sum()" if w.ndim else value
        body = setup.format(*names) + "\n    " + body if setup else body
        wants = []
        for k, x in enumerate(args):
            v = rng.uniform(-1, 1, x.shape)
            self.lines.append(typed(f"v{i}_{k}", np.asarray(v)))
            inner = f"(g * v{i}_{k}).sum()" if x.ndim else f"g * v{i}_{k}"
            self.lines.append(f"let (_, eager{i}_{k}) = grad({names[k]}) {{\n"
                              f"  let (_, g) = grad({names[k]}) {{\n    {body}\n  }}\n  {inner}\n}}")
            self.show([f"eager{i}_{k}"])
            step = 1e-4

            def along(*a, k=k, v=v):
                up, down = list(a), list(a)
                up[k], down[k] = a[k] + step * v, a[k] - step * v
                return (loss(*up) - loss(*down)) / (2 * step)
            out = np.zeros(x.shape)
            for at in np.ndindex(x.shape):
                up, down = list(args), list(args)
                up[k], down[k] = x.copy(), x.copy()
                up[k][at] += step
                down[k][at] -= step
                out[at] = (along(*up) - along(*down)) / (2 * step)
            wants.append(out)
        self.wanted.append((text, wants))


def some(shape, low=0.3, high=1.7):
    return np.asarray(rng.uniform(low, high, shape))


def signed(shape):
    return np.asarray(some(shape) * rng.choice([-1.0, 1.0], shape))


def unary(c):
    for shape in [(), (3,), (2, 3)]:
        for name, (f, numbers) in FUNCTIONS.items():
            c.add(name + "({0})", f, signed(shape) if numbers == ALL else some(shape, 0.3, 1.2))
        for text, f in [("-{0}", np.negative), ("abs({0})", np.abs), ("{0} ** 2", lambda x: x**2), ("{0} ** 3", lambda x: x**3),
                        ("sigmoid({0})", lambda x: 1 / (1 + np.exp(-x))),
                        ("floor({0}) * {0}", lambda x: np.floor(x) * x),
                        ("sign({0}) * {0}", lambda x: np.sign(x) * x)]:
            c.add(text, f, signed(shape))
        for text, f in [("sqrt({0})", np.sqrt), ("rsqrt({0})", lambda x: 1 / np.sqrt(x)),
                        ("{0} ** 1.5", lambda x: x**1.5), ("{0} ** -2.0", lambda x: x**-2.0)]:
            c.add(text, f, some(shape, 0.3, 1.2))


def binary(c):
    for a, b in [((), ()), ((3,), ()), ((), (3,)), ((2, 3), (2, 3)), ((2, 1), (1, 4)),
                 ((2, 3), (2, 1)), ((2, 3, 1), (1, 1, 4))]:
        for text, f in [("{0} + {1}", np.add), ("{0} - {1}", np.subtract),
                        ("{0} * {1}", np.multiply), ("{0} / {1}", np.divide),
                        ("{0} ** {1}", np.power), ("atan2({0}, {1})", np.arctan2),
                        ("{0} % {1}", np.mod)]:
            c.add(text, f, some(a), some(b))
        x, y = some(a), some(b, 2, 3)
        c.add("maximum({0}, {1} - 1.3)", lambda x, y: np.maximum(x, y - 1.3), x, y)
        c.add("minimum({0}, {1} - 1.3)", lambda x, y: np.minimum(x, y - 1.3), x, y)
        c.add("select({0} > 1.0, {0} * {1}, {1} + {0})",
              lambda x, y: np.where(x > 1.0, x * y, y + x), x, y)


def reductions(c):
    for shape in [(4,), (2, 3), (2, 3, 2)]:
        for axis in [None] + list(range(len(shape))):
            for keep in (False, True):
                args = [] if axis is None else [f"axis={axis}"]
                args += ["keep=true"] if keep else []
                tail = "".join(", " + a for a in args)
                for name, f in [("sum", np.sum), ("prod", np.prod), ("max", np.max), ("min", np.min),
                                ("mean", np.mean)]:
                    c.add(f"{name}({{0}}{tail})",
                          lambda x, f=f: f(x, axis=axis, keepdims=keep), signed(shape))
                c.add(f"variance({{0}}{tail})",
                      lambda x: np.var(x, axis=axis, keepdims=keep), signed(shape))
                c.add(f"logsumexp({{0}}{tail})",
                      lambda x: np.log(np.sum(np.exp(x), axis=axis, keepdims=keep)), signed(shape))
    # One zero has a slope of its own, two leave none.
    for n in (1, 2, 3, 4):
        x = signed((4,))
        x[:n] = 0
        c.add("prod({0})", np.prod, x)
    x = signed((3, 4))
    x[0, 1] = x[1, 1] = x[2, 2] = 0
    for axis in (0, 1):
        c.add(f"prod({{0}}, axis={axis})", lambda x, axis=axis: np.prod(x, axis=axis), x)


def products(c):
    for a, b in [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((1, 1), (1, 1)),
                 ((2, 3, 4), (2, 4, 2)), ((2, 3, 4), (4, 2)), ((3, 4), (2, 4, 2)),
                 ((4,), (2, 4, 3)), ((2, 3, 4), (4,))]:
        c.add("{0} @ {1}", np.matmul, signed(a), signed(b))


def shapes(c):
    x = (4, 3, 2)
    c.add("{0}.reshape([2, 12])", lambda a: a.reshape(2, 12), signed(x))
    c.add("{0}.transpose([2, 0, 1])", lambda a: a.transpose(2, 0, 1), signed(x))
    c.add("{0}.T", lambda a: a.swapaxes(-1, -2), signed(x))
    c.add("{0}.broadcast([2, 3, 4])", lambda a: np.broadcast_to(a, (2, 3, 4)), signed((3, 1)))
    for text, key in [("0", 0), ("-1", -1), ("1:3", np.s_[1:3]), (":, 1", np.s_[:, 1]),
                      ("..., 0", np.s_[..., 0]), ("::2", np.s_[::2]), ("::-1", np.s_[::-1]),
                      ("3:0:-2", np.s_[3:0:-2]), (":, new, -1", np.s_[:, None, -1]),
                      ("1, 2, 1", np.s_[1, 2, 1]), ("-3:-1, ::-1", np.s_[-3:-1, ::-1])]:
        c.add(f"{{0}}[{text}]", lambda a, key=key: a[key], signed(x))
    c.add("concat({0}, {1})", lambda a, b: np.concatenate([a, b]), signed((2, 3)), signed((1, 3)))
    c.add("concat({0}, {1}, {0}, axis=-1)", lambda a, b: np.concatenate([a, b, a], -1),
          signed((2, 3)), signed((2, 1)))
    c.add("stack({0}, {1})", lambda a, b: np.stack([a, b]), signed((3,)), signed((3,)))
    index = "let i{0}: i32[4] = [3, 0, 0, 3]"
    for axis, shape in [(0, (4, 2)), (1, (2, 4)), (1, (2, 4, 3))]:
        c.add(f"take({{0}}, i{{0}}, axis={axis})",
              lambda a, axis=axis: np.take(a, [3, 0, 0, 3], axis), signed(shape), setup=index)
    c.add("full({0}, [2, 3])", lambda a: np.full((2, 3), a), signed(()))

    def updated(key, scale=1.0):
        def f(a, b):
            a = a.copy()
            a[key] = b * scale
            return a * a
        return f
    for text, key, v in [("1", 1, (3,)), ("0, 2", np.s_[0, 2], ()), ("1:3", np.s_[1:3], (2, 3)),
                         (":, 0", np.s_[:, 0], (4,))]:
        c.add("y{0} * y{0}", updated(key), signed((4, 3)), signed(v),
              setup=f"var y{{0}} = {{0}}\n    y{{0}}[{text}] = {{1}}")


def control(c):
    c.add("r{0}", lambda x: np.where(x.sum() > 0, (x * x), -x), signed((3,)),
          setup="var r{0} = -{0}\n    if {0}.sum() > 0.0 {{ r{0} = {0} * {0} }}")

    def repeated(n):
        def f(x):
            y = x
            for i in range(n):
                y = np.sin(y) * x + i
            return y
        return f
    for n in (0, 1, 5):
        c.add("y{0}", repeated(n), signed((3,)),
              setup=f"var y{{0}} = {{0}}\n    for i in 0..{n} {{{{ y{{0}} = sin(y{{0}}) * {{0}} + f64(i) }}}}")

    def nested(x):
        y = x
        for i in range(2):
            for j in range(3):
                y = np.tanh(y * x) + x * j
        return y
    c.add("y{0}", nested, signed((2,)),
          setup="var y{0} = {0}\n    for i in 0..2 {{ for j in 0..3 {{ y{0} = tanh(y{0} * {0}) + {0} * f64(j) }} }}")

    def doubled(x):
        y = x
        while y.sum() < 50.0:
            y = y * x + 1.0
        return y
    c.add("y{0}", doubled, some((2,), 1.5, 2.5),
          setup="var y{0} = {0}\n    while y{0}.sum() < 50.0 limit 20 {{ y{0} = y{0} * {0} + 1.0 }}")

    def halting(x):
        y = x
        for i in range(6):
            y = y * x
            if y.sum() > 8.0:
                break
        return y
    c.add("y{0}", halting, some((2,), 1.5, 2.0),
          setup="var y{0} = {0}\n    for i in 0..6 {{ y{0} = y{0} * {0}\n      if y{0}.sum() > 8.0 {{ break }} }}")

    def picked(x):
        y = 0.0
        for i in range(4):
            y = y + x[i] ** 2 if i % 2 == 0 else y * x[i]
        return y
    c.add("y{0}", picked, some((4,)),
          setup="var y{0}: f64 = {0}[0] * 0.0\n    for i in 0..4 {{ if i % 2 == 0 {{ y{0} = y{0} + {0}[i] ** 2 }} else {{ y{0} = y{0} * {0}[i] }} }}")


def routines(c):
    """Running sums, orders, scatters of rows, linear algebra."""
    for shape, axis in [((5,), 0), ((3, 4), 0), ((3, 4), 1), ((2, 3, 2), 1)]:
        c.add(f"cumsum({{0}}, axis={axis})", lambda x, axis=axis: np.cumsum(x, axis), signed(shape))
        c.add(f"cumprod({{0}}, axis={axis})", lambda x, axis=axis: np.cumprod(x, axis), signed(shape))
        c.add(f"sort({{0}}, axis={axis})", lambda x, axis=axis: np.sort(x, axis), signed(shape))
        c.add(f"top_k({{0}}, 2, axis={axis})[0]",
              lambda x, axis=axis: np.take(-np.sort(-x, axis), [0, 1], axis), signed(shape))
    zeros = signed((6,))
    zeros[[1, 4]] = 0
    c.add("cumprod({0})", np.cumprod, zeros)
    index = [2, 0, 2, -1]

    def scattered(join):
        def f(x, y):
            x = x.copy()
            for k, at in enumerate(index):
                x[at] = join(x[at], y[k])
            return x
        return f
    for name, join in [("add", np.add), ("max", np.maximum), ("set", lambda x, y: y)]:
        c.add(f"scatter_{name}({{0}}, j{{0}}, {{1}})", scattered(join), signed((5, 2)), signed((4, 2)),
              setup=f"let j{{0}}: i32[4] = {index}")
    swap = lambda x: np.swapaxes(x, -1, -2)
    for batch in [(), (2,)]:
        a, b = signed(batch + (4, 4)) + 3 * np.eye(4), signed(batch + (4, 2))
        c.add("solve({0}, {1})", np.linalg.solve, a, b)
        c.add("triangular_solve({0}, {1})", lambda a, b: np.linalg.solve(np.tril(a), b), a, b)
        c.add("triangular_solve({0}, {1}, lower=false)", lambda a, b: np.linalg.solve(np.triu(a), b), a, b)
        # Only the lower half is read.
        half = lambda x: np.tril(x) + swap(np.tril(x, -1))
        c.add("cholesky({0})", lambda a: np.linalg.cholesky(half(a)), a @ swap(a) + np.eye(4))
        c.add("eigh({0})[0]", lambda a: np.linalg.eigvalsh(half(a)), a)
        # Signs of vectors are left open, so their squares are compared.
        c.add("eigh({0})[1] ** 2", lambda a: np.linalg.eigh(half(a))[1] ** 2, a)
        tall = signed(batch + (5, 3))
        c.add("qr({0})[0]", lambda x: np.linalg.qr(x)[0], tall)
        c.add("qr({0})[1]", lambda x: np.linalg.qr(x)[1], tall)
        c.add("svd({0})[1]", lambda x: np.linalg.svd(x, full_matrices=False)[1], tall)
        c.add("svd({0})[0] ** 2", lambda x: np.linalg.svd(x, full_matrices=False)[0] ** 2, tall)
        c.add("svd({0})[2] ** 2", lambda x: np.linalg.svd(x, full_matrices=False)[2] ** 2, tall)


groups = {"unary": unary, "binary": binary, "reductions": reductions, "products": products,
          "shapes": shapes, "control": control, "routines": routines}
if GROUP == "second":
    cases = Second()
    for name in ("unary", "binary", "reductions", "products", "shapes", "routines"):
        groups[name](cases)
    print(f"{len(cases.ops)} ops")
    if len(cases.ops) < 40:
        sys.exit(f"only these: {sorted(cases.ops)}")
else:
    cases = Cases()
    groups[GROUP](cases)
sys.exit(cases.run())
