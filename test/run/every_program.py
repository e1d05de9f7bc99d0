#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Generates code for every program of the repository.

Usage: every_program.py MXC ROOT

All examples of `mxc explain` and the programs under examples/ and test/ are taken to the `mx` dialect. A program must become
a module that verifies, with exit code 0 and no error; a wrong example must get its code instead, with exit code 1. A test
whose RUN line says `not %mxc` may be refused with an error, and so may the programs in the folders of REFUSED and in folders
named Inputs. Prints each finding; exits with 1 if there is any.
"""

import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "dev"))
from tree import files_under  # noqa: E402

MXC, ROOT = sys.argv[1], os.path.abspath(sys.argv[2])
# Tests of errors, and of the text alone.
REFUSED = ("test/errors/", "test/driver/", "test/fmt/", "test/fuzz/", "test/hostile/", "test/repl/", "test/sema/")


def explained(folder):
    """(path, wanted): the code that the example gets, or nothing for a module."""
    codes = subprocess.run([MXC, "explain", "--list"], capture_output=True, text=True, check=True).stdout
    for code in (line.split()[0] for line in codes.splitlines()):
        for which in ("wrong", "right"):
            text = subprocess.run([MXC, "explain", code, "--example", which], capture_output=True, text=True).stdout
            if text:
                path = os.path.join(folder, f"{code}-{which}.mx")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                yield path, code if which == "wrong" else ""


def programs(folder):
    yield from explained(folder)
    for top in ("examples", "test"):
        for path in files_under(ROOT, top):
            if path.endswith(".mx"):
                whole = os.path.join(ROOT, path)
                with open(whole, "rb") as file:
                    may_fail = path.startswith(REFUSED) or "/Inputs/" in path or re.search(rb"RUN:.*\bnot .*%mxc", file.read())
                yield whole, "any" if may_fail else ""


def finding(program):
    path, wanted = program
    done = subprocess.run([MXC, "run", "--emit=mx", os.path.basename(path)], cwd=os.path.dirname(path),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    codes = re.findall(r"^(?:error|warning)\[(\w+)\]", done.stderr, re.M)
    is_module = re.search(r"^module(?: attributes \{.*\})? \{$", done.stdout, re.M) and "  mx.func @main()" in done.stdout
    if wanted == "any":
        fine = done.returncode == 0 and is_module or done.returncode == 1 and any(code[0] == "E" for code in codes)
    elif wanted.startswith("E"):
        fine = done.returncode == 1 and wanted in codes
    else:
        fine = done.returncode == 0 and is_module and codes in ([], [wanted])
    if fine and "internal fault" not in done.stderr:
        return None
    return f"{os.path.relpath(path, ROOT)}: exit code {done.returncode}{'' if is_module else ', no module'}\n{done.stderr.strip()[:400]}"


with tempfile.TemporaryDirectory() as folder:
    everything = list(programs(folder))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = [f for f in pool.map(finding, everything) if f]
print("\n".join(found + [f"{len(everything)} programs, {len(found)} findings"]))
sys.exit(1 if found else 0)
