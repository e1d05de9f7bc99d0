#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures `mxc check`: the median time for each program of test/programs and for a generated
program of 10,000 lines.

usage: tools/dev/bench-check.py [--mxc PATH] [--runs N] [--lines N] [--json]

Ends with 1 if a median is above its goal: 50 ms for a program, 0.5 s for the generated one. Times
are those of the process itself (user and system), so that a busy machine does not disturb them;
the elapsed time is printed beside."""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOAL_PROGRAM, GOAL_GENERATED = 0.050, 0.500

UNIT = """\
## Part {i} of a generated program.
model Layer{i}[D, H](static depth: i64 = 2) where D % 4 == 0 {{
  param w: f32[D, H] = nn.glorot()
  param b: f32[H] = zeros()
  sub norm: nn.LayerNorm[H]
  fn call(x: f32[B, D]) -> f32[B, H] {{
    let z = x @ w + b
    norm(nn.gelu(z))
  }}
}}
fn scale{i}(x: f32[N, D], y: f32[D]) -> f32[N, D] {{
  let mu = x.mean(axis=1, keep=true)
  var h = (x - mu) * y
  for t in 0..{steps} {{ h = h + 0.5 * tanh(h) }}
  if {i} % 2 == 0 {{ h = h / 2.0 }}
  h
}}
let net{i} = Layer{i}[{d}, {h}]()
let out{i} = net{i}(scale{i}(ones([3, {d}]), ones([{d}])))
"""


def generated(lines):
    units, count = ["import nn\n"], 1
    while count < lines:
        i = len(units)
        units.append(UNIT.format(i=i, steps=1 + i % 7, d=4 * (1 + i % 32), h=8 + i % 100))
        count += units[-1].count("\n")
    return "".join(units)


def measure(command, runs):
    """Medians of processor time and elapsed time, in seconds."""
    used, elapsed = [], []
    for _ in range(runs):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        elapsed.append(time.monotonic() - start)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return statistics.median(used), statistics.median(elapsed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mxc", default=str(ROOT / "build/release/bin/mxc"))
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--lines", type=int, default=10000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    os.environ.setdefault("MX_STDLIB", str(ROOT / "stdlib"))
    rows, good = [], True
    with tempfile.TemporaryDirectory() as folder:
        large = pathlib.Path(folder) / f"generated_{arguments.lines}.mx"
        large.write_text(generated(arguments.lines))
        programs = sorted((ROOT / "test/programs/Inputs").glob("*.mx"))
        for path in programs + [large]:
            goal = GOAL_GENERATED if path == large else GOAL_PROGRAM
            used, elapsed = measure([arguments.mxc, "check", str(path)], arguments.runs)
            good &= used <= goal
            rows.append({"program": path.name, "seconds": used, "elapsed": elapsed, "goal": goal})
    if arguments.json:
        print(json.dumps(rows))
    else:
        for row in rows:
            print(f"{row['program']:24} {row['seconds'] * 1e3:8.1f} ms   elapsed {row['elapsed'] * 1e3:8.1f} ms"
                  f"   goal {row['goal'] * 1e3:.0f} ms")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
