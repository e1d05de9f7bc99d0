#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random differentiable programs: the reverse pass, the forward pass and differences agree.

Usage: random_programs.py MXC [--count N] [--first SEED] [--graphs N] [--seconds S]

Each program is a function of a matrix with loops, branches, updates, early exits and functions that run
again. Its slope along a random direction is taken three ways: as the product with the gradient, by `jvp`,
and by central differences in f64. `--graphs N` compiles the gradient of every N-th as well. Where
differences of two widths part from each other there is a kink between, and they say nothing; nor do they
where the value is so large that its rounding shows, or so steep that the widths are none. Where it is not even
finite, or something on the way to it is not, there is no slope; few programs may be so. Prints the programs that
disagree; exits with 1 if there are any. With `--seconds`, begins no program later.
"""
import argparse
import concurrent.futures
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import time

options = argparse.ArgumentParser()
options.add_argument("mxc")
options.add_argument("--count", type=int, default=500)
options.add_argument("--first", type=int, default=0)
options.add_argument("--graphs", type=int, default=25)
options.add_argument("--batch", type=int, default=50)
options.add_argument("--seconds", type=float, default=1e9)
options.add_argument("--option", action="append", default=[], help="an option for mxc")
options.add_argument("--workers", type=int, default=2)
given = options.parse_args()
started = time.monotonic()

# Tensors are so small that threads would only wait for each other.
ENVIRONMENT = {"MX_NUM_THREADS": "1"} | os.environ
ROWS, COLUMNS = 3, 4
UNARY = ["sin({0})", "cos({0})", "tanh({0})", "{0} * {0}", "-{0}", "exp(-({0} * {0}))", "abs({0})",
         "log1p({0} * {0})", "sqrt({0} * {0} + 1.0)", "1.0 / ({0} * {0} + 2.0)", "erf({0})",
         "maximum({0}, 0.1)", "minimum({0}, 0.3)", "select({0} > 0.2, {0}, 0.3 * {0})", "{0} ** 3",
         "rsqrt({0} * {0} + 0.5)", "expm1(tanh({0}))", "tan(0.3 * tanh({0}))",
         "log({0} * {0} + 1.5)", "({0} * {0} + 1.0) ** 0.7", "sigmoid({0})"]
BINARY = ["{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / ({1} * {1} + 1.0)", "maximum({0}, {1})",
          "minimum({0}, {1})", "atan2({0}, {1} * {1} + 1.0)", "select({0} > {1}, {0} * {1}, {1})"]
WHOLE = ["{0} @ m", "({0}.T)[:, 0:3].T @ m", "take({0}, i)", "take({0}, j, axis=1)",
         "{0}.reshape([4, 3]).T", "softmax({0}, axis=1)", "{0} - {0}.mean(axis=1, keep=true)",
         "{0}[::-1]", "{0}[:, ::-1]", "concat({0}[1:], {0}[:1])", "{0} * {0}.sum(axis=0, keep=true)",
         "{0} + {0}.max(axis=1, keep=true)", "{0} * {0}.min(axis=0, keep=true)",
         "({0}.T @ {0})[0:3]", "tanh({0}[:, 1])[:, new] * {0}", "cumsum({0}, axis=1)",
         "{0} * logsumexp({0}, axis=1, keep=true)", "{0} + prod(0.5 * tanh({0}), axis=0, keep=true)",
         "{0} / (variance({0}, axis=1, keep=true) + 1.0)", "tile({0}[0:1], [3, 1])",
         "scatter_add({0}, i[0:2], {0}[1:3])", "stack({0}[0], {0}[2], {0}[1])"]


class Program:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.names = ["x"]
        self.next = 0
        self.again = ""  # a function that the reverse pass runs again

    def value(self):
        return self.r.choice(self.names)

    def expression(self):
        kind = self.r.random()
        if kind < 0.4:
            return self.r.choice(UNARY).format(self.value())
        if kind < 0.7:
            return self.r.choice(BINARY).format(self.value(), self.value())
        return self.r.choice(WHOLE).format(self.value())

    def block(self, depth, size, variables):
        """Lines that assign the variables given, and new ones of their own."""
        lines, known = [], list(self.names)
        for _ in range(size):
            kind = self.r.random()
            target = self.r.choice(variables)
            if kind < 0.35 or depth == 0:
                if self.r.random() < 0.3:
                    name = f"v{self.next}"
                    self.next += 1
                    lines.append(f"let {name} = {self.expression()}")
                    self.names.append(name)
                else:
                    lines.append(f"{target} = {self.expression()}")
            elif kind < 0.45:
                lines.append(f"{target}[{self.r.randrange(ROWS)}] = tanh({self.value()}[{self.r.randrange(ROWS)}])")
            elif kind < 0.48 and self.again:
                lines.append(f"{target} = {self.again}({self.value()}, {target})")
            elif kind < 0.53:
                lines.append(f"{target}[:, {self.r.randrange(COLUMNS)}] = {self.value()}[:, {self.r.randrange(COLUMNS)}]")
            elif kind < 0.7:
                turn = f"t{self.next}"
                self.next += 1
                every = self.r.choice(["", "", f"@remat(every={self.r.randrange(1, 4)})\n"])
                body = self.block(depth - 1, self.r.randrange(1, 4), variables)
                if self.r.random() < 0.3:
                    body.append(f"{target}[{turn} % 3] = {target}[({turn} + 1) % 3] * 0.5")
                if not every and self.r.random() < 0.3:
                    body.append(f"if {target}.sum() > {self.r.uniform(-2, 4):.2f}37 {{ break }}")
                lines.append(f"{every}for {turn} in 0..{self.r.randrange(0, 5)} {{\n" + "\n".join(body) +
                             f"\n{target} = tanh({target})\n}}")
            elif kind < 0.8:
                count = f"n{self.next}"
                self.next += 1
                body = self.block(depth - 1, self.r.randrange(1, 3), variables)
                lines.append(f"var {count} = 0\nwhile {count} < 4 and {target}.sum() < 3.07 limit 6 {{\n" +
                             "\n".join(body) + f"\n{count} += 1\n{target} = tanh({target}) + 0.1\n}}")
            else:
                # No round number here either: a sum that is 0 but for its rounding has either side.
                condition = f"{self.value()}.sum() > {self.r.uniform(-1, 2):.2f}37"
                then = self.block(depth - 1, self.r.randrange(1, 3), variables)
                other = self.block(depth - 1, self.r.randrange(1, 3), variables)
                lines.append(f"if {condition} {{\n" + "\n".join(then) + "\n} else {\n" + "\n".join(other) + "\n}")
        self.names = known
        return lines

    def text(self, number):
        constants = ("let m: f64[4, 4] = f64([" + ", ".join(f"{self.r.uniform(-0.6, 0.6):.3f}" for _ in range(16)) +
                     "]).reshape([4, 4])\n"
                     f"let i: i32[3] = [{self.r.randrange(3)}, {self.r.randrange(3)}, {self.r.randrange(-3, 0)}]\n"
                     f"let j: i32[4] = [{self.r.randrange(4)}, 1, 3, {self.r.randrange(4)}]\n")
        again = ""
        if self.r.random() < 0.5:
            self.names = ["p", "q", "a"]
            body = self.block(1, self.r.randrange(1, 4), ["a"])
            self.again = f"again{number}"
            again = (f"@remat\nfn {self.again}(p: f64[3, 4], q: f64[3, 4]) -> f64[3, 4] {{\n{constants}"
                     "var a = tanh(p) + 0.2 * q\n" + "\n".join(body) + "\ntanh(a)\n}\n")
        self.names = ["x", "a", "b"]
        lines = self.block(2, self.r.randrange(3, 8), ["a", "b"])
        return (f"{again}fn value{number}(x: f64[3, 4]) -> f64 {{\n{constants}"
                "var a = x\nvar b = tanh(x) * 0.7\n" + "\n".join(lines) +
                "\n(sin(a) + b * 0.3).sum() + (a * b).mean()\n}")


def calls(number, graphs):
    r = random.Random(number + 1_000_000)
    # No round numbers: conditions change at 0 and 1, where differences mean nothing.
    point = ", ".join(f"{r.uniform(-1, 1):.4f}37" for _ in range(12))
    along = ", ".join(f"{r.uniform(-1, 1):.4f}" for _ in range(12))
    out = (f"let x{number} = f64([{point}]).reshape([3, 4])\n"
           f"let d{number} = f64([{along}]).reshape([3, 4])\n"
           f"let (_, g{number}) = grad(x{number}) {{ value{number}(x{number}) }}\n"
           f"let (_, t{number}) = jvp(value{number}, x{number}, d{number})\n"
           f"let s{number} = (value{number}(x{number} + 1e-6 * d{number}) - value{number}(x{number} - 1e-6 * d{number})) / 2e-6\n"
           f"let n{number} = (value{number}(x{number} + 2e-7 * d{number}) - value{number}(x{number} - 2e-7 * d{number})) / 4e-7\n"
           f"let p{number} = (g{number} * d{number}).sum()\n"
           f'print(f"#{number} reverse {{p{number}:.12g}} forward {{t{number}:.12g}} differences {{s{number}:.12g}} narrow {{n{number}:.12g}} value {{value{number}(x{number}):.12g}}")\n')
    if graphs and number % graphs == 0:
        out += (f"let q{number} = graph {{\n  let (_, g) = grad(x{number}) {{ value{number}(x{number}) }}\n"
                f"  (g * d{number}).sum()\n}}\n"
                f'print(f"#{number} graph {{q{number}:.12g}}")\n')
    return out


def overflows(number, text):
    """Whether something on the way to the value is infinite or NaN: then its gradient by what is not even used
    of it is 0 times infinity. Every value is asked as it is made."""
    asked = re.sub(r"^((?:let |var )?([abv]\d*)(?:\[.*?\])? = .*)$", r"\1\nprint(all(isfinite(\2)))", text, flags=re.M)
    point = calls(number, 0).partition("\n")[0]
    with tempfile.NamedTemporaryFile("w", suffix=".mx") as file:
        file.write(f"{asked}\n{point}\nprint(value{number}(x{number}))\n")
        file.flush()
        done = subprocess.run([given.mxc, "run", *given.option, file.name], capture_output=True, text=True, env=ENVIRONMENT)
    return done.returncode == 0 and "false" in done.stdout


def agree(x, y):
    return abs(x - y) <= 2e-5 * (1 + abs(y))


def check(numbers):
    if time.monotonic() - started > given.seconds:
        return [], 0, 0
    texts = {n: Program(n).text(n) for n in numbers}
    with tempfile.NamedTemporaryFile("w", suffix=".mx") as file:
        file.write("\n".join(texts.values()) + "\n" + "".join(calls(n, given.graphs) for n in numbers))
        file.flush()
        done = subprocess.run([given.mxc, "run", *given.option, file.name], capture_output=True, text=True, env=ENVIRONMENT)
    if done.returncode:
        if len(numbers) == 1:
            return [f"{texts[numbers[0]]}\n{done.stderr[:1500]}"], 0, 0
        # Which one it was.
        found = [check([n]) for n in numbers]
        return sum((f for f, _, _ in found), []), *(sum(r[i] for r in found) for i in (1, 2))
    found, compared, grown = [], 0, 0
    values = {n: {} for n in numbers}
    for line in done.stdout.splitlines():
        number, *words = line[1:].split()
        values[int(number)].update(zip(words[::2], map(float, words[1::2])))
    for n, got in values.items():
        want, narrow = got.pop("differences", float("nan")), got.pop("narrow", float("nan"))
        compared += 1
        # What rounding of the values makes of a difference.
        value = got.pop("value", 0)
        if not math.isfinite(value) or all(math.isnan(v) for v in got.values()):
            grown += 1  # it, or something on the way to it, is beyond all numbers: there is no slope
            continue
        noise = abs(value) * 2e-16 / 4e-7
        isSteep = abs(got.get("reverse", 0)) * 2e-7 > 1e-2
        if not agree(narrow, want) or noise > 1e-5 * (1 + abs(want)) or isSteep:
            want = got.get("reverse", float("nan"))
        else:
            want = narrow + (narrow - want) / 24  # what the square of the width adds is gone
        if len(got) < 2 or not all(agree(v, want) for v in got.values()):
            if any(math.isnan(v) for v in got.values()) and overflows(n, texts[n]):
                grown += 1
                continue
            found.append(f"{texts[n]}\nprogram {n}: {got}, not {want}")
    return found, compared, grown


everything = list(range(given.first, given.first + given.count))
batches = [everything[i:i + given.batch] for i in range(0, len(everything), given.batch)]
with concurrent.futures.ThreadPoolExecutor(given.workers) as pool:
    results = []
    for result in pool.map(check, batches):
        results.append(result)
        if result[0]:
            print("\n\n".join(result[0]), file=sys.stderr, flush=True)
        if len(results) * given.batch % 5000 == 0:
            print(f"{len(results) * given.batch} of {given.count} programs, {sum(len(r[0]) for r in results)} disagree, "
                  f"{time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
found = sum((f for f, _, _ in results), [])
compared, grown = (sum(r[i] for r in results) for i in (1, 2))
print(f"{compared} programs, {len(found)} disagree, {grown} grow beyond all numbers")
sys.exit(1 if found or grown > 5 + compared // 100 else 0)
