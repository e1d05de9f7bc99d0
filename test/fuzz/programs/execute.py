"""Runs programs and judges how they end."""

import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass

MODES = {"run": ["run"], "eager": ["run", "--eager"], "compare": ["run", "--compare"]}
CPU_SECONDS = 60   # of the processor: a loaded machine changes nothing
WALL_SECONDS = 900  # for a process that waits for ever
MEMORY = 6 << 30   # of addresses, compiled code and libraries included
# Errors of a run that no program may cause: they are faults of mx.
FAULTS = {"R0001", "R0003", "R0501", "R0503", "R0802", "R0803"}
FAULT_TEXTS = ("internal fault", "a fault of mxc", "LLVM ERROR", "Assertion", "PLEASE submit a bug report")


@dataclass
class Ending:
    code: int
    out: str
    err: str
    hangs: str = ""

    @property
    def codes(self):
        return re.findall(r"error\[([ER]\d{4})\]", self.err)

    @property
    def fault(self):
        """What is wrong with this ending, or nothing."""
        if self.hangs:
            return f"hangs: {self.hangs}"
        if self.code < 0:
            return f"dies of {signal.Signals(-self.code).name}"
        if self.code not in (0, 1):
            return f"exit code {self.code}: {first_line(self.err)}"
        wrong = FAULTS & set(self.codes)
        if wrong:
            return f"{min(wrong)}: {first_line(self.err)}"
        for text in FAULT_TEXTS:
            if text in self.err:
                return f"says \"{text}\": {first_line(self.err)}"
        if self.code == 1 and "error[" not in self.err:
            return f"exit code 1 without an error: {first_line(self.err)}"
        if self.code == 0 and "error[" in self.err:
            return f"exit code 0 with an error: {first_line(self.err)}"
        return None


def first_line(text):
    lines = [line for line in text.splitlines() if "error" in line or "fault" in line or "mxc:" in line] or text.splitlines()
    return lines[0][:200] if lines else "(nothing is said)"


def processor_seconds(pid):
    """The processor time of a process and its threads so far."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            fields = f.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Runner:
    def __init__(self, mxc, cpu_seconds=CPU_SECONDS):
        self.mxc, self.cpu_seconds = os.path.abspath(mxc), cpu_seconds
        self.folder = tempfile.mkdtemp(prefix="mx-programs-")
        self.runs = 0

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def forget_kernels(self):
        shutil.rmtree(os.path.join(self.folder, "cache"), ignore_errors=True)

    def execute(self, arguments):
        self.runs += 1
        work = os.path.join(self.folder, "work")  # where programs write files
        os.makedirs(work, exist_ok=True)
        env = dict(os.environ, MX_NUM_THREADS="1", MX_CACHE_DIR=os.path.join(self.folder, "cache"), MX_MAX_MEMORY="256MiB")
        process = subprocess.Popen([self.mxc, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=work,
                                   stdin=subprocess.DEVNULL, preexec_fn=limited)
        hangs, waited = "", 0
        while True:
            try:
                out, err = process.communicate(timeout=2)
                break
            except subprocess.TimeoutExpired:
                waited += 2
            if processor_seconds(process.pid) > self.cpu_seconds:
                hangs = f"more than {self.cpu_seconds} s of processor time"
            elif waited > WALL_SECONDS:
                hangs = f"no end after {WALL_SECONDS} s"
            if hangs:
                process.kill()
        return Ending(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"), hangs)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8", newline="") as f:
            f.write(text)
        return path

    def check(self, texts):
        """How `mxc check` ends for each program. Many are checked by one process, as long as it ends well."""
        paths = [self.write(f"p{i}.mx", text) for i, text in enumerate(texts)]
        together = self.execute(["check", "--error-format=short", *paths])
        said = together.err + together.out
        wrong = set(re.findall(r"/(p\d+\.mx):\d+:\d+: error\[", said))
        # An error in the library's code does not name the program that led to it.
        is_named = len(re.findall(r"/p\d+\.mx:\d+:\d+: error\[", said)) == said.count(": error[")
        endings = []
        if is_named and (not together.fault or "without an error" in together.fault):
            for i in range(len(texts)):
                bad = f"p{i}.mx" in wrong
                endings.append(Ending(int(bad), "", "error[E0000]" if bad else ""))
            return endings
        return [self.one(text, ["check"]) for text in texts]

    def one(self, text, arguments):
        return self.execute([*arguments, self.write("one.mx", text)])
