#!/usr/bin/env python3
"""Runs generated programs, right and wrong ones, and fails if mxc has a fault, crashes or hangs.

Usage: random_programs.py MXC [--count N] [--first SEED] [--mode run|eager|compare]… [--rotate] [--seconds N]
                          [--cpu-seconds N] [--no-reduce] [--show SEED] [--keep FOLDER]

A program is generated from each seed. `mxc check` judges all of them; those that it accepts run as they are,
eagerly, and both ways (`--compare`), with `--rotate` in one of these ways in turn. A run may end with exit code 0
or 1 and an error message; everything else is a failure: another exit code, a signal, an error that only a fault
of mx can cause, or more than a minute of processor time. The last line also counts programs
that were accepted by `mxc check` and refused by the compiler later, and those that end differently in different modes.
A program that fails is cut down and printed. Exits with 1 when one failed.
"""

import argparse
import os
import sys
import time
from collections import Counter

from execute import CPU_SECONDS, MODES, Runner
from reduce import kind, reduce
from statements import generate


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("mxc", nargs="?")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--mode", action="append", choices=list(MODES))
    parser.add_argument("--rotate", action="store_true")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--cpu-seconds", type=int, default=CPU_SECONDS)
    parser.add_argument("--no-reduce", action="store_true")
    parser.add_argument("--show", type=int)
    parser.add_argument("--keep")
    return parser.parse_args()


class Judge:
    def __init__(self, args):
        self.args = args
        self.runner = Runner(args.mxc, args.cpu_seconds)
        self.modes = args.mode or list(MODES)
        self.failures = Counter()
        self.shown = Counter()
        self.statistics = Counter()

    def batch(self, seeds):
        texts = [generate(seed) for seed in seeds]
        for seed, text, checked in zip(seeds, texts, self.runner.check(texts)):
            self.statistics["programs"] += 1
            if checked.fault:
                self.failed(seed, text, ["check"], checked.fault)
            elif checked.code == 0:
                self.statistics["accepted"] += 1
                self.run(seed, text)
            elif seed % 16 == 0:  # what check refuses, run refuses
                self.judge(seed, text, "run")

    def run(self, seed, text):
        modes = [self.modes[seed % len(self.modes)]] if self.args.rotate else self.modes
        endings = [self.judge(seed, text, mode) for mode in modes]
        if any(code.startswith("E") for e in endings for code in e.codes):
            self.statistics["refused late"] += 1
            self.keep("late", seed, text, endings)
        if all(e.code == 0 for e in endings):
            self.statistics["fine"] += 1
        if not any(e.fault for e in endings) and len({(e.code, *e.codes[:1]) for e in endings}) > 1:
            self.statistics["end differently"] += 1
            self.keep("differ", seed, text, endings)

    def keep(self, name, seed, text, endings):
        if not self.args.keep:
            return
        os.makedirs(self.args.keep, exist_ok=True)
        with open(os.path.join(self.args.keep, f"{name}-{seed}.mx"), "w", encoding="utf-8") as f:
            f.write(text + "".join(f"# exit code {e.code} {e.codes[:3]}\n" for e in endings))

    def judge(self, seed, text, mode):
        ending = self.runner.one(text, MODES[mode])
        if ending.fault:
            self.failed(seed, text, MODES[mode], ending.fault)
        return ending

    def failed(self, seed, text, arguments, reason):
        self.failures[kind(reason)] += 1
        print(f"seed {seed}, mxc {' '.join(arguments)}: {reason}", flush=True)
        # One of each kind is cut down; the others have the same cause more often than not.
        self.shown[kind(reason)] += 1
        if self.shown[kind(reason)] > 1 or self.args.no_reduce or "hangs" in reason:
            return
        text = reduce(text, lambda t: self.runner.one(t, arguments).fault)
        print("cut down to:\n" + text.rstrip("\n") + "\n", flush=True)


def main():
    args = options()
    if args.show is not None:
        sys.stdout.write(generate(args.show))
        return 0
    judge, started, seed = Judge(args), time.monotonic(), args.first
    try:
        end = args.first + args.count
        while seed < end and time.monotonic() - started < args.seconds:
            seeds = range(seed, min(seed + args.batch, end))
            judge.batch(seeds)
            seed = seeds.stop
            if (seed - args.first) % 1000 < args.batch:
                judge.runner.forget_kernels()
                print(f"{seed - args.first} of {args.count} programs, {sum(judge.failures.values())} failed, "
                      f"{time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    finally:
        judge.runner.close()
    s = judge.statistics
    print(f"{s['programs']} programs, seeds {args.first} to {seed - 1}, {judge.runner.runs} processes, {time.monotonic() - started:.0f} s: "
          f"{s['accepted']} accepted, {s['fine']} of them without an error, {s['refused late']} refused late, "
          f"{s['end differently']} end differently, {sum(judge.failures.values())} failed")
    if s["programs"] >= 50 and s["fine"] == 0:
        print("no program ran without an error: mxc itself is at fault, such as for want of its library")
        return 1
    return 1 if judge.failures else 0


if __name__ == "__main__":
    sys.exit(main())
