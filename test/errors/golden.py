#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the whole message of every diagnostic code with the one that is recorded in Inputs/golden/.

Usage: golden.py MXC ROOT [--write] [CODE…]

A record begins with `# CODE`. A line `$ COMMAND` is run by sh in an empty folder with mxc in PATH; below it stands what it
prints on both streams, then `(exit code N)` unless N is 0. Before the command, `--- NAME` begins a file of the folder. A
record without files has one, example.mx: the wrong example of `mxc explain CODE`. `…` stands for anything within a line.
A record must show its code. Each code of `mxc explain --list` has a record, or a line in ELSEWHERE with the test that
provokes it another way. `--write` records what is printed now; read the difference.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "Inputs", "golden")

# Codes that no program and no command line shows: why not, the test that has them, and what it says there. Without a test
# nothing reports the code yet.
ELSEWHERE = {
    "R0001": ("a fault of mx itself", "test/unit/runtime/core/StatusTest.cpp", "MXRT_INTERNAL"),
    "R0003": ("code and runtime of different versions", "test/unit/runtime/core/AbiTest.cpp", "compiled for ABI 9.8, but"),
    "R0004": ("somebody stops the program", "test/repl/stopped.py", r"error\[R0004\]: op '"),
    "R0006": ("the system refuses a thread, a clock or shared memory", "test/unit/runtime/kvstore/ProcessTest.cpp", "MXRT_SYSTEM"),
    "R0202": ("a host passes a tensor", "test/unit/embed/ValueTest.cpp", "error[R0202]: a tensor of rank 17; 0 to 16 are possible"),
    "R0402": ("a host passes a tensor", "test/unit/embed/CallTest.cpp", "error[R0402]: f32[2] is on cpu:1, but `near` runs on cpu:0"),
    "R0403": ("a device that fails: CPUs do not", None, None),
    "R0501": ("a host uses the engine", "test/unit/runtime/engine/ContractTest.cpp", "both reads and writes"),
    "R0502": ("a host uses the engine", "test/unit/runtime/engine/ContractTest.cpp", "ENGINE_STOPPED the engine has been stopped"),
    "R0503": ("a kernel that touches what it did not declare: reserved", None, None),
    "R0802": ("a module that mxc did not make", "test/unit/runtime/host/VerifierTest.cpp", "ruleName(finding.rule)"),
    "R0803": ("a host passes a value", "test/unit/runtime/eager/MakingTest.cpp", "R0803 reshape: operand 0 is i64, not a tensor"),
    "R0804": ("a host limits instructions", "test/unit/runtime/host/ControlTest.cpp", "the instruction limit is reached"),
}


class Record:
    def __init__(self, path, code, lines):
        self.path, self.code = path, code
        self.files, self.command, self.output, name = {}, "mxc check example.mx", [], None
        for at, line in enumerate(lines):
            if line.startswith("$ "):
                self.command, self.output = line[2:], lines[at + 1:]
                break
            if line.startswith("--- "):
                name = line[4:]
                self.files[name] = []
            elif name:
                self.files[name].append(line)
        while self.output and not self.output[-1]:
            self.output.pop()

    def text(self):
        files = [line for name, lines in self.files.items() for line in [f"--- {name}", *lines]]
        return "\n".join([f"# {self.code}", *files, f"$ {self.command}", *self.output]) + "\n"


def records():
    for name in sorted(os.listdir(FOLDER)):
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            parts = re.split(r"^# ([EWNR]\d{4})\n", file.read(), flags=re.M)
        for code, text in zip(parts[1::2], parts[2::2]):
            yield Record(name, code, text.split("\n"))


class Runner:
    def __init__(self, mxc):
        self.mxc = os.path.abspath(mxc)

    def printed(self, record):
        with tempfile.TemporaryDirectory() as folder:
            files = {name: "\n".join(lines) + "\n" for name, lines in record.files.items()}
            if not files:
                files["example.mx"] = self.explained(record.code)
            for name, text in files.items():
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            environment = dict(os.environ, MX_CACHE_DIR=os.path.join(folder, ".cache"), LC_ALL="C.UTF-8",
                               PATH=os.path.dirname(self.mxc) + os.pathsep + os.environ["PATH"])
            done = subprocess.run(["sh", "-c", record.command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        # Lines of the standard library change, and say nothing about the message.
        text = re.sub(r"(std/[\w/]+\.mx):\d+(:\d+)?", r"\1:N", done.stdout.replace(folder, "FOLDER").rstrip("\n"))
        return text.split("\n") + [f"(exit code {done.returncode})"] * (done.returncode != 0)

    def explained(self, code):
        done = subprocess.run([self.mxc, "explain", code, "--example", "wrong"], stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout


def fits(wanted, line):
    return re.fullmatch(".*".join(map(re.escape, wanted.split("…"))), line) is not None


def problem(record, printed):
    if len(printed) != len(record.output) or not all(map(fits, record.output, printed)):
        return "prints\n" + "\n".join(printed)
    if not any(record.code in line for line in printed):
        return "does not show its code"
    return None


def main():
    words = [word for word in sys.argv[1:] if word != "--write"]
    write = "--write" in sys.argv
    mxc, root, chosen = words[0], words[1], words[2:]
    runner, wrong = Runner(mxc), []
    listing = subprocess.run([mxc, "explain", "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
    codes = [line.split()[0] for line in listing.splitlines()]
    all_records = list(records())
    compared = [record for record in all_records if not chosen or record.code in chosen]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        outputs = list(pool.map(runner.printed, compared))
    for record, printed in zip(compared, outputs):
        found = problem(record, printed)
        if found and write:
            record.output = printed
            found = None if any(record.code in line for line in printed) else "does not show its code"
        if found:
            wrong.append(f"{record.path}: {record.code}: `{record.command}` {found}")
    if write:
        for name in {record.path for record in all_records}:
            with open(os.path.join(FOLDER, name), "w", encoding="utf-8") as file:
                file.write("\n".join(record.text() for record in all_records if record.path == name))
    recorded = {record.code for record in all_records}
    wrong += [f"{code} has no record and no line in ELSEWHERE" for code in codes if code not in recorded and code not in ELSEWHERE]
    wrong += [f"{code} has a record: take it from ELSEWHERE" for code in ELSEWHERE if code in recorded]
    wrong += [f"{code} is not a code" for code in sorted(recorded | set(ELSEWHERE)) if code not in codes]
    for code, (_, test, text) in ELSEWHERE.items():
        path = test and os.path.join(root, test)
        if test and (not os.path.isfile(path) or text not in open(path, encoding="utf-8").read()):
            wrong.append(f"{code}: {test} has no `{text}`")
    print("\n".join(wrong + [f"{len(recorded)} codes recorded, {len(ELSEWHERE)} elsewhere, {len(wrong)} wrong"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
