#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that a test takes every fenced block of every Markdown page.

Usage: classify.py ROOT

A block's kind follows from the words behind its backquotes. Each kind has scripts that take it, and the page must be
given to one of them by a RUN line under test/. Blocks of text are what a block before them prints, or are shown only.
Prints each block that no test takes; exits with 1 if there is any.
"""
import os
import re
import sys

ROOT = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "dev"))
from fences import blocks, unread  # noqa: E402
from tree import files_under  # noqa: E402

# The words of a block, and the scripts that take such blocks.
KINDS = [
    (r"mx( run( more)?)?( wrong [EWRN]\d{4})?|mx test", ["check-doc-blocks.py"]),
    (r"(mx|c|python) file=\S+", ["run-page.py", "check-doc-hosts.py"]),
    (r"sh run", ["run-page.py"]),
    (r"sh|cmake|python", ["dry-run.py"]),
    (r"(c|cpp) (run|after=\S+)", ["check-doc-hosts.py"]),
    (r"session", ["prompt.py"]),
    (r"diff", ["walk_through.py"]),
    (r"ebnf", ["grammar-page.py"]),
    (r"text( like| near=(any|[\d.]+))?", []),
]
PAGE = re.compile(r"(?:%source_dir/|%S/(?:\.\./)*)(\S+\.md)")


def pages_of_scripts():
    """The pages that RUN lines give to each script."""
    given = {script: set() for _, scripts in KINDS for script in scripts}
    for path in files_under(ROOT, "test"):
        if not path.endswith(".test"):
            continue
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            text = file.read().replace("\\\nRUN:", "")
        for command in re.findall(r"^(?:#\s*)?RUN:(.*)", text, re.M):
            for script, pages in given.items():
                if script in command:
                    pages.update(PAGE.findall(command))
    return given


def main():
    given = pages_of_scripts()
    count, wrong = 0, []
    pages = [path for path in files_under(ROOT) if path.endswith(".md") and "/Inputs/" not in path]
    for page in pages:
        whole = os.path.join(ROOT, page)
        wrong += [f"{page}:{line}: a block begins and ends with three backquotes at the start of a line" for line in unread(whole)]
        for line, marks, _ in blocks(whole):
            count += 1
            words = " ".join(marks)
            scripts = next((scripts for pattern, scripts in KINDS if re.fullmatch(pattern, words)), None)
            if scripts is None:
                wrong.append(f"{page}:{line}: no test takes a block of the kind `{words}`")
            elif scripts and not any(page in given[script] for script in scripts):
                wrong.append(f"{page}:{line}: no RUN line gives this page to {' or '.join(scripts)}, which `{words}` needs")
    print("\n".join(wrong + [f"{len(pages)} pages, {count} blocks, {len(wrong)} wrong"]))
    return 1 if wrong else 0


sys.exit(main())
