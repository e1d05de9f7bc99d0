#!/usr/bin/env python3
"""Prints a program with random graphs over tensors of few shapes, loops and branches among them.

Usage: random_graphs_mx.py SEED GRAPHS
"""

import random
import sys

UNARY = ["tanh({})", "-{}", "exp({} * 0.01)", "({} * 0.5)"]
BINARY = ["{} + {}", "{} - {}", "{} * 0.1 + {}", "({} @ {}) * 0.05", "({} + {}.sum(axis=0)[new, :]) * 0.1"]


def expression(rng, names):
    form = rng.choice(UNARY + BINARY)
    return "(" + form.format(*[rng.choice(names) for _ in range(form.count("{}"))]) + ")"


def body(rng, names, depth, indent):
    lines = []
    for _ in range(rng.randint(3, 8)):
        name = f"v{rng.randrange(10**9)}"
        kind = rng.random()
        if depth < 2 and kind < 0.15:
            lines.append(f"{indent}var {name} = {expression(rng, names)}")
            lines.append(f"{indent}for i in 0..{rng.randint(1, 3)} {{")
            inner = names + [name]
            lines += body(rng, inner, depth + 1, indent + "  ")
            lines.append(f"{indent}  {name} = {expression(rng, inner)}\n{indent}}}")
        elif depth < 2 and kind < 0.25:
            lines.append(f"{indent}var {name} = {expression(rng, names)}")
            lines.append(f"{indent}if {rng.choice(names)}[0, 0] > 0.1 {{")
            inner = names + [name]
            lines += body(rng, inner, depth + 1, indent + "  ")
            lines.append(f"{indent}  {name} = {expression(rng, inner)}\n{indent}}}")
        else:
            lines.append(f"{indent}let {name} = {expression(rng, names)}")
        names.append(name)
        if len(names) > 6:
            names.pop(rng.randrange(len(names)))
    return lines


def main():
    rng = random.Random(int(sys.argv[1]))
    for index in range(int(sys.argv[2])):
        names = ["x", "y"]
        print(f"graph fn g{index}(x: f32[N, N], y: f32[N, N]) -> f32[N, N] {{")
        print("\n".join(body(rng, names, 0, "  ")))
        print("  " + expression(rng, names) + "\n}")
    print("var a = ones([8, 8]) * 0.1")
    print("for i in 0..8 { for j in 0..8 { a[i, j] = f32(i * 3 - j) * 0.07 } }")
    print("let b = tanh(a @ a)")
    for index in range(int(sys.argv[2])):
        # Every element with more digits than it has, so that no bit is lost.
        print(f"let r{index} = g{index}(a, b)")
        print(f"for i in 0..8 {{ for j in 0..8 {{ print(f\"{{r{index}[i, j]:.12f}}\") }} }}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
