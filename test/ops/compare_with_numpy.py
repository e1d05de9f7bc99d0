#!/usr/bin/env python3
"""Runs every op of mx eagerly and in a graph, and compares both with NumPy.

Usage: compare_with_numpy.py MXC GROUP

For each element type and set of shapes one program is written. It evaluates many expressions, once
as they are and once inside `graph { }`, and prints the results; this script knows what NumPy says
about them. Values include NaN, infinities, signed zeros and the ends of integer ranges.
"""

import itertools
import math
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np

warnings.filterwarnings("ignore")
np.seterr(all="ignore")

MXC, GROUP = sys.argv[1], sys.argv[2]
rng = np.random.default_rng(7)

NP = {"bool": np.bool_, "i8": np.int8, "u8": np.uint8, "i32": np.int32, "i64": np.int64,
      "f16": np.float16, "f32": np.float32, "f64": np.float64}
INTS, FLOATS = ["i8", "u8", "i32", "i64"], ["f16", "f32", "f64"]
# Largest relative error that counts as equal; sums and products of many terms get ten times that.
EPS = {"f16": 2e-3, "f32": 1e-6, "f64": 1e-14}


def literal(x):
    """An array as mx text."""
    def number(v):
        if x.dtype == np.bool_:
            return "true" if v else "false"
        if x.dtype.kind in "iu":
            return str(int(v))
        v = float(v)
        if math.isnan(v):
            return "nan"
        if math.isinf(v):
            return "inf" if v > 0 else "-inf"
        return repr(v) if "e" in repr(v) or "." in repr(v) else repr(v) + ".0"

    def rows(a):
        return number(a) if a.ndim == 0 else "[" + ", ".join(rows(r) for r in a) + "]"

    name = next(n for n, t in NP.items() if x.dtype == t)
    if x.size == 0:
        return f"zeros([{', '.join(map(str, x.shape))}], dtype={name})"
    if name == "f64":  # literals are f32 unless the type is written
        return rows(x)
    return rows(x)


def typed(name, x):
    kind = next(n for n, t in NP.items() if x.dtype == t)
    shape = f"[{', '.join(map(str, x.shape))}]" if x.ndim else ""
    return f"let {name}: {kind}{shape} = {literal(x)}"


def values(kind, shape, special=True):
    n = int(np.prod(shape))
    if kind == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if kind in INTS:
        info = np.iinfo(NP[kind])
        x = rng.integers(max(info.min, -100), min(info.max, 100) + 1, n)
        if special and n >= 3:
            x[0], x[1], x[2] = info.max, max(info.min, -2**63 + 1), 0
        return x.astype(NP[kind]).reshape(shape)
    x = (rng.standard_normal(n) * 3).astype(NP[kind])
    if special and n >= 6:
        x[0], x[1], x[2], x[3], x[4] = math.nan, math.inf, -math.inf, -0.0, 0.0
    return x.reshape(shape)


