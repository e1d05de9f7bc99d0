#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes rules of the reverse pass wrong, one at a time, and expects the random programs to notice.

Usage: wrong_rules.py MXC RANDOM_PROGRAMS ROOT

The rules are those of compiler/Graph/Mistakes.cpp.
"""
import os
import re
import subprocess
import sys

MXC, PROGRAMS, ROOT = sys.argv[1:]
with open(os.path.join(ROOT, "compiler", "Graph", "Mistakes.cpp"), encoding="utf-8") as file:
    RULES = re.findall(r'"(\w+)"', re.search(r"kWrongRules\[\] = \{(.*?)\}", file.read(), re.S)[1])

missed = []
for rule in RULES:
    done = subprocess.run([sys.executable, PROGRAMS, MXC, "--count", "40", "--batch", "40", "--graphs", "0",
                           f"--option=--internal-mistake=gradient-{rule}"], capture_output=True, text=True)
    if done.returncode == 0 or "programs, 0 disagree" in done.stdout:
        missed.append(rule)
print(f"{len(RULES) - len(missed)} of {len(RULES)} wrong rules are caught" + "".join(f"\nmissed: {r}" for r in missed))
sys.exit(1 if missed else 0)
