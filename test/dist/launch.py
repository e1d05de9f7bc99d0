#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Starts `mxc launch`, waits until all ranks have begun, does something to it, and tells how it ends.

Usage: launch.py HOW COMMAND…

  code            nothing
  kill RANK       kills a rank
  stop RANK       stops a rank
  interrupt       interrupts the launcher
  terminate       ends the launcher with SIGTERM
  orphans         kills the launcher
  once RANK       kills a rank in the first attempt, of a launch with --restart
"""

import glob
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import patience  # noqa: E402


def is_running(process):
    try:
        state = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def children_of(process):
    try:
        return [int(each) for task in glob.glob(f"/proc/{process}/task/*/children")
                for each in pathlib.Path(task).read_text().split()]
    except OSError:
        return []


def descendants_of(process):
    below = children_of(process)
    return below + [each for child in below for each in descendants_of(child)]


def variable(process, name):
    for each in pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
        if each.startswith(name.encode() + b"="):
            return each.partition(b"=")[2].decode()
    return None


def wait_until(true, what):
    end = time.monotonic() + patience.seconds(60)
    while not true():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.02)


def main():
    how, command = sys.argv[1], sys.argv[2:]
    rank = command.pop(0) if how in ("kill", "stop", "once") else None
    with tempfile.TemporaryFile("w+") as out:
        job = subprocess.Popen(command, stdout=out, stderr=out, text=True)
        seen = set()
        try:
            if how != "code":
                count = int(command[command.index("-n") + 1])

                def all_have_begun():
                    seen.update(descendants_of(job.pid))
                    out.seek(0)
                    return out.read().count("begun") >= count or job.poll() is not None
                wait_until(all_have_begun, "ranks begin")
                if job.poll() is not None:
                    out.seek(0)
                    sys.exit(f"it ended before all ranks began: {out.read()}")
            target = next((each for each in seen if rank in (variable(each, "MX_RANK"), variable(each, "OMPI_COMM_WORLD_RANK"))), None) if rank else job.pid
            if how != "code":
                os.kill(target, {"kill": signal.SIGKILL, "once": signal.SIGKILL, "stop": signal.SIGSTOP,
                                 "interrupt": signal.SIGINT, "terminate": signal.SIGTERM,
                                 "orphans": signal.SIGKILL}[how])
            job.wait(timeout=patience.seconds(100))
            wait_until(lambda: not any(map(is_running, seen)), "processes are left")
            for name in glob.glob(f"/dev/shm/mx-{job.pid}-*"):
                print("shared memory is left:", name)
        finally:
            for each in seen | {job.pid}:
                if is_running(each):
                    os.kill(each, signal.SIGKILL)
        out.seek(0)
        print(out.read(), end="")
    print(f"exit code {job.returncode}")
    if how != "code":
        print("a process was found for each rank" if len(seen) >= count else f"{len(seen)} processes")


main()
