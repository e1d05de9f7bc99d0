#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints hashes of generated code, so that a refactoring can show that it changes none.

Usage: code-bytes.py MXC [--rows REGEX] [--examples] [--kernels FILE] [--target-cpu LIST] > FILE
       diff BEFORE AFTER

Each row of tools/mxc-bench/matrix with a compiled graph becomes an object, for CPUs with SSE4, AVX2 and AVX-512.
A line has the row, the CPU, the section, its bytes and its SHA-256. Sections are .text and .rodata, and those
whose names begin so. A row that does not compile ahead of time is listed with the reason.

--examples also makes a program of each example: its lines are those of all objects that the compiler made for it,
kernels of graphs and of single ops. --kernels also reads the kernels of single ops that a build carries
(compiler/Driver/kernels.bin of the build folder). `--rows ^$` leaves out the benchmark programs.
"""
import argparse
import concurrent.futures
import glob
import hashlib
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mxc-bench", "matrix"))
import rows  # noqa: E402


def read(path):
    with open(path, "rb") as file:
        return file.read()


def sections(data):
    """The names and contents of the sections of an ELF file."""
    offset, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, offset + size * i) for i in range(count)]
    texts = headers[names][4]
    for name, kind, _, _, start, length, *_ in headers:
        end = data.index(b"\0", texts + name)
        yield data[texts + name:end].decode(), data[start:start + length] if kind != 8 else b""


def lines_of(mxc, folder, number, row, cpu):
    # Error messages in the code name the file, so its name does not change from run to run.
    source, target = f"row{number}.mx", f"row{number}-{cpu}.o"
    with open(os.path.join(folder, source), "w", encoding="utf-8") as file:
        file.write(re.sub(r"^graph fn run\b", "export graph fn run", row.source, flags=re.M))
    made = subprocess.run([mxc, "build", "--obj", f"--target-cpu={cpu}", "--cache=cache", source, "-o", target],
                          cwd=folder, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        reason = (made.stderr.strip().splitlines() or ["no message"])[0]
        return [f"{row.name}\t{cpu}\tnot built: {reason}"]
    return hashes(f"{row.name}\t{cpu}", read(os.path.join(folder, target)))


def hashes(what, data):
    return [f"{what}\t{name}\t{len(content)}\t{hashlib.sha256(content).hexdigest()}"
            for name, content in sections(data) if name.startswith((".text", ".rodata", ".lrodata")) and content]


def lines_of_example(mxc, folder, source, cpu):
    name = os.path.splitext(os.path.basename(source))[0]
    cache = os.path.join(folder, f"cache-{name}-{cpu}")
    made = subprocess.run([mxc, "build", "--exe", f"--target-cpu={cpu}", f"--cache={cache}", os.path.basename(source),
                           "-o", os.path.join(folder, f"{name}-{cpu}")],
                          cwd=os.path.dirname(source), capture_output=True, text=True, check=False)
    if made.returncode != 0:
        reason = (made.stderr.strip().splitlines() or ["no message"])[0]
        return [f"{name}\t{cpu}\tnot built: {reason}"]
    # Names in the cache tell one build of the compiler from another, so only contents count.
    out = []
    for entry in os.listdir(cache):
        data = read(os.path.join(cache, entry))
        start = data.find(b"\x7fELF")
        if start >= 0:
            out += hashes(f"{name}\t{cpu}", data[start:])
    return sorted(out)


def lines_of_kernels(path):
    """The archive of compiler/Driver/Prebuilt.h: CPU, key and object, each after its size."""
    data, parts, at = read(path), [], 0
    while at < len(data):
        size, = struct.unpack_from("<Q", data, at)
        parts.append(data[at + 8:at + 8 + size])
        at += 8 + size
    out = []
    for cpu, key, code in zip(parts[0::3], parts[1::3], parts[2::3]):
        out += hashes(f"{key.decode()}\t{cpu.decode()}", code)
    return sorted(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mxc")
    parser.add_argument("--rows", default="")
    parser.add_argument("--examples", action="store_true")
    parser.add_argument("--kernels", metavar="FILE")
    parser.add_argument("--target-cpu", default="x86-64-v2,x86-64-v3,x86-64-v4")
    args = parser.parse_args()
    chosen = [(i, row) for i, row in enumerate(rows.all_rows()) if re.search(args.rows, row.name) and row.source]
    mxc, cpus = os.path.abspath(args.mxc), args.target_cpu.split(",")
    root = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(lines_of, mxc, folder, i, row, cpu) for i, row in chosen for cpu in cpus]
        examples = sorted(glob.glob(os.path.join(root, "examples", "**", "*.mx"), recursive=True)) if args.examples else []
        jobs += [pool.submit(lines_of_example, mxc, folder, source, cpu) for source in examples for cpu in cpus]
        if args.kernels:
            jobs.append(pool.submit(lines_of_kernels, args.kernels))
        for job in jobs:
            print("\n".join(job.result()), flush=True)


if __name__ == "__main__":
    main()
