# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time limits of tests that hold on a loaded machine: a program that loops has used up its share of a CPU, one that
hangs has used none, and one that waits for its turn is neither."""

import os
import resource
import signal
import subprocess


def crowd():
    """How many processes share a core, 1 on an idle machine."""
    return 1 + max(os.getloadavg()) / (os.cpu_count() or 1)


def seconds(idle):
    """Seconds to wait for what takes less than `idle` of them on an idle machine, now or when it fills up."""
    return idle * max(2, crowd())


def run(command, cpu_seconds, **options):
    """subprocess.run() with a limit on the time of CPUs. What hangs is ended by lit's own limit."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))
    done = subprocess.run(command, preexec_fn=limit, **options)
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise subprocess.TimeoutExpired(command, cpu_seconds)
    return done
