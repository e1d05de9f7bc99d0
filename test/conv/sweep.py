#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions against what PyTorch gave when record_torch.py ran: values and gradients, in graphs and op by op.

Usage: sweep.py MXC torch_values.npz [--every N] [--first N] [--count N] [--batch N] [--mode NAME]… [--case N]… [--one]
                [--seconds N]

--every takes each N-th case, --case some by number. --one computes one result of each case, in turn the value and the
gradients, since compiling takes nearly all of the time. Exits with 1 when a result differs by more than its bound
(cases.py), which is 0 for most, or from what a graph on one thread gives where bits have to be the same.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ops"))
from cases import bound_of, inputs_of, shapes_of, summary  # noqa: E402
from mxtext import saved  # noqa: E402

# Each iteration of a loop is a piece of work for a thread; on one thread too, so that both run the same code.
CUT = "--internal-chunk=1"
# name: options, threads, whether bits are those of the graph
MODES = {"graph": ([CUT], 1, True), "two threads": ([CUT], 2, True), "eager": (["--eager"], 1, False),
         "guarded": (["--check=memory"], 1, True), "whole loops": ([], 2, True), "unfused": (["--disable=fuse,simplify,cse"], 1, False),
         "avx2": (["--target-cpu=x86-64-v3"], 1, False), "sse": (["--target-cpu=x86-64-v2"], 1, False)}
RESULTS = ("y", "gradient by x", "gradient by w")


def type_text(element, shape):
    return f"{element}[{', '.join(map(str, shape))}]"


def tuple_text(parts):
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def turned(shape):
    return (shape[1], shape[0], *shape[2:])


def texts(case, k, wanted):
    """The graphs of a case, the k-th of its program: their texts, variables for the inputs, calls, and what is saved of
    the results that are `wanted`, some of 0 to 2."""
    element, form = case["element"], case["form"]
    shapes = [turned(s) if case["swapped"] == n else s for n, s in zip("xwr", shapes_of(case))]
    order = [1, 0, *range(2, len(shapes[0]))]
    x, w = (f"transpose({n}, {order})" if case["swapped"] == n else n for n in "xw")
    name = f"conv{len(case['sizes'])}d{'_transpose' if case['transposed'] else ''}"
    options = dict(stride=case["stride"], pad=case["pad"])
    if not case["transposed"]:
        options |= dict(dilation=case["dilation"], groups=case["groups"])
    y = f"{name}({x}, {w}, {', '.join(f'{n}={v}' for n, v in options.items())})"
    if form == "layer":
        y = f"maximum({y} + 0.0078125, 0.0)"
    size = int(np.prod(shapes[2]))
    loss = {"sum": f"{y}.sum()", "reshape": f"({y}.reshape([{size}]) * r.reshape([{size}])).sum()"}.get(form, f"({y} * r).sum()")
    given = ", ".join(f"{n}: {type_text(element, s)}" for n, s in zip("xwr", shapes))
    types = [type_text(element, s) for s in (shapes[2], *shapes[:2])]
    held = "f64" if element == "f64" else "f32"
    names = [f"{n}{k}" for n in "xwr"]
    passed = ", ".join(names if held == element else [f"{element}({n})" for n in names])
    graphs, calls = [], []
    # All in one graph, or values and gradients in one each.
    for at, part in enumerate([wanted] if case["together"] else [[i for i in wanted if (i == 0) == first] for first in (True, False)]):
        if not part:
            continue
        by = ", ".join("xw"[i - 1] for i in part if i)
        body = [f"let (_, {tuple_text([f'g{i}' for i in part if i])}) = grad({by}) {{ {loss} }}"] if by else []
        results = tuple_text([f"g{i}" if i else y for i in part])
        graphs.append("\n  ".join([f"graph fn f{k}_{at}({given}) -> {tuple_text([types[i] for i in part])} {{", *body, results]) + "\n}")
        calls.append(f"let {tuple_text([f'v{k}_{i}' for i in part])} = f{k}_{at}({passed})")
    lines = [f"var {n}{k} = zeros({list(s)}, dtype={held})" for n, s in zip("xwr", shapes)]
    saved_as = [f"o{k}_{i}=v{k}_{i}" if held == element else f"o{k}_{i}=f32(v{k}_{i})" for i in wanted]
    return graphs, lines, calls, saved_as


def write(path, values):
    header, data, at = {}, [], 0
    for name, value in values.items():
        header[name] = {"dtype": {4: "F32", 8: "F64"}[value.itemsize], "shape": value.shape, "data_offsets": [at, at + value.nbytes]}
        data.append(np.ascontiguousarray(value).tobytes())
        at += value.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(data))


