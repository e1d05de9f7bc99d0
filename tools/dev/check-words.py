#!/usr/bin/env python3
"""Keeps retired words out of new text: where the field has a word, that word is used.

Usage: check-words.py [ROOT]            compares the counts with retired-words.txt; exits with 1 if one rose
       check-words.py [ROOT] --counts   prints the counts: folder, word, lines
       check-words.py [ROOT] --find W   prints the lines that hold a retired word, as file:line
       check-words.py [ROOT] --update   writes the counts down, after words were replaced

retired-words.txt holds how many lines of each folder still have a word. It may only shrink: a line that is
added there needs a reason in its commit.
"""

import os
import re
import sys
from collections import Counter

from tree import files_under

# word: (what is looked for, what to write instead)
RETIRED = {
    "place": (r"\bplaces?\b", "location (source), placement or device, index or region, position, destination, lvalue"),
    "product": (r"\bproducts?\b", "matmul, GEMM, matrix product"),
    "turn": (r"\b(?<!in )turns?\b", "iteration"),
    "stretch": (r"\bstretch(es|ed)?\b", "K-block (matmul), broadcast (shape), segment (device)"),
    "made again": (r"\bmade again\b", "rematerialised, recomputed"),
    "lines": (r"\blines? of (an image|images|channels|zeros)\b", "rows"),
    "draws": (r"\bdraws\b", "samples, random ops"),
    "side by side": (r"\bside by side\b", "interleaved, unrolled, in parallel"),
    "crossing": (r"\bcrossing\b", "tiled transpose"),
    "lies together": (r"\blies? together\b", "contiguous, innermost dimension"),
    "who": (r"\bwho (waits?|works?|worked|reads?|calls?|asks?|writes?|uses?|is|has|wants?)\b", "the noun: the waiting thread, the caller"),
    "is no": (r"(?<!\bthere )\b(is|are) no (?!longer\b)", "is not a"),
    "least, most": (r"\bthe (least|most)\b(?= (of|that|elements|bytes|time))", "min, max, smallest, largest"),
    "in thought": (r"\bin thought\b", "simulates"),
}
# Idioms with another meaning.
FINE = re.compile(r"\bin[ -]place\b|\btake[sn]? place\b|\bin the first place\b|\bplaceholder|\binner products?\b|\bdot products?\b|"
                  r"\bouter products?\b|\bin turns?\b|\bby turns\b|\breturn", re.I)
FOLDERS = ("compiler", "runtime", "dialects", "tools", "stdlib", "docs")
TEXTS = (".cpp", ".h", ".hpp", ".td", ".def", ".mx", ".md", ".py", ".sh")
# Generated from the texts of the compiler, or about the words themselves.
SKIPPED = ("docs/reference/errors.md", "docs/reference/primitives.md", "tools/dev/check-words.py",
           "tools/mxc-bench/OldNames.h", "tools/mxc-bench/matrix/old_names.py")


def folder_of(path):
    parts = path.split(os.sep)
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def lines_with(root, patterns):
    for top in FOLDERS:
        for path in files_under(root, top):
            if not path.endswith(TEXTS) or path in SKIPPED:
                continue
            with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
                for number, line in enumerate(file, 1):
                    plain = FINE.sub("", line)
                    for word, pattern in patterns.items():
                        if pattern.search(plain):
                            yield word, path, number, line.strip()


def read_baseline(path):
    known = Counter()
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                folder, word, count = line.rstrip("\n").split("\t")
                known[folder, word] = int(count)
    return known


def main():
    arguments = sys.argv[1:]
    find = arguments[arguments.index("--find") + 1] if "--find" in arguments else None
    options = {a for a in arguments if a.startswith("--")}
    roots = [a for a in arguments if not a.startswith("--") and a != find]
    root = roots[0] if roots else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    patterns = {word: re.compile(rule[0], re.I) for word, rule in RETIRED.items() if find in (None, word)}
    found = list(lines_with(root, patterns))
    if find:
        for _, path, number, line in found:
            print(f"{path}:{number}: {line}")
        return 0
    counts = Counter((folder_of(path), word) for word, path, _, _ in found)
    rows = "".join(f"{folder}\t{word}\t{count}\n" for (folder, word), count in sorted(counts.items()))
    baseline = os.path.join(root, "tools", "dev", "retired-words.txt")
    if "--counts" in options:
        print(rows, end="")
        return 0
    if "--update" in options:
        with open(baseline, "w", encoding="utf-8") as file:
            file.write("# Lines with retired words, by folder: see check-words.py. Written with --update; counts only shrink.\n" + rows)
        return 0
    known = read_baseline(baseline)
    rose = [key for key in sorted(counts) if counts[key] > known[key]]
    for folder, word in rose:
        print(f"{folder}: {counts[folder, word]} lines with `{word}`, there were {known[folder, word]}; write {RETIRED[word][1]}")
        print(f"    tools/dev/check-words.py --find '{word}' lists them")
    print(f"{sum(counts.values())} lines with retired words, {len(rose)} counts rose")
    return 1 if rose else 0


if __name__ == "__main__":
    sys.exit(main())
