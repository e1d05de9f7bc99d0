#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the weights of uneven.mx, step by step, with those of NumPy.

  uneven.py MXC PROGRAM FOLDER
"""

import json
import pathlib
import struct
import subprocess
import sys

import numpy as np


def tensors(path):
    data = path.read_bytes()
    size, = struct.unpack("<Q", data[:8])
    kinds = {"F32": np.float32, "I64": np.int64}
    return {name: np.frombuffer(data[8 + size + at["data_offsets"][0]:8 + size + at["data_offsets"][1]],
                                kinds[at["dtype"]]).reshape(at["shape"])
            for name, at in json.loads(data[8:8 + size]).items() if name != "__metadata__"}


def train(mxc, program, out, **options):
    words = [f"{name}={value}" for name, value in options.items()]
    done = subprocess.run([mxc, "run", program, "--", f"out={out}", *words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    saved = tensors(out)
    return saved["trace"][:int(saved["done"])], int(saved["sent"])


def rows(rank, count):
    x = np.cos(np.float32(0.7) * np.arange(3 * count, dtype=np.float32) + np.float32(rank) * np.float32(1.9))
    x = x.reshape(count, 3).astype(np.float64)
    return x, x.sum(axis=1, keepdims=True) + 1


def slope(weights, x, y):
    """Of the mean square, by weights and bias."""
    error = 2 * (x @ weights[:3, None] + weights[3] - y) / len(x)
    return np.concatenate([(x.T @ error)[:, 0], [error.sum()]])


START = np.array([0, 0.25, 0.5, 0])


def uneven():
    data = [rows(0, 20), rows(1, 25)]
    weights, trace = START, []
    for i in range(0, 26, 2):
        parts = [(x[i:i + 2], y[i:i + 2]) for x, y in data]
        total = sum(len(x) for x, _ in parts)
        mean = sum(len(x) * slope(weights, x, y) for x, y in parts if len(x)) / total
        weights = weights - 0.1 * mean
        trace.append(weights)
    return trace


def averaged(workers, every, momentum):
    """Of rank 0."""
    data = [rows(rank, 20) for rank in range(workers)]
    own, start, speed, trace = [START] * workers, START, 0, []
    for i in range(0, 20, 2):
        own = [w - 0.1 * slope(w, x[i:i + 2], y[i:i + 2]) for w, (x, y) in zip(own, data)]
        if (i // 2 + 1) % every == 0:
            speed = momentum * speed + np.mean([start - w for w in own], axis=0)
            start = start - speed
            own = [start] * workers
        trace.append(own[0])
    return trace


def main():
    mxc, program, out = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]) / "out"
    got, _ = train(mxc, program, out, mode="uneven")
    want = uneven()
    print(f"uneven: {len(got)} steps, {'as' if np.allclose(got, want, rtol=1e-5, atol=1e-6) else 'not as'} NumPy")
    right = 0
    for workers, every, momentum in ((1, 3, 0), (2, 1, 0), (2, 4, 0), (3, 2, 0), (2, 5, 0.9), (4, 1, 0.5)):
        got, _ = train(mxc, program, out, mode="average", workers=workers, every=every, momentum=float(momentum))
        right += np.allclose(got, averaged(workers, every, momentum), rtol=1e-5, atol=1e-6)
    print(f"averages: {right} of 6 as NumPy")

    # Every step of plain SGD: up to rounding the weights of kv.step.
    one, sent_one = train(mxc, program, out, mode="average", workers=2, every=1)
    sync, sent_sync = train(mxc, program, out, mode="sync", workers=2)
    ulp = np.spacing(np.maximum(np.abs(one), np.abs(sync)))
    worst = (np.abs(one - sync) / ulp).max()
    print(f"every step: {'within' if worst <= 2 * len(one) else 'beyond'} 2 ulp a step of kv.step")
    print("not the same bits" if worst > 0 else "the same bits")
    two, sent_two = train(mxc, program, out, mode="average", workers=2, every=5)
    print(f"bytes: {sent_sync} as kv.step, {sent_one} every step, {sent_two} every five")


main()
