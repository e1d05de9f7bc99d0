#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Does what a page of the documentation says, in a folder of its own.

Usage: run-page.py PAGE FOLDER

    ```LANGUAGE file=NAME     is written to that file
    ```sh run                 is run; with the block ```text behind it, if there is one, it prints that (… is anything
                              but the end of a line; a line that is only … is any lines), on either stream
    ```text near=0.1          numbers may differ by a tenth: of 1, or of the number on the page if that is larger
    ```text near=any          numbers may be any
    ```text like              prints lines of the same words: their number, their order and their numbers may be any
    other blocks              are left alone

Prints each block that does not hold; exits with 1 if there is any.
"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "dev"))
from fences import blocks  # noqa: E402


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
    def line_pattern(line):
        return "(?:[^\n]*\n)*" if line == "…" else "[^\n]*".join(map(re.escape, line.split("…"))) + "\n"
    return re.fullmatch("".join(map(line_pattern, wanted.split("\n"))), got + "\n") is not None


def alike(wanted, got):
    """Whether each line begins with the word of a line wanted, and has only words of those lines and units of time."""
    def words(line):
        return re.findall(r"[^\W\d_]+", line)
    known = {word for line in wanted.split("\n") for word in words(line)} | {"ms", "us", "s"}
    first = {words(line)[0] for line in wanted.split("\n") if words(line)}
    lines = [words(line) for line in got.split("\n") if line.strip()]
    return bool(lines) and all(line and line[0] in first and known.issuperset(line) for line in lines)


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
            done = subprocess.run(["sh", "-c", text], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True)
            ran += 1
            follows = all_blocks[i + 1] if i + 1 < len(all_blocks) else (0, [], "")
            shown = follows[1][:1] == ["text"] and follows.is_behind(all_blocks[i])
            near = next((float(mark[5:].replace("any", "inf")) for mark in follows[1] if mark.startswith("near=")), 0)
            good = done.returncode == 0
            if shown:
                good = alike(follows[2], done.stdout) if "like" in follows[1] else matches(follows[2], done.stdout, near)
            if not good:
                wrong += 1
                print(f"{page}:{line}: this block ends with {done.returncode} and prints\n{done.stdout}")
    print(f"{ran} blocks ran, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
