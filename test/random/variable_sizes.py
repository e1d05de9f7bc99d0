#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with sizes that hold loop indices, variables and arguments, against NumPy.

Usage: variable_sizes.py MXC [--first SEED] [--count N] [--show SEED]

A program is a function of a vector, a matrix and a number. Its body takes slices with variable bounds and makes
tensors of variable sizes, in `for` and `while` loops, comprehensions, `grad` blocks and calls. It runs eagerly and,
where all sizes are known when a graph is compiled, as a graph. Numbers are small integers, so what it prints is exact.
Many programs share a file; a file that does not run is cut down to the programs that do not.
"""

import argparse
import random
import re
import subprocess
import sys
import tempfile

import numpy as np

X = np.array([2, -1, 3, 0, 1, -2, 4, 1], dtype=np.float64)
M = (np.arange(30, dtype=np.float64).reshape(5, 6) % 7) - 2
TOP = 4  # of every index and number that becomes a size

HEAD = """fn total(v: f32[N]) -> f32 { v.sum() }
fn weighted(v: f32[N]) -> f32 { (v * iota(N, f32)).sum() }
fn first(v: f32[N], n: i64) -> f32 { v[:n].sum() }
fn sized(static n: i64) -> f32 { full(2.0, [n]).sum() }
fn square(v: f32[R, C]) -> f32 { (v @ v.T).sum() }
let X: f32[8] = [2.0, -1.0, 3.0, 0.0, 1.0, -2.0, 4.0, 1.0]
let M: f32[5, 6] = (iota(30, f32) % 7.0 - 2.0).reshape([5, 6])
"""


class Maker:
    """Writes a body as mx and as Python with the same names."""

    def __init__(self, seed, graph):
        self.random = random.Random(f"{seed} {graph}")
        self.graph = graph
        self.mx, self.py = [], []
        self.depth = 1
        self.names = 0
        # Numbers from 0 to TOP - 1, or from 1 to TOP.
        self.low, self.high = [], ["n"]

    def line(self, mx, py):
        self.mx.append("  " * self.depth + mx)
        self.py.append("  " * self.depth + py)

    def name(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def size(self):
        """A size from 1 to TOP, and one that is not larger than 5."""
        choices = list(self.high) + [f"{i} + 1" for i in self.low] + ["3"]
        return self.random.choice(choices)

    def small(self):
        """A number from 0 to TOP."""
        return self.random.choice(list(self.high) + list(self.low) + [f"{i} + 1" for i in self.low] + ["2"])

    def vector(self, x):
        """A vector with a variable size, as (mx, py). `x` has 8 elements."""
        a, b = self.small(), self.size()
        kind = self.random.randrange(8)
        if kind == 0:
            return f"{x}[:{b}]", f"{x}[:{b}]"
        if kind == 1:
            return f"{x}[{a}:]", f"{x}[{a}:]"
        if kind == 2:
            return f"{x}[{a} : {a} + {b}]", f"{x}[{a} : {a} + {b}]"
        if kind == 3:
            return f"{x}[{a}::2]", f"{x}[{a}::2]"
        if kind == 4:
            return f"concat({x}[:{b}], {x}[{b}:])", f"np.concatenate([{x}[:{b}], {x}[{b}:]])"
        if kind == 5:
            return f"concat([{x}[:{b}], {x}[2:4]])", f"np.concatenate([{x}[:{b}], {x}[2:4]])"
        if kind == 6:
            return f"({x}[:{b}] + ones([{b}]))", f"({x}[:{b}] + np.ones([{b}]))"
        return f"({x}[:{b}] * {x}[{a} : {a} + {b}])", f"({x}[:{b}] * {x}[{a} : {a} + {b}])"

    def scalar(self, x="X", differentiable=False):
        a, b, c = self.size(), self.size(), self.size()
        v, w = self.vector(x)
        i = self.name("c")
        choices = [
            (f"{v}.sum()", f"{w}.sum()"),
            (f"total({v})", f"{w}.sum()"),
            (f"weighted({v})", f"({w} * np.arange(len({w}))).sum()"),
            (f"(M[:{a}, :{b}] @ M[:{b}, :{c}]).sum()", f"(M[:{a}, :{b}] @ M[:{b}, :{c}]).sum()"),
            (f"M[:{a}, 1 : 1 + {b}].sum(axis=0).max()", f"M[:{a}, 1 : 1 + {b}].sum(axis=0).max()"),
            (f"square(M[:{a}])", f"(M[:{a}] @ M[:{a}].T).sum()"),
            (f"ones([{a}, {b}]).sum()", f"np.ones([{a}, {b}]).sum()"),
            (f"full(2.0, [{a}]).sum()", f"(2.0 * ({a}))"),
            (f"iota({a}, f32).sum()", f"np.arange({a}).sum()"),
            (f"eye({a}).sum()", f"np.eye({a}).sum()"),
            (f"(zeros([{a}, 2]) + 1.0).reshape([_]).sum()", f"(2.0 * ({a}))"),
            (f"[{x}[{i}] * 2.0 for {i} in 0..{a}].sum()", f"sum({x}[{i}] * 2.0 for {i} in range({a}))"),
            (f"[{x}[:{i} + 1].sum() for {i} in 0..3].sum()", f"sum({x}[:{i} + 1].sum() for {i} in range(3))"),
            (f"[total({x}[{i} : {i} + {a}]) for {i} in 0..3].max()", f"max({x}[{i} : {i} + {a}].sum() for {i} in range(3))"),
        ]
        if not self.graph:
            choices += [
                (f"first({x}, {a})", f"{x}[:{a}].sum()"),
                (f"{x}[{x} > 0.0].sum()", f"{x}[{x} > 0.0].sum()"),
                (f"{v}.max()", f"{w}.max()"),
            ]
        if differentiable:  # at most squares, so that differences of both sides are exact
            choices = [choices[0], choices[1], choices[2], choices[11], choices[12]]
        return self.random.choice(choices)

    def statement(self, room):
        kind = self.random.randrange(10)
        if kind < 4 or room == 0:
            mx, py = self.scalar()
            self.line(f"s += {mx}", f"s += {py}")
        elif kind == 4:
            mx, py = self.vector("X")
            y = self.name("y")
            self.line(f"let {y} = {mx}", f"{y} = {py}")
            self.line(f"s += ({y} * {y}).sum() + f32(len({y}))", f"s += ({y} * {y}).sum() + len({y})")
        elif kind == 5:
            n = self.name("n")
            b = self.size()
            self.line(f"let {n} = {b}", f"{n} = {b}")
            self.high.append(n)
            mx, py = self.scalar()
            self.line(f"s += {mx}", f"s += {py}")
        elif kind == 6:
            self.update()
        elif kind == 7:
            self.gradient()
        elif kind == 8 and not self.graph:
            self.while_loop(room)
        else:
            self.for_loop(room)

    def update(self):
        z, a, b = self.name("z"), self.size(), self.size()
        self.line(f"var {z} = zeros([{a}, 5])", f"{z} = np.zeros([{a}, 5])")
        self.line(f"{z}[{a} - 1, :{b}] = X[:{b}]", f"{z}[{a} - 1, :{b}] = X[:{b}]")
        self.line(f"s += {z}.sum()", f"s += {z}.sum()")

    def gradient(self):
        v, g = self.name("v"), self.name("g")
        mx, py = self.scalar("X", differentiable=True)
        self.line(f"let ({v}, {g}) = grad(X) {{ {mx} }}", f"{v}, {g} = gradient(lambda X: {py}, X)")
        self.line(f"s += {v} + ({g} * iota(8, f32)).sum()", f"s += {v} + ({g} * np.arange(8)).sum()")

    def block(self, room, head, python, low=None, high=None):
        self.line(head, python)
        saved = list(self.low), list(self.high)
        self.low += [low] if low else []
        self.high += [high] if high else []
        self.depth += 1
        for _ in range(self.random.randint(1, 2)):
            self.statement(room - 1)

        def close():
            self.depth -= 1
            self.mx.append("  " * self.depth + "}")
            self.low, self.high = saved
        return close

    def for_loop(self, room):
        i, end = self.name("i"), self.size()
        self.block(room, f"for {i} in 0..{end} {{", f"for {i} in range({end}):", low=i)()

    def while_loop(self, room):
        k = self.name("k")
        self.line(f"var {k} = 0", f"{k} = 0")
        close = self.block(room, f"while {k} < 3 {{", f"while {k} < 3:")
        # From here on it is from 1 to 3. Two uses of a `var` are two sizes, so it gets a name for them.
        self.line(f"{k} += 1", f"{k} += 1")
        m = self.name("m")
        self.line(f"let {m} = {k}", f"{m} = {k}")
        self.line(f"s += X[:{k}].sum() + X[{k}:].max() + total(X[{k} : {k} + 2]) + ones([{k}]).sum()",
                  f"s += X[:{k}].sum() + X[{k}:].max() + X[{k} : {k} + 2].sum() + {k}")
        self.high.append(m)
        for _ in range(self.random.randint(1, 2)):
            self.statement(room - 1)
        close()

    def body(self):
        for _ in range(self.random.randint(2, 4)):
            self.statement(2)
        return self


def gradient(f, x):
    """Of a polynomial of degree 2, exactly."""
    g = np.zeros_like(x)
    for i in range(len(x)):
        step = np.zeros_like(x)
        step[i] = 1
        g[i] = (f(x + step) - f(x - step)) / 2
    return f(x), g


def make(seed, graph):
    """The function as mx, a call of it, and what it gives."""
    maker = Maker(seed, graph).body()
    n = 1 + seed % TOP
    name = f"{'graph' if graph else 'eager'}{seed}"
    parameter = "static n: i64" if graph else "n: i64"
    known = f" where 1 <= n, n <= {TOP}" if graph else ""
    mx = (f"{'graph ' if graph else ''}fn {name}(X: f32[8], M: f32[5, 6], {parameter}) -> f32{known} {{\n  var s = 0.0\n" +
          "\n".join(maker.mx) + "\n  s\n}\n")
    scope = {"np": np, "gradient": gradient}
    exec("def run(X, M, n):\n  s = 0.0\n" + "\n".join(maker.py) + "\n  return s\n", scope)
    return mx, f"print(\"{name}\", {name}(X, M, {n}))\n", name, scope["run"](X.copy(), M.copy(), n)


def run(mxc, programs):
    """Name to text of all results; the error text if it did not run."""
    text = HEAD + "".join(p[0] for p in programs) + "".join(p[1] for p in programs)
    with tempfile.NamedTemporaryFile("w", suffix=".mx") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([mxc, "run", "--silence=W0503,N0501,W0502", file.name], capture_output=True, text=True,
                              timeout=280)
    found = dict(re.findall(r"^(\w+) (\S+)$", done.stdout, re.M))
    return found, "" if done.returncode == 0 else f"exit code {done.returncode}\n{done.stderr}"


def failures(mxc, programs):
    found, problem = run(mxc, programs)
    if problem:
        if len(programs) == 1:
            return [(programs[0], problem)]
        half = len(programs) // 2
        return failures(mxc, programs[:half]) + failures(mxc, programs[half:])
    return [(p, f"{found.get(p[2])} instead of {p[3]}") for p in programs
            if p[2] not in found or float(found[p[2]]) != p[3]]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("mxc")
    arguments.add_argument("--first", type=int, default=0)
    arguments.add_argument("--count", type=int, default=40)
    arguments.add_argument("--show", type=int)
    options = arguments.parse_args()
    if options.show is not None:
        for graph in (False, True):
            mx, call, _, value = make(options.show, graph)
            print(HEAD + mx + call + f"# {value}")
        return 0
    wrong = 0
    for first in range(options.first, options.first + options.count, 20):
        seeds = range(first, min(first + 20, options.first + options.count))
        for graph in (False, True):
            for program, why in failures(options.mxc, [make(seed, graph) for seed in seeds]):
                wrong += 1
                print(f"{program[2]}: {why}\n{program[0]}{program[1]}")
    print(f"{2 * options.count} programs, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
