#!/usr/bin/env python3
"""Compares the allocations in the runtime's sources with those a sweep failed.

Usage: check-allocations.py RECORD [--program FILE] [--root ROOT] [--list]

RECORD is what test/unit/runtime/sweep wrote (MX_ALLOCATION_SITES). A line is
the outcome (`error` or `absorbed`), the program of the sweep, and the stack of
the allocation that failed, innermost first: addresses in --program, which has
debug information, or file:line.

Every allocation site in ROOT/runtime must have failed at least once, and
a failure may be absorbed only where the table below says so. Prints each
finding as file:line; exits with 1 if there is any. --list prints all sites.
"""

import argparse
import collections
import json
import os
import re
import subprocess
import sys

from tree import files_under

# ------------------------------------------------------------------ the rules
#
# What allocates. Functions that only hand on what one of these gave them are
# listed as well: their callers have to handle the failure.

ALLOCATES = re.compile(
    r"\b(newObject|makeBox)<|"
    r"\b(allocateBytes|createReserve|makeTensor|makeFlight)\(|"
    r"(->|\.)(allocate|reserve|resize|enlist|acquire|prepare)\(|"
    r"\b(variables|table|sites|sorted|rows|pools|bins|numbers)\.push\(|"
    r"\bbins\[.*\]\.push\(|"
    r"\barena\.(array|bytes)|\barray\(|"
    r"\bmake<|\b(makeStr|makeStrRoom|makeStructType|makeAggregate|makeClosure|makeForeign|"
    r"makeError|makeUnique|makeGlobal|nextSegment|enlarge|pushFrame)\(|"
    r"\b(natives|globals)\.insert\(|\btable\(\w+\.\w+,|"
    r"\b(newChunk|acquireBlock|acquireOversize|startCrew|grow)\(")

# Sites that do not allocate although they match, and sites that no public call can reach.
EXCEPT = {
    "base/Allocator.h": "the allocation functions themselves",
    "base/SystemAllocator.cpp": "an allocator, not a user of one",
    "net/Plugin.cpp": "needs gRPC, which allocates by itself; one object, as in dist/Job.cpp",
    "net/Mpi.cpp": "needs the processes of an mpirun; the same",
    "host/text": "the assembler: a tool, outside of libmxrt, on the C++ heap",
}
NOT_A_CALL = re.compile(r"^\s*(#define|template\b)")
# A name with its type before it: a declaration or a definition.
DECLARED = re.compile(r"(?:[\w>]\s+|[*&]\s*|^)(?:[\w<>]+::)*$")
# Growth for which there is room already.
RESERVED = {
    ("memory/Pool.cpp", "bins.push"),
    ("profile/Export.cpp", "sorted.push"),
    ("net/Shm.cpp", "resize"),
}

# Where a failed allocation is not an error: file, function, reason.
ABSORBS = [
    ("base/Status.cpp", r"", "an error needs no memory: the reserve serves, or a constant"),
    ("memory/SiteTable.cpp", r"", "statistics: without a row, allocations count for the unknown site"),
    ("memory/Pool.cpp", r"Pool::keep", "a block that cannot be kept goes back to the system"),
    ("memory/Pool.cpp", r"Pool::obtain", "tried again after kept blocks were given back"),
    ("engine/Failure.cpp", r"FailureLog::make",
     "one of several errors: wait_all names the earliest and counts the others"),
    ("net/Session.cpp", r"Session::store", "a packet that is not kept is not confirmed, and comes again"),
    ("net/Rendezvous.cpp", r"Rendezvous::", "a call that is not kept is closed, and comes again"),
    ("net/Sim.cpp", r"Sim::(post|push)", "a datagram that is not kept is one that was lost"),
]

# ------------------------------------------------------------------ the sources

Site = collections.namedtuple("Site", "path first last text")


def without_comments(line):
    line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
    return re.sub(r"//.*", " ", line)


def statement_start(lines, at):
    """Debug information names the first line of a macro's use, so look back."""
    while at > 0 and lines[at - 1] and not re.search(r"[;{}:]\s*$", lines[at - 1]):
        at -= 1
    return at


def call_end(lines, at, column):
    depth = 0
    for row in range(at, min(at + 12, len(lines))):
        for char in lines[row][column if row == at else 0:]:
            depth += char == "("
            depth -= char == ")"
            if char == ")" and depth == 0:
                return row
    return at


