# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws a progress bar on terminals of several widths.

Usage: narrow_terminal.py MXC FOLDER
"""

import fcntl
import os
import pty
import struct
import sys
import termios

mxc, folder = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
program = os.path.join(folder, "bar.mx")
with open(program, "w", encoding="utf-8") as file:
    file.write('var last = 0\n'
               'let bar = progress(0..2000000, "größer als das Fenster ist")\n'
               'for i in bar { if i % 100000 == 0 { bar.show(loss=0.123456, accuracy=f32(i)) } }\n')

for columns in (40, 100):
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execve(mxc, [mxc, "run", program], dict(os.environ, TERM="xterm"))
    seen = b""
    while True:
        try:
            got = os.read(fd, 65536)
        except OSError:
            break
        if not got:
            break
        seen += got
    _, status = os.waitpid(pid, 0)
    lines = seen.decode().split("\r")
    drawn = [line for line in lines if "/2000000" in line]
    again = drawn[:-1]  # the last one stays, and may take more than one line
    wide = [line for line in again if len(line) >= columns]
    if status or len(drawn) < 1 or wide:
        sys.exit(f"exit code {status}, {len(drawn)} bars, too wide: {wide[:3]}\n{lines}")
    print(f"{columns} columns: bars drawn, none wider" + (", with cells" if any("[=" in line for line in drawn) else ""))
