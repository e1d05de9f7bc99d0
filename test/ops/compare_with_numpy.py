#!/usr/bin/env python3
"""Runs every op of mx eagerly and in a graph, and compares both with NumPy.

Usage: compare_with_numpy.py MXC GROUP
       compare_with_numpy.py MXC --list | --cases

For each element type and set of shapes one program is written. It evaluates many expressions, once
as they are and once inside `graph { }`, and prints the results; this script knows what NumPy says
about them. Values include NaN, infinities, signed zeros and the ends of integer ranges. The program
runs on 1, 2 and 4 threads, which must print the same (S14).
`--list` prints the names of the groups, `--cases` the expressions of all groups as JSON.
"""

import itertools
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np

from functions import ALL, FUNCTIONS
from mxtext import NP, kind_of, parse, show, typed

warnings.filterwarnings("ignore")
np.seterr(all="ignore")

MXC, GROUP = sys.argv[1], sys.argv[2]
rng = np.random.default_rng(7)

INTS, FLOATS = ["i8", "u8", "i32", "i64"], ["f16", "f32", "f64"]
# Largest relative error that counts as equal; sums and products of many terms get ten times that.
EPS = {"f16": 2e-3, "f32": 1e-6, "f64": 1e-14}


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
        self.lines, self.cases, self.inputs, self.parts = [], [], 0, 0
        self.functions, self.eager_only = [], set()

    def input(self, x):
        name = f"x{self.inputs}"
        self.inputs += 1
        self.lines.append(typed(name, x))
        return name

    def expect(self, text, want, loose=1.0):
        self.cases.append((text, np.asarray(want), loose))

    def expect_eager(self, text, want):
        """Ops that a graph cannot contain."""
        self.eager_only.add(len(self.cases))
        self.expect(text, want)

    def function(self, signature, body):
        name = f"once{len(self.functions)}"
        self.functions.append(f"fn {name}{signature} {{\n  {body}\n}}")
        return name

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
        out = self.lower_changes() + self.functions + list(self.lines)
        for i, (text, _, _) in enumerate(self.cases):
            out.append(f'print("#eager {i}")')
            out.append(self.show(i, text))
        inside = [i for i in range(len(self.cases)) if i not in self.eager_only]
        for begin in range(0, len(inside), 24):
            numbers = inside[begin:begin + 24]
            part = [self.cases[i] for i in numbers]
            names = [f"r{i}" for i in numbers]
            pattern = "(" + ", ".join(names) + ")" if len(names) > 1 else names[0]
            body = ", ".join(text for text, _, _ in part)
            out.append(f"let {pattern} = graph {{ {'(' + body + ')' if len(part) > 1 else body} }}")
            for i, name in zip(numbers, names):
                out.append(f'print("#graph {i}")')
                out.append(self.show(i, name))
        with tempfile.NamedTemporaryFile("w", suffix=".mx", delete=False) as f:
            f.write("\n".join(out) + "\n")
        printed = {}
        for threads in ["1", "2", "4"]:
            # Loops of graphs are cut into single iterations, so that threads have something to share.
            done = subprocess.run([MXC, "run", "--internal-chunk=1", f.name], capture_output=True, text=True,
                                  env=os.environ | {"MX_NUM_THREADS": threads})
            if done.returncode != 0:
                print(f"{f.name} failed on {threads} threads:\n{done.stderr[:3000]}")
                return None
            printed[threads] = done.stdout
            if done.stdout != printed["1"]:
                print(f"{f.name}: other bits on {threads} threads than on one")
                return None
        count = self.compare(printed["1"], f.name)
        if count is not None:
            os.remove(f.name)
        return count

    def show(self, i, text):
        want = self.cases[i][1]
        self.parts += 1
        return "\n".join(show(text, kind_of(want), want.shape, f"part{self.parts}"))

    def compare(self, text, path):
        wrong = checked = 0
        for block in re.split(r"^#", text, flags=re.M)[1:]:
            head, _, body = block.partition("\n")
            way, index = head.split()
            expression, want, loose = self.cases[int(index)]
            kind = kind_of(want)
            got, shape = parse(body, kind)
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
        if checked != 2 * len(self.cases) - len(self.eager_only):
            print(f"{path}: {checked} results for {len(self.cases)} cases")
            return None
        return None if wrong else checked


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
                    ("sqrt", np.sqrt, s, b), ("floor", np.floor, x, a), ("ceil", np.ceil, x, a),
                    ("round", np.rint, x, a), ("log", np.log, x, a), ("sqrt", np.sqrt, x, a),
                    ("sign", np.sign, x, a)]:
                p.expect(f"{name}({arg})", f(ref), 4)
            for name, (f, numbers) in FUNCTIONS.items():
                p.expect(f"{name}({x if numbers == ALL else s})", f(a if numbers == ALL else b).astype(NP[kind]), 4)
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


