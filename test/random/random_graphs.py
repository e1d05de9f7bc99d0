#!/usr/bin/env python3
"""Runs random programs in every mode and compares them with references that carry error bounds.

Usage: random_graphs.py MXC [--count N] [--first SEED] [--batch N] [--mode NAME]… [--seconds N]
                        [--low N] [--high N] [--rotate N] [--guarded] [--mistake NAME] [--no-reduce]
                        [--show SEED] [--convolutions]

A program is generated from each seed. With `--rotate N` each batch runs as a graph, eagerly, and in N
of the other modes in turn. `--guarded` adds modes in which memory is planned in every way and each kernel
is watched. `--convolutions` puts some into every program, not only into a few. `--mistake NAME` runs
mxc with a deliberate mistake in a pass.
A program that fails is cut down and printed. Exits with 1 when one failed.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time

from execute import AHEAD, GRAPH, MODES, Batch, Runner
from generate import generate
from program import function, size_of
from reduce import reduce


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("mxc")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--batch", type=int, default=25)
    parser.add_argument("--mode", action="append", choices=[m.name for m in [*MODES, AHEAD]])
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--low", type=int, default=5)
    parser.add_argument("--high", type=int, default=40)
    parser.add_argument("--rotate", type=int)
    parser.add_argument("--guarded", action="store_true")
    parser.add_argument("--mistake")
    parser.add_argument("--no-reduce", action="store_true")
    parser.add_argument("--show", type=int)
    parser.add_argument("--convolutions", action="store_const", const=True)
    return parser.parse_args()


def report(failure, seed, runner, args):
    print(f"seed {seed}, {failure.mode}: {failure.reason}")
    program = failure.program
    if not args.no_reduce:
        modes = [m for m in [*MODES, AHEAD] if m.name == failure.mode]
        modes = ([GRAPH] if modes[0].same_bits else []) + modes
        program, failure = reduce(failure, lambda p: runner.check([p], modes))
        print(f"cut down to {size_of(program)} ops: {failure.reason}")
    print("\n".join(function(program, "reduced")))
    path = os.path.join(tempfile.gettempdir(), f"random-graph-{seed}.mx")
    with open(path, "w") as f:
        f.write(Batch([program]).source(next(m for m in [*MODES, AHEAD] if m.name == failure.mode)))
    print(f"the program is {path}\n")


def modes_of_batch(modes, batch, rotate):
    if rotate is None:
        return modes
    always, others = modes[:2], modes[2:]
    return always + [others[(batch * rotate + i) % len(others)] for i in range(min(rotate, len(others)))]


def main():
    args = options()
    if args.show is not None:
        print("\n".join(function(generate(args.show, args.low, args.high, args.convolutions), "shown")))
        return 0
    modes = [m for m in MODES if m is GRAPH or (m.name in args.mode if args.mode else args.guarded or not m.guarded)]
    modes += [AHEAD] if AHEAD.name in (args.mode or ()) else []
    folder = tempfile.mkdtemp(prefix="mx-random-")
    extra = [f"--internal-mistake={args.mistake}"] if args.mistake else []
    runner = Runner(args.mxc, folder, extra)
    started, graphs, ops, failed, seed = time.monotonic(), 0, 0, 0, args.first
    try:
        while graphs < args.count and time.monotonic() - started < args.seconds:
            seeds, programs = [], []
            while len(programs) < min(args.batch, args.count - graphs):
                program = generate(seed, args.low, args.high, args.convolutions)
                if program:
                    seeds.append(seed)
                    programs.append(program)
                seed += 1
            for failure in runner.check(programs, modes_of_batch(modes, graphs // args.batch, args.rotate)):
                failed += 1
                if failed <= 5:
                    where = next(i for i, p in enumerate(programs) if p is failure.program)
                    report(failure, seeds[where], runner, args)
            graphs += len(programs)
            ops += sum(size_of(p) for p in programs)
            if failed and args.mistake:
                break
            if graphs % 1000 < args.batch:
                runner.forget_kernels()
                print(f"{graphs} of {args.count} graphs, {failed} failed, {time.monotonic() - started:.0f} s",
                      file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{graphs} graphs of {ops} ops in {len(modes)} modes: {failed} failed, "
          f"{time.monotonic() - started:.0f} s, seeds {args.first} to {seed - 1}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
