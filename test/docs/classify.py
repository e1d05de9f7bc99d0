#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that a test takes every fenced block of every Markdown page.

Usage: classify.py ROOT

A block's kind follows from the words behind its backquotes. Each kind has scripts that take it, and the page must be
given to one of them by a RUN line under test/. A block of text is what the block before it prints; one that is only
shown says so, and is not a program. A file that a page writes is used by a block that runs.
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
    (r"python cell", ["notebook.py"]),
    (r"text( like| near=(any|[\d.]+)| shown)?", []),
]
# Blocks whose output is compared with the text behind them, by the words of the text.
PRINTS = {"text": r"sh run|mx (run|test)( more)?( wrong \w+)?|(c|cpp) run|python cell", "text like": r"sh run", "text near": r"sh run"}
RUNS = r"sh run|mx (run|test).*|(c|cpp) run|python cell"
PROGRAM = re.compile(r"^(\$ |mxc |python3? |%%?\w|(export |graph )*fn \w+[(\[]|(let|var|import|model|from) \w|#include)", re.M)
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


def wrong_texts(all_blocks):
    """(line, why) of each block of text that nothing prints, and that does not say that it is only shown."""
    for i, block in enumerate(all_blocks):
        words = " ".join(block.marks)
        if not words.startswith("text"):
            continue
        if words == "text shown":
            if PROGRAM.search(block.text):
                yield block.line, "a program in a block that is only shown"
            continue
        before = " ".join(all_blocks[i - 1].marks) if i else ""
        is_compared = before != "sh run" or block.is_behind(all_blocks[i - 1])
        if not is_compared or not re.fullmatch(PRINTS[words.split("=")[0]], before):
            yield block.line, "no block directly before this text prints it; mark it `text shown` if none does"


def unused_files(all_blocks):
    """The blocks that are written to files which no block that runs names or imports."""
    files = {mark[5:]: block for block in all_blocks for mark in block.marks if mark.startswith("file=")}
    running = [block.text for block in all_blocks if re.fullmatch(RUNS, " ".join(block.marks))]
    while running:
        text = running.pop()
        for name in list(files):
            stem = re.escape(os.path.splitext(name)[0])
            if re.search(rf"\b{re.escape(name)}\b|^(import|from)\b[^#\n]*\b{stem}\b", text, re.M):
                running.append(files.pop(name).text)
    return files.values()


def main():
    given = pages_of_scripts()
    count, wrong = 0, []
    pages = [path for path in files_under(ROOT) if path.endswith(".md") and "/Inputs/" not in path]
    for page in pages:
        whole = os.path.join(ROOT, page)
        wrong += [f"{page}:{line}: a block begins and ends with three backquotes at the start of a line" for line in unread(whole)]
        all_blocks = list(blocks(whole))
        wrong += [f"{page}:{line}: {why}" for line, why in wrong_texts(all_blocks)]
        wrong += [f"{page}:{block.line}: no block that runs uses this file" for block in unused_files(all_blocks)]
        for line, marks, _ in all_blocks:
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
