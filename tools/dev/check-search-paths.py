#!/usr/bin/env python3
"""Checks where the programs and libraries of a folder look for shared libraries.

    check-search-paths.py FOLDER...

An entry of RPATH or RUNPATH must be absolute or start with $ORIGIN. The loader takes an empty or a
relative one from the current folder, and runs whatever library somebody left there. A name that is
linked (NEEDED) must have no slash for the same reason. Prints each entry that breaks the rule, and
how many files were read; the exit code is 1 if an entry does.
"""

import os
import struct
import sys

SHT_DYNAMIC, SHT_STRTAB = 6, 3
DT_NULL, DT_NEEDED, DT_RPATH, DT_RUNPATH = 0, 1, 15, 29
NAMES = {DT_NEEDED: "NEEDED", DT_RPATH: "RPATH", DT_RUNPATH: "RUNPATH"}


def dynamic_strings(data):
    """(tag, text) of each search path and each linked name of a 64-bit little-endian ELF file."""
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * size) for i in range(count)]
    for _, kind, _, _, offset, length, link, *_ in sections:
        if kind != SHT_DYNAMIC:
            continue
        strings = sections[link][4]
        for at in range(offset, offset + length, 16):
            tag, value = struct.unpack_from("<qQ", data, at)
            if tag == DT_NULL:
                break
            if tag in NAMES:
                end = data.index(b"\0", strings + value)
                yield tag, data[strings + value : end].decode(errors="replace")


def elf_files(folders):
    for folder in folders:
        for parent, subfolders, names in os.walk(folder):
            subfolders.sort()
            for name in sorted(names):
                path = os.path.join(parent, name)
                if os.path.islink(path) or not os.path.isfile(path):
                    continue
                with open(path, "rb") as file:
                    if file.read(6) == b"\x7fELF\x02\x01":
                        yield path


def wrong_entries(path):
    with open(path, "rb") as file:
        data = file.read()
    for tag, text in dynamic_strings(data):
        if tag == DT_NEEDED:
            if "/" in text and not text.startswith("/"):
                yield f"{NAMES[tag]} has the relative name '{text}'"
            continue
        for entry in text.split(":"):
            if not entry:
                yield f"{NAMES[tag]} has an empty entry: '{text}'"
                break
            if not (entry.startswith("/") or entry == "$ORIGIN" or entry.startswith("$ORIGIN/")):
                yield f"{NAMES[tag]} has the relative entry '{entry}'"


def main(folders):
    files = wrong = 0
    for path in elf_files(folders):
        files += 1
        for text in wrong_entries(path):
            wrong += 1
            print(f"{path}: {text}")
    print(f"{files} files, {wrong} wrong entries")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
