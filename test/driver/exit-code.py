# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""exit-code.py N COMMAND…: runs the command and fails unless it exits with N."""
import subprocess
import sys

run = subprocess.run(sys.argv[2:], capture_output=True, text=True, check=False)
if run.returncode != int(sys.argv[1]):
    sys.exit(f"exit code {run.returncode}, expected {sys.argv[1]}\n{run.stdout}{run.stderr}")
if run.returncode == 2 and not run.stderr.strip():
    sys.exit("wrong use of a command must be explained")
