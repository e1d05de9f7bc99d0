#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures rows in one process, blocks of mx and of its peers interleaved; `run` starts it in the environment of the
peers.

Usage: compare.py --library libmxc.so --threads N --journal FILE [--rows REGEX] [--quick] [--row-seconds N] [--compiled]
                  [--done ROW…] [--without ROW=PEER…]

A row's ratio is the median over rounds of the best peer's time / mx's. Results are compared first, and a row whose
results differ fails. With one thread the CPU time of the process is counted, so that other load matters little; with
more, wall time. Results are written to the journal line by line, with a line for whatever is about to be tried, so that
after a crash `run` knows what crashed and continues without it.
"""
import argparse
import concurrent.futures
import ctypes
import faulthandler
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import peers
import report
from mxc_library import Call, Library, Session
from row import bf16_numbers
from rows import all_rows

BLOCK_SECONDS = 0.05
BLOCKS, QUICK_BLOCKS = 31, 5
QUICK_ROW_SECONDS = 4
ALL = "interleaved blocks"
PATIENCE = 900  # seconds for one thing that is tried


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--journal", required=True)
    parser.add_argument("--rows", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--row-seconds", type=float, default=60, help="of timing; long steps have fewer blocks then, at least 3")
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--done", action="append", default=[], metavar="ROW", help="a row that is not measured")
    parser.add_argument("--without", action="append", default=[], metavar="ROW=PEER")
    parser.add_argument("--memory-of", metavar="PEER", help="print the bytes that the row of this name needs, and end")
    return parser.parse_args()


class Journal:
    def __init__(self, path):
        self.file = open(path, "a")

    def write(self, **line):
        print(json.dumps(line), file=self.file, flush=True)

    def trying(self, row, peer):
        self.write(trying=row.name, group=row.group, peer=peer)
        faulthandler.dump_traceback_later(PATIENCE, exit=True)


def difference(ours, theirs):
    """The largest, relative to the size of the numbers."""
    scale = max(float(np.abs(theirs).max(initial=0)), 1e-6)
    return float(np.abs(ours.astype(np.float64) - theirs.astype(np.float64)).max(initial=0)) / scale


def seconds(run, times, clock):
    started = clock()
    run(times)
    return clock() - started


def cpu_seconds():
    """CPU time of this process and of the compilers that it ran."""
    used = [resource.getrusage(which) for which in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def clock_of_first(threads):
    """What first results are measured with, as blocks are: CPU time on one thread, else wall time."""
    return cpu_seconds if threads == 1 else time.perf_counter


def calls_in_a_block(run, clock):
    times = 1
    while True:
        took = seconds(run, times, clock)
        if took > BLOCK_SECONDS / 4:
            return max(1, round(times * BLOCK_SECONDS / took))
        times *= 4


def copier(count, threads):
    """Copies, so that `count` bytes are read or written."""
    size = count // 2
    source, target = np.ones(size, np.uint8), np.ones(size, np.uint8)
    if threads == 1:
        return lambda times: [np.copyto(target, source) for _ in range(times)]
    pool = concurrent.futures.ThreadPoolExecutor(threads)
    parts = [slice(size * i // threads, size * (i + 1) // threads) for i in range(threads)]
    return lambda times: [list(pool.map(lambda part: np.copyto(target[part], source[part]), parts)) for _ in range(times)]


def repeated(step):
    def run(times):
        for _ in range(times):
            step()
    return run


class Ours:
    """A row's program called through libmxc. Code is compiled anew, into a cache of its own."""

    def __init__(self, row, library, threads, arrays, cache=None):
        self.library = library
        clock = clock_of_first(threads)
        started = clock()
        self.cache = None if cache else tempfile.TemporaryDirectory()
        self.session = Session(library, threads, cache or self.cache.name)
        function = self.session.function(self.session.load(row.name, row.source), "run")
        loaded = clock() - started
        self.call = Call(self.session, function, [library.value(a) for a in arrays], row.changed)
        started = clock()
        self.first = self.numbers()
        self.first_ms = 1e3 * (loaded + clock() - started)

    def close(self):
        self.call.release()
        self.session.destroy()

    def numbers(self):
        value = self.call()
        array = self.library.arrays(value)
        self.library.c.mxc_value_release(value)
        return bf16_numbers(array) if array.dtype == np.uint16 else array


