#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares weights that workers.mx in FOLDER saves as threads of a process and as processes.

  sync_bits.py MXC FOLDER
"""

import pathlib
import subprocess
import sys


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


def main():
    mxc, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    program, out = folder / "workers.mx", folder / "weights"
    launches = different = 0
    local = {}
    for workers, over in [(1, "direct")] + [
            (count, order) for count in (2, 3, 4) for order in ("direct", "ring", "tree", "levels")] + [(4, "eager")]:
        mode, order = (["--eager"], "direct") if over == "eager" else ([], over)
        run(mxc, "run", *mode, program, "--", f"workers={workers}", f"over={order}", f"out={out}")
        wanted = local[workers, over] = out.read_bytes()
        out.unlink()
        run(mxc, "launch", "-n", workers, *mode, program, "--", "connect=sync", f"over={order}", f"out={out}")
        given = out.read_bytes()
        count = abs(len(wanted) - len(given)) + sum(a != b for a, b in zip(wanted, given))
        if count:
            print(f"{workers} workers, {over}: {count} of {len(wanted)} bytes differ")
        different += count
        launches += 1
    print(f"{launches} launches, {different} bytes differ")
    # The comparison can fail: sums in another order have other bits.
    same = local[4, "direct"] == local[4, "ring"]
    print("direct and ring with 4 workers:", "equal" if same else "differ")


main()