def sites_in(root, path):
    with open(os.path.join(root, "runtime", path), encoding="utf-8") as file:
        lines = [without_comments(line.rstrip("\n")) for line in file]
    for at, line in enumerate(lines):
        if NOT_A_CALL.match(line):
            continue
        for match in ALLOCATES.finditer(line):
            before = line[:match.start()]
            name_alone = re.match(r"\w+[(<]", match.group())
            if name_alone and DECLARED.search(before) and not re.search(r"\b(return|new)\s+$",
                                                                      before):
                continue
            if (path, match.group().strip("(<.->")) in RESERVED:
                continue
            yield Site(path, statement_start(lines, at) + 1,
                       call_end(lines, at, match.start()) + 1, match.group().strip("(<.->"))
            break


def all_sites(root):
    for source in files_under(root, "runtime"):
        path = os.path.relpath(source, "runtime")
        skipped = any(path == key or path.startswith(key + os.sep) for key in EXCEPT)
        if path.endswith((".cpp", ".h")) and not path.startswith("include") and not skipped:
            yield from sites_in(root, path)


# ------------------------------------------------------------------ the record

Frame = collections.namedtuple("Frame", "function path line")


def symbolize(program, root, addresses):
    """address -> frames, innermost first; several where calls were inlined."""
    if not addresses:
        return {}
    lines = subprocess.run(
        ["llvm-symbolizer", "--obj=" + program, "--output-style=JSON", "--inlines"],
        input="\n".join(addresses), capture_output=True, text=True, check=True).stdout
    runtime = os.path.realpath(os.path.join(root, "runtime")) + os.sep
    frames = {}
    for line in lines.splitlines():
        entry = json.loads(line)
        found = []
        for symbol in entry.get("Symbol", []):
            path = os.path.normpath(symbol["FileName"])
            if path.startswith(runtime):
                found.append(Frame(symbol["FunctionName"], path[len(runtime):], symbol["Line"]))
        frames[entry["Address"]] = found
    return frames


def read_record(path, program, root):
    """[outcome, program, frames in runtime/] for each line, without repetition."""
    with open(path, encoding="utf-8") as file:
        rows = {tuple(line.split()) for line in file if line.strip()}
    known = symbolize(program, root, sorted({word for row in rows for word in row[2:]
                                             if word.startswith("0x")}))
    for row in sorted(rows):
        frames = []
        for word in row[2:]:
            if word.startswith("0x"):
                frames += known.get(word, [])
            else:
                path, _, line = word.rpartition(":")
                frames.append(Frame("", path.removeprefix("runtime/"), int(line)))
        yield row[0], row[1], frames


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("record")
    parser.add_argument("--program")
    parser.add_argument("--root", default=os.path.join(os.path.dirname(__file__), "..", ".."))
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()

    failed = collections.defaultdict(set)  # path -> lines on a stack that failed
    findings, stacks, absorbed = [], 0, collections.Counter()
    for outcome, program, frames in read_record(options.record, options.program,
                                                 options.root):
        stacks += 1
        for frame in frames:
            failed[frame.path].add(frame.line)
        inner = [f for f in frames if f.path not in ("base/Allocator.h", "host/Heap.h")]
        if outcome != "absorbed" or not inner:
            continue
        for path, function, reason in ABSORBS:
            if any(f.path == path and re.search(function, f.function) for f in inner):
                absorbed[reason] += 1
                break
        else:
            findings.append(f"runtime/{inner[0].path}:{inner[0].line}: {program} did not notice "
                            "that memory was short here, and no rule says that it need not")

    sites = list(all_sites(options.root))
    reached = 0
    for site in sites:
        hit = any(site.first <= line <= site.last for line in failed[site.path])
        reached += hit
        if options.list:
            print(f"{'failed' if hit else 'NEVER '} runtime/{site.path}:{site.last}: {site.text}")
        elif not hit:
            findings.append(f"runtime/{site.path}:{site.last}: no program of the sweep fails "
                            f"this allocation ({site.text})")
    for finding in findings:
        print(finding)
    print(f"{reached} of {len(sites)} allocation sites have failed, on {stacks} stacks; "
          f"{len(findings)} findings")
    if options.list:
        for reason, count in sorted(absorbed.items()):
            print(f"absorbed on {count} stacks: {reason}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
