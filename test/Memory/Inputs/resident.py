#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the memory that a process holds with the plan: resident.py MXC CACHE ROWS

Runs resident.mx with 1 and with ROWS rows. What the process holds more may differ by a tenth from what
`mxc plan` prints for the call and its arguments.
"""

import json
import os
import subprocess
import sys

MXC, CACHE, ROWS = sys.argv[1], sys.argv[2], int(sys.argv[3])
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "resident.mx")


def resident(rows):
    """Most bytes of the process, as the system counts them."""
    child = subprocess.Popen([MXC, "run", f"--cache={CACHE}", PROGRAM, "--", f"n={rows}"], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    assert status == 0, status
    return usage.ru_maxrss * 1024


def planned(rows):
    done = subprocess.run([MXC, "plan", PROGRAM, "big", "--shapes", f"N={rows},M=512", "--json"], capture_output=True,
                          text=True, check=True)
    device, = json.loads(done.stdout)["devices"]
    return device["arena_bytes"] + device["argument_bytes"] + device["result_bytes"]


resident(1), resident(ROWS)  # compiled, so that the compiler's memory does not count
more = resident(ROWS) - resident(1)
plan = planned(ROWS) - planned(1)
print(f"planned {plan:,} bytes, held {more:,}: {more / plan:.3f}")
assert abs(more - plan) <= 0.1 * plan
print("within a tenth")