def indices(p, kind):
    """Elements at other indices: flip, roll, tile, pad, take_along."""
    for shape in [(1,), (7,), (0,), (2, 3), (3, 1, 5), (0, 4), (2, 1, 3, 2), (1, 2, 1, 3, 2)]:
        a = values(kind, shape)
        x, rank = p.input(a), len(shape)
        for axis in range(-rank, rank):
            p.expect(f"flip({x}, axis={axis})", np.flip(a, axis))
            for shift in [0, 1, -2, 9]:
                p.expect(f"roll({x}, {shift}, axis={axis})", np.roll(a, shift, axis))
        p.expect(f"flip({x})", np.flip(a, -1))
        for times in [[2] * rank, [1] * (rank - 1) + [3], [0] + [1] * (rank - 1)]:
            p.expect(f"tile({x}, {times})", np.tile(a, times))
        before, after = [i % 3 for i in range(rank)], [(i + 1) % 3 for i in range(rank)]
        for mode in ["constant", "edge", "reflect"]:
            if mode != "constant" and 0 in shape:
                continue
            p.expect(f'pad({x}, {before}, {after}, mode="{mode}")',
                     np.pad(a, list(zip(before, after)), mode=mode))
        if 0 in shape:
            continue
        for axis in range(-rank, rank):
            n = shape[axis]
            at = list(shape)
            at[axis] = 2
            index = rng.integers(-n, n, at).astype(np.int32)
            i = p.input(index)
            if at == list(shape):
                p.expect(f"take_along({x}, {i}, axis={axis})", np.take_along_axis(a, index, axis))
    a = values(kind, (5,))
    x = p.input(a)
    p.expect(f'pad({x}, [11], [9], mode="reflect")', np.pad(a, (11, 9), mode="reflect"))


def patterns(p, kind):
    """rearrange and einsum."""
    a = values(kind, (4, 6, 5))
    x = p.input(a)
    p.expect(f'{x}.rearrange("a b c -> c a b")', a.transpose(2, 0, 1))
    p.expect(f'{x}.rearrange("a b c -> (a b) c")', a.reshape(24, 5))
    p.expect(f'{x}.rearrange("a (h k) c -> a h c k", h=2)',
             a.reshape(4, 2, 3, 5).transpose(0, 1, 3, 2))
    p.expect(f'{x}.rearrange("a (h k) c -> (a c) (k h)", k=2)',
             a.reshape(4, 3, 2, 5).transpose(0, 3, 2, 1).reshape(20, 6))
    p.expect(f'{x}.rearrange("a b c -> a 1 b c")', a.reshape(4, 1, 6, 5))
    if kind == "bool":
        return
    acc = np.float64 if kind in FLOATS else NP[kind]
    for pattern, sizes in [
            ("i j -> j i", [(3, 4)]), ("i j -> i", [(3, 4)]), ("i j ->", [(3, 4)]), ("i i -> i", [(4, 4)]),
            ("i i ->", [(3, 3)]), ("i, i ->", [(5,), (5,)]), ("i, j -> i j", [(5,), (2,)]),
            ("i j, j k -> i k", [(2, 3), (3, 4)]), ("i j, j k -> k i", [(2, 3), (3, 4)]),
            ("b i k, k j -> b i j", [(2, 3, 4), (4, 5)]), ("b i k, b j k -> b i j", [(2, 3, 4), (2, 5, 4)]),
            ("b h i k, b h j k -> b h i j", [(2, 2, 3, 4), (2, 2, 5, 4)]), ("i j, i j -> i j", [(2, 3), (2, 3)]),
            ("i j, j k, k l -> i l", [(2, 3), (3, 4), (4, 2)]), ("i j, k -> i k", [(2, 3), (4,)]),
            ("i j, j k -> i k", [(0, 3), (3, 4)]), ("i j, j k -> i k", [(2, 0), (0, 3)]),
            ("a b c, c b -> a", [(2, 3, 4), (4, 3)])]:
        arrays = [values(kind, s, special=False) for s in sizes]
        names = [p.input(v) for v in arrays]
        want = np.einsum(pattern.replace(" ", ""), *[v.astype(acc) for v in arrays]).astype(NP[kind])
        p.expect(f'einsum("{pattern}", {", ".join(names)})', want, 50)


