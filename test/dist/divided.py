#!/usr/bin/env python3
"""Compares layers that are divided among workers with one process that adds the same parts, bit by bit, and with
the whole layers in float64.

  divided.py MXC FOLDER
"""

import itertools
import os
import pathlib
import subprocess
import sys

import numpy as np
import safetensors_file


def run(mxc, program, mode, engine, workers, out):
    command = [mxc, "run", *mode, str(program), "--", f"workers={workers}", f"out={out}"]
    done = subprocess.run(command, env={**os.environ, "MX_ENGINE": engine}, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} with {engine}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return safetensors_file.read(out)


def joined(tensors):
    """The parts of all workers as one tensor: columns side by side, rows below each other."""
    out = dict(tensors)
    for name in ("up1", "up2"):
        out[name] = np.concatenate(list(tensors[name]), axis=1)
    for name in ("bias1", "bias2", "down1", "down2"):
        out[name] = np.concatenate(list(tensors[name]))
    return out


def whole(start):
    """Eight steps of the whole network in float64; the gradients are written by hand."""
    x, y, w1, v1, w2, v2 = (start[name].astype(np.float64) for name in ("x", "y", "u1", "d1", "u2", "d2"))
    a1, a2, b1, b2 = np.zeros(12), np.zeros(12), np.zeros(7), np.zeros(3)
    losses = []
    for _ in range(8):
        h1 = np.tanh(x @ w1 + a1)
        m = h1 @ v1 + b1
        h2 = np.tanh(m @ w2 + a2)
        error = h2 @ v2 + b2 - y
        losses.append((error**2).mean())
        g = 2 * error / error.size
        g2 = (g @ v2.T) * (1 - h2**2)
        gm = g2 @ w2.T
        g1 = (gm @ v1.T) * (1 - h1**2)
        w1, a1, v1, b1 = w1 - 0.1 * x.T @ g1, a1 - 0.1 * g1.sum(0), v1 - 0.1 * h1.T @ gm, b1 - 0.1 * gm.sum(0)
        w2, a2, v2, b2 = w2 - 0.1 * m.T @ g2, a2 - 0.1 * g2.sum(0), v2 - 0.1 * h2.T @ g, b2 - 0.1 * g.sum(0)
    return {"losses": np.array(losses), "up1": w1, "bias1": a1, "down1": v1, "same1": b1,
            "up2": w2, "bias2": a2, "down2": v2, "same2": b2}


def main():
    mxc, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    runs = different = 0
    error = 0.0
    for mode, workers in itertools.product(([], ["--eager"]), (1, 2, 4)):
        wanted = joined(run(mxc, folder / "divided-alone.mx", mode, "threaded", workers, folder / "alone"))
        exact = whole(wanted)
        for engine in ("threaded", "naive"):
            given = run(mxc, folder / "divided.mx", mode, engine, workers, folder / "divided")
            runs += 1
            for name, value in wanted.items():
                count = int((value.view(np.int32) != given[name].view(np.int32)).sum())
                if count:
                    print(f"{mode} {engine}, {workers} workers: {count} numbers of {name} differ")
                different += count
            for name, value in exact.items():
                error = max(error, np.abs(given[name] - value).max() / np.abs(value).max())
    print(f"{runs} runs, {different} numbers differ")
    print("close to the whole:", "yes" if error < 1e-5 else f"{error:.2e}")


main()
