#!/usr/bin/env python3
"""Compares sums and means over workers with NumPy, which adds in the order that docs/internals/kvstore.md states for
each topology, one rounded addition after the other.

  order.py MXC PROGRAM FOLDER
"""

import os
import pathlib
import subprocess
import sys

import numpy as np
import safetensors_file


def bounds(count, chunks):
    """The first element of each chunk, and the end: the first ones have one element more."""
    sizes = [count // chunks + (c < count % chunks) for c in range(chunks)]
    return np.concatenate([[0], np.cumsum(sizes)])


def in_order(values, order):
    total = values[order[0]]
    for rank in order[1:]:
        total = total + values[rank]
    return total


def ring(values):
    workers, out = len(values), np.empty_like(values[0])
    edges = bounds(len(values[0]), workers)
    for c in range(workers):
        part = slice(edges[c], edges[c + 1])
        out[part] = in_order([v[part] for v in values], [(c + 1 + k) % workers for k in range(workers)])
    return out


def tree(values, rank=0):
    total = values[rank]
    for child in (2 * rank + 1, 2 * rank + 2):
        if child < len(values):
            total = total + tree(values, child)
    return total


def direct(values):
    return in_order(values, range(len(values)))


def total(values, over):
    kind, _, outer = over.partition("-")
    if kind == "levels":
        groups = [direct(values[first:first + 2]) for first in range(0, len(values), 2)]
        return total(groups, outer)
    return {"direct": direct, "ring": ring, "tree": tree}[kind](values)


def compare(given, workers, over):
    differ, reordered = 0, 0

    def check(got, wanted):
        nonlocal differ
        bits = np.int64 if wanted.dtype == np.float64 else np.int32
        for each in np.split(got, workers):
            differ += int((each.view(bits) != wanted.view(bits)).sum())

    for count in (1, 7, 1000, 300001):
        values = np.split(given[f"x{count}"], workers)
        check(given[f"sum{count}"], total(values, over))
        if count == 1000 and workers > 2:
            reordered = int((direct(values[::-1]) != total(values, over)).sum())
    weights = [0.5 + 0.3 * rank for rank in range(workers)]
    for count in (7, 1000):
        values = [v * np.float32(w) for v, w in zip(np.split(given[f"x{count}"], workers), weights)]
        check(given[f"mean{count}"], total(values, over) / np.float32(sum(weights)))
    wide = [v.astype(np.float64) * 0.1 for v in np.split(given["x1000"], workers)]
    check(given["wide1000"], total(wide, over))
    parts = total([v.reshape(-1) for v in np.split(given["x60"], workers)], over)
    differ += int((given["scattered"].reshape(-1).view(np.int32) != parts.view(np.int32)).sum())
    return differ, reordered


def main():
    mxc, program, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    out = folder / "order"
    runs = differ = reordered = 0
    cases = [(workers, over) for over in ("direct", "ring", "tree") for workers in (1, 2, 4, 5)]
    cases += [(workers, f"levels-{outer}") for outer in ("direct", "ring", "tree") for workers in (4, 6)]
    for workers, over in cases:
        command = [mxc, "run", program, "--", f"workers={workers}", f"over={over}", f"out={out}"]
        engine = "naive" if runs % 2 else "threaded"
        done = subprocess.run(command, env={**os.environ, "MX_ENGINE": engine}, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} with {engine}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        found, others = compare(safetensors_file.read(out), workers, over)
        if found:
            print(f"{workers} workers, {over}: {found} numbers differ")
        runs, differ, reordered = runs + 1, differ + found, reordered + others
    print(f"{runs} runs, {differ} numbers differ")
    print("another order:", "differs" if reordered else "is equal")


main()
