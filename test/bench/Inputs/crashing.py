# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes journals as compare.py does and dies where the peer `bad` is tried, in row b, and where row c is timed."""
import argparse
import json
import os
import signal

parser = argparse.ArgumentParser()
for name in ("threads", "journal", "rows", "row-seconds"):
    parser.add_argument("--" + name)
for name in ("done", "without"):
    parser.add_argument("--" + name, action="append", default=[])
given = parser.parse_args()
journal = open(given.journal, "a")


def write(**line):
    print(json.dumps(line), file=journal, flush=True)


write(versions={"bad": "1"}, missing={})
for row in "abcd":
    if row in given.done:
        continue
    for peer in ("mx", "bad", "interleaved blocks"):
        if f"{row}={peer}" in given.without:
            continue
        write(trying=row, group="rows", peer=peer)
        if (row, peer) in (("b", "bad"), ("c", "interleaved blocks")):
            os.kill(os.getpid(), signal.SIGKILL)
    write(result={"group": "rows", "row": row, "threads": 1, "mx": 1.0, "unit": "us", "notes": {}})
