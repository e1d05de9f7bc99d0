# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Of a disassembly: how many kernels for each CPU multiply vectors of 256 and of 512 bits."""
import re
import sys

found = {"x86-64-v3": {}, "x86-64-v4": {}}
widths = None
for line in sys.stdin:
    if named := re.match(r"[0-9a-f]+ <(k_\w+)\.(.*)>:", line):
        widths = found[named[2]].setdefault(named[1], set())
    elif line.endswith(">:\n"):
        widths = None
    elif widths is not None and "vfmadd" in line:
        widths.update(re.findall("%[yz]mm", line))
for cpu, kernels in found.items():
    print(f"{len(kernels)} kernels for {cpu}:",
          ", ".join(f"{sum(width in used for used in kernels.values())} with {width}" for width in ("%ymm", "%zmm")))
