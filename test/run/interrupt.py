#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Starts a program that does not end, sends it an interrupt, and checks that it stops cleanly.

Usage: interrupt.py COMMAND…
"""

import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import patience  # noqa: E402

done = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
line = done.stdout.readline()  # the program says that it has begun
begin = time.monotonic()
done.send_signal(signal.SIGINT)
try:
    out, err = done.communicate(timeout=patience.seconds(20))
except subprocess.TimeoutExpired:
    done.kill()
    sys.exit("it did not stop")
print(f"{line.strip()}; exit code {done.returncode}; {err.strip()}")
print(f"after {time.monotonic() - begin:.3f} s", file=sys.stderr)
