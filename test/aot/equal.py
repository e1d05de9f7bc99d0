#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs that were built ahead give the bits that `mxc run` gives.

Usage: equal.py MXC PROGRAM FOLDER CPU…

For each CPU that this machine can run, runs PROGRAM (Inputs/all.mx) in FOLDER, builds it as a Python module and calls
every graph with what the run saved. Prints what differs; exits with 1 if anything does.
"""

import importlib.util
import json
import os
import struct
import subprocess
import sys

import numpy

TYPES = {"F16": "f2", "F32": "f4", "F64": "f8", "I32": "i4", "I64": "i8", "BOOL": "?"}


def read(path):
    """The tensors of a safetensors file."""
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    out = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + at for at in entry["data_offsets"])
            out[name] = numpy.frombuffer(data[begin:end], TYPES[entry["dtype"]]).reshape(entry["shape"])
    return out


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Comparison:
    def __init__(self, cpu):
        self.cpu, self.count, self.failed = cpu, 0, 0

    def same(self, name, got, wanted):
        got, wanted = numpy.asarray(got), numpy.asarray(wanted)
        self.count += 1
        if got.dtype != wanted.dtype or got.shape != wanted.shape or got.tobytes() != wanted.tobytes():
            self.failed += 1
            print(f"{self.cpu}: {name} differs: {got.dtype}{got.shape} {got.ravel()[:4]}, "
                  f"not {wanted.dtype}{wanted.shape} {wanted.ravel()[:4]}")

    def same_parts(self, name, value, wanted):
        for path in value.tensors:
            self.same(f"{name}.{path}", value[path], wanted[f"{name}.{path}"])


def compare(m, folder, cpu):
    given, wanted = (read(os.path.join(folder, f"{which}.safetensors")) for which in ("given", "wanted"))
    at = lambda name: os.path.join(folder, name + ".safetensors")
    net, eyes, opt, rng = m.Net(at("net")), m.PicturesNet(at("eyes")), m.Opt(at("opt")), m.Rng(at("before"))
    c = Comparison(cpu)
    x, row = given["x"], given["row"]
    c.same("logits1", m.logits(net, x[:1]), wanted["logits1"])
    c.same("logits32", m.logits(net, x), wanted["logits32"])
    c.same("shares32", m.shares(net, x), wanted["shares32"])
    c.same("shares0", m.shares(net, x[:0]), numpy.empty((0, 3), "f4"))
    for name, got in zip(("pictures_z", "pictures_i"), m.pictures(eyes, given["picture"])):
        c.same(name, got, wanted[name])
    in_order, order, tripled = m.ordered(row, 14)
    c.same("sorted", in_order, wanted["sorted"])
    c.same("order", order, wanted["order"])
    c.same("tripled", tripled, numpy.int64(42))
    c.same("halfs", m.halfs(given["few"]), wanted["halfs6"])
    c.same("noisy", m.noise(rng, row, 0.5), wanted["noisy"])
    for part in ("seed", "counter"):
        c.same("drawn." + part, rng[part], wanted["drawn." + part])
    for turn in ("loss1", "loss2"):
        c.same(turn, m.step(net, opt, x, given["y"]), wanted[turn])
    c.same_parts("net", net, wanted)
    c.same_parts("opt", opt, wanted)

    a, b = numpy.arange(5, dtype="f4"), numpy.arange(5, 10, dtype="f4")
    c.same("exchange", m.exchange(a, b), numpy.arange(5, 15, 2, dtype="f4"))
    c.same("exchange a", a, numpy.arange(5, 10, dtype="f4"))
    c.same("exchange b", b, numpy.arange(5, dtype="f4"))
    n, table = numpy.array(41, "i8"), numpy.arange(6, dtype="f8").reshape(2, 3)
    m.doubled(n, table)
    c.same("doubled n", n, numpy.int64(42))
    c.same("doubled x", table, 2 * numpy.arange(6, dtype="f8").reshape(2, 3))

    # What goes wrong is an error with a number, and the next call works.
    for code, text, call in (
        (201, "there is no code for N = 7", lambda: m.logits(net, x[:7])),
        (201, "the size N is not in 0 to 6", lambda: m.pictures(eyes, numpy.zeros((7, 1, 14, 14), "f4"))),
        (301, "all.mx", lambda: m.quotient(numpy.ones(4, "i4"), numpy.zeros(4, "i4"))),
        (601, "nothing.safetensors", lambda: m.Net(at("nothing"))),
        (603, "`net.norm.b` f32[33] is missing", lambda: m.Net(at("eyes"))),
        (602, "memory", lambda: m.Net(b"not a file of tensors")),
    ):
        try:
            call()
            print(f"{cpu}: no error {code}")
            c.failed += 1
        except m.Error as error:
            if error.code != code or text not in str(error):
                print(f"{cpu}: error {error.code} instead of {code}: {error}")
                c.failed += 1
    c.same("quotient", m.quotient(numpy.array([7, -7, 8, 9], "i4"), numpy.array([2, 2, 3, -4], "i4")),
           numpy.array([3, -4, 2, -3], "i4"))
    return c


def main():
    mxc, program, folder, cpus = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    failed, done = 0, 0
    for cpu in cpus:
        here = os.path.join(folder, cpu)
        os.makedirs(here, exist_ok=True)
        ran = subprocess.run([mxc, "run", "--silence=N0501", "--target-cpu", cpu, program], cwd=here,
                             capture_output=True, text=True)
        if "cannot run code" in ran.stderr:
            continue
        name = "built_" + cpu.replace("-", "_")
        built = subprocess.run([mxc, "build", "--python", program, "-o", os.path.join(here, name + ".py"),
                                "--shapes", "N=1,32", "--target-cpu", cpu], capture_output=True, text=True)
        if ran.returncode or built.returncode:
            sys.exit(ran.stderr + built.stderr)
        result = compare(load(os.path.join(here, name + ".py"), name), here, cpu)
        print(f"{cpu}: {result.count} results, {result.failed} wrong")
        failed += result.failed
        done += 1
    print(f"{'some' if done > 1 else 'few'} CPUs, {failed} wrong")
    return 1 if failed or not done else 0


if __name__ == "__main__":
    sys.exit(main())
