#!/usr/bin/env python3
"""Runs ONNX's single-op test cases through mx, eagerly and in graphs, and writes what came out.

Usage: onnx_nodes.py MXC [--data FOLDER] [--check FILE | --write FILE] [--only TEXT]

The cases are those of the Debian package libonnx-testdata. `--write` writes the table of docs/reference/onnx.md;
`--check` compares it with the file and exits with 1 if they differ or the file is missing.
"""

import argparse
import collections
import os
import re
import sys
import tempfile
import textwrap

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ops"))
from mxtext import kind_of, parse, show, typed  # noqa: E402
import protobuf  # noqa: E402
from translate import Case, NotApplicable, translate  # noqa: E402
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import patience  # noqa: E402

DATA = "/usr/share/libonnx-testdata/data/node"
LARGEST = 20000  # elements of an input that are worth writing as text
# Relative and absolute difference; ONNX itself allows 1e-3.
TOLERANCE = {"f16": (2e-3, 1e-3), "f32": (2e-5, 2e-6), "f64": (1e-12, 1e-12)}


class Test:
    """One case: what was asked, and what came out (passed, failed or not applicable)."""

    def __init__(self, name):
        self.name, self.op, self.state, self.reason = name, "?", "", ""

    def not_applicable(self, reason):
        self.state, self.reason = "not applicable", reason


def read_case(folder, name, index):
    """The Test, and the lines that define its inputs with the texts of its outputs."""
    test = Test(name)
    with open(os.path.join(folder, name, "model.onnx"), "rb") as f:
        model = protobuf.model(f.read())
    if len(model.nodes) != 1:
        test.op = "several nodes"
        test.not_applicable("the op's definition as a graph of other ops")
        return test, None
    node = model.nodes[0]
    test.op = node.op
    data = os.path.join(folder, name, "test_data_set_0")

    def load(kind, i):
        with open(os.path.join(data, f"{kind}_{i}.pb"), "rb") as f:
            return protobuf.tensor(f.read())
    try:
        by_name = {n: load("input", i) for i, n in enumerate(model.inputs)}
        wanted = [load("output", i) for i in range(len(model.outputs))]
        if any(a is None for a in [*by_name.values(), *wanted]):
            raise NotApplicable("mx has no string or sequence tensors")
        arrays = [by_name.get(n) if n else None for n in node.inputs]
        if any(a is not None and a.size > LARGEST for a in arrays):
            raise NotApplicable("too large to write as program text")
        names = [f"c{index}_{i}" for i in range(len(arrays))]
        texts = translate(Case(node, arrays, names, wanted, model.opset))
    except NotApplicable as reason:
        test.not_applicable(str(reason))
        return test, None
    except (ValueError, IndexError, FileNotFoundError):
        test.not_applicable("sequences or optional values")
        return test, None
    lines = [typed(n, a) for n, a in zip(names, arrays) if a is not None and re.search(rf"\b{n}\b", " ".join(texts))]
    return test, (lines, texts, wanted)


def program(cases):
    lines = ["import nn", "import math"]
    for k, (_, (inputs, texts, wanted)) in enumerate(cases):
        lines += inputs
        for way in ("eager", "graph"):
            for i, (text, want) in enumerate(zip(texts, wanted)):
                name = f"r{k}_{i}_{way}"
                lines.append(f"let {name} = {text}" if way == "eager" else f"let {name} = graph {{ {text} }}")
                lines.append(f'print("#{k} {i} {way}")')
                lines += show(name, kind_of(want), want.shape, f"{name}_part")
    return "\n".join(lines) + "\n"


def difference(body, want):
    kind = kind_of(want)
    got, shape = parse(body, kind)
    if got is None or got.size != want.size:
        return f"{0 if got is None else got.size} elements instead of {want.size}"
    if shape is not None and shape != f"{kind}[{', '.join(map(str, want.shape))}]":
        return f"{shape} instead of {kind}{list(want.shape)}"
    flat = want.reshape(-1)
    if want.dtype.kind != "f":
        return None if np.array_equal(got, flat) else "other values"
    rtol, atol = TOLERANCE[kind]
    a, b = got, flat.astype(np.float64)
    with np.errstate(all="ignore"):
        good = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= rtol * np.abs(b) + atol)
    if good.all():
        return None
    i = int(np.flatnonzero(~good)[0])
    return f"{a[i]:.8g} instead of {b[i]:.8g}"


