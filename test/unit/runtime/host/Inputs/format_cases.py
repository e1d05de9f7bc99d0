#!/usr/bin/env python3
"""Writes format_cases.txt: what Python makes of format specifications.

A line is kind, specification, value, result, with tabs between. Floats are
given by their bits; `!` as the result means that Python refuses.
"""

import itertools
import os
import random
import struct

random.seed(20)

INTS = [0, 1, -1, 7, 42, -42, 999, 1000, -1000, 1234567, -1234567, 2**63 - 1, -2**63, 65, 128512]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, 0.1, 1 / 3, 2 / 3, 123.456, 1234.5, 12345.0, 99999.5,
          999999.5, 1e5, 1e6, 123456789.0, 1e15, 1e16, 1e17, 1e21, 1e22, 1e-3, 1e-4, 1e-5, 1e-7,
          9.995, 0.00012345, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1e100,
          -1e-100, 3.0000000000000004, float("inf"), float("-inf"), float("nan")]
TEXTS = ["", "a", "hello", "épée", "日本語", "two words"]

FILLS = ["", "<", ">", "^", "=", "*<", "_>", "é^", "0=", " =", "0>"]
SIGNS = ["", "+", "-", " "]
ZEROS = ["", "0"]
WIDTHS = ["", "1", "5", "10", "23"]
COMMAS = ["", ","]
PRECISIONS = ["", ".0", ".1", ".3", ".6", ".17", ".30"]
TYPES = ["", "b", "c", "d", "e", "E", "f", "F", "g", "G", "n", "o", "s", "x", "X", "%"]

ALL = ["".join(parts) for parts in
       itertools.product(FILLS, SIGNS, ZEROS, WIDTHS, COMMAS, PRECISIONS, TYPES)]


def bits(number):
    return f"{struct.unpack('<Q', struct.pack('<d', number))[0]:016x}"


def result(value, spec):
    try:
        return format(value, spec)
    except (ValueError, OverflowError):
        return "!"


def main():
    lines = []
    for number in FLOATS:
        for spec in ["", ".0", ".3", ".17", "f", "e", "g", "%", ",", "010", ",.2f", "020,.3f"]:
            lines.append(("float", spec, bits(number), result(number, spec)))
    for spec in random.sample(ALL, 1500):
        number = random.choice(FLOATS)
        lines.append(("float", spec, bits(number), result(number, spec)))
    for _ in range(700):
        spec = random.choice(ALL)
        number = struct.unpack("<d", struct.pack("<Q", random.getrandbits(64)))[0]
        lines.append(("float", spec, bits(number), result(number, spec)))
    for spec in random.sample(ALL, 2500):
        number = random.choice(INTS)
        lines.append(("int", spec, str(number), result(number, spec)))
    for spec in random.sample(ALL, 800):
        text = random.choice(TEXTS)
        lines.append(("str", spec, text, result(text, spec)))
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "format_cases.txt")
    with open(path, "w", encoding="utf-8") as out:
        for line in lines:
            if not any("\n" in part or "\t" in part for part in line):
                out.write("\t".join(line) + "\n")


if __name__ == "__main__":
    main()
