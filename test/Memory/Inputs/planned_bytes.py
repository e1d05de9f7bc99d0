#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what calls of graphs take with their plans, over the programs of the repository.

Usage: planned_bytes.py MXC ROOT CACHE [FOLDER…]

Runs each program of the folders that has a graph. For each variant that was
called: the bytes it leased are those of its plan, `mxc plan` prints the same figure, it took nothing
besides, and the plan is at most 1.02 times what is in use at once. Programs that need what is not here (data, options) are left out. Prints findings; exits
with 1 if there are any.
"""

import concurrent.futures
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import patience  # noqa: E402

MXC, ROOT, CACHE, *FOLDERS = sys.argv[1:]
LINE = re.compile(r"bytes of (\S+?)((?: \S+=\d+)*): planned (\d+), leased (\d+), besides (\d+), bound (\d+), (\d+) call")


def mxc(*args, path):
    return patience.run([MXC, *args], 200, cwd=os.path.dirname(path) or ".", stdin=subprocess.DEVNULL,
                        capture_output=True, text=True, errors="replace")


def planned(path, graph, sizes):
    """What `mxc plan` prints, or nothing for a graph that is a part of a larger one."""
    shapes = ["--shapes", ",".join(sizes)] if sizes else []
    done = mxc("plan", path, graph, *shapes, "--json", path=path)
    return sum(d["arena_bytes"] for d in json.loads(done.stdout)["devices"]) if done.returncode == 0 else None


def check(path):
    name = os.path.relpath(path, ROOT)
    found, seen = [], 0
    done = mxc("run", f"--cache={CACHE}", "--internal-bytes", path, path=path)
    for graph, sizes, *numbers in LINE.findall(done.stderr):
        plan, leased, besides, bound, _ = map(int, numbers)
        seen += 1
        where = f"{name}: {graph}{sizes}: "
        if plan != leased:
            found.append(f"{where}planned {plan} bytes, leased {leased}")
        if besides:
            found.append(f"{where}{besides} bytes besides the plan")
        if plan > 1.02 * bound:
            found.append(f"{where}planned {plan} bytes, {bound} are in use at once")
        printed = planned(path, graph, sizes.split())
        if printed not in (None, plan):
            found.append(f"{where}`mxc plan` says {printed} bytes, a call {plan}")
    return seen, found


def programs():
    for folder in FOLDERS:
        for entry in sorted(os.listdir(os.path.join(ROOT, folder))):
            path = os.path.join(ROOT, folder, entry)
            if entry.endswith(".mx"):
                yield path


with concurrent.futures.ThreadPoolExecutor(2) as pool:
    results = list(pool.map(check, list(programs())))
findings = [f for _, found in results for f in found]
variants = sum(seen for seen, _ in results)
print("\n".join(findings + [f"{variants} variants of {sum(1 for s, _ in results if s)} programs, {len(findings)} findings"]))
sys.exit(1 if findings else 0)
