#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the code blocks of Markdown files with mxc, and runs those that say so.

    check-doc-blocks.py MXC FILE.md…

    ```mx                 has no errors and no warnings
    ```mx wrong E0304     gets exactly that code
    ```mx run             runs and prints nothing to stderr
    ```mx run more        runs after the blocks before it, back to the one without `more`
    ```mx run wrong R0302 gets exactly that code when it runs; with a warning's code it ends well
    ```mx test            its `test` blocks pass

A block marked ```text behind one of the last four is what it prints, in `more` what it adds; for a
wrong one, its message. Other blocks are left alone.
"""
import json
import re
import subprocess
import sys
import tempfile

from fences import blocks

NAME = "tour.mx"  # of a block in messages


def check(mxc, text, marks):
    run = subprocess.run([mxc, "check", "--error-format=json", "-"], input=text, capture_output=True, text=True,
                         check=False)
    found = [json.loads(entry)["code"] for entry in run.stderr.splitlines() if entry]
    wanted = [marks[marks.index("wrong") + 1]] if "wrong" in marks else []
    if sorted(set(found)) == wanted:
        return None
    return f"expected {wanted or 'no message'}, mxc says {found or 'nothing'}\n{run.stderr}"


class Runner:
    """Runs blocks in a folder of their own, where they may write files."""

    def __init__(self, mxc):
        self.mxc = mxc
        self.before = self.printed = ""

    def run(self, text, marks, shown, folder):
        more = "more" in marks
        program = (self.before if more else "") + text
        command = [self.mxc, "test" if "test" in marks else "run", "--as", NAME, "-"]
        done = subprocess.run(command, input=program, capture_output=True, text=True, check=False, cwd=folder)
        codes = re.findall(r"^(?:error|warning|note)\[(\w+)\]", done.stderr, flags=re.M)
        wanted = [marks[marks.index("wrong") + 1]] if "wrong" in marks else []
        fails = bool(wanted) and wanted[0][0] in "ER"
        if sorted(set(codes)) != wanted or (done.returncode != 0) != fails or (done.stderr and not wanted):
            return f"expected {wanted or 'no message'}, got exit code {done.returncode} and\n{done.stderr}"
        old = self.printed if more else ""
        if not done.stdout.startswith(old):
            return f"the blocks before it printed\n{old}now there is\n{done.stdout}"
        if not wanted:
            self.before, self.printed = program, done.stdout
        said = done.stderr if wanted else done.stdout[len(old):]
        if shown is not None and said.rstrip("\n") != shown.rstrip("\n"):
            return f"the page shows\n{shown}mxc says\n{said}"
        return None


def main():
    mxc, files = sys.argv[1], sys.argv[2:]
    checked = failed = 0
    for path in files:
        runner = Runner(mxc)
        all_blocks = list(blocks(path))
        with tempfile.TemporaryDirectory() as folder:
            for (line, marks, text), (_, after, shown) in zip(all_blocks, all_blocks[1:] + [(0, [], "")]):
                if not marks or marks[0] != "mx":
                    continue
                checked += 1
                runs = "run" in marks or "test" in marks
                wrong = (runner.run(text, marks, shown if after == ["text"] else None, folder) if runs
                         else check(mxc, text, marks))
                if wrong:
                    failed += 1
                    print(f"{path}:{line}: {wrong}")
    print(f"{checked} blocks checked, {failed} wrong")
    return 1 if failed or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
