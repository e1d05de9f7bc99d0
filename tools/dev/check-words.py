#!/usr/bin/env python3
"""Keeps retired words out of the tree: where the field has a word, that word is used.

Usage: check-words.py [ROOT]            lists every retired word without an exception; exits with 1 if there is one
       check-words.py [ROOT] --counts   prints the counts: folder, word, lines
       check-words.py [ROOT] --find W   prints all lines that hold a retired word, as file:line

Looks at texts, at identifiers (turnCount and turn_count hold the word "turn") and at names of files. A legitimate
sense of a word is part of its rule here, if a pattern can tell; otherwise retired-words.txt lists a file with the
reason. An exception that nothing needs any more is an error, so the list only shrinks.
"""

import fnmatch
import os
import re
import sys
from collections import Counter

from tree import files_under

# Words that end a comparison: "is no longer", "is no larger than".
COMPARED = r"longer|more|less|fewer|other|better|worse|bigger|larger|smaller|slower|faster|different|wider|further|later|help"

# word: (retired, legitimate senses that are removed first, what to write instead)
RULES = {
    "place": (
        r"\bplaces?\b",
        # Idioms; the verb, which is the field's own word for the placement of ops on devices; digits of a number.
        r"\bin[ -]place\b|\b(takes?|taking|taken|took) place\b|\bin the first place\b|\bto place\b|\bplace (loop|branches|make|tensor op)\b"
        r"|\b(decimal|binary) places?\b|\bplace ?holder",
        "location (source), placement or device, index or region, position, destination, lvalue"),
    "product": (
        r"\bproducts?\b",
        # Products that are no matmuls, and "matrix product", which is prose for one.
        r"\b(inner|dot|outer|cross|tensor|Kronecker|Cartesian|cumulative|running|matrix|two|scalar|exact|truncated) products?\b"
        r"|\b(Jacobian[- ]vector|vector[- ]Jacobian|Hessian[- ]vector) products?\b"
        r"|\bproducts? of (the |all |these |its |some |two |several |many |neighbouring |\w+ed )*"
        r"(sizes|numbers|elements|factors|dims|dimensions|axes|integers|constants|probabilities|scalars|values|trip counts)\b"
        r"|\bproduct (over|along|of all)\b",
        "matmul, GEMM, matrix product"),
    "turn": (
        r"\bturns?\b",
        # "in turn", "by turns", and the verb with its object or particle.
        r"\b(in|by) turns?\b|\bturn(s|ed|ing)? (in)?to\b"
        r"|\bturns? (off|on|out|into|it|them|this|that|a|an|the|all|every|each|one|some|-0\.0|text|its|SIMD|what)\b",
        "iteration"),
    "stretch": (
        r"\bstretch(es|ed|ing)?\b", r"(?<=: )stretch\b",  # a value of a CSS property
        "K-block (matmul), broadcast (shape), segment (device)"),
    "made again": (r"\b(made|making|make|makes) ((it|them|values) )?again\b", "", "rematerialised, recomputed"),
    "again": (r"\brelease[- ]again\b", "", "drop-remat-barriers"),
    "lines": (r"\blines? of (an image|images|channels|zeros)\b|\bimage lines?\b|\bpanels? of lines\b", "", "rows"),
    "copied": (r"\bcopied (rows|columns|panels)\b", "", "packed rows, packed columns"),
    "holes": (r"\bholes?\b", "", "lhs_dilation (convolution), inferred size (reshape), gap"),
    "draws": (
        r"\b(random|seeded|these|those|all|of|no|more|\d+) draws?\b"
        r"|\bdraws (floats?|integers?|bools?|numbers?|seeds?|random|from|with(out)?|at random|the same|in)\b", "", "samples, random ops"),
    "side by side": (r"\bside by side\b", "", "interleaved, unrolled, in parallel"),
    "crossing": (r"\bcrossings?\b", "", "tiled transpose"),
    "lies together": (r"\blies? together\b", "", "contiguous, innermost dimension"),
    "workshop": (r"\bworkshops?\b", "", "object compiler"),
    "imitated": (r"\bimitat(e|es|ed|ing|ions?)\b", "", "emulated"),
    "in thought": (r"\bin thought\b", "", "simulates"),
    "who": (
        r"\bwho (waits?|works?|worked|reads?|calls?|asks?|writes?|uses?|is|has|wants?|links?|holds?|owns?|needs?)\b"
        r"|\bwhoever\b",
        # A relative clause about people.
        r"\b(people|person|reader|readers|user|users|someone|somebody|anyone|everybody|those) who\b",
        "the noun: the waiting thread, the caller"),
    "is no": (r"\b(is|are|was|were) no\b", rf"\bthere (is|are|was|were) no\b|\b(is|are|was|were) there no\b|\b(is|are|was|were) no ({COMPARED})\b", "is not a"),
    "least, most": (r"\bthe (least|most)\b(?= (of|that|elements|bytes|time))", "", "min, max, smallest, largest"),
}
PATTERNS = {word: (re.compile(rule[0], re.I), re.compile(rule[1], re.I) if rule[1] else None) for word, rule in RULES.items()}
# Identifiers alone: "most of the time" is English, mostBytes, kMostBytes and a variable `most` are not.
TYPES = r"int|unsigned|double|float|auto|size_t|u?int\d+_t"
IN_IDENTIFIERS = {"least": (re.compile(rf"\b(k(Least|Most)|least|most)[A-Z]\w*|\b({TYPES}) [&*]?(least|most)\b"), "kMin…, kMax…, min…, max…")}
WORDS = {word: rule[2] for word, rule in RULES.items()} | {word: rule[1] for word, rule in IN_IDENTIFIERS.items()}
FOLDERS = ("compiler", "runtime", "dialects", "tools", "stdlib", "docs", "cmake", "examples")
NAMES_ONLY = ("test",)
TEXTS = (".cpp", ".h", ".hpp", ".td", ".def", ".mx", ".md", ".py", ".sh", ".c", ".S", ".inc", ".cmake", ".map", ".txt")
# Generated from the texts of the compiler, or about the words themselves.
SKIPPED = ("docs/reference/errors.md", "docs/reference/primitives.md", "tools/dev/check-words.py", "tools/dev/retired-words.txt",
           # Spellings that are accepted with a note.
           "tools/mxc-bench/OldNames.h", "tools/mxc-bench/matrix/old_names.py")
