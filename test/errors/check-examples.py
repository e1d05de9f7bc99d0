#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the table of diagnostic codes: its texts and its example programs.

Usage: check-examples.py MXC [CODE…]

Every code has a text. Where it has examples, `wrong` gets this code and no other, and `right` has no
errors or warnings and is formatted. Prints each finding; exits with 1 if there is any.
"""

import json
import subprocess
import sys

# Codes that one program text cannot show. Everything else has examples.
WITHOUT_EXAMPLES = {
    "E0001",  # bytes that are not text
    "E0002",  # too long to print
    "E0104",  # too long to print
    "E0804",  # two files
    "E0805",  # two files
    "E0808",  # a command line
    "E0809",  # a command line
    "E0901",  # what is not built yet changes
    "E1001",  # `mxc build` reports it
    "E1002",  # `mxc build` reports it
    "E1003",  # `mxc build` reports it
    "E1004",  # `mxc build` reports it
    "E1005",  # `mxc build` reports it
    "E1006",  # `mxc build` reports it
    "N0501",  # shows when a program runs
    "N0502",  # shows when a program runs
    "N0503",  # shows when a program runs
    "N0504",  # shows when a program runs
    "W0502",  # shows when a program runs
    "W0503",  # shows when a program is made ready to run
}


class Checker:
    def __init__(self, mxc):
        self.mxc = mxc

    def run(self, *args, text=None):
        result = subprocess.run([self.mxc, *args], input=text, capture_output=True, text=True, encoding="utf-8")
        if result.returncode not in (0, 1):
            sys.exit(f"mxc {' '.join(args)}: exit code {result.returncode}\n{result.stderr}")
        return result

    def codes(self):
        return [line.split()[0] for line in self.run("explain", "--list").stdout.splitlines()]

    def reported(self, program):
        """The codes a program gets, in order."""
        result = self.run("check", "--error-format=json", "--as", "example.mx", "-", text=program)
        return [json.loads(line)["code"] for line in result.stderr.splitlines()]

    def findings(self, code):
        text = self.run("explain", code).stdout
        body = text.split("\nwrong:\n")[0].splitlines()[2:]
        if code.startswith("R"):  # of a run: no program text has it for sure
            if not body:
                yield "has no text: write one into compiler/Support/codes/Run.def"
            if any(len(line) > 100 for line in body):
                yield "has a line of more than 100 characters"
            return
        if len(body) < 3:
            yield "has no text"
        if any(len(line) > 92 for line in body):
            yield "has a line of more than 92 characters"
        wrong = self.run("explain", code, "--example", "wrong").stdout
        right = self.run("explain", code, "--example", "right").stdout
        if code in WITHOUT_EXAMPLES:
            if wrong or right:
                yield "has examples now: take it from the list in this script"
            elif "There is no example" not in text:
                yield "has no examples and does not say why"
            return
        if not wrong or not right:
            yield "has no examples"
            return
        if self.reported(wrong) != [code]:
            yield f"its wrong example gets {self.reported(wrong) or 'nothing'}"
        if self.reported(right):
            yield f"its right example gets {self.reported(right)}"
        if self.run("fmt", "-", text=right).stdout != right:
            yield "its right example is not formatted"


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: check-examples.py MXC [CODE…]")
    checker = Checker(sys.argv[1])
    codes = checker.codes()
    failed = False
    for code in sys.argv[2:] or codes:
        for finding in checker.findings(code):
            print(f"{code} {finding}")
            failed = True
    for code in sorted(WITHOUT_EXAMPLES - set(codes)):
        print(f"{code} is in the list of this script but not in the table")
        failed = True
    if not failed:
        print(f"{len(codes)} codes are fine")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
