"""Reads IR and prints how many kernels it has, and how many different ones.

Values are numbered anew in each kernel, from its header on, so only the ops and types are compared.
"""

import re
import sys

kernels = []
for line in sys.stdin:
    if "mx.kernel" in line:
        kernels.append([])
        line = line[line.index("mx.kernel"):]
    if kernels:
        kernels[-1].append(line.strip())
    if line.strip() == "}":
        kernels.append([])
texts = []
for kernel in kernels:
    if not kernel or not kernel[0].startswith("mx.kernel"):
        continue
    names = {}
    texts.append(re.sub(r"%\w+(#\d+)?", lambda m: names.setdefault(m[0], f"%{len(names)}"),
                        "\n".join(kernel)))
print(f"{len(texts)} kernels, {len(set(texts))} different")