def measure(row, library, threads, there, without, journal, given):
    """`there` are the peers; `without` says why some are left out."""
    result = {"group": row.group, "row": row.name, "threads": threads, "notes": dict(without)}
    journal.trying(row, "mx")
    arrays = row.arguments()
    try:
        ours = Ours(row, library, threads, arrays)
        # Steps change their weights: the losses after them say whether gradients are the same.
        made = [ours.first] + [ours.numbers() for _ in range(2 if row.changed else 0)]
    except RuntimeError as failure:
        return {**result, "error": peers.said(failure)}
    result["first_ms"] = ours.first_ms
    sides, first, result["difference"] = {"mx": ours.call.run}, {}, 0.0
    for peer in there:
        if peer.name in without:
            continue
        journal.trying(row, peer.name)
        try:
            clock = clock_of_first(threads)
            started = clock()
            step = peer.step(row, arrays)
            if not step:
                continue
            theirs = [peer.numbers(step())]
            first[peer.name] = 1e3 * (clock() - started)
            theirs += [peer.numbers(step()) for _ in made[1:]]
        except Exception as failure:  # whatever a library raises
            result["notes"][peer.name] = peers.said(failure)
            continue
        apart = max(difference(a, b) for a, b in zip(made, theirs))
        result["difference"] = max(result["difference"], apart)
        if not apart <= row.tolerance:
            return {**result, "error": f"differs from {peer.name} by {apart:.2g}, more than {row.tolerance:g}"}
        sides[peer.name] = repeated(step)
    if row.bytes:
        sides["memcpy"] = copier(row.bytes, threads)
    journal.trying(row, ALL)
    timed(result, row, sides, threads, given)
    result["peers_first_ms"] = first
    ours.close()
    return result


def quartiles(values):
    return [float(value) for value in np.percentile(values, [25, 75])]


def timed(result, row, sides, threads, given):
    # CPU time would add up the threads of a side.
    clock = time.process_time if threads == 1 else time.perf_counter
    times = {name: calls_in_a_block(run, clock) for name, run in sides.items()}
    taken, begun = {name: [] for name in sides}, time.monotonic()
    for block in range(QUICK_BLOCKS if given.quick else BLOCKS):
        if block >= 3 and time.monotonic() - begun > (QUICK_ROW_SECONDS if given.quick else given.row_seconds):
            break
        for name, run in sides.items():
            if threads > 1:
                time.sleep(0.003)  # threads that spin for more work fall asleep
            taken[name].append(seconds(run, times[name], clock) / times[name])
    result["blocks"] = len(taken["mx"])
    medians = {name: 1e6 * statistics.median(took) for name, took in taken.items()}
    result.update(mx=medians.pop("mx"), unit="us")
    result["mx_quartiles"] = [1e6 * quartile for quartile in quartiles(taken["mx"])]
    if row.flops:
        result["flops"] = row.flops
    if row.bytes:
        result["bytes"] = row.bytes
        result["of_memcpy"] = statistics.median(c / m for c, m in zip(taken["memcpy"], taken["mx"]))
        del medians["memcpy"]
    result["peers"] = medians
    if medians:
        result["best"] = min(medians, key=medians.get)
        ratios = [t / m for t, m in zip(taken[result["best"]], taken["mx"])]
        result["ratio"], result["quartiles"] = statistics.median(ratios), quartiles(ratios)
    goal = {"of": "memcpy", "min": row.copy_goal} if row.copy_goal else {"of": "ratio", "min": row.goal}
    result["goal"] = goal if goal["min"] else None