class Program:
    def __init__(self):
        self.lines, self.cases, self.inputs = [], [], 0

    def input(self, x):
        name = f"x{self.inputs}"
        self.inputs += 1
        self.lines.append(typed(name, x))
        return name

    def expect(self, text, want, loose=1.0):
        self.cases.append((text, np.asarray(want), loose))

    def lower_changes(self):
        """`changed(x, y, "index", "op")` is written as a function with an assignment in it."""
        made = {}
        for i, (text, want, loose) in enumerate(self.cases):
            match = re.fullmatch(r'changed\((\w+), (\w+), "([^"]*)"(?:, "([^"]*)")?\)', text)
            if not match:
                continue
            x, y, index, op = match.groups()
            name = f"change{len(made)}"
            types = {n: re.match(rf"let {n}: (.*?) = ", line).group(1) for n in (x, y) for line in self.lines
                     if line.startswith(f"let {n}:")}
            made[name] = (f"fn {name}(x: {types[x]}, y: {types[y]}) -> {types[x]} {{\n  var u = x\n"
                          f"  u[{index}] {op or '='} y\n  u\n}}")
            self.cases[i] = (f"{name}({x}, {y})", want, loose)
        return list(made.values())

    def run(self):
        """Writes, runs and compares; returns the number of comparisons."""
        out = self.lower_changes() + list(self.lines)
        for i, (text, _, _) in enumerate(self.cases):
            out.append(f'print("#eager {i}")')
            out.append(self.show(i, text))
        for begin in range(0, len(self.cases), 24):
            part = self.cases[begin:begin + 24]
            names = [f"r{begin + i}" for i in range(len(part))]
            pattern = "(" + ", ".join(names) + ")" if len(names) > 1 else names[0]
            body = ", ".join(text for text, _, _ in part)
            out.append(f"let {pattern} = graph {{ {'(' + body + ')' if len(part) > 1 else body} }}")
            for i, name in enumerate(names):
                out.append(f'print("#graph {begin + i}")')
                out.append(self.show(begin + i, name))
        with tempfile.NamedTemporaryFile("w", suffix=".mx", delete=False) as f:
            f.write("\n".join(out) + "\n")
        done = subprocess.run([MXC, "run", f.name], capture_output=True, text=True)
        if done.returncode != 0:
            print(f"{f.name} failed:\n{done.stderr[:3000]}")
            return None
        return self.compare(done.stdout, f.name)

    def show(self, i, text):
        """A statement that prints a value with all its digits."""
        kind = self.cases[i][1].dtype.kind
        return f'print(f"{{{text}:{".17g" if kind == "f" else "d"}}}")' if kind != "b" else f"print({text})"

    def compare(self, text, path):
        wrong = checked = 0
        for block in re.split(r"^#", text, flags=re.M)[1:]:
            head, _, body = block.partition("\n")
            way, index = head.split()
            expression, want, loose = self.cases[int(index)]
            got, shape = parse(body, want)
            kind = next((n for n, t in NP.items() if want.dtype == t), None)
            ok = got is not None and got.size == want.size
            if ok and shape is not None:
                ok = shape == f"{kind}[{', '.join(map(str, want.shape))}]"
            if ok and want.size:
                flat = want.reshape(-1)
                if want.dtype.kind == "f":
                    eps = EPS[kind] * loose
                    a, b = got.astype(np.float64), flat.astype(np.float64)
                    same = (np.isnan(a) & np.isnan(b)) | (a == b) | (
                        np.abs(a - b) <= eps * np.maximum(np.abs(b), 1e-30) + eps * (loose > 1))
                    ok = bool(np.all(same))
                else:
                    ok = bool(np.all(got == flat))
            checked += 1
            if not ok:
                wrong += 1
                if wrong <= 5:
                    print(f"{path}: {way}: {expression}\n  got  {shape} {None if got is None else got[:12]}"
                          f"\n  want {kind}{list(want.shape)} {want.reshape(-1)[:12]}")
        if checked != 2 * len(self.cases):
            print(f"{path}: {checked} results for {len(self.cases)} cases")
            return None
        return None if wrong else checked


def parse(body, want):
    """The printed value as a flat array, and the type it was printed with."""
    shape = None
    match = re.match(r"\s*([a-z0-9]+\[[0-9, ]*\])", body)
    if match:
        shape, body = match.group(1), body[match.end():]
    words = re.findall(r"-?nan|-?inf|true|false|-?[0-9][0-9.e+-]*", body)
    if "..." in body or "…" in body:
        return None, shape
    if want.dtype == np.bool_:
        return np.array([w == "true" for w in words], dtype=np.bool_), shape
    if want.dtype.kind in "iu":
        return np.array([int(w) for w in words], dtype=np.int64), shape
    return np.array([float(w) for w in words], dtype=np.float64), shape


