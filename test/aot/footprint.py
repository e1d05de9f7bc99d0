#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program needs.

Usage: ldd PROGRAM | footprint.py libraries     only libc, libm and the loader
       footprint.py bytes PROGRAM MOST           code and data of the file, as it is mapped
"""

import re
import subprocess
import sys

ALLOWED = re.compile(r"^(linux-vdso|libc|libm|/lib\S*/ld-linux\S*|ld-linux\S*)\b")


def main():
    if sys.argv[1:] == ["libraries"]:
        wrong = [line.split()[0] for line in sys.stdin if line.strip() and not ALLOWED.match(line.split()[0])]
        if wrong:
            sys.exit("needs " + ", ".join(wrong))
        return
    path, most = sys.argv[2], int(sys.argv[3])
    sizes = subprocess.run(["llvm-size", path], capture_output=True, text=True, check=True).stdout.splitlines()[1]
    text, data, bss = (int(word) for word in sizes.split()[:3])
    if text + data + bss > most:
        sys.exit(f"{path}: {text} + {data} + {bss} bytes, more than {most}")


main()
