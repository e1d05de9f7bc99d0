#!/usr/bin/env python3
"""Compares weights that NAME.mx, with workers, and NAME-alone.mx in FOLDER save.

  bits.py MXC FOLDER NAME
"""

import itertools
import os
import pathlib
import subprocess
import sys


def run(mxc, program, mode, engine, workers, out):
    command = [mxc, "run", *mode, str(program), "--", f"workers={workers}", f"out={out}"]
    done = subprocess.run(command, env={**os.environ, "MX_ENGINE": engine}, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} with {engine}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return out.read_bytes()


def main():
    mxc, folder, name = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    runs = different = 0
    alone = {}
    for mode, workers in itertools.product(([], ["--eager"]), (1, 2, 4)):
        wanted = run(mxc, folder / f"{name}-alone.mx", mode, "threaded", workers, folder / "alone")
        alone[workers, bool(mode)] = wanted
        for engine in ("threaded", "naive"):
            given = run(mxc, folder / f"{name}.mx", mode, engine, workers, folder / "workers")
            count = abs(len(wanted) - len(given)) + sum(a != b for a, b in zip(wanted, given))
            if count:
                print(f"{mode} {engine}, {workers} workers: {count} of {len(wanted)} bytes differ")
            different += count
            runs += 1
    print(f"{runs} runs, {different} bytes differ")
    # The comparison can fail: sums of other shares have other bits.
    print("shares of others:", "differ" if alone[2, False] != alone[4, False] else "equal")


main()