IDENTIFIER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
EXCEPTIONS = os.path.join("tools", "dev", "retired-words.txt")


def folder_of(path):
    parts = path.split(os.sep)
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def words_of(line):
    """The line with its identifiers split into words: turnCount and turn_count become "turn Count" and "turn count"."""
    return IDENTIFIER.sub(" ", line.replace("_", " "))


def retired_in(line, words):
    text = words_of(line)
    for word in words:
        if word not in PATTERNS:
            continue
        pattern, fine = PATTERNS[word]
        if pattern.search(fine.sub(" ", text) if fine else text):
            yield word
    for word, (pattern, _) in IN_IDENTIFIERS.items():
        if word in words and pattern.search(line):
            yield word


def lines_with(root, words):
    for top in FOLDERS + NAMES_ONLY:
        for path in files_under(root, top):
            if path in SKIPPED:
                continue
            for word in retired_in(os.path.basename(path), words):
                yield word, path, 0, os.path.basename(path)
            if not path.endswith(TEXTS) or top in NAMES_ONLY:
                continue
            with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
                for number, line in enumerate(file, 1):
                    for word in retired_in(line, words):
                        yield word, path, number, line.strip()


def read_exceptions(path):
    """(word, file pattern): the line of the list."""
    known = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip() and not line.startswith("#"):
                fields = line.rstrip("\n").split("\t")
                if len(fields) != 3 or fields[0] not in WORDS or not fields[2]:
                    sys.exit(f"{EXCEPTIONS}:{number}: not of the form word <tab> file pattern <tab> reason")
                known[fields[0], fields[1]] = number
    return known


def main():
    arguments = sys.argv[1:]
    find = arguments[arguments.index("--find") + 1] if "--find" in arguments else None
    if find is not None and find not in WORDS:
        sys.exit(f"check-words.py: `{find}` is not one of {', '.join(WORDS)}")
    roots = [a for a in arguments if not a.startswith("--") and a != find]
    root = roots[0] if roots else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    found = list(lines_with(root, [find] if find else list(WORDS)))
    if find:
        for _, path, number, line in found:
            print(f"{path}:{number}: {line}")
        return 0
    if "--counts" in arguments:
        for (folder, word), count in sorted(Counter((folder_of(path), word) for word, path, _, _ in found).items()):
            print(f"{folder}\t{word}\t{count}")
        return 0
    exceptions = read_exceptions(os.path.join(root, EXCEPTIONS))
    used, wrong = set(), 0
    for word, path, number, line in found:
        allowed = [key for key in exceptions if key[0] == word and fnmatch.fnmatch(path, key[1])]
        used.update(allowed)
        if not allowed:
            wrong += 1
            print(f"{path}:{number}: `{word}`: {line}\n    write {WORDS[word]}")
    unused = [key for key in exceptions if key not in used]
    for word, path in unused:
        print(f"{EXCEPTIONS}:{exceptions[word, path]}: nothing in {path} needs the exception for `{word}`")
    print(f"{wrong} lines with retired words, {len(found) - wrong} under an exception, {len(unused)} exceptions that nothing needs")
    return 1 if wrong or unused else 0


if __name__ == "__main__":
    sys.exit(main())
