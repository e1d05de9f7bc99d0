#!/usr/bin/env python3
"""Shows that random programs notice mistakes in passes: each is switched on and must be caught.

Usage: mistakes.py MXC [--find] [NAME…]

Each mistake has a seed at which it is noticed soon; the search goes on from there. `--find` begins at
0 and prints the seeds. Exits with 1 when a mistake goes unnoticed in 500 graphs.
"""

import os
import re
import shutil
import sys
import tempfile

from execute import GRAPH, MODES, Runner
from generate import generate

# Of compiler/Graph/Mistakes.cpp and compiler/Memory/PlanMistakes.cpp.
MISTAKES = {
    "times-zero": 38, "equal-differences": 78, "equal-attributes": 168, "cast-of-cast": 63, "whole-slice": 132,
    "square-transpose": 63, "reshape-of-transpose": 2526, "first-branch": 218, "iteration-less": 26, "hoisted-carried": 26,
    "concat-order": 21, "old-slice": 709, "kernel-outputs": 10, "early-reuse": 21, "early-in-place": 25,
    "read-after-store": 114,
}
# Noticed in runs in which each kernel is watched.
WATCHED = {"read-after-store"}
BATCH = 4
LIMIT = 500


def known():
    """The names that the sources list: none may be forgotten here."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "compiler")
    with open(os.path.join(root, "Graph", "Mistakes.cpp")) as graph, open(os.path.join(root, "Memory", "PlanMistakes.cpp")) as memory:
        return set(re.findall(r'\{"([a-z-]+)", \w+', graph.read()) + re.findall(r'name == "([a-z-]+)"', memory.read()))


def catch(mxc, name, first):
    """The first seed from `first` on whose program shows the mistake, and how."""
    folder = tempfile.mkdtemp(prefix="mx-mistake-")
    try:
        runner = Runner(mxc, folder, [f"--internal-mistake={name}"])
        mode = next(m for m in MODES if m.name == "guarded") if name in WATCHED else GRAPH
        for begin in range(first, first + LIMIT, BATCH):
            seeds = [s for s in range(begin, begin + BATCH) if generate(s)]
            programs = [generate(s) for s in seeds]
            failures = runner.check(programs, [mode])
            # A program that is refused shows nothing: mistakes are about wrong numbers.
            wrong = [f for f in failures if "exit code" not in f.reason]
            if wrong:
                at = next(s for s, p in zip(seeds, programs) if p is wrong[0].program)
                return at, wrong[0].reason
        return None, "not noticed"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    arguments = [a for a in sys.argv[2:] if a != "--find"]
    find = "--find" in sys.argv
    if known() != set(MISTAKES):
        sys.exit(f"the sources and this list differ in {sorted(known() ^ set(MISTAKES))}")
    missed = 0
    for name in arguments or MISTAKES:
        seed, how = catch(sys.argv[1], name, 0 if find else MISTAKES[name])
        missed += seed is None
        print(f"{name}: {'not noticed' if seed is None else f'noticed at seed {seed}: {how}'}", flush=True)
    print(f"{len(arguments or MISTAKES) - missed} noticed, {missed} not noticed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