def first_results(result):
    """The time from source to first result, beside the peers that compile."""
    compiled = {name: ms for name, ms in result["peers_first_ms"].items() if name in ("jax", "torch.compile", "iree")}
    out = {"group": "compile", "row": result["row"] + ", source to first result", "threads": result["threads"], "unit": "ms",
           "mx": result["first_ms"], "peers": compiled, "notes": {}, "goal": {"of": "ratio", "min": 5.0}}
    if compiled:
        out["best"] = min(compiled, key=compiled.get)
        out["ratio"] = compiled[out["best"]] / out["mx"]
    return out


# ----------------------------------------------------------------------------------------------- memory

def resident(word):
    """VmRSS or VmHWM, in bytes."""
    return 1024 * int(re.search(word + r":\s+(\d+)", open("/proc/self/status").read()).group(1))


def print_memory(given):
    """Memory of a step above that of the loaded library: the peak resident size during the second step."""
    row = next(row for row in all_rows() if row.name == given.rows)
    if given.memory_of == "mx":
        library = Library(given.library)
        begin = resident("VmRSS")
        ours = Ours(row, library, given.threads, row.arguments(), cache=os.environ["MX_CACHE_DIR"])
        step = ours.numbers
    else:
        there, _ = peers.load(given.threads, False, only=[given.memory_of])
        begin = resident("VmRSS")
        run = there[0].step(row, row.arguments())

        def step():
            there[0].numbers(run())
        step()
    ctypes.CDLL(None).malloc_trim(0)
    open("/proc/self/clear_refs", "w").write("5")  # resets the peak
    step()
    print("bytes", resident("VmHWM") - begin)


def memory(row, given, there, without):
    """Each side in a process of its own; mx's code is compiled by a process before."""
    result = {"group": row.group, "row": row.name, "threads": given.threads, "unit": "MB", "notes": dict(without),
              "peers": {}, "goal": {"of": "ratio", "min": row.goal}}
    # Memory that a library frees must be given back to the system here.
    variables = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    with tempfile.TemporaryDirectory() as cache:
        for side in ["mx", "mx"] + [peer.name for peer in there if peer.name in ("torch", "jax")]:
            done = subprocess.run([sys.executable, __file__, "--library", given.library, "--threads", str(given.threads),
                                   "--journal", os.devnull, "--rows", row.name, "--memory-of", side],
                                  capture_output=True, text=True, env={**variables, "MX_CACHE_DIR": cache})
            found = re.search(r"^bytes (\d+)$", done.stdout, re.M)
            if not found:
                result["notes"][side] = f"ended with {done.returncode}: " + (done.stderr.strip().split("\n") or [""])[-1][:100]
            elif side == "mx":
                result["mx"] = int(found.group(1)) / 1e6
            else:
                result["peers"][side] = int(found.group(1)) / 1e6
    if "mx" not in result:
        return {**result, "error": result["notes"]["mx"]}
    if result["peers"]:
        result["best"] = min(result["peers"], key=result["peers"].get)
        result["ratio"] = result["peers"][result["best"]] / result["mx"]
    return result


def main():
    given = arguments()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:given.threads])
    if given.memory_of:
        return print_memory(given)
    library, journal = Library(given.library), Journal(given.journal)
    there, words = peers.load(given.threads, given.compiled)
    journal.write(versions={peer.name: peer.version for peer in there}, missing=words)
    for row in all_rows():
        if not re.search(given.rows, row.name) or (given.quick and not row.quick) or row.name in given.done:
            continue
        without = {}
        for text in given.without:
            name, _, peer = text.rpartition("=")
            if name == row.name:
                without[peer] = "crashed"
        if row.memory:
            journal.trying(row, ALL)
            results = [memory(row, given, there, without)]
        else:
            results = [measure(row, library, given.threads, there, without, journal, given)]
            if row.first_result and "error" not in results[0]:
                results.append(first_results(results[0]))
        for result in results:
            journal.write(result=result)
            print(*filter(None, report.cells(result)), sep="  ", file=sys.stderr, flush=True)
    faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main()