class Sweep:
    def __init__(self, mxc, record, one=False):
        self.one, self.mxc, self.folder = one, mxc, tempfile.mkdtemp(prefix="mx-conv-")
        self.cases = json.loads(record["cases"].tobytes())
        self.ends, self.values, self.largest = np.cumsum(record["lengths"]), record["values"], record["largest"]
        self.differ, self.checked = [], 0

    def wanted(self, case):
        return [case["number"] // 11 % 3] if self.one else [0, 1, 2]

    def want(self, case, which):
        at = 3 * case["number"] + which
        return self.values[self.ends[at - 1] if at else 0:self.ends[at]], float(self.largest[at])

    def run(self, cases, mode):
        """The results of the cases by name, or what went wrong."""
        options, threads, _ = MODES[mode]
        given, out, path = (os.path.join(self.folder, n) for n in ("given", "out", "cases.mx"))
        parts = [texts(case, k, self.wanted(case)) for k, case in enumerate(cases)]
        values, names = {}, []
        for k, case in enumerate(cases):
            kind = np.float64 if case["element"] == "f64" else np.float32
            for n, value in zip("xwr", inputs_of(case)):
                values[f"{n}{k}"] = (np.swapaxes(value, 0, 1) if case["swapped"] == n else value).astype(kind)
                names.append(f"mut {n}{k}")
        write(given, values)
        with open(path, "w") as file:
            file.write("\n".join([*(g for p in parts for g in p[0]), *(line for p in parts for line in p[1]),
                                  f'restore("{given}", {", ".join(names)})', *(c for p in parts for c in p[2]),
                                  f'save("{out}", {", ".join(o for p in parts for o in p[3])})']) + "\n")
        env = dict(os.environ, MX_NUM_THREADS=str(threads))
        cache = os.path.join(self.folder, "eager" if mode == "eager" else "graphs")
        done = subprocess.run([self.mxc, "run", f"--cache={cache}", *options, path], capture_output=True, text=True, env=env)
        if done.returncode:
            return None, f"exit code {done.returncode}: {done.stderr[:1500]}"
        return saved(out), None

    def check(self, cases, modes):
        first = None
        for mode in modes:
            got, error = self.run(cases, mode)
            if error and len(cases) > 1:  # which one is it?
                for case in cases:
                    self.check([case], [mode])
                continue
            if error:
                self.report(cases[0], mode, error)
                continue
            first = got if mode == "graph" else first
            for k, case in enumerate(cases):
                for which in self.wanted(case):
                    name = f"o{k}_{which}"
                    self.compare(case, mode, which, got[name], first[name] if first and MODES[mode][2] else None)

    def compare(self, case, mode, which, got, same):
        value = np.swapaxes(got, 0, 1) if case["swapped"] == (None, "x", "w")[which] else got
        want, largest = self.want(case, which)
        have, bound = summary(value), bound_of(case, which, value.size, largest)
        self.checked += 1
        with np.errstate(invalid="ignore"):
            off = np.abs(have - want)
        if not np.all(off <= bound):  # nor is a NaN
            self.report(case, mode, f"{RESULTS[which]} is off by {np.max(off)}, more than {bound}")
        elif same is not None and got.tobytes() != same.tobytes():
            self.report(case, mode, f"{RESULTS[which]} has other bits than in a graph on one thread")

    def report(self, case, mode, reason):
        self.differ.append(case["number"])
        if len(self.differ) <= 40:
            print(f"case {case['number']}, {mode}: {reason}\n  {json.dumps(case)}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mxc")
    parser.add_argument("values")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int)
    parser.add_argument("--batch", type=int, default=40)
    parser.add_argument("--mode", action="append", choices=list(MODES))
    parser.add_argument("--case", action="append", type=int)
    parser.add_argument("--one", action="store_true")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    args = parser.parse_args()
    sweep, started = Sweep(args.mxc, dict(np.load(args.values)), args.one), time.monotonic()
    cases = [sweep.cases[n] for n in args.case] if args.case else sweep.cases[args.first::args.every][:args.count]
    modes = args.mode or ["graph", "two threads", "eager"]
    done = 0
    try:
        while done < len(cases) and time.monotonic() - started < args.seconds:
            batch = cases[done:done + args.batch]
            sweep.check(batch, modes)
            done += len(batch)
            shutil.rmtree(os.path.join(sweep.folder, "graphs"), ignore_errors=True)  # kernels of graphs are not met again
    finally:
        shutil.rmtree(sweep.folder, ignore_errors=True)
    print(f"{done} cases, {sweep.checked} results in {', '.join(modes)}: {len(set(sweep.differ))} cases differ, "
          f"{time.monotonic() - started:.0f} s")
    return 1 if sweep.differ else 0


if __name__ == "__main__":
    sys.exit(main())
