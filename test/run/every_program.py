#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Generates code for every program of the repository.

Usage: every_program.py MXC ROOT

All examples of `mxc explain`, the programs under examples/ and test/ are taken to the `mx` dialect. A
program may have errors, or need what is not built yet (E0901); it must not bring mxc down, and what is
generated must verify. Prints each finding; exits with 1 if there is any.
"""

import concurrent.futures
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "dev"))
from tree import files_under  # noqa: E402

MXC, ROOT = sys.argv[1], os.path.abspath(sys.argv[2])


def programs(folder):
    codes = subprocess.run([MXC, "explain", "--list"], capture_output=True, text=True, check=True).stdout
    for code in (line.split()[0] for line in codes.splitlines()):
        for which in ("wrong", "right"):
            text = subprocess.run([MXC, "explain", code, "--example", which], capture_output=True, text=True).stdout
            if text:
                path = os.path.join(folder, f"{code}-{which}.mx")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                yield path
    for top in ("examples", "test"):
        yield from (os.path.join(ROOT, path) for path in files_under(ROOT, top) if path.endswith(".mx"))


def finding(path):
    done = subprocess.run([MXC, "run", "--emit=mx", os.path.basename(path)], cwd=os.path.dirname(path),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if done.returncode > 2 or done.returncode < 0:
        return f"{path}: exit code {done.returncode}"
    if "internal fault" in done.stderr:
        return f"{path}: {done.stderr.strip()[:300]}"
    return None


with tempfile.TemporaryDirectory() as folder:
    paths = list(programs(folder))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = [f for f in pool.map(finding, paths) if f]
print("\n".join(found + [f"{len(paths)} programs, {len(found)} findings"]))
sys.exit(1 if found else 0)
