#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what the workers of compress.mx in FOLDER save: threads and processes, runs that were stopped and
resumed, the weights of all workers.

  compress.py MXC FOLDER
"""

import json
import pathlib
import struct
import subprocess
import sys

CASES = [(codec, "direct", workers) for codec in ("fp16", "bf16", "bit1", "bit2", "topk") for workers in (2, 3)] + [
    ("fp16", "ring", 3), ("bf16", "tree", 4), ("bit1", "levels", 4), ("topk", "direct", 1)]


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


def tensors(path):
    data = path.read_bytes()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    return {name: data[8 + size + at["data_offsets"][0]:8 + size + at["data_offsets"][1]]
            for name, at in header.items() if name != "__metadata__"}


def main():
    mxc, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    program = folder / "compress.mx"

    def train(name, workers, *options, launch=False, stops=(6,)):
        for stop in stops:
            mode = ["launch", "-n", workers] if launch else ["run"]
            more = ["connect=sync"] if launch else [f"workers={workers}"]
            run(mxc, *mode, program, "--", f"file={folder / name}", f"stop={stop}", *more, *options)
        return [tensors(folder / f"{name}.{rank}") for rank in range(workers)]

    plain = {workers: train(f"plain{workers}", workers)[0] for workers in (2, 3, 4)}
    differing = {"processes": 0, "resumed": 0, "between workers": 0}
    lossless, kept = [], set()
    for codec, over, workers in CASES:
        options = [f"compress={codec}", f"over={over}"]
        name = f"{codec}-{over}-{workers}"
        local = train(f"{name}-local", workers, *options)
        differing["processes"] += local != train(f"{name}-sync", workers, *options, launch=True)
        differing["resumed"] += local != train(f"{name}-resumed", workers, *options, stops=(2, 3, 6))
        for other in local[1:]:
            differing["between workers"] += any(other[key] != local[0][key] for key in other if key.startswith("net."))
        if workers > 1 and all(local[0][key] == plain[workers][key] for key in plain[workers]):
            lossless.append(name)
        kept.add(any(key.startswith("kv.connection.net") and any(value) for key, value in local[-1].items()))
        if workers == 1 and any(key.startswith("kv.connection") for key in local[0]):
            print("a worker that is alone keeps residuals")
    print(f"{len(CASES)} cases; different:", ", ".join(f"{what} {count}" for what, count in differing.items()))
    # The comparison can fail: compression changes weights, and residuals are not all zeros.
    print(f"as without compression: {lossless}, residuals: {sorted(kept)}")


main()
