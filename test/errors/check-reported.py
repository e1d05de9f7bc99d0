#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every code of the table is reported somewhere, and only codes of the table are.

Usage: check-reported.py MXC ROOT

Looks for `Code::E0301` in the sources of the compiler and the tools. Prints each finding; exits with 1 if
there is any.
"""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "dev"))
from tree import files_under  # noqa: E402

# Reported by parts that are still to come. A code leaves this list when it is first reported.
LATER = set()
FOLDERS = ("compiler", "dialects", "runtime", "tools")


def reported(root):
    found = set()
    for top in FOLDERS:
        for path in files_under(root, top):
            if path.endswith((".cpp", ".h")):
                with open(os.path.join(root, path), encoding="utf-8") as file:
                    found.update(re.findall(r"\bCode::([A-Z]\d{4})\b", file.read()))
    return found


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: check-reported.py MXC ROOT")
    listing = subprocess.run([sys.argv[1], "explain", "--list"], capture_output=True, text=True, check=True)
    # Errors of a run (R…) are the runtime's, which reports them by their names.
    table = {line.split()[0] for line in listing.stdout.splitlines() if not line.startswith("R")}
    found = reported(sys.argv[2])
    findings = [f"{code} is never reported" for code in sorted(table - found - LATER)]
    findings += [f"{code} is reported now: take it from the list in this script" for code in sorted(found & LATER)]
    findings += [f"{code} is reported but not in the table" for code in sorted(found - table)]
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