SHAPES = [(), (1,), (7,), (0,), (2, 3), (3, 1, 5), (0, 4), (2, 1, 3, 2), (1, 2, 1, 3, 2)]
PAIRS = [((), ()), ((5,), ()), ((), (3,)), ((2, 3), (3,)), ((2, 1), (1, 4)), ((3, 1, 2), (4, 2)),
         ((0, 3), (3,)), ((7,), (7,)), ((2, 3, 1, 2), (3, 5, 1)), ((1, 2, 1, 2, 1), (3, 1, 2, 1, 3))]


def arithmetic(p, kind):
    for sa, sb in PAIRS:
        a, b = values(kind, sa), values(kind, sb)
        x, y = p.input(a), p.input(b)
        rank = max(len(sa), len(sb))
        if sa and sb and len(sa) != len(sb):  # say where it goes: S12
            small, name = (sa, "x") if len(sa) < len(sb) else (sb, "y")
            index = "[" + ", ".join(["new"] * (rank - len(small)) + [":"] * len(small)) + "]"
            if name == "x":
                x += index
            else:
                y += index
        for op, f in [("+", np.add), ("-", np.subtract), ("*", np.multiply)]:
            p.expect(f"{x} {op} {y}", f(a, b))
        for op, f in [("==", np.equal), ("!=", np.not_equal), ("<", np.less), ("<=", np.less_equal),
                      (">", np.greater), (">=", np.greater_equal)]:
            p.expect(f"{x} {op} {y}", f(a, b))
        p.expect(f"maximum({x}, {y})", np.maximum(a, b))
        p.expect(f"minimum({x}, {y})", np.minimum(a, b))
        p.expect(f"select({x} < {y}, {x}, {y})", np.where(a < b, a, b))
        if kind in FLOATS:
            p.expect(f"{x} / {y}", np.divide(a, b))
            p.expect(f"{x} ** {y}", np.power(a, b), 4)
            p.expect(f"{x} // {y}", np.floor_divide(a, b))
            p.expect(f"{x} % {y}", np.mod(a, b), 4)
        else:
            c = np.where(b == 0, 1, b).astype(NP[kind])
            z = p.input(c)
            if "[" in y and "x" in y:
                z += y[y.index("["):]
            p.expect(f"{x} // {z}", np.floor_divide(a, c))
            p.expect(f"{x} % {z}", np.mod(a, c))
            p.expect(f"{x} / {z}", (a.astype(np.float32) / c.astype(np.float32)).astype(np.float32))


def unary(p, kind):
    for shape in SHAPES:
        a = values(kind, shape)
        x = p.input(a)
        p.expect(f"-{x}", np.negative(a) if kind != "u8" else (0 - a.astype(np.int64)).astype(np.uint8))
        p.expect(f"abs({x})", np.abs(a))
        p.expect(f"{x} * 2 + {x}", (a * NP[kind](2) + a).astype(NP[kind]))
        for to in ["bool"] + INTS + FLOATS:
            if to in ("f16",) and kind in ("f64", "i64"):
                continue
            if kind in FLOATS and to in INTS:
                info = np.iinfo(NP[to])
                def saturate(v):
                    if math.isnan(v):
                        return 0
                    return info.max if v >= info.max else info.min if v <= info.min else int(v)

                want = np.array([saturate(float(v)) for v in a.reshape(-1)], dtype=NP[to]).reshape(shape)
            else:
                want = (a != 0) if to == "bool" else a.astype(NP[to])
            p.expect(f"{to}({x})", want)
        if kind in FLOATS:
            s = p.input(np.abs(values(kind, shape, special=False)) + NP[kind](0.1))
            b = np.abs(eval_last(p, s))
            for name, f, arg, ref in [
                    ("exp", np.exp, x, a), ("tanh", np.tanh, x, a), ("log", np.log, s, b),
                    ("sqrt", np.sqrt, s, b), ("floor", np.floor, x, a), ("ceil", np.ceil, x, a),
                    ("round", np.rint, x, a), ("log", np.log, x, a), ("sqrt", np.sqrt, x, a),
                    ("sin", np.sin, s, b), ("cos", np.cos, s, b), ("log1p", np.log1p, s, b),
                    ("expm1", np.expm1, s, b), ("sign", np.sign, x, a)]:
                p.expect(f"{name}({arg})", f(ref), 4)
            p.expect(f"isnan({x})", np.isnan(a))
            p.expect(f"isfinite({x})", np.isfinite(a))


