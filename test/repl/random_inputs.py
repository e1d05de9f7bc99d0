# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random inputs, right and broken, in one process: it goes on, and in the second half its memory
grows by no more than the texts of the inputs need.

Usage: random_inputs.py MXC FOLDER COUNT [SEED]
"""

import os
import random
import re
import sys

from terminal import Terminal

mxc, home, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
rng = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
os.makedirs(home, exist_ok=True)
NAMES = ["a", "b", "c", "x", "y", "net"]


def number():
    return rng.choice(["0", "1", "2", "7", "1.0", "2.5", "1e3", "nan", "inf", "true", '"text"'])


def expression(depth=0):
    pick = rng.randrange(12 if depth < 3 else 3)
    if pick < 2:
        return number()
    if pick == 2:
        return rng.choice(NAMES)
    if pick == 3:
        return f"({expression(depth + 1)} {rng.choice(['+', '-', '*', '/', '@', '**', '//', '%', '<', '=='])} {expression(depth + 1)})"
    if pick == 4:
        return f"{rng.choice(['ones', 'zeros'])}([{rng.randrange(4)}, {rng.randrange(1, 4)}])"
    if pick == 5:
        return f"{expression(depth + 1)}.{rng.choice(['sum()', 'mean(axis=0)', 'T', 'shape', 'exp()', 'nothing'])}"
    if pick == 6:
        return f"[{expression(depth + 1)}, {expression(depth + 1)}]"
    if pick == 7:
        return f"{rng.choice(['f', 'g', 'h'])}({expression(depth + 1)})"
    if pick == 8:
        return f"{rng.choice(NAMES)}[{rng.randrange(4)}]"
    if pick == 9:
        return f"if {expression(depth + 1)} {{ {expression(depth + 1)} }} else {{ {expression(depth + 1)} }}"
    if pick == 10:
        return f'f"{{{expression(depth + 1)}}}"'
    return f"(x => x * {number()})({expression(depth + 1)})"


def statement():
    pick = rng.randrange(16)
    if pick < 4:
        return expression()
    if pick < 7:
        return f"{rng.choice(['let', 'var', 'let', 'const'])} {rng.choice(NAMES)} = {expression()}"
    if pick == 7:
        return f"{rng.choice(NAMES)} {rng.choice(['=', '+=', '*='])} {expression()}"
    if pick == 8:
        return f"fn {rng.choice('fgh')}(v: f32[N]) -> f32[N] {{\n  v * {number()}\n}}"
    if pick == 9:
        return f"graph fn {rng.choice('fgh')}(v: f32[N, M]) -> f32[N, M] {{ v + {rng.randrange(4)}.0 }}"
    if pick == 10:
        return f"model M{rng.randrange(3)}() {{ param w: f32[{rng.randrange(1, 4)}] = ones([{rng.randrange(1, 4)}]) }}"
    if pick == 11:
        return f"var net = M{rng.randrange(3)}()"
    if pick == 12:
        return f"for i in 0..{rng.randrange(4)} {{ {rng.choice(NAMES)} = {expression()} }}"
    if pick == 13:
        return f"graph {{ ones([{rng.randrange(1, 4)}]) * {rng.randrange(6)}.0 }}"
    if pick == 14:
        return f"try {{ print({expression()}) }} catch e {{ print(e.code) }}"
    return rng.choice([
        f":type {expression()}", f"?{rng.choice(['relu', 'nothing', 'x', 'x.sum'])}", ":undo", ":undo 3", ":mem", ":graphs",
        ":names", ":eager on", ":eager off", ":nan off", ":waits", ":snapshots", f":ir {rng.choice('fgh')}",
        f":ir {rng.choice('fgh')} mxrt N=2 M=2", f":plan {rng.choice('fgh')} N=2 M=3", f":time {number()}", ":no such", "??f",
        f":compare {expression()}", ":help", ":load nothing.mx", ":reload"])


def broken(text):
    """The same with a slip or two."""
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(text) + 1)
        pick = rng.randrange(3)
        if pick == 0:
            text = text[:at] + text[at + rng.randrange(1, 4):]
        elif pick == 1:
            text = text[:at] + rng.choice(list("()[]{}.,:=+-*@#\"'_ |>xN") + ["let ", "fn ", "é", "\n"]) + text[at:]
        else:
            text = text[at:] + text[:at]
    # Commands that write, wait or leave are not for chance; a line must fit the terminal.
    text = re.sub(r"(?m)^\s*:\s*[!setqhl]\S*", ":type", text)
    return text or "1"


def memory(t):
    t.settle()
    t.enter(":! grep VmRSS /proc/$PPID/status")
    kilobytes = int(t.expect(r"VmRSS:\s+(\d+) kB").group(1))
    t.expect("mx> ")
    return kilobytes


empty = os.path.join(home, "empty.mx")
open(empty, "w").close()
t = Terminal(mxc, home, ["-i", empty, "--max-memory=64MiB"], term="dumb")
t.expect("mx> ")
middle = 0
waiting = 0  # bytes on their way; a terminal takes 4096
for i in range(count):
    text = statement()
    if rng.random() < 0.4:
        text = broken(text)
    # The empty line ends what is left open.
    lines = [line for line in text.split("\n") if line.strip()] or ["1"]
    typed = "\r".join([*lines, "", f'"end {i}"', ""])
    if waiting + len(typed.encode()) > 1500:
        t.expect(f"end {i - 1}\n")
        waiting = 0
    t.send(typed)
    waiting += len(typed.encode())
    if i == count // 2:
        t.expect(f"end {i}\n")
        waiting = 0
        middle = memory(t)
t.expect(f"end {count - 1}\n")
last = memory(t)
if t.leave() != 0:
    sys.exit("wrong exit code")
print(f"{count} inputs; memory {middle} kB after one half, {last} kB at the end", file=sys.stderr)
# Texts are kept, about 0.5 kB an input, and what was loaded and compiled settles, which takes 3 MB at most. Trees,
# symbols, types, code and values of inputs that no name comes from any more are not kept: they take 3 kB an input.
grown, most = last - middle, 3000 + 0.6 * (count - count // 2)
print("flat" if grown < most else f"grown by {grown} kB in {count - count // 2} inputs, which should be {most:.0f}")
