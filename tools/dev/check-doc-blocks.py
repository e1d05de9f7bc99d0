#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the code blocks of Markdown files with mxc.

    check-doc-blocks.py MXC FILE.md…

A block marked ```mx must have no errors and no warnings; one marked ```mx wrong E0304 must get
exactly that code. Other blocks are left alone.
"""
import json
import subprocess
import sys


def blocks(path):
    """Yields (line, marks, text) of each fenced block."""
    marks, start, lines = None, 0, []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if marks is None and line.startswith("```"):
                marks, start, lines = line[3:].split(), number + 1, []
            elif marks is not None and line.startswith("```"):
                yield start, marks, "".join(lines)
                marks = None
            elif marks is not None:
                lines.append(line)


def main():
    mxc, files = sys.argv[1], sys.argv[2:]
    checked = failed = 0
    for path in files:
        for line, marks, text in blocks(path):
            if not marks or marks[0] != "mx":
                continue
            checked += 1
            run = subprocess.run([mxc, "check", "--error-format=json", "-"], input=text,
                                 capture_output=True, text=True, check=False)
            found = [json.loads(entry)["code"] for entry in run.stderr.splitlines() if entry]
            wanted = [marks[2]] if len(marks) == 3 and marks[1] == "wrong" else []
            if sorted(set(found)) != wanted:
                failed += 1
                print(f"{path}:{line}: expected {wanted or 'no message'}, mxc says {found or 'nothing'}")
                print(run.stderr)
    print(f"{checked} blocks checked, {failed} wrong")
    return 1 if failed or not checked else 0


sys.exit(main())