def eval_last(p, name):
    """The array behind the last input: its line is the literal NumPy can read too."""
    text = p.lines[-1]
    kind = re.match(r"let \w+: (\w+)", text).group(1)
    shape = re.match(r"let \w+: \w+(?:\[([0-9, ]*)\])?", text).group(1)
    shape = tuple(int(s) for s in shape.split(",")) if shape else ()
    body = text.split(" = ", 1)[1]
    if body.startswith("zeros("):
        return np.zeros(shape, NP[kind])
    return np.array(eval(body, {"nan": math.nan, "inf": math.inf})).astype(NP[kind]).reshape(shape)


def reductions(p, kind):
    for shape in [(5,), (0,), (1,), (3, 4), (2, 3, 5), (4, 0, 2), (2, 3, 2, 3), (1, 2, 3, 1, 4), (17, 2)]:
        a = values(kind, shape, special=kind in INTS)
        x = p.input(a)
        rank = len(shape)
        choices = [None] + list(range(-rank, rank)) + list(itertools.combinations(range(rank), 2))
        for axis, keep in itertools.product(choices, [False, True]):
            args = [] if axis is None else [f"axis={list(axis) if isinstance(axis, tuple) else axis}"]
            args += ["keep=true"] if keep else []
            call = f"({x}{''.join(', ' + g for g in args)})"
            np_args = dict(axis=axis, keepdims=keep)
            acc = np.float64 if kind in FLOATS else NP[kind]
            if kind != "bool":
                p.expect("sum" + call, np.sum(a, dtype=acc, **np_args).astype(NP[kind]), 20)
            count = a.size if axis is None else np.prod([shape[i] for i in np.atleast_1d(axis)])
            if kind in FLOATS:
                p.expect("mean" + call, np.mean(a, dtype=np.float64, **np_args).astype(NP[kind]), 20)
            if count:
                p.expect("max" + call, np.max(a, **np_args))
                p.expect("min" + call, np.min(a, **np_args))
                if not isinstance(axis, tuple) and axis is not None:
                    p.expect("argmax" + call, np.argmax(a, **np_args).astype(np.int32))
    if kind in FLOATS:
        a = np.array([1, math.nan, 3, -math.inf], NP[kind])
        x = p.input(a)
        p.expect(f"max({x})", np.max(a))
        p.expect(f"argmax({x}, axis=0)", np.int32(np.argmax(a)))
        p.expect(f"sum({x})", np.sum(a))


def products(p, kind):
    for sa, sb in [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((0, 3), (3, 2)),
                   ((2, 0), (0, 3)), ((1, 1), (1, 1)), ((7, 5), (5, 3)), ((2, 3, 4), (2, 4, 5)),
                   ((2, 3, 4), (4, 2)), ((17, 5), (5, 2))]:
        a, b = values(kind, sa, special=False), values(kind, sb, special=False)
        x, y = p.input(a), p.input(b)
        acc = np.float64 if kind in FLOATS else NP[kind]
        want = np.matmul(a.astype(acc), b.astype(acc)).astype(NP[kind])
        p.expect(f"{x} @ {y}", want, 50)
        if len(sa) == 2:
            p.expect(f"{x}.T @ {x}", np.matmul(a.T.astype(acc), a.astype(acc)).astype(NP[kind]), 50)


