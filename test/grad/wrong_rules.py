#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes rules of the reverse pass wrong, one at a time, and expects the random programs to notice.

Usage: wrong_rules.py MXC RANDOM_PROGRAMS
"""
import os
import subprocess
import sys

MXC, PROGRAMS = sys.argv[1:]
RULES = ["mul", "tanh", "neg", "div", "matmul", "slice", "update", "take", "select", "sum", "order", "maximum"]

missed = []
for rule in RULES:
    done = subprocess.run([sys.executable, PROGRAMS, MXC, "--count", "40", "--batch", "40", "--graphs", "0"],
                          env=dict(os.environ, MX_TEST_WRONG_GRADIENT=rule), capture_output=True, text=True)
    if done.returncode == 0 or "programs, 0 disagree" in done.stdout:
        missed.append(rule)
print(f"{len(RULES) - len(missed)} of {len(RULES)} wrong rules are caught" + "".join(f"\nmissed: {r}" for r in missed))
sys.exit(1 if missed else 0)
