#!/usr/bin/env python3
"""Compares the gradients that adjoints.mx finds with differences of the sum of all workers' results, which is
computed here, in one process.

  adjoints.py MXC PROGRAM FOLDER
"""

import itertools
import os
import pathlib
import subprocess
import sys

import numpy as np
import safetensors_file


def total(case, xs):
    """The sum over all workers of what `case` of the program computes from the values of all."""
    workers = len(xs)
    c = [0.5 + 0.25 * r for r in range(workers)]
    weights = [abs(r - 1.0) for r in range(workers)]
    rows = np.concatenate
    if case == "sum":
        return sum(np.sin(c[r] * sum(xs)).sum() for r in range(workers))
    if case == "mean":
        return sum(np.sin(c[r] * sum(x * x for x in xs) / workers).sum() for r in range(workers))
    if case == "weighted":
        mean = sum(w * x * x for w, x in zip(weights, xs)) / sum(weights)
        return sum(np.sin(c[r] * mean).sum() for r in range(workers))
    if case == "gather":
        return sum(np.sin(c[r] * rows([x * x for x in xs])).sum() for r in range(workers))
    if case == "scatter":
        parts = np.split(sum(xs), workers)
        return sum(np.sin(c[r] * parts[r]).sum() for r in range(workers))
    if case == "both":
        added = sum(np.sin(c[r] * rows(xs)) for r in range(workers))
        return sum((part * x).sum() for part, x in zip(np.split(added, workers), xs))
    if case == "second":
        slopes = []
        for r in range(workers):
            slope = sum(c[s] * np.cos(c[s] * xs[r] ** 2) for s in range(workers)) * 2.0 * xs[r]
            slopes.append((slope * slope).sum())
        return sum(slopes)
    ys = xs
    for _ in range(3):
        added = np.tanh(sum(ys) * 0.3)
        ys = [added + x for x in xs]
    size = sum((y * y).sum() for y in ys) / workers
    turns = 0
    while size < 200.0 and turns < 20:
        added = sum(ys)
        ys = [1.5 * y + 0.1 * added for y in ys]
        size = sum((y * y).sum() for y in ys) / workers
        turns += 1
    assert turns > 1
    out = sum(np.sin(y) for y in ys)
    if size > 250.0:
        out = out / workers
    return sum((c[r] * out).sum() for r in range(workers))


def differences(case, values, workers, step=1e-5):
    out = np.zeros_like(values)
    for index in np.ndindex(values.shape):
        sides = []
        for sign in (1, -1):
            moved = values.copy()
            moved[index] += sign * step
            sides.append(total(case, np.split(moved, workers)))
        out[index] = (sides[0] - sides[1]) / (2 * step)
    return out


def main():
    mxc, program, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    out = folder / "adjoints"
    compared = wrong = 0
    for mode, engine, workers in itertools.product(([], ["--eager"]), ("threaded", "naive"), (1, 2, 4)):
        command = [mxc, "run", *mode, program, "--", f"workers={workers}", f"out={out}"]
        done = subprocess.run(command, env={**os.environ, "MX_ENGINE": engine}, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} with {engine}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        given = safetensors_file.read(out)
        values = given.pop("values")
        for name, found in given.items():
            case = name.removeprefix("slope_")
            wanted = differences(case, values, workers)
            error = np.abs(found - wanted).max() / max(1.0, np.abs(wanted).max())
            compared += 1
            if not error < 1e-7:
                wrong += 1
                print(f"{mode} {engine}, {workers} workers: the gradient of {case} is off by {error:.2e}")
    print(f"{compared} gradients compared, {wrong} wrong")


main()
