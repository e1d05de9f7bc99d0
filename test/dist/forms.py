#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares weights that forms.mx, with workers, and forms-alone.mx in FOLDER save.

  forms.py MXC FOLDER
"""

import os
import pathlib
import subprocess
import sys


def run(*command, engine="threaded"):
    words = [str(word) for word in command]
    done = subprocess.run(words, env={**os.environ, "MX_ENGINE": engine}, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)} with {engine}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    mxc, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    program, out = folder / "forms.mx", folder / "weights"
    runs = different = 0
    forms, alone = {}, {}

    def compare(what, wanted):
        nonlocal runs, different
        given = out.read_bytes()
        out.unlink()
        count = abs(len(wanted) - len(given)) + sum(a != b for a, b in zip(wanted, given))
        if count:
            print(f"{what}: {count} of {len(wanted)} bytes differ")
        runs, different = runs + 1, different + count

    for mode in ([], ["--eager"]):
        for workers in (1, 2, 4):
            run(mxc, "run", *mode, folder / "forms-alone.mx", "--", f"workers={workers}", f"out={out}")
            wanted = alone[workers, bool(mode)] = out.read_bytes()
            cases = [("none", "threaded"), ("none", "naive")]
            if not mode:
                cases += [("factors", "threaded"), ("factors", "naive"), ("auto", "threaded")]
            for compress, engine in cases:
                options = ["--", f"workers={workers}", f"compress={compress}", f"out={out}"]
                text = run(mxc, "run", *mode, program, *options, "shown=true", engine=engine)
                compare(f"{mode} {workers} workers, {compress}, {engine}", wanted)
                for line in text.splitlines():
                    words = line.split()
                    if words[:1] == ["average"]:
                        forms.setdefault((bool(mode), compress, workers), {})[words[1]] = words[2]
            if mode or workers == 1:
                continue
            for compress in ("none", "factors"):
                run(mxc, "launch", "-n", workers, program, "--", "connect=sync", f"compress={compress}", f"out={out}")
                compare(f"launch of {workers}, {compress}", wanted)
    print(f"{runs} runs, {different} bytes differ")
    # The comparison can fail: sums of other shares have other bits.
    print("shares of others:", "differ" if alone[2, False] != alone[4, False] else "equal")
    for case in ((False, "none", 2), (False, "none", 4), (False, "factors", 2), (False, "auto", 4), (True, "none", 2)):
        print(*case, *(f"{key.removeprefix('net.')}={form}" for key, form in sorted(forms[case].items())))


main()
