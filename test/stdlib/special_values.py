#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every function that has a gradient, at zeros of both signs, subnormal, small and large numbers, infinities and NaN:
values and gradients against what PyTorch gave when record_special.py ran, eagerly and in a graph, which give the same bits.

Usage: special_values.py MXC [TYPE]

A value is right if it is within the bounds of its type of what PyTorch gives in that type, or of what it gives in f64 for
the same inputs. Where both say that the value is NaN, gradients mean nothing and are not compared. What differs on purpose is in DIFFERENCES, with the reason; docs/reference/library.md has the same table.
"""
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

from reference import read, write

RECORD = np.load(os.path.join(os.path.dirname(os.path.abspath(__file__)), "special_values.npz"))
KINDS = ["f32", "f64", "f16"]
# Relative to the value, least, and absolute where the value is a difference of numbers around 1, in PyTorch or in both.
BOUNDS = {"f32": (2e-6, 3e-45, 5e-7), "f64": (4e-15, 1e-323, 1e-15), "f16": (4e-3, 1.2e-7, 1e-3)}
ABSOLUTE = {
    r"expm1\(x\)": "PyTorch adds 1 to the value for the slope", r"tanh\(x\)": "the slope is 1 - tanh(x)**2 in both",
    r"sigmoid\(x\)": "PyTorch multiplies by 1 - sigmoid(x)", r"nn\.gelu\(x\)": "1 + tanh(x) in PyTorch",
    r"nn\.gelu_exact\(x\)|math\.normal_share\(x\)": "1 + erf(x) in both", r"nn\.(log_)?softmax\(x\)": "slopes add up to 0",
    r"nn\.(silu|mish)\(x\)": "sigmoid(x) is subnormal far below 0", r"math\.sinc\(x\)": "PyTorch is given x / pi",
    r"math\.(asinh|acosh|log10)\(x\)|x \*\* -1\.0": "the slope is 0 in PyTorch where x * x overflows",
    r"norm": "the squares are 0 in PyTorch", r"prod": "parts of the product are 0 in one order only"}

G = ("gx", "gy")
# (case, what, where: a condition of the inputs x and y, reason). `what` is v, gx or gy.
DIFFERENCES = [
    (r"sign\(x\)", "v", lambda x, y: np.isnan(x), "NaN, as in NumPy; PyTorch gives 0"),
    (r"x \*\* 0\.5", ("v", "gx"), lambda x, y: x == -np.inf, "inf, as IEEE 754 has it; PyTorch takes a square root"),
    (r"nn\.gelu\(x\)", "gx", lambda x, y: np.abs(x) > 1e150, "0 or 1; PyTorch multiplies 0 and inf"),
    (r"nn\.hard_sigmoid\(x\)", "gx", lambda x, y: np.abs(x) < 3, "1/6 in f64; that of PyTorch is rounded to f32"),
    (r"math\.sinc\(x\)", "gx", lambda x, y: np.abs(x) < 0.5, "exact near 0; PyTorch subtracts numbers around 1 / x"),
    (r"x % y", "v", lambda x, y: np.abs(x / y) > 1e308, "exact; NaN in PyTorch where x / y overflows"),
    (r"atan2\(x, y\)", G, lambda x, y: ~((np.hypot(x, y) > 1e-150) & (np.hypot(x, y) < 1e150)),
     "exact; PyTorch squares, and gives 0 where that overflows or is 0"),
    (r"math\.hypot\(x, y\)", G, lambda x, y: (x == 0) & (y == 0), "0, as that of norm; PyTorch gives NaN"),
    (r"math\.logaddexp\(x, y\)", G, lambda x, y: np.isinf(x) & (x == y), "0.5, equal operands share; PyTorch gives NaN"),
    (r"loss\.bce", "v", lambda x, y: (x < -299) & (y > 0), "exact; PyTorch rounds 1 - y, and multiplies 0 and inf"),
    (r"loss\.logistic", "gx", lambda x, y: -x * y > 11, "a number; exp overflows in PyTorch"),
    (r"logsumexp", "gx", lambda x, y: np.abs(x).max(-1) >= 300, "equal elements share; PyTorch gives 1 to each of large ones"),
    (r"norm", "gx", lambda x, y: ~((np.abs(x).max(-1) > 1e-150) & (np.abs(x).max(-1) < 1e150)),
     "exact in f64; PyTorch squares, and gives 0 where that overflows or is 0"),
    (r"cumprod\(x\)", "gx", lambda x, y: ~((np.abs(x).max(-1) < 300) & (np.abs(x).min(-1) > 1e-30)),
     "sums of products; PyTorch divides by the elements"),
    (r"prod", "v", lambda x, y: np.isinf(x).any(-1), "NaN if a part of the product is 0 already; PyTorch goes from left to right"),
    (r"variance", ("v", "gx"), lambda x, y: np.abs(x).max(-1) > 1e38, "inf or NaN where the sum or the square of elements overflows"),
    (r"std", "v", lambda x, y: np.abs(x).max(-1) > 1e308, "inf where the sum of elements overflows in f64"),
]


def fields(case, kind):
    prefix = f"{case}|{kind}|"
    return {n[len(prefix):]: RECORD[n] for n in RECORD.files if n.startswith(prefix)}


def code(case, number, kind, given):
    """Functions that give the value and the gradients, eagerly and in a graph."""
    k = len(given["x"])
    pairs = "y" in given
    rows = given["x"].ndim == 2
    many = f"{kind}[{k}]"
    if rows:
        c = given["x"].shape[1]
        if case.startswith("loss."):
            rest = "zeros([1], dtype=i32) + 1"
            value, many = f"vmap(fn(r: {kind}[{c}]) -> {kind} {{ {case}(r[new, :], {rest}) }}, x)", f"{kind}[{k}, {c}]"
            out = f"{kind}[{k}]"
        elif "(" in case:
            w = given["v"].shape[1]
            value, many, out = case, f"{kind}[{k}, {c}]", f"{kind}[{k}, {w}]"
        else:
            value, many, out = f"x.{case}(axis=-1)", f"{kind}[{k}, {c}]", f"{kind}[{k}]"
    elif case.startswith("loss."):
        value = f"vmap(fn(r: {kind}[2]) -> {kind} {{ {case}(r[:1], r[1:]) }}, stack(x, y, axis=1))"
        out = many
    else:
        value, out = case, many
    total = f"({value}).sum()"
    if rows and given["v"].ndim == 2:
        numbers = ", ".join(["1.0", "-0.5", "0.25", "2.0"][:given["v"].shape[1]])
        total = f"({value} * {kind}([{numbers}])).sum()"
    by = ["x"] + ["y"] * ("gy" in given)
    names = [f"g{n}" for n in by]
    pattern = f"({', '.join(names)})" if len(by) > 1 else names[0]
    takes = f"x: {many}" + (f", y: {many}" if pairs else "")
    uses = "x, y" if pairs else "x"
    gives = ", ".join([out] + [many] * len(by))
    return f"""
