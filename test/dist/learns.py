#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads what clothes.mx printed: the loss falls, and the bytes are those of the formula.

  learns.py FILE
"""

import re
import sys

KEYS = [784 * 128, 128, 128 * 10, 10]  # one bucket, which two workers divide
TOTAL = sum(KEYS)
PAYLOAD = {
    "none": lambda n: 4 * n,
    "fp16": lambda n: 2 * n,
    "bit2": lambda n: (n + 3) // 4,
    "bit1": lambda n: 8 * ((n + 8191) // 8192) + (n + 7) // 8,
    "topk": lambda n: 8 * max(1, n // 100),
}


def message(codec, begin, end):
    """The bytes of a message with these elements."""
    at, size = 0, 0 if codec == "none" else 20
    for key in KEYS:
        inside = min(at + key, end) - max(at, begin)
        size += PAYLOAD[codec](inside) if inside > 0 else 0
        at += key
    return size


def main():
    ways, learned, wrong = 0, 0, []
    with open(sys.argv[1]) as lines:
        for line in lines:
            codec, every, first, last, sent, steps = re.match(
                r"(\w+) every (\d+) .* loss ([\d.]+) to ([\d.]+), (\d+) bytes in (\d+) steps", line).groups()
            calls = int(steps) // int(every) if int(every) else int(steps)
            # Each sends a share and a result. 16 bytes announce a call, also that of init and of the connection.
            half = TOTAL // 2
            wanted = calls * (message(codec, 0, half) + message(codec, half, TOTAL)) + 4 * TOTAL + 16 * (calls + 2)
            if int(sent) != wanted:
                wrong.append((codec, every, int(sent), wanted))
            ways += 1
            learned += float(last) < 0.7 * float(first) and steps == "100"
    print(f"{ways} ways, 100 steps each, {'all' if learned == ways else learned} learn; "
          f"bytes differ from the formula: {wrong}")


main()
