#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The matrix: mx beside PyTorch, JAX and NumPy, row by row.

Usage: compare.py --library libmxc.so [--threads 1,2] [--rows REGEX] [--quick] [--compiled] [--json FILE]
                  [--baseline FILE]

All run in one process in turns, a block of calls each; a row's ratio is the median of the best peer's time
over mx's in each round, above 1 where mx is faster. What they compute is compared first, and a row that differs
is no row. Without PyTorch only NumPy's rows have ratios; `--compiled` adds torch.compile, which takes long to
begin. Rows that memory limits are also compared with a copy of as many bytes. Each number of threads has a
process of its own. With one thread the process's own time is counted, so that what else the machine does matters
little; with more, time on the clock. With `--baseline`, an older result of --json, rows whose ratio fell by more
than a tenth are listed and the exit code is 1.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

from mxc_library import Call, Library, Session
from rows import all_rows

try:
    import torch
except ImportError:
    torch = None
try:
    import jax
except ImportError:
    jax = None

BLOCK_SECONDS = 0.05


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rows", default="")
    parser.add_argument("--quick", action="store_true", help="one thread, few blocks, no large rows")
    parser.add_argument("--compiled", action="store_true", help="torch.compile as a peer too")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--baseline", type=pathlib.Path)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)  # threads of this process
    return parser.parse_args()


def difference(ours, theirs):
    """The largest, relative to the size of the numbers."""
    scale = max(float(np.abs(theirs).max(initial=0)), 1e-6)
    return float(np.abs(ours.astype(np.float64) - theirs.astype(np.float64)).max(initial=0)) / scale


def seconds(run, times, clock):
    started = clock()
    run(times)
    return clock() - started


def calls_in_a_block(run, clock):
    times = 1
    while True:
        took = seconds(run, times, clock)
        if took > BLOCK_SECONDS / 4:
            return max(1, round(times * BLOCK_SECONDS / took))
        times *= 4


def torch_peer(row, **more):
    return row.peer(torch, *[torch.from_numpy(a.copy()) for a in row.arguments], **more)


def jax_peer(row):
    function = jax.jit(row.jax(jax, jax.numpy))
    arguments = [jax.numpy.asarray(a) for a in row.arguments]
    return lambda: function(*arguments).block_until_ready()


