#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What fits into a limit fits into each larger one: limits.py MXC COUNT FILE GRAPH SHAPES [OPTION…]

Plans the graph under COUNT limits between its peak and a twentieth of that. The limits that are accepted must be all from some one
on; a plan is never above its limit; what a refusal says would be enough is enough, and a byte less is refused. With more memory
no more work is done again, give or take a twentieth of all. Prints what it found; exits with 1 if one of these does not hold.
"""

import json
import re
import subprocess
import sys

MXC, COUNT, FILE, GRAPH, SHAPES, *MORE = sys.argv[1:]
found = []


def plan(limit):
    """Bytes and part of the work done again, or the bytes that would be enough, negative."""
    command = [MXC, "plan", FILE, GRAPH, "--shapes", SHAPES, "--json", *MORE]
    done = subprocess.run(command + ([f"--max-bytes={limit}"] if limit else []), capture_output=True, text=True)
    if refused := re.search(r"needs at least ([0-9,]+) bytes", done.stderr):
        return -int(refused.group(1).replace(",", "")), 0
    report = json.loads(done.stdout)
    device, = report["devices"]
    return device["arena_bytes"], report["recomputed_operations"] / max(report["operations"], 1)


peak, _ = plan(0)
count = int(COUNT)
limits = [int(peak * 20 ** (-i / (count - 1))) for i in range(count)]
results = {limit: plan(limit) for limit in limits}
least = {-got for got, _ in results.values() if got < 0}
accepted = [limit for limit in limits if results[limit][0] >= 0]
for limit in limits:
    got, again = results[limit]
    if got > limit:
        found.append(f"{limit}: a plan of {got} bytes")
    if got < 0 and accepted and limit > min(accepted):
        found.append(f"{limit} is refused, {min(accepted)} is not")
    if got >= 0 and any(again > a + 0.05 for l, (g, a) in results.items() if g >= 0 and l < limit):
        found.append(f"{limit}: {again:.0%} of the work is done again, more than for less memory")
if len(least) > 1:
    found.append(f"refusals name different figures: {sorted(least)}")
for enough in least:
    if plan(enough)[0] < 0:
        found.append(f"{enough} is said to be enough, and refused")
    if plan(enough - 1)[0] >= 0:
        found.append(f"{enough} is said to be the least, but {enough - 1} is accepted")
print("\n".join(found + [f"{GRAPH}: {len(accepted)} of {count} limits accepted, {len(found)} findings"]))
sys.exit(1 if found else 0)
