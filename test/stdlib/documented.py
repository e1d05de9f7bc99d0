#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every public name of the library has a doc comment, and nothing in it is longer than 60 lines.

Usage: documented.py FOLDER
"""
import pathlib
import re
import sys

ITEM = re.compile(r"(?:export |mut |graph )*(fn|model|struct|type|const) ([A-Za-z]\w*)")
LONGEST = 60
wrong = []
names = 0
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.mx")):
    lines = path.read_text().split("\n")
    where = path.relative_to(sys.argv[1])
    for at, line in enumerate(lines):
        found = ITEM.match(line)
        if not found:
            continue
        names += 1
        above = at - 1
        # Attributes, also over several lines, stand between a doc comment and its item.
        while above >= 0 and (lines[above].startswith("@") or lines[above].startswith("  ")
                              or ITEM.match(lines[above]) and found[1] in ("type", "const")
                              and ITEM.match(lines[above])[1] == found[1]):
            above -= 1
        if above < 0 or not lines[above].startswith("##"):
            wrong.append(f"{where}:{at + 1}: `{found[2]}` has no `##` comment")
        end = next((i for i in range(at, len(lines)) if lines[i].startswith("}")), at)
        if "{" in line and not line.rstrip().endswith("}") and end - at + 1 > LONGEST:
            wrong.append(f"{where}:{at + 1}: `{found[2]}` has {end - at + 1} lines, at most {LONGEST} are allowed")
print("\n".join(wrong + [f"{names} names, {len(wrong)} wrong"]))
sys.exit(1 if wrong else 0)
