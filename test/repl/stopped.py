# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ctrl-C comes back to the prompt from programs that do not end, and the session goes on.

Usage: stopped.py MXC FOLDER
Prints how long each took; the test does not look at that.
"""

import os
import sys
import time

from terminal import Terminal

mxc, home = sys.argv[1:3]
os.makedirs(home, exist_ok=True)
# Each layer has sizes of its own, and so a kernel.
LAYERS = 120
LARGE = "graph fn large(x: f32[4, 8]) -> f32[] {\n  var y = x.sum()\n" + "".join(
    f"  y = y + (ones([{i + 2}, {i + 3}]) @ (ones([{i + 3}, {2 * i + 1}]) * y)).exp().sum()\n" for i in range(LAYERS)) + "  y\n}"
PROGRAMS = {
    "a loop of the host": 'print("begun")\nwhile true { n += 1 }',
    "eager ops": 'print("begun")\nwhile true { x = x * 1.0 }',
    "a loop in a graph": 'print("begun")\nprint(forever(ones([100])))',
    "a graph that is compiled": 'print("begun")\nprint(large(ones([4, 8])))',
    "one long kernel": 'let big = ones([3000, 3000])\nsync()\nprint("begun")\nlet y = chain(big)\nsync()',
    "many ops on their way": 'print("begun")\nvar s = ones([1000, 1000])\nfor i in 0..100000 { s = s @ s * 0.001 }\nsync()',
}

t = Terminal(mxc, home)
t.expect("mx> ")
t.enter("var n = 0")
t.enter("var x = ones([100])")
t.enter("graph fn forever(x: f32[N]) -> f32[N] {\n  var y = x\n  while y.sum() < 1e30 { y = y * 0.5 + 0.5 }\n  y\n}")
t.enter("fn chain(a: f32[N, N]) -> f32[N, N] {\n  var b = a\n  for i in 0..1000 { b = (a @ b) * 0.001 }\n  b\n}")
t.expect("chain: fn")
t.paste(LARGE)
t.enter("")
t.expect("large: graph fn")
for what, program in PROGRAMS.items():
    t.expect("mx> ")
    t.paste(program)
    t.enter("")
    t.expect(r"\nbegun\n")
    time.sleep(0.2)
    begin = time.monotonic()
    t.interrupt()
    t.expect("stopped\n")
    t.expect("mx> ")
    print(f"{what}: {(time.monotonic() - begin) * 1e3:.0f} ms", file=sys.stderr)
    t.enter("1 + 1")
    t.expect(r"\n2\n")
t.expect("mx> ")
t.enter(":graphs")
if "large" in t.expect(r"graph[^>]*mx> ").group(0):
    sys.exit("a graph was compiled although somebody stopped that")
t.enter("x.shape")
t.expect(r"100")
# What was not computed any more has failed, which is not to say that somebody stops its use.
t.enter("x.sum()")
t.expect(r"error\[R0004\]: op '\w+' was cancelled|\n100\.0\n")
# At the prompt it only drops the line.
t.expect("mx> ")
t.send("let unfinished = (")
t.expect(r"unfinished = \(")
t.interrupt()
t.expect("mx> ")
t.enter("unfinished")
t.expect(r"error\[E0801\]")
if t.leave() != 0:
    sys.exit("wrong exit code")
print("as expected")
