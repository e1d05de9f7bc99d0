#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command on a machine of a small network: network namespaces NAME-h0, NAME-h1, … on one bridge, with the
addresses 10.77.0.1, 10.77.0.2, ….

Usage: network.py COUNT [cut HOST] COMMAND…

The command runs at h0, with NAMESPACES=NAME. With `cut`, the link of a host is cut when the output of the command has
a line with `begun` from each other host; the output is printed when the command has ended, and what it was.
"""

import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import patience  # noqa: E402


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def main():
    count, command = int(sys.argv[1]), sys.argv[2:]
    cut = int(command[1]) if command[0] == "cut" else None
    if cut is not None:
        command = command[2:]
    name = f"mx{os.getpid()}"
    hosts = [f"{name}-h{i}" for i in range(count)]
    made = []
    try:
        for each in [f"{name}-bridge", *hosts]:
            ip("netns", "add", each)
            made.append(each)
        ip("-n", made[0], "link", "add", "name", "bridge0", "type", "bridge")
        ip("-n", made[0], "link", "set", "bridge0", "up")
        for i, host in enumerate(hosts):
            ip("-n", made[0], "link", "add", "name", f"port{i}", "type", "veth", "peer", "name", "eth0", "netns", host)
            ip("-n", made[0], "link", "set", f"port{i}", "master", "bridge0", "up")
            ip("-n", host, "address", "add", f"10.77.0.{i + 1}/24", "dev", "eth0")
            ip("-n", host, "link", "set", "eth0", "up")
            ip("-n", host, "link", "set", "lo", "up")
        with tempfile.TemporaryFile("w+") as out:
            job = subprocess.Popen(["ip", "netns", "exec", hosts[0], *command], stdout=out, stderr=out,
                                   env={**os.environ, "NAMESPACES": name})
            try:
                end = time.monotonic() + patience.seconds(60)
                while cut is not None and job.poll() is None:
                    out.seek(0)
                    if out.read().count("begun") >= count:
                        ip("-n", made[0], "link", "set", f"port{cut}", "down")
                        break
                    if time.monotonic() > end:
                        sys.exit("it does not begin")
                    time.sleep(0.05)
                job.wait(timeout=patience.seconds(100))
            finally:
                if job.poll() is None:
                    job.kill()
                    job.wait()
            out.seek(0)
            print(out.read(), end="")
        print(f"exit code {job.returncode}")
        left = [each for host in hosts
                for each in subprocess.run(["ip", "netns", "pids", host], capture_output=True, text=True).stdout.split()]
        until = time.monotonic() + patience.seconds(20)
        while left and time.monotonic() < until:
            time.sleep(0.1)
            left = [each for each in left if os.path.exists(f"/proc/{each}")]
        print(f"{len(left)} processes are left")
    finally:
        for each in made:
            subprocess.run(["ip", "netns", "delete", each], check=False)


main()