def run(mxc, cases, folder):
    path = os.path.join(folder, "cases.mx")
    with open(path, "w") as f:
        f.write(program(cases))
    done = patience.run([mxc, "run", f"--cache={folder}/cache", path], 280, capture_output=True, text=True)
    if done.returncode != 0:
        if len(cases) > 1:  # one by one, or by halves, until the ones to blame are found
            half = len(cases) // 2
            run(mxc, cases[:half], folder)
            run(mxc, cases[half:], folder)
            return
        test = cases[0][0]
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        test.state, test.reason = "failed", lines[0]
        return
    for test, _ in cases:
        test.state = "passed"
    for block in re.split(r"^#", done.stdout, flags=re.M)[1:]:
        head, _, body = block.partition("\n")
        k, i, way = head.split()
        test, (_, _, wanted) = cases[int(k)]
        if reason := difference(body, wanted[int(i)]):
            test.state, test.reason = "failed", f"{way}: {reason}"


def table(tests):
    counts = collections.Counter(t.state for t in tests)
    out = ["# ONNX node tests", "",
           "Generated by `test/onnx/onnx_nodes.py MXC --write docs/reference/onnx.md`; a test keeps it current.",
           "The cases are those of ONNX 1.12 for single ops (Debian package libonnx-testdata). Each is written",
           "as an mx program, and runs op by op and in a graph. Results may differ from ONNX's by a relative",
           "error of 2e-5 in f32 and 2e-3 in f16.", "",
           f"{counts['passed']} cases pass, {counts['failed']} fail, {counts['not applicable']} do not apply to mx.", "",
           "| op | pass | fail | not applicable | why not |", "|---|---|---|---|---|"]
    by_op = collections.defaultdict(list)
    for t in tests:
        by_op[t.op].append(t)
    without = collections.Counter()
    for op in sorted(by_op):
        group = by_op[op]
        if all(t.reason == "mx has no such op" for t in group):
            without[op] = len(group)
            continue
        n = collections.Counter(t.state for t in group)
        reasons = collections.Counter()
        for t in group:
            if t.state == "failed":
                reasons[f"`{t.name.removeprefix('test_')}`: {t.reason}"] += 1
            elif t.state == "not applicable":
                reasons[t.reason] += 1
        why = "; ".join(reasons).replace("|", "\\|")
        out.append(f"| {op} | {n['passed']} | {n['failed']} | {n['not applicable']} | {why} |")
    missing = ", ".join(f"{op} ({n})" for op, n in sorted(without.items()))
    out += ["", textwrap.fill(f"ONNX ops without an equivalent in mx ({sum(without.values())} cases): {missing}.", 100,
                              break_on_hyphens=False)]
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mxc")
    parser.add_argument("--data", default=DATA)
    parser.add_argument("--check")
    parser.add_argument("--write")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    if not os.path.isdir(args.data):
        sys.exit(f"there is no folder {args.data}: the package libonnx-testdata is missing")
    tests, ready = [], []
    for index, name in enumerate(n for n in sorted(os.listdir(args.data)) if args.only in n):
        test, case = read_case(args.data, name, index)
        tests.append(test)
        if case:
            ready.append((test, case))
    with tempfile.TemporaryDirectory() as folder:
        for begin in range(0, len(ready), 20):
            run(args.mxc, ready[begin:begin + 20], folder)
    text = table(tests)
    counts = collections.Counter(t.state for t in tests)
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['not applicable']} not applicable")
    if args.write:
        with open(args.write, "w") as f:
            f.write(text)
    if args.check:
        with open(args.check) as f:
            if f.read() != text:
                print(f"{args.check} is not current; write it with\n  test/onnx/onnx_nodes.py MXC --write {args.check}")
                for t in tests:
                    if t.state == "failed":
                        print(f"{t.name}: {t.reason}")
                return 1
    if not args.check and not args.write:
        for t in tests:
            if t.state == "failed":
                print(f"{t.name}: {t.reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
