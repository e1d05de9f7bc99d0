# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types the sessions of a page at a prompt; the terminal must show what the page shows.

Usage: prompt.py MXC PAGE.md FOLDER
Sessions are blocks marked ```session. `…` stands for anything within a line. All blocks of a page are
one session.
"""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "repl"))
from terminal import Terminal

mxc, page, home = sys.argv[1:4]
os.makedirs(home, exist_ok=True)
os.chdir(home)
blocks = re.findall(r"(?ms)^```session\n(.*?)^```$", open(page, encoding="utf-8").read())
t = Terminal(mxc, home, term="dumb")
t.expect("mx> ")
lines = [line for block in blocks for line in block.splitlines()]
wrong = inputs = 0
for at, line in enumerate(lines):
    prompt = re.match(r"(mx> |\.\.\. |step> )(.*)", line + " " if line in ("mx>", "...", "step>") else line)
    if not prompt:
        continue
    inputs += prompt.group(1) == "mx> "
    after = at + 1
    while after < len(lines) and not re.match(r"mx> |\.\.\. |step> |mx>$", lines[after]):
        after += 1
    wanted = [prompt.group(2).rstrip(), *lines[at + 1:after]]
    t.enter(prompt.group(2))
    found = t.expect(r"(?s)^(.*?)(mx> |\.\.\. |step> )(?=$)").group(1)
    shown = [text.rstrip() for text in found.rstrip("\n").split("\n")]
    fits = len(shown) == len(wanted) and all(
        re.fullmatch(".*".join(map(re.escape, want.rstrip().split("…"))), have) for want, have in zip(wanted, shown))
    if not fits:
        wrong += 1
        print("the page shows\n  " + "\n  ".join(wanted) + "\nthe prompt\n  " + "\n  ".join(shown))
t.leave()
print(f"{inputs} inputs, {wrong} wrong")