def shapes(p, kind):
    a = values(kind, (4, 3, 2))
    x = p.input(a)
    p.expect(f"{x}.reshape([2, 12])", a.reshape(2, 12))
    p.expect(f"{x}.reshape([_, 6])", a.reshape(-1, 6))
    p.expect(f"{x}.transpose([2, 0, 1])", a.transpose(2, 0, 1))
    p.expect(f"{x}.T", a.swapaxes(-1, -2))
    p.expect(f"{x}.transpose([2, 0, 1]).reshape([8, 3])", a.transpose(2, 0, 1).reshape(8, 3))
    for text, key in [("0", 0), ("-1", -1), ("1:3", np.s_[1:3]), (":, 1", np.s_[:, 1]),
                      ("..., 0", np.s_[..., 0]), ("::2", np.s_[::2]), ("::-1", np.s_[::-1]),
                      ("3:0:-2", np.s_[3:0:-2]), (":, new, -1", np.s_[:, None, -1]),
                      ("1, 2, 1", np.s_[1, 2, 1]), ("-3:-1, ::-1", np.s_[-3:-1, ::-1]),
                      ("2:2", np.s_[2:2]), ("new", np.s_[None])]:
        p.expect(f"{x}[{text}]", a[key])
    b = values(kind, (2, 3, 2))
    y = p.input(b)
    p.expect(f"concat({x}, {y})", np.concatenate([a, b]))
    p.expect(f"concat({x}, {x}, axis=-1)", np.concatenate([a, a], -1))
    p.expect(f"stack({x}[0], {y}[1])", np.stack([a[0], b[1]]))
    index = np.array([3, 0, 0, -1 + 4], np.int32)
    i = p.input(index)
    p.expect(f"{x}[{i}]", a[index])
    p.expect(f"take({x}, {i}[1:3], axis=1)", np.take(a, index[1:3], 1))
    row = values(kind, (3, 1))
    r = p.input(row)
    p.expect(f"{r}.broadcast([2, 3, 4])", np.broadcast_to(row, (2, 3, 4)))
    if kind != "bool":
        p.expect(f"iota(7, dtype={kind})", np.arange(7).astype(NP[kind]))
        p.expect(f"full({r}[0, 0], [2, 2])", np.full((2, 2), row[0, 0]))
    p.expect(f"zeros([2, 3], dtype={kind})", np.zeros((2, 3), NP[kind]))
    p.expect(f"ones([0, 3], dtype={kind})", np.ones((0, 3), NP[kind]))


def updates(p, kind):
    """x[…] = v and x[…] += v, as blocks whose value is the changed tensor."""
    a = values(kind, (4, 3, 2))
    x = p.input(a)
    for text, key in [("0", 0), ("-1", -1), ("1:3", np.s_[1:3]), (":, 1", np.s_[:, 1]), ("..., 0", np.s_[..., 0]),
                      ("::2", np.s_[::2]), ("::-1", np.s_[::-1]), ("3:0:-2", np.s_[3:0:-2]),
                      ("1, 2, 1", np.s_[1, 2, 1]), ("-3:-1, ::-1", np.s_[-3:-1, ::-1]), ("2:2", np.s_[2:2])]:
        part = a[key]
        v = values(kind, part.shape, special=False)
        y = p.input(v)
        want = a.copy()
        want[key] = v
        p.expect(f"changed({x}, {y}, \"{text}\")", want)
        if kind != "bool":
            want = a.copy()
            want[key] = (part + v).astype(NP[kind])
            p.expect(f"changed({x}, {y}, \"{text}\", \"+=\")", want)


GROUPS = {}
for kind in INTS + FLOATS:
    GROUPS[f"arithmetic-{kind}"] = (arithmetic, kind)
    GROUPS[f"unary-{kind}"] = (unary, kind)
    GROUPS[f"reductions-{kind}"] = (reductions, kind)
    GROUPS[f"products-{kind}"] = (products, kind)
for kind in ["bool"] + INTS + FLOATS:
    GROUPS[f"shapes-{kind}"] = (shapes, kind)
    GROUPS[f"updates-{kind}"] = (updates, kind)

if GROUP == "--list":
    print("\n".join(GROUPS))
    sys.exit(0)
make, kind = GROUPS[GROUP]
program = Program()
make(program, kind)
count = program.run()
if count is None:
    sys.exit(1)
print(f"{GROUP}: {count} results agree")
