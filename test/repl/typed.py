# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A session on a terminal: editing, several lines, pasting, completion, history, errors, undo.

Usage: typed.py MXC FOLDER
"""

import os
import sys

from terminal import Terminal

mxc, home = sys.argv[1:3]
os.makedirs(home, exist_ok=True)

t = Terminal(mxc, home)
t.expect(r"mx 0\.\d")
t.expect("mx> ")
t.enter("1.0 + 1.0")
t.expect(r"\n2\.0\n")
t.expect("mx> ")

# An input goes on while a bracket is open.
t.enter("fn unit(v: f32[N, D]) -> f32[N, D] {")
t.enter("v / (v ** 2).sum(axis=1, keep=true).sqrt()")
t.enter("}")
t.expect(r"unit: fn\(v: f32\[N, D\]\) -> f32\[N, D\]\n")
t.enter("unit([[3.0, 4.0]])")
t.expect(r"f32\[1, 2\]\n\[\[0\.6 0\.8\]\]\n")

# Errors change nothing; a new definition replaces; undo brings the old one back.
t.enter("let a = 1")
t.enter("let a = b")
t.expect(r"error\[E0801\].*")
t.enter("a")
t.expect(r"\n1\n")
t.enter('let a = "text"')
t.enter("a")
t.expect(r"\ntext\n")
t.enter(":undo 2")
t.enter("a + 1")
t.expect(r"\n2\n")
t.enter("_ * 10")
t.expect(r"\n20\n")

# Pasted lines come in as they are, once; prompts and results of a transcript are left out.
t.settle()
t.paste("let p = [1, 2,\n  3]\nlet q = p + 1\n")
t.enter("")
t.enter("q")
t.expect(r"i64\[3\]\n\[2 3 4\]\n|i32\[3\]\n\[2 3 4\]\n")
t.paste("mx> let r = (p +\n... q).sum()\nmx> r\n15\nmx> r + 1\n16\n")
t.enter("")
t.expect(r"\n16\n")

# Completion: one fits, several are listed with their types, fields, keyword arguments, commands.
t.settle()
t.send("let longname = uni\t")
t.expect("uni(t|f)")
t.send("\x15")  # the line is cleared
t.settle()
t.enter("struct Point { x: f32 = 1.0\n  yy: f32 = 2.0 }")
t.expect("Point: struct")
t.enter("let point = Point()")
t.expect("mx> ")
t.settle()
t.send("point.y\t")
t.expect(r"point\.yy")
t.enter("")
t.expect(r"\n2\.0\n")
t.settle()
t.send("[1.0].sum(ke\t")
t.expect(r"keep=")
t.enter("true)")
t.expect(r"f32\[1\]\n\[1\.\]\n")
t.settle()
t.enter("fn shrunk(x: f32, rate: f32 = 0.5) -> f32 { x * rate }")
t.expect("shrunk: fn")
t.settle()
t.send("shrunk(2.0, rat\t")
t.expect(r"rate=")
t.send("\x15")
t.settle()
t.enter("model Scaled[D](by: f32 = 2.0) { param w: f32[D] = ones() }")
t.expect("Scaled: model")
t.settle()
t.send("Scaled[3](b\t\t")
t.expect(r"by=")
t.send("\x15")
# After `import` only modules fit, and names of a module after `from`.
t.settle()
t.send("import opti\t")
t.expect("import optim")
t.send("\x15")
t.settle()
t.send("from nn import Dens\t\t")
t.expect(r"Dense +model")
t.send("\x15")
t.settle()
t.send("import s\t\t")
if "softmax" in t.seen or "sum" in t.seen:
    sys.exit("builtins are not modules")
t.send("\x15")
t.settle()
t.send(":gra\t")
t.expect(":graphs")
t.enter("")
t.expect("no graph is compiled yet\n")
t.settle()
t.send("un\t\t")
t.expect(r"unit +fn\(v: f32\[N, D\]\)")
t.settle()
t.interrupt()
t.expect(r"\^C\n")
t.expect("mx> ")

# Alt-Enter begins a line in any case.
t.settle()
t.send("let m = 5\x1b\rm + 1")
t.enter("")
t.expect(r"\n6\n")

if t.leave() != 0:
    sys.exit("wrong exit code")

# The next session knows what was typed: the whole function is one entry, Ctrl-R finds it.
entries = open(os.path.join(home, ".local/state/mx/history")).read().splitlines()
if sum("fn unit" in entry for entry in entries) != 1 or not any(r"{\nv / (v" in e for e in entries):
    sys.exit(f"the history is {entries}")
t = Terminal(mxc, home)
t.expect("mx> ")
t.settle()
t.send("\x12fn unit")
t.expect("sqrt")
t.send("\x1b")
t.enter("")
t.settle()
t.send("\x1b[A")  # up
t.expect("fn unit")
t.enter("")
t.expect(r"unit: fn\(v: f32\[N, D\]\)")
if t.leave() != 0:
    sys.exit("wrong exit code")

# A dumb terminal: the same without any escape code.
t = Terminal(mxc, home, term="dumb")
t.expect("mx> ")
t.enter("let x = (1 +")
t.expect(r"\.\.\. ")
t.enter("2)")
t.expect("mx> ")
t.enter("x")
t.expect(r"\n3\n")
if "\x1b" in t.raw:
    sys.exit("a dumb terminal got an escape code")
t.enter("let y = (x +")
t.enter("")
t.expect(r"error\[E\d+\]")
t.expect("mx> ")  # without editing, what is typed before the prompt is shown before it
t.enter("x + 1")
t.expect(r"\n4\n")
if t.leave() != 0:
    sys.exit("wrong exit code")
print("as expected")