def copier(count):
    """Copies, so that `count` bytes are read or written."""
    source, target = np.ones(count // 2, np.uint8), np.ones(count // 2, np.uint8)
    return lambda times: [np.copyto(target, source) for _ in range(times)]


def measure(row, library, threads, blocks, with_compiled=False):
    session = Session(library, threads)
    started = time.perf_counter()
    function = session.function(session.load(row.name, row.source), "run")
    call = Call(session, function, [library.value(a) for a in row.arguments], row.changed)
    first = library.arrays(call())
    compiled = time.perf_counter() - started
    result = {"row": row.name, "threads": threads, "first_ms": 1e3 * compiled}
    sides = {"mx": call.run}
    peers = {}
    if torch:
        torch.set_num_threads(threads)
        peers["torch"] = torch_peer(row)
        if with_compiled and "wrap" in row.peer.__code__.co_varnames:
            peers["compiled"] = torch_peer(row, wrap=torch.compile)
    if jax and row.jax:
        peers["jax"] = jax_peer(row)
    if row.plain:
        peers["numpy"] = row.plain(*row.arguments)
    for name, step in peers.items():
        made = step()
        result["difference"] = difference(first, np.asarray(made.detach() if hasattr(made, "detach") else made))
        if not result["difference"] <= row.tolerance:
            result["error"] = f"differs from {name} by {result['difference']:.2g}, more than {row.tolerance:g}"
            return result

        def peer(times, step=step):
            for _ in range(times):
                step()
        sides[name] = peer
    if row.bytes:
        sides["memcpy"] = copier(row.bytes)
    # Threads of the others run beside ours.
    clock = time.process_time if threads == 1 else time.perf_counter
    times = {name: calls_in_a_block(run, clock) for name, run in sides.items()}
    taken = {name: [] for name in sides}
    for _ in range(blocks):
        for name, run in sides.items():
            taken[name].append(seconds(run, times[name], clock) / times[name])
    for name in sides:
        result[f"{name}_us"] = 1e6 * statistics.median(taken[name])
    best = min(taken["mx"])
    if row.flops:
        result["gflops"] = row.flops / best / 1e9
    if row.bytes:
        result["gbytes"] = row.bytes / best / 1e9
        result["of_memcpy"] = statistics.median(c / m for c, m in zip(taken["memcpy"], taken["mx"]))
    if peers:
        result["best"] = min(peers, key=lambda name: result[f"{name}_us"])
        ratios = sorted(t / m for t, m in zip(taken[result["best"]], taken["mx"]))
        result["ratio"] = statistics.median(ratios)
        result["quartiles"] = [ratios[len(ratios) // 4], ratios[3 * len(ratios) // 4]]
    return result


def shown(result):
    if "error" in result:
        return f"{result['row']:<42} {result['threads']:>2}  {result['error']}"
    rate = (f"{result['gflops']:7.1f} GFLOP/s" if "gflops" in result else
            f"{result['gbytes']:7.1f} GB/s   " if "gbytes" in result else " " * 15)
    text = f"{result['row']:<42} {result['threads']:>2} {result['mx_us']:>11.1f} us {rate} first {result['first_ms']:7.0f} ms"
    if "ratio" in result:
        low, high = result["quartiles"]
        best = result["best"]
        text += f"   {best} {result[best + '_us']:>11.1f} us   ratio {result['ratio']:5.2f} [{low:.2f}, {high:.2f}]"
    if "of_memcpy" in result:
        text += f"   of memcpy {result['of_memcpy']:.2f}"
    return text


def commit():
    folder = pathlib.Path(__file__).parent
    done = subprocess.run(["git", "-C", folder, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip()


def fallen(results, baseline):
    before = {(r["row"], r["threads"]): r["ratio"] for r in baseline if "ratio" in r}
    for result in results:
        old = before.get((result["row"], result["threads"]))
        if old and result.get("ratio", 0) < 0.9 * old:
            yield f"{result['row']} on {result['threads']}: {old:.2f} before, {result.get('ratio', 0):.2f} now"


def with_threads(given, count):
    """In a process whose libraries have this many threads from their start."""
    names = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]
    flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1" if count == 1 else ""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [sys.executable, __file__, "--library", given.library, "--rows", given.rows, "--json", file.name,
                   "--one", str(count)] + ["--quick"] * given.quick + ["--compiled"] * given.compiled
        subprocess.run(command, check=False, env={**os.environ, **{name: str(count) for name in names}, "XLA_FLAGS": flags})
        return json.load(open(file.name))["results"]


def measure_all(given, threads):
    library, results = Library(given.library), []
    for row in all_rows():
        if not re.search(given.rows, row.name) or (given.quick and not row.quick):
            continue
        results.append(measure(row, library, threads, 5 if given.quick else 31, given.compiled))
        print(shown(results[-1]), flush=True)
    return results


def main():
    given = arguments()
    if given.one:
        results = measure_all(given, given.one)
    else:
        print(f"mx {commit()}, NumPy {np.__version__}, " + (f"PyTorch {torch.__version__}" if torch else "no PyTorch") +
              (f", JAX {jax.__version__}" if jax else ""), flush=True)
        threads = [1] if given.quick else [int(t) for t in given.threads.split(",")]
        results = sum((with_threads(given, count) for count in threads), [])
    if given.json:
        given.json.write_text(json.dumps({"commit": commit(), "torch": torch and torch.__version__,
                                          "results": results}, indent=1))
    slower = list(fallen(results, json.loads(given.baseline.read_text())["results"])) if given.baseline else []
    for line in slower:
        print("slower:", line)
    return 1 if slower or any("error" in r for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