def windows(p, kind):
    """Convolutions and pooling, against loops written here."""
    def conv(a, w, stride, pad, dilation, groups):
        n = a.ndim - 2
        a = np.pad(a, [(0, 0), (0, 0)] + [(pad, pad)] * n).astype(np.float64)
        w = w.astype(np.float64)
        out = [(a.shape[d + 2] - dilation * (w.shape[d + 2] - 1) - 1) // stride + 1 for d in range(n)]
        y = np.zeros((a.shape[0], w.shape[0], *out))
        per, outs = w.shape[1], w.shape[0] // groups
        for o in range(w.shape[0]):
            g = o // outs
            for position in itertools.product(*[range(k) for k in out]):
                for k in itertools.product(*[range(k) for k in w.shape[2:]]):
                    at = tuple(q * stride + r * dilation for q, r in zip(position, k))
                    y[(slice(None), o) + position] += a[(slice(None), slice(g * per, (g + 1) * per)) + at] @ w[(o, slice(None)) + k]
        return y

    for name, sx, sw, options in [
            ("conv1d", (2, 3, 9), (4, 3, 3), {}), ("conv1d", (1, 1, 5), (1, 1, 1), {}),
            ("conv1d", (2, 4, 11), (6, 2, 3), dict(stride=2, pad=1, dilation=2, groups=2)),
            ("conv2d", (2, 3, 7, 5), (4, 3, 3, 3), {}), ("conv2d", (1, 2, 6, 7), (3, 2, 3, 2), dict(stride=2, pad=1)),
            ("conv2d", (2, 4, 8, 8), (4, 1, 3, 3), dict(pad=1, groups=4)),
            ("conv2d", (1, 2, 9, 9), (2, 2, 3, 3), dict(dilation=3)), ("conv2d", (0, 2, 5, 5), (3, 2, 3, 3), {}),
            ("conv3d", (1, 2, 4, 5, 3), (3, 2, 2, 3, 2), dict(stride=2, pad=1))]:
        a, w = values(kind, sx, special=False), values(kind, sw, special=False)
        full = dict(stride=1, pad=0, dilation=1, groups=1) | options
        args = "".join(f", {k}={v}" for k, v in options.items())
        p.expect(f"{name}({p.input(a)}, {p.input(w)}{args})", conv(a, w, **full).astype(NP[kind]), 100)
    for sx, sw, stride, pad in [((1, 2, 3, 4), (2, 3, 3, 3), 1, 0), ((2, 2, 3, 2), (2, 1, 2, 3), 2, 1),
                                ((1, 1, 4, 4), (1, 2, 3, 3), 3, 2), ((2, 2, 5), (2, 3, 3), 2, 1),
                                ((1, 1, 1), (1, 1, 4), 3, 0), ((1, 2, 2, 3, 2), (2, 2, 3, 2, 3), 2, 1)]:
        a, w = values(kind, sx, special=False), values(kind, sw, special=False)
        every = (slice(None), slice(None))
        y = np.zeros((sx[0], sw[1]) + tuple((n - 1) * stride + k for n, k in zip(sx[2:], sw[2:])))
        for at in itertools.product(*map(range, sx[2:])):
            y[every + tuple(slice(i * stride, i * stride + k) for i, k in zip(at, sw[2:]))] += np.einsum(
                "bi,io...->bo...", a[every + at].astype(np.float64), w.astype(np.float64))
        y = y[every + tuple(slice(pad, n - pad) for n in y.shape[2:])]
        p.expect(f"conv{len(sx) - 2}d_transpose({p.input(a)}, {p.input(w)}, stride={stride}, pad={pad})", y.astype(NP[kind]), 100)
    for shape, size, stride, pad in [((2, 3, 6, 6), 2, None, 0), ((1, 2, 7, 5), 3, 2, 1), ((1, 1, 4, 4), 4, 1, 0)]:
        a = values(kind, shape, special=False)
        x, step = p.input(a), stride or size
        for name, f, fill in [("maxpool2d", np.max, -np.inf), ("avgpool2d", np.mean, 0.0)]:
            b = np.pad(a.astype(np.float64), [(0, 0), (0, 0), (pad, pad), (pad, pad)], constant_values=fill)
            h, w = (b.shape[2] - size) // step + 1, (b.shape[3] - size) // step + 1
            y = np.array([[[[f(b[n, c, i * step:i * step + size, j * step:j * step + size]) for j in range(w)]
                            for i in range(h)] for c in range(shape[1])] for n in range(shape[0])])
            args = (f", stride={stride}" if stride else "") + (f", pad={pad}" if pad else "")
            p.expect(f"{name}({x}, {size}{args})", y.astype(NP[kind]), 20)
    for shape, size, stride, pad in [((2, 3, 9), 3, None, 0), ((4, 7), 3, 2, 1), ((5,), 5, 1, 0), ((1, 2, 2, 6), 2, 3, 1),
                                     ((0, 4), 2, None, 0)]:
        a = values(kind, shape, special=False)
        x, step = p.input(a), stride or size
        for name, f, fill in [("window_max", np.max, -np.inf), ("window_mean", np.mean, 0.0)]:
            b = np.pad(a.astype(np.float64), [(0, 0)] * (len(shape) - 1) + [(pad, pad)], constant_values=fill)
            y = np.stack([f(b[..., i:i + size], axis=-1) for i in range(0, b.shape[-1] - size + 1, step)], axis=-1)
            args = (f", stride={stride}" if stride else "") + (f", pad={pad}" if pad else "")
            p.expect(f"{name}({x}, {size}{args})", y.astype(NP[kind]), 20)


def descending(x):
    """Numbers whose order is the opposite one; NaN is the largest, so it comes first."""
    if x.dtype.kind == "f":
        order = -x.astype(np.float64)
        return np.where(np.isnan(order), -np.inf, np.where(order == -np.inf, np.finfo(np.float64).min, order))
    return ~x


def orders(p, kind):
    """Running sums, sorting, scatters of rows."""
    acc = np.float64 if kind in FLOATS else NP[kind]
    for shape in [(1,), (7,), (0,), (2, 3), (3, 1, 5), (17, 2), (2, 1, 3, 2)]:
        a = values(kind, shape, special=kind in INTS)
        x, rank = p.input(a), len(shape)
        b = values(kind, shape)
        y = p.input(b)
        for axis in range(-rank, rank):
            p.expect(f"cumsum({x}, axis={axis})", np.cumsum(a, axis, dtype=acc).astype(NP[kind]), 20)
            p.expect(f"cumprod({x}, axis={axis})", np.cumprod(a, axis, dtype=acc).astype(NP[kind]), 20)
            p.expect(f"sort({y}, axis={axis})", np.sort(b, axis))
            p.expect(f"argsort({y}, axis={axis})", np.argsort(b, axis, kind="stable").astype(np.int32))
            if shape[axis] >= 2:
                # Down, but equal ones in order: the stable order of the opposite. NaN is the largest.
                down = np.argsort(descending(b), axis, kind="stable")
                targets = np.take(down, [0, 1], axis).astype(np.int32)
                p.expect(f"top_k({y}, 2, axis={axis})[0]", np.take_along_axis(b, targets, axis))
                p.expect(f"top_k({y}, 2, axis={axis})[1]", targets)
    for rows, targets, tail in [(5, [0, 2, 2, 4], ()), (3, [1, 1, -1, 0], (2,)), (4, [], (3,)), (2, [1], (2, 3))]:
        a, b = values(kind, (rows, *tail), special=False), values(kind, (len(targets), *tail), special=False)
        index = np.array(targets, np.int32)
        x, y, i = p.input(a), p.input(b), p.input(index)
        for name, f in [("add", np.add), ("max", np.maximum)]:
            want = a.copy()
            for k, at in enumerate(targets):
                want[at] = f(want[at], b[k])
            p.expect(f"scatter_{name}({x}, {i}, {y})", want, 20)
        want = a.copy()
        for k, at in enumerate(targets):
            want[at] = b[k]
        p.expect(f"scatter_set({x}, {i}, {y})", want)
    flags = rng.integers(0, 2, 11).astype(np.bool_)
    m = p.input(flags)
    where = np.flatnonzero(flags)
    for most in [3, 11, 20]:
        first = np.zeros(most, np.int32)
        first[:min(most, len(where))] = where[:most]
        p.expect(f"nonzero({m}, max={most})[0]", first)
        p.expect(f"nonzero({m}, max={most})[1]", np.int32(min(most, len(where))))
    # Their sizes depend on the data: not in graphs.
    p.expect_eager(f"nonzero({m})", where.astype(np.int32))
    for shape in [(0,), (1,), (30,)]:
        b = values(kind, shape)
        p.expect_eager(f"unique({p.input(b)})", np.unique(b))


def matrices(p, kind):
    """Linear algebra. Vectors have a sign that nothing says, so products of factors are compared."""
    loose = 5000
    for batch, n in [((), 1), ((), 5), ((2,), 3), ((2, 1), 4), ((0,), 3), ((), 0), ((), 20)]:
        def draw(*tail):
            return values(kind, batch + tail, special=False) / NP[kind](3)
        def t(x):
            return np.swapaxes(x, -1, -2)
        eye = np.eye(n, dtype=NP[kind])
        g = draw(n, n)
        a = (np.matmul(g, t(g)) + eye).astype(NP[kind])
        b, tall, low = draw(n, 3), draw(n + 2, n), np.tril(draw(n, n)) + 3 * eye
        xg, xa, xb, xt = p.input((g + 2 * eye).astype(NP[kind])), p.input(a), p.input(b), p.input(tall)
        xl, xu = p.input(low.astype(NP[kind])), p.input(t(low).copy())
        p.expect(f"cholesky({xa})", np.linalg.cholesky(a) if a.size else a, loose)
        solved = np.linalg.solve(g + 2 * eye, b) if b.size else b
        p.expect(f"solve({xg}, {xb})", solved.astype(NP[kind]), loose)
        solved = np.linalg.solve(low, b) if b.size else b
        p.expect(f"triangular_solve({xl}, {xb})", solved.astype(NP[kind]), loose)
        solved = np.linalg.solve(t(low), b) if b.size else b
        p.expect(f"triangular_solve({xu}, {xb}, lower=false)", solved.astype(NP[kind]), loose)
        # A name for the results, so that two of them can be used.
        f = p.function
        full = f"{kind}[{', '.join(map(str, batch + (n, n)))}]"
        high = f"{kind}[{', '.join(map(str, batch + (n + 2, n)))}]"
        once = f(f"(x: {high}) -> {high}", "let (q, r) = qr(x)\n  q @ r")
        p.expect(f"{once}({xt})", tall, loose)
        once = f(f"(x: {high}) -> {full}", "let (q, r) = qr(x)\n  q.T @ q")
        p.expect(f"{once}({xt})", np.broadcast_to(eye, batch + (n, n)), loose)
        once = f(f"(x: {high}) -> {full}", f"let (q, r) = qr(x)\n  select(triu([{n}, {n}]), 0.0, r)")
        p.expect(f"{once}({xt})", np.zeros(batch + (n, n), NP[kind]))
        once = f(f"(x: {high}) -> {high}", "let (u, s, v) = svd(x)\n  (u * s[..., new, :]) @ v")
        p.expect(f"{once}({xt})", tall, loose)
        if tall.size:
            p.expect(f"svd({xt})[1]", np.linalg.svd(tall, compute_uv=False), loose)
            p.expect(f"eigh({xa})[0]", np.linalg.eigvalsh(a), loose)
        once = f(f"(x: {full}) -> {full}", "let (w, v) = eigh(x)\n  (v * w[..., new, :]) @ v.T")
        p.expect(f"{once}({xa})", a, loose)


def more(p, kind):
    """Further elementwise ops, reductions and making."""
    for shape in [(), (1,), (7,), (0,), (2, 3), (3, 1, 5), (1, 2, 1, 3, 2)]:
        a, b = values(kind, shape), values(kind, shape)
        x, y = p.input(a), p.input(b)
        if kind in INTS:
            bits = np.iinfo(NP[kind]).bits
            c = np.abs(values("i8", shape, special=False) % bits).astype(NP[kind])
            z = p.input(c)
            for name, f in [("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor)]:
                p.expect(f"bit_{name}({x}, {y})", f(a, b))
            p.expect(f"bit_not({x})", np.invert(a))
            p.expect(f"shift_left({x}, {z})", np.left_shift(a, c))
            p.expect(f"shift_right({x}, {z})", np.right_shift(a, c))
        else:
            p.expect(f"atan2({x}, {y})", np.arctan2(a, b), 8)
            p.expect(f"tan({x})", np.tan(a.astype(np.float64)).astype(NP[kind]), 50)
            p.expect(f"rsqrt(abs({x}))", (1 / np.sqrt(np.abs(a.astype(np.float64)))).astype(NP[kind]), 4)
            erf = np.array([math.erf(v) for v in a.reshape(-1).astype(np.float64)]).reshape(shape)
            p.expect(f"erf({x})", erf.astype(NP[kind]), 8)
        c = values(kind, shape, special=False)
        z, rank = p.input(c), len(shape)
        for axis in [None] + list(range(-rank, rank)):
            args = "" if axis is None else f", axis={axis}"
            acc = np.float64 if kind in FLOATS else NP[kind]
            p.expect(f"prod({z}{args})", np.prod(c, axis, dtype=acc).astype(NP[kind]), 20)
            p.expect(f"any({z}{args})", np.any(c, axis))
            p.expect(f"all({z}{args})", np.all(c, axis))
            if axis is not None and shape[axis]:
                p.expect(f"argmin({z}{args})", np.argmin(c, axis).astype(np.int32))
            if kind in FLOATS and np.size(c) and (axis is None or shape[axis]):
                d = c.astype(np.float64)
                p.expect(f"variance({z}{args})", np.var(d, axis).astype(NP[kind]), 50)
                p.expect(f"std({z}{args})", np.std(d, axis).astype(NP[kind]), 50)
                p.expect(f"norm({z}{args})", np.sqrt(np.sum(d * d, axis)).astype(NP[kind]), 50)
                p.expect(f"logsumexp({z}{args})", np.log(np.sum(np.exp(d), axis)).astype(NP[kind]), 50)
    p.expect(f"eye(3, dtype={kind})", np.eye(3, dtype=NP[kind]))
    index = p.input(np.array([[0, 2], [1, 1]], np.int32))
    p.expect(f"one_hot({index}, 3, dtype={kind})", np.eye(3, dtype=NP[kind])[[[0, 2], [1, 1]]])
    p.expect("tril([3, 4])", np.tri(3, 4, dtype=np.bool_))
    p.expect("triu([4, 3])", ~np.tri(4, 3, -1, dtype=np.bool_))
    p.expect("linspace(1.0, 2.0, 5)", np.linspace(1, 2, 5, dtype=np.float32))
    p.expect("linspace(1.0, 2.0, 1)", np.array([1], np.float32))
    a = values(kind, (4, 1, 6))
    x = p.input(a)
    p.expect(f"squeeze({x}, 1)", a.squeeze(1))
    for axis in [2, -1]:
        for i in range(3):
            p.expect(f"split({x}, 3, axis={axis})[{i}]", np.split(a, 3, axis)[i])


def halfs(p, kind):
    """bf16: like f32, rounded after each op. NumPy has none, so it is rounded here."""
    def rounded(v):
        bits = np.asarray(v, np.float32).view(np.uint32).astype(np.int64)
        up = np.asarray((bits + 0x7FFF + (bits >> 16) % 2) // 65536 * 65536).astype(np.uint32)
        return np.where(np.isnan(v), np.float32(math.nan), up.view(np.float32)).astype(np.float32)

    # Rank 0 is left out: the checker folds such constants without rounding (docs/status.md).
    for shape in [(7,), (0,), (3, 1, 5)]:
        a, b = rounded(values("f32", shape)), rounded(values("f32", shape))
        x, y = p.input(a), p.input(b)
        for op, f in [("+", np.add), ("-", np.subtract), ("*", np.multiply), ("/", np.divide)]:
            p.expect(f"f32(bf16({x}) {op} bf16({y}))", rounded(f(a, b)))
        for op, f in [("<", np.less), ("==", np.equal), (">=", np.greater_equal)]:
            p.expect(f"bf16({x}) {op} bf16({y})", f(a, b))
        for name, f in [("maximum", np.maximum), ("minimum", np.minimum)]:
            p.expect(f"f32({name}(bf16({x}), bf16({y})))", rounded(f(a, b)))
        # Where libraries differ in the last bit of f32, bf16 may differ in its last bit.
        for name, f in [("exp", np.exp), ("tanh", np.tanh), ("sin", np.sin), ("cos", np.cos), ("abs", np.abs),
                        ("floor", np.floor), ("ceil", np.ceil), ("sign", np.sign), ("log1p", np.log1p),
                        ("expm1", np.expm1), ("sqrt", np.sqrt), ("round", np.rint)]:
            p.expect(f"f32({name}(bf16({x})))", rounded(f(a)), 8000)
        p.expect(f"isnan(bf16({x}))", np.isnan(a))
        p.expect(f"i32(bf16({x}) * 0)", np.zeros(shape, np.int32))


def comprehensions(p, kind):
    a, b = values(kind, (3, 4), special=False), values(kind, (4, 5), special=False)
    x, y = p.input(a), p.input(b)
    acc = np.float64 if kind in FLOATS else NP[kind]
    p.expect(f"[{x}[i, 1] for i in 0..3]", a[:, 1])
    p.expect(f"[{x}[i, j] for j in 0..4, i in 0..3]", a.T)
    p.expect(f"[{x}[i] for i in 1..3]", a[1:3])
    p.expect(f"[{x}[i, i] for i in 0..3]", a[range(3), range(3)])
    p.expect(f"[{x}[2 - i, j + 1] for i in 0..3, j in 0..2]", a[::-1, 1:3])
    p.expect(f"[{x}[i, :2] + {y}[j, 3] for i in 0..3, j in 0..4]", a[:, None, :2] + b[None, :, 3:4])
    p.expect(f"[sum({x}[i, :] * {y}[:, j]) for i in 0..3, j in 0..5]",
             np.matmul(a.astype(acc), b.astype(acc)).astype(NP[kind]), 50)
    p.expect(f"[sum([{x}[i, k] * {y}[k, j] for k in 0..4]) for i in 0..3, j in 0..5]",
             np.matmul(a.astype(acc), b.astype(acc)).astype(NP[kind]), 50)
    p.expect(f"[select({x}[i, 0] > {x}[j, 0], {x}[i], {x}[j]) for i in 0..3, j in 0..3]",
             np.where(a[:, None, :1] > a[None, :, :1], a[:, None], a[None]))
    p.expect(f"[i * 10 + j for i in 0..3, j in 0..2]", (np.arange(3)[:, None] * 10 + np.arange(2)))
    p.expect(f"[{x}[i, 0] * 2 for i in 2..2]", a[2:2, 0])


def rest(p, kind):
    """softmax and its like, copies of a shape, and what joins bools."""
    for shape in [(1,), (7,), (2, 3), (3, 1, 5), (0, 4)]:
        a = values(kind, shape, special=False)
        x = p.input(a)
        p.expect(f"zeros_like({x})", np.zeros_like(a))
        p.expect(f"ones_like({x})", np.ones_like(a))
        p.expect(f"stop({x})", a)
        if kind == "bool":
            b = values(kind, shape)
            y = p.input(b)
            for op, f in [("and", np.logical_and), ("or", np.logical_or), ("==", np.equal), ("!=", np.not_equal)]:
                p.expect(f"{x} {op} {y}", f(a, b))
            p.expect(f"not {x}", ~a)
        if kind in FLOATS:
            p.expect(f"allclose({x}, {x})", np.bool_(True))
            for axis in range(-len(shape), len(shape)):
                if shape[axis] == 0:
                    continue
                d = a.astype(np.float64)
                e = np.exp(d - np.max(d, axis, keepdims=True, initial=-np.inf))
                soft = e / np.sum(e, axis, keepdims=True)
                p.expect(f"softmax({x}, axis={axis})", soft.astype(NP[kind]), 20)
                p.expect(f"log_softmax({x}, axis={axis})", np.log(soft).astype(NP[kind]), 20)


def arrays(p, kind):
    """concat and stack of arrays of tensors, whose elements may be known and come from a loop."""
    for shape, n in [((2, 3), 3), ((4,), 2), ((1, 3, 2), 4), ((0, 2), 3), ((3,), 1)]:
        a = values(kind, (n,) + shape)
        x, rank = p.input(a), len(shape)
        parts = ", ".join(f"x[{i}]" for i in range(n))
        of = f"{kind}[{', '.join(map(str, (n,) + shape))}]"
        one = f"{kind}[{', '.join(map(str, shape))}]"
        for name, join, axes in [("concat", np.concatenate, range(-rank, rank)), ("stack", np.stack, range(rank + 1))]:
            for axis in axes:
                want = join(list(a), axis)
                out = f"{kind}[{', '.join(map(str, want.shape))}]"
                p.expect(f"{p.function(f'(x: {of}) -> {out}', f'let xs: [{one}; {n}] = [{parts}]{chr(10)}  {name}(xs, axis={axis})')}({x})",
                         want)


def functions(p, kind):
    """jvp and vmap, held against what they are defined to be."""
    k = NP[kind]
    f = p.function
    a, v = values(kind, (4,), special=False), values(kind, (4,), special=False)
    x, t = p.input(a), p.input(v)
    wave = f(f"(x: {kind}[4]) -> {kind}[4]", "x * sin(x)")
    p.expect(f"jvp({wave}, {x}, {t})[0]", a * np.sin(a), 20)
    p.expect(f"jvp({wave}, {x}, {t})[1]", (np.sin(a) + a * np.cos(a)) * v, 20)
    # Twice forward along the same direction is the second derivative.
    slope = f(f"(x: {kind}[4]) -> {kind}[4]", f"jvp({wave}, x, x * 0 + 1)[1]")
    p.expect(f"jvp({slope}, {x}, {t})[1]", (2 * np.cos(a) - a * np.sin(a)) * v, 40)
    cubes = f(f"(x: {kind}[4]) -> {kind}", "(x * x * x).sum()")
    p.expect(f"jvp({cubes}, {x}, {t})[1]", np.sum(3 * a * a * v).astype(k), 40)
    soft = f(f"(x: {kind}[4]) -> {kind}[4]", "softmax(x)")
    e = np.exp(a - a.max())
    s = e / e.sum()
    p.expect(f"jvp({soft}, {x}, {t})[1]", s * (v - np.sum(s * v)), 40)
    # A loop, a branch that is taken and one that is not, and elements that are replaced.
    steps = f(f"(x: {kind}[4]) -> {kind}[4]", "var y = x\n  for i in 0..3 { y = y * x }\n  if y.sum() > 1000000.0 { y = x }\n"
              "  y[1] = x[0] * 3\n  y")
    fourth, by = a ** 4, 4 * a ** 3 * v
    fourth[1], by[1] = 3 * a[0], 3 * v[0]
    p.expect(f"jvp({steps}, {x}, {t})[0]", fourth, 20)
    p.expect(f"jvp({steps}, {x}, {t})[1]", by, 20)
    m, d = values(kind, (3, 2), special=False), values(kind, (3, 2), special=False)
    y, u = p.input(m), p.input(d)
    square = f(f"(x: {kind}[3, 2]) -> {kind}[2, 2]", "x.T @ x")
    p.expect(f"jvp({square}, {y}, {u})[0]", m.T @ m, 40)
    p.expect(f"jvp({square}, {y}, {u})[1]", d.T @ m + m.T @ d, 40)
    zero = f(f"(x: {kind}[0]) -> {kind}", "x.sum()")
    none = p.input(np.zeros((0,), k))
    p.expect(f"jvp({zero}, {none}, {none})[1]", k(0))
    # Each entry of the first axis by itself.
    for shape in [(5, 4), (1, 4), (0, 4), (3, 2, 4)]:
        b = values(kind, shape, special=False)
        flat, z = b.reshape(shape[0], int(np.prod(shape[1:]))), p.input(b)
        row = f"{kind}[{', '.join(map(str, shape[1:]))}]"
        p.expect(f"vmap({f(f'(x: {row}) -> {row}', 'x * 2 + x')}, {z})", b * 3, 20)
        p.expect(f"vmap({f(f'(x: {row}) -> {kind}', 'x.max()')}, {z})", flat.max(1))
        p.expect(f"vmap({f(f'(x: {row}) -> i32', 'argmax(x.reshape([_]), axis=0)')}, {z})",
                 flat.argmax(1).astype(np.int32))
        p.expect(f"vmap({f(f'(x: {row}) -> bool[2, 4]', 'x.broadcast([2, 4]) > 0')}, {z})",
                 np.stack([np.broadcast_to(r, (2, 4)) > 0 for r in b]) if shape[0] else np.zeros((0, 2, 4), np.bool_))
    inner = f(f"(x: {kind}[4]) -> {kind}", "(x * x).sum()")
    outer = f(f"(x: {kind}[2, 4]) -> {kind}[2]", f"vmap({inner}, x)")
    p.expect(f"vmap({outer}, {z})", np.sum(b * b, -1), 40)
    # Of one another: each row along itself.
    along = f(f"(x: {kind}[4]) -> {kind}[4]", f"jvp({wave}, x, x)[1]")
    c = values(kind, (3, 4), special=False)
    rows = p.input(c)
    p.expect(f"vmap({along}, {rows})", (np.sin(c) + c * np.cos(c)) * c, 40)


def large(p, kind):
    """Enough elements for several threads; small whole numbers, so that every order gives one result."""
    n = 70001
    a = (np.arange(n) % 17 - 8).astype(NP[kind])
    p.lines.append(f"let big: {kind}[{n}] = {kind}(iota({n}) % 17 - 8)")
    p.lines.append(f"let left: {kind}[257, 131] = big[0:33667].reshape([257, 131])")
    p.lines.append(f"let right: {kind}[131, 65] = big[5:8520].reshape([131, 65])")
    left, right = a[:33667].reshape(257, 131), a[5:8520].reshape(131, 65)
    for name, f in [("sum", np.sum), ("max", np.max), ("min", np.min)]:
        p.expect(f"{name}(big * big)", f(a * a).astype(NP[kind]))
        for axis in (0, 1):
            p.expect(f"{name}(left, axis={axis})[3:40]", f(left, axis).astype(NP[kind])[3:40])
    p.expect("(big + big * 3 - 1)[69000:69036]", (a + a * 3 - 1)[69000:69036])
    p.expect("(left @ right)[250:257, 61:65]", (left @ right)[250:257, 61:65])
    p.expect("sum(left @ right, axis=1)[0:36]", np.sum(left @ right, 1).astype(NP[kind])[:36])
    p.expect("argmax(left, axis=1)[200:236]", np.argmax(left, 1).astype(np.int32)[200:236])
    if kind in FLOATS:  # here the order counts: the same bits on any number of threads
        b = a.astype(np.float64) * 0.1 + 0.3
        p.expect("sum(big * 0.1 + 0.3)", np.sum(b).astype(NP[kind]), 50)
        p.expect("mean(exp(left * 0.1), axis=0)[0:36]",
                 np.mean(np.exp(left.astype(np.float64) * 0.1), 0).astype(NP[kind])[:36], 50)
        p.expect("((left * 0.1) @ (right * 0.3))[0:36, 7]",
                 ((left * 0.1) @ (right * 0.3)).astype(NP[kind])[:36, 7], 300)


GROUPS = {}
for kind in INTS + FLOATS:
    GROUPS[f"arithmetic-{kind}"] = (arithmetic, kind)
    GROUPS[f"unary-{kind}"] = (unary, kind)
    GROUPS[f"reductions-{kind}"] = (reductions, kind)
    GROUPS[f"products-{kind}"] = (products, kind)
for kind in ["bool"] + INTS + FLOATS:
    GROUPS[f"shapes-{kind}"] = (shapes, kind)
    GROUPS[f"updates-{kind}"] = (updates, kind)
    GROUPS[f"indices-{kind}"] = (indices, kind)
    GROUPS[f"patterns-{kind}"] = (patterns, kind)
for kind in INTS + FLOATS:
    GROUPS[f"comprehensions-{kind}"] = (comprehensions, kind)
    GROUPS[f"orders-{kind}"] = (orders, kind)
    GROUPS[f"more-{kind}"] = (more, kind)
for kind in ["bool"] + INTS + FLOATS:
    GROUPS[f"rest-{kind}"] = (rest, kind)
for kind in ["i32", "f32", "f64"]:
    GROUPS[f"large-{kind}"] = (large, kind)
GROUPS["halfs-bf16"] = (halfs, "bf16")
for kind in FLOATS:
    GROUPS[f"windows-{kind}"] = (windows, kind)
    GROUPS[f"functions-{kind}"] = (functions, kind)
for kind in ["f32", "f64"]:
    GROUPS[f"matrices-{kind}"] = (matrices, kind)
for kind in ["bool"] + INTS + FLOATS:
    GROUPS[f"arrays-{kind}"] = (arrays, kind)


def made(name):
    """The program of a group."""
    make, kind = GROUPS[name]
    program = Program()
    make(program, kind)
    return program


def spelled(program):
    """The expressions of a program, each with the bodies of the functions that it calls."""
    bodies = {f"once{i}": text.partition("{")[2] for i, text in enumerate(program.functions)}

    def whole(text):
        return text + "".join(" " + whole(bodies[name]) for name in re.findall(r"\bonce\d+\b", text))
    return [whole(text) for text, _, _ in program.cases]


def main():
    if GROUP == "--list":
        print("\n".join(GROUPS))
        return 0
    if GROUP == "--cases":
        json.dump({name: spelled(made(name)) for name in GROUPS}, sys.stdout)
        return 0
    count = made(GROUP).run()
    if count is None:
        return 1
    print(f"{GROUP}: {count} results agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
