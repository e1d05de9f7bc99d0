#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/internals/dialects.md: every type and op of our dialects, from their definitions.

Usage: dialect-docs.py MLIR_TBLGEN MLIR_INCLUDE ROOT > docs/internals/dialects.md
"""

import re
import subprocess
import sys

TBLGEN, INCLUDE, ROOT = sys.argv[1:4]


def page(dialect):
    done = subprocess.run([TBLGEN, "-gen-dialect-doc", f"-dialect={dialect}", "-I", ROOT, "-I", INCLUDE,
                           f"{ROOT}/dialects/{dialect}/Ops.td"], capture_output=True, text=True, check=True)
    return done.stdout


def first(text):
    return text.strip().strip("_").replace("|", "\\|")


def entries(text):
    """(name, summary, whole text) of each op, type and attribute."""
    for block in re.split(r"^### ", text, flags=re.M)[1:]:
        head, _, body = block.partition("\n")
        if head.startswith("`"):
            name = head.split("`")[1]
        else:
            syntax = re.search(r"^(![\w.]+|#[\w.]+)", body, flags=re.M)
            name = syntax.group(1) if syntax else head.strip()
        summary = re.search(r"^_(.+?)_$", body, flags=re.M | re.S)
        yield name, first(summary.group(1)) if summary else "", body


print("# Dialects\n")
print("Made by tools/dev/dialect-docs.py from the TableGen files in dialects/; a test keeps it up to date.")
print("Why they are as they are: [mx](../dialects/mx/Rationale.md).")
for dialect in ("mx", "mxrt"):
    text = page(dialect)
    about = text.split("[TOC]")[0].split("\n", 4)
    print(f"\n## {dialect}\n")
    print(" ".join(line.strip() for line in about[4].strip().splitlines() if not line.startswith("_")).strip()
          or first(about[4]))
    rows = list(entries(text))
    for title, wanted in (("Types and attributes", lambda n: n[0] in "!#" or "." not in n),
                          ("Ops", lambda n: n[0] not in "!#" and "." in n)):
        chosen = [row for row in rows if wanted(row[0])]
        if not chosen:
            continue
        print(f"\n### {title} of {dialect}\n\n| name | what it is |\n|---|---|")
        for name, summary, _ in sorted(chosen):
            print(f"| `{name}` | {summary} |")