fn eager{number}({takes}) -> ({gives}) {{
  let (_, {pattern}) = grad({', '.join(by)}) {{ {total} }}
  ({value}, {', '.join(names)})
}}
graph fn graph{number}({takes}) -> ({gives}) {{ eager{number}({uses}) }}""", uses, ["v"] + names


def program(kind, cases, folder):
    head, body, inputs = ["import loss, math, nn"], [f"let given = \"{folder}/{kind}.in\""], {}
    shapes, saved = {}, []
    for number, case in enumerate(cases):
        given = fields(case, kind)
        text, uses, names = code(case, number, kind, given)
        head.append(text)
        own = []
        for name in uses.split(", "):
            key = (name, given[name].tobytes())
            if key not in shapes:
                shapes[key] = f"in{len(shapes)}"
                inputs[shapes[key]] = given[name]
            own.append(shapes[key])
        for way, letter in (("eager", "e"), ("graph", "g")):
            results = [f"{letter}{number}_{n}" for n in names]
            body.append(f"let ({', '.join(results)}) = {way}{number}({', '.join(own)})")
            saved += results
    held = [f"var {n} = zeros({list(v.shape)}, dtype={kind})" for n, v in inputs.items()]
    held.append(f"restore(given, {', '.join('mut ' + n for n in inputs)})")
    parts = [saved[i:i + 60] for i in range(0, len(saved), 60)]
    end = [f"save(\"{folder}/{kind}.out{i}\", {', '.join(f'{n}={n}' for n in part)})" for i, part in enumerate(parts)]
    write(os.path.join(folder, f"{kind}.in"), inputs, exact=True)
    path = os.path.join(folder, f"{kind}.mx")
    with open(path, "w") as file:
        file.write("\n".join(head + body[:1] + held + body[1:] + end) + "\n")
    return path, len(parts)


def close(case, got, want, kind):
    rtol, least, apart = BOUNDS[kind]
    atol = apart if any(re.fullmatch(pattern, case) for pattern in ABSOLUTE) else least
    with np.errstate(all="ignore"):
        near = np.abs(got - want) <= atol + rtol * np.abs(want)
    return near | (got == want) | (np.isnan(got) & np.isnan(want))


def compared(case, kind, what, got, given, value):
    """Lines that say what differs; marks what a row of DIFFERENCES explains as used."""
    narrow = {"f32": np.float32, "f64": np.float64, "f16": np.float16}[kind]
    right = close(case, got, given[what].astype(np.float64), kind)
    if what + "64" in given:
        with np.errstate(over="ignore"):
            right |= close(case, got, given[what + "64"].astype(narrow).astype(np.float64), kind)
    if what != "v":
        none = np.isnan(value) & np.isnan(given["v"])
        if none.ndim == 2:
            none = none.any(-1)
        right |= none if right.ndim == 1 else none[:, None]
    x, y = given["x"].astype(np.float64), given.get("y")
    y = y if y is None else y.astype(np.float64)
    for row, (pattern, whats, where, _) in enumerate(DIFFERENCES):
        if re.fullmatch(pattern, case) and what in whats:
            with np.errstate(all="ignore"):
                explained = where(x, y)
            if explained.ndim < right.ndim:
                explained = explained[..., None] & np.ones(right.shape, bool)
            elif explained.ndim > right.ndim:
                explained = explained.any(-1)
            if (~right & explained).any():
                used.add(row)
            right |= explained
    lines = []
    for index in np.argwhere(~right)[:int(os.environ.get("MX_SHOW", "4"))]:
        at = tuple(index)
        near = at[:1] if x.ndim == 2 else at
        there = f"x={x[near]}" + ("" if y is None else f" y={y[near]}")
        lines.append(f"{case} {kind} {what} at {there}: {got[at]!r}, PyTorch {given[what][at]!r}" +
                     (f" ({given[what + '64'][at]!r} in f64)" if what + "64" in given else ""))
    if lines:
        lines.append(f"{case} {kind} {what}: {(~right).sum()} differ")
    return lines


mxc, only = sys.argv[1], sys.argv[2:] or KINDS
used, failed, count = set(), 0, 0
with tempfile.TemporaryDirectory() as folder:
    for kind in only:
        cases = list(dict.fromkeys(n.split("|")[0] for n in RECORD.files if f"|{kind}|" in n))
        if os.environ.get("MX_CASES"):
            cases = [c for c in cases if re.search(os.environ["MX_CASES"], c)]
        path, parts = program(kind, cases, folder)
        if os.environ.get("MX_KEEP"):
            subprocess.run(["cp", "-r", folder, os.environ["MX_KEEP"]])
        done = subprocess.run([mxc, "run", path], capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stdout + done.stderr)
        results = {}
        for i in range(parts):
            results.update(read(os.path.join(folder, f"{kind}.out{i}")))
        for number, case in enumerate(cases):
            given = fields(case, kind)
            for what in [w for w in ("v", "gx", "gy") if w in given]:
                eager, graph = results[f"e{number}_{what}"], results[f"g{number}_{what}"]
                lines = compared(case, kind, what, eager, given, results[f"e{number}_v"])
                if not np.array_equal(eager, graph, equal_nan=True):
                    bad = np.argwhere(~((eager == graph) | (np.isnan(eager) & np.isnan(graph))))[0]
                    lines.append(f"{case} {kind} {what}: eager {eager[tuple(bad)]!r}, graph {graph[tuple(bad)]!r}")
                count += eager.size
                failed += bool(lines)
                print("".join(line + "\n" for line in lines), end="")
if not sys.argv[2:]:
    for row in set(range(len(DIFFERENCES))) - used:
        print(f"nothing differs as {DIFFERENCES[row][0]} in DIFFERENCES says: {DIFFERENCES[row][3]}")
        failed += 1
print(f"{count} numbers, {failed} results differ")
sys.exit(1 if failed else 0)
