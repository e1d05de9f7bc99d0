#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Does what a page of the documentation says, in a folder of its own.

Usage: run-page.py PAGE FOLDER

    ```LANGUAGE file=NAME     is written to that file
    ```sh run                 is run; with the block ```text behind it, if there is one, it prints that (… is anything
                              but the end of a line), on either stream
    ```text near=0.1          numbers may differ by a tenth: of 1, or of the number on the page if that is larger
    other blocks              are left alone

Prints each block that does not hold; exits with 1 if there is any.
"""
import os
import re
import subprocess
import sys


def blocks(path):
    """(line, marks, text) of each fenced block."""
    marks, start, lines = None, 0, []
    with open(path, encoding="utf-8") as page:
        for number, line in enumerate(page, 1):
            if marks is None and line.startswith("```"):
                marks, start, lines = line[3:].split(), number + 1, []
            elif marks is not None and line.startswith("```"):
                yield start, marks, "".join(lines)
                marks = None
            elif marks is not None:
                lines.append(line)


NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")


def stripped(text):
    return "\n".join(line.rstrip() for line in text.strip().split("\n"))


def matches(wanted, got, near):
    wanted, got = stripped(wanted), stripped(got)
    if near:
        pairs = list(zip(NUMBER.findall(wanted), NUMBER.findall(got)))
        for want, have in pairs:
            want, have = (float(number.replace(",", "")) for number in (want, have))
            if abs(want - have) > near * max(1, abs(want)):
                return False
        # What is left must be the same; how wide a column is follows from its numbers.
        wanted, got = (re.sub(" +", " ", NUMBER.sub("#", text)) for text in (wanted, got))
    pattern = "[^\n]*".join(re.escape(part) for part in wanted.split("…"))
    return re.fullmatch(pattern, got) is not None


def main():
    page, folder = sys.argv[1], sys.argv[2]
    all_blocks = list(blocks(page))
    ran = wrong = 0
    for i, (line, marks, text) in enumerate(all_blocks):
        name = next((mark[5:] for mark in marks if mark.startswith("file=")), None)
        if name:
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        elif marks[:2] == ["sh", "run"]:
            done = subprocess.run(["sh", "-c", text], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True)
            ran += 1
            follows = all_blocks[i + 1] if i + 1 < len(all_blocks) else (0, [], "")
            shown = follows[1][:1] == ["text"] and follows[0] == line + text.count("\n") + 2
            near = next((float(mark[5:]) for mark in follows[1] if mark.startswith("near=")), 0)
            if not matches(follows[2], done.stdout, near) if shown else done.returncode:
                wrong += 1
                print(f"{page}:{line}: this block ends with {done.returncode} and prints\n{done.stdout}")
    print(f"{ran} blocks ran, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
