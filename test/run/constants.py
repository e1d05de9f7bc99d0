# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random arithmetic on `let` numbers, which the compiler computes, and on `var` numbers, which code computes: the bits agree.

Usage: constants.py MXC FOLDER [--count N] [--seed N]

Numbers are f32, f64 and i64, among them large, tiny and special ones. Each program has `--batch` expressions in both forms
and prints whether they are the same number, or both NaN.
"""

import argparse
import os
import random
import subprocess
import sys

FLOATS = ["0.1", "1.0", "-0.0", "3.0", "16777216.0", "16777217.0", "1e30", "-1e-30", "3e38", "1e-45", "0.3333333333333333", "2.5", "1e16"]
WHOLE = ["0", "1", "-1", "3", "7", "16777217", "9007199254740993", "-12345678901"]
SAME = "fn same[T: num](a: T, b: T) -> bool { a == b or (a != a and b != b) }\n"


class Program:
    def __init__(self, rng):
        self.rng = rng
        self.numbers = {"f32": [], "f64": [], "i64": []}
        self.lines = [SAME]

    def declare(self):
        for kind, values in (("f32", FLOATS), ("f64", FLOATS), ("i64", WHOLE)):
            for i in range(4):
                value = self.rng.choice(values)
                if kind == "f64":
                    value = f"f64({value})"
                self.lines.append(f"let c_{kind}_{i} = {value}\nvar v_{kind}_{i} = {value}\n")
                self.numbers[kind].append(f"{kind}_{i}")

    def expression(self, kind, depth):
        """A text with `@` before each number: `c_` or `v_`."""
        rng = self.rng
        if depth == 0 or rng.random() < 0.15:
            return "@" + rng.choice(self.numbers[kind])
        choice = rng.random()
        if kind == "f32" and choice < 0.15:
            return f"({self.expression('i64', 0)} / {self.divisor()})"
        if kind != "i64" and choice < 0.3:
            other = rng.choice(["f32", "f64", "i64"])
            return f"{kind}({self.expression(other, depth - 1)})"
        if choice < 0.4:
            return f"(-{self.expression(kind, depth - 1)})"
        if kind != "i64" and choice < 0.5:
            return f"({self.expression(kind, depth - 1)} {rng.choice('+-*/')} {rng.choice(FLOATS[:4] + FLOATS[10:12])})"
        # Integers stay small enough for 64 bits: sums only.
        operator = rng.choice("+-" if kind == "i64" else "+-*/")
        return f"({self.expression(kind, depth - 1)} {operator} {self.expression(kind, depth - 1)})"

    def divisor(self):
        return self.rng.choice(["3", "-7", "16777217"])


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
        texts = [program.expression(rng.choice(["f32", "f64"]), 4) for _ in range(args.batch)]
        program.lines += [f"print(same({t.replace('@', 'c_')}, {t.replace('@', 'v_')}))\n" for t in texts]
        path = os.path.join(args.folder, "constants.mx")
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(program.lines))
        run = subprocess.run([args.mxc, "run", path], capture_output=True, text=True, check=False)
        answers = run.stdout.split()
        if run.returncode or len(answers) != len(texts):
            sys.exit(f"exit code {run.returncode}: {run.stderr[:2000]}")
        for text, answer in zip(texts, answers):
            if answer != "true":
                wrong += 1
                print(f"differs: {text.replace('@', 'c_')}")
        done += len(texts)
    print(f"{done} expressions, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
