#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a hash of the generated code of every benchmark program, so that a refactoring can show that it changes none.

Usage: code-bytes.py MXC [--rows REGEX] [--target-cpu LIST] > FILE
       diff BEFORE AFTER

Each row of tools/mxc-bench/matrix with a compiled graph becomes an object, for CPUs with SSE4, AVX2 and AVX-512.
A line has the row, the CPU, the section, its bytes and its SHA-256. Sections are .text and .rodata, and those
whose names begin so. A row that does not compile ahead of time is listed with the reason.
"""
import argparse
import concurrent.futures
import hashlib
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mxc-bench", "matrix"))
import rows  # noqa: E402


def sections(path):
    """The names and contents of the sections of an ELF file."""
    with open(path, "rb") as file:
        data = file.read()
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
    return [f"{row.name}\t{cpu}\t{name}\t{len(data)}\t{hashlib.sha256(data).hexdigest()}"
            for name, data in sections(os.path.join(folder, target)) if name.startswith((".text", ".rodata", ".lrodata")) and data]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mxc")
    parser.add_argument("--rows", default="")
    parser.add_argument("--target-cpu", default="x86-64-v2,x86-64-v3,x86-64-v4")
    args = parser.parse_args()
    chosen = [(i, row) for i, row in enumerate(rows.all_rows()) if re.search(args.rows, row.name) and row.source]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(lines_of, os.path.abspath(args.mxc), folder, i, row, cpu) for i, row in chosen for cpu in args.target_cpu.split(",")]
        for job in jobs:
            print("\n".join(job.result()), flush=True)


if __name__ == "__main__":
    main()
