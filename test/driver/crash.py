# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""crash.py MXC SIGNAL: sends a signal to a running mxc. It must end with exit code 3 and say how to report it."""
import signal
import subprocess
import sys

program = 'print("running")\nvar n = 0\nwhile n >= 0 { n += 0 }'
process = subprocess.Popen([sys.argv[1], "-e", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
try:
    if "running" not in process.stdout.readline():
        sys.exit("it does not run")
    process.send_signal(getattr(signal, sys.argv[2]))
    _, err = process.communicate(timeout=120)
finally:
    process.kill()
print(err)
if process.returncode != 3:
    sys.exit(f"exit code {process.returncode}")
