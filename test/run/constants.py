# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random arithmetic on `let` numbers, which the compiler computes, and on `var` numbers, which code computes: the bits agree.

Usage: constants.py MXC FOLDER [--count N] [--seed N]

Numbers are f32, f64 and i64, among them large, tiny and special ones. Each program has `--batch` expressions in both forms
and prints whether they are the same number, or both NaN, and whether finite ones are what NumPy computes with a rounding
after each operation. Then each number is converted to every element type: as a literal, as a `let` and as a `var`.
"""

import argparse
import os
import random
import subprocess
import sys
import warnings

import numpy as np

FLOATS = ["0.1", "1.0", "-0.0", "3.0", "16777216.0", "16777217.0", "1e30", "-1e-30", "3e38", "1e-45", "0.3333333333333333", "2.5", "1e16"]
SPECIAL = ["nan", "inf", "-inf", "1e19", "-1e19", "3e9", "-3e9", "300.0", "-1.0", "127.9", "0.5", "-0.0", "-128.5", "1e-320"]
WHOLE = ["0", "1", "-1", "3", "7", "16777217", "9007199254740993", "-12345678901"]
SAME = "fn same[T: num](a: T, b: T) -> bool { a == b or (a != a and b != b) }\n"


NUMPY = {"f32": np.float32, "f64": np.float64, "i64": np.int64}
WHOLE_TYPES = {"bool": np.bool_, "i8": np.int8, "u8": np.uint8, "i32": np.int32, "i64": np.int64}
OPERATORS = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b}


def converted(number, kind):
    """Floats truncate and saturate, NaN is 0, integers wrap; a bool says whether a number is not 0."""
    if kind == "bool":
        return int(number != 0)
    if isinstance(number, np.floating):
        if np.isnan(number):
            return 0
        limits = np.iinfo(WHOLE_TYPES[kind])
        number = float(number)
        return limits.max if number >= limits.max else limits.min if number <= limits.min else int(number)
    return int(np.int64(number).astype(WHOLE_TYPES[kind]))


def spelled(whole):
    return "-9223372036854775807 - 1" if whole == -(2**63) else str(whole)


class Program:
    def __init__(self, rng):
        self.rng = rng
        self.numbers = {"f32": [], "f64": [], "i64": []}
        self.lines = [SAME]

    def declare(self):
        self.lines.append("var zero = f64(0.0)\n")
        for kind, values in (("f32", FLOATS), ("f64", FLOATS), ("i64", WHOLE)):
            for i in range(4):
                value = self.rng.choice(values)
                number = NUMPY[kind](int(value) if kind == "i64" else float(value))
                if kind == "f64":
                    value = f"f64({value})"
                self.lines.append(f"let c_{kind}_{i} = {value}\nvar v_{kind}_{i} = {value}\n")
                self.numbers[kind].append((f"{kind}_{i}", number))

    def conversions(self):
        """Comparisons that hold, of a `let`, a `var` and a literal that are converted."""
        for kind in WHOLE_TYPES:
            for values in self.numbers.values():
                for name, number in values:
                    for form in ("c_", "v_"):
                        yield f"i64({kind}({form}{name})) == {spelled(converted(number, kind))}"
            for text in SPECIAL:
                number = converted(np.float64(text), kind)
                yield f"i64({kind}({text})) == {spelled(number)}"
                yield f"i64({kind}(f64({text}) + zero)) == {spelled(number)}"

    def expression(self, kind, depth):
        """A text with `@` before each number, `c_` or `v_`, and its value by NumPy."""
        rng = self.rng
        if depth == 0 or rng.random() < 0.15:
            name, number = rng.choice(self.numbers[kind])
            return "@" + name, number
        choice = rng.random()
        if kind == "f32" and choice < 0.15:  # the quotient of integers is that of two f64, rounded once
            (text, number), divisor = self.expression("i64", 0), rng.choice(["3", "-7", "16777217"])
            return f"({text} / {divisor})", np.float32(np.float64(number) / float(divisor))
        if kind != "i64" and choice < 0.3:
            text, number = self.expression(rng.choice(["f32", "f64", "i64"]), depth - 1)
            return f"{kind}({text})", number.astype(NUMPY[kind])
        text, number = self.expression(kind, depth - 1)
        if choice < 0.4:
            return f"(-{text})", -number
        # Integers stay small enough for 64 bits: sums only.
        operator = rng.choice("+-" if kind == "i64" else "+-*/")
        if kind != "i64" and choice < 0.5:
            other = rng.choice(FLOATS[:4] + FLOATS[10:12])
            return f"({text} {operator} {other})", OPERATORS[operator](number, NUMPY[kind](float(other)))
        other, right = self.expression(kind, depth - 1)
        return f"({text} {operator} {other})", OPERATORS[operator](number, right)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mxc")
    parser.add_argument("folder")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    os.makedirs(args.folder, exist_ok=True)
    rng, wrong, done = random.Random(args.seed), 0, 0
    while done < args.count:
        program = Program(rng)
        program.declare()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # overflows and 0 / 0 are wanted
            texts = [program.expression(rng.choice(["f32", "f64"]), 4) for _ in range(args.batch)]
        for text, number in texts:
            constant, code = text.replace("@", "c_"), text.replace("@", "v_")
            known = f" and f64({constant}) == f64({float(number)!r})" if np.isfinite(number) else ""
            program.lines.append(f"print(same({constant}, {code}){known})\n")
        for text in program.conversions():
            program.lines.append(f"print({text})\n")
            texts.append((text, None))
        path = os.path.join(args.folder, "constants.mx")
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(program.lines))
        run = subprocess.run([args.mxc, "run", path], capture_output=True, text=True, check=False)
        answers = run.stdout.split()
        if run.returncode or len(answers) != len(texts):
            sys.exit(f"exit code {run.returncode}: {run.stderr[:2000]}")
        for (text, number), answer in zip(texts, answers):
            if answer != "true":
                wrong += 1
                print(f"differs: {text.replace('@', 'c_')}" + (f", by NumPy {number!r}" if number is not None else ""))
        done += len(texts)
    print(f"{done} expressions, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
