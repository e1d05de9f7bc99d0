#!/usr/bin/env python3
"""Small checks of the source tree's form.

Usage: check-sources.py CHECK [ROOT]

  shell   every shell script passes `bash -n`, and shellcheck where installed
  size    no source file has more than 700 lines, 1,000 in tests; half of the C++ files have less than 200
  unique  no two C++ files of the compiler, and none of the runtime, have one name
  runs    every lit test has a RUN line
  modes   files that start with #! are executable, and only those
  links   links between Markdown files lead to files and headings that exist
  names   files that the internals and the decisions name exist
  width   prose of the documentation has at most 100 columns
  marks   only headers of the dialects spell names of attributes, such as "mx.mut"

In a working tree of git only the files that it tracks count.
Prints each finding as file:line or file; exits with 1 if there is any.
"""

import os
import re
import shutil
import subprocess
import sys

from tree import files_under

MAX_LINES, MAX_LINES_OF_TESTS, MAX_MEDIAN = 700, 1000, 200
CPP = (".c", ".cc", ".cpp", ".cu", ".h")
SOURCES = (".c", ".cc", ".cpp", ".cu", ".cuh", ".def", ".h", ".hpp", ".td", ".mx", ".py", ".sh",
           ".cmake")
LIT_SUFFIXES = (".mx", ".test", ".mlir", ".txt", ".sh")
LIT_EXCLUDED = ("Inputs", "corpus", "unit", "nightly", "CMakeLists.txt")


def first_line(root, path):
    with open(os.path.join(root, path), "rb") as file:
        return file.readline(200)


def is_shell(root, path):
    return path.endswith(".sh") or re.match(rb"#!.*\b(ba)?sh\b", first_line(root, path))


def is_lit_test(path):
    parts = path.split(os.sep)
    return parts[0] == "test" and not set(parts) & set(LIT_EXCLUDED)


def check_shell(root):
    shellcheck = shutil.which("shellcheck")
    for path in files_under(root):
        if not is_shell(root, path) or is_lit_test(path):
            continue
        commands = [["bash", "-n", path]]
        if shellcheck:
            commands.append([shellcheck, "--format=gcc", path])
        for command in commands:
            result = subprocess.run(command, cwd=root, capture_output=True, text=True)
            if result.returncode:
                yield (result.stdout + result.stderr).strip()


def check_size(root):
    sizes = []
    for path in files_under(root):
        if path.endswith(SOURCES):
            with open(os.path.join(root, path), "rb") as file:
                lines = sum(1 for _ in file)
            of_tests = path.startswith("test" + os.sep)
            most = MAX_LINES_OF_TESTS if of_tests else MAX_LINES
            if lines > most:
                yield f"{path}: {lines} lines, but {most} is the most: split it"
            if path.endswith(CPP) and not of_tests:
                sizes.append(lines)
    median = sorted(sizes)[len(sizes) // 2] if sizes else 0
    if median >= MAX_MEDIAN:
        yield f"the median of {len(sizes)} C++ files is {median} lines, but it must be below {MAX_MEDIAN}"


# Names that may repeat: a header of the same purpose in each of its folders.
REPEATED = {"Passes.h",                    # passes of a folder
            "Marks.h",                     # names of attributes of a dialect
            "Kernels.h",                   # kernels in the dialect, their lowering
            "Liveness.h", "Liveness.cpp",  # of registers, of buffers
            "main.cpp"}
SIDES = (("compiler", "dialects", "tools"), ("runtime",))


def check_unique(root):
    for side in SIDES:
        known = {}
        for top in side:
            for path in files_under(root, top):
                name = os.path.basename(path)
                if path.endswith(CPP) and name not in REPEATED and known.setdefault(name, path) != path:
                    yield f"{path}: {known[name]} has the same name"


def check_runs(root):
    for path in files_under(root, "test"):
        if not path.endswith(LIT_SUFFIXES) or not is_lit_test(path):
            continue
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            if not any("RUN:" in line for line in file):
                yield f"{path}: no RUN line, so lit cannot run it (move inputs to an Inputs folder)"


def check_modes(root):
    for path in files_under(root):
        if set(path.split(os.sep)) & {"Inputs", "corpus"}:
            continue  # texts for the tests, which may start in any way
        script = first_line(root, path).startswith(b"#!")
        executable = os.access(os.path.join(root, path), os.X_OK)
        if script and not executable:
            yield f"{path}: starts with #! but is not executable: chmod +x {path}"
        elif executable and not script:
            yield f"{path}: is executable but does not start with #!: chmod -x {path}"


def lines_of(root, path):
    """(line number, line) of a Markdown file, without its code blocks."""
    with open(os.path.join(root, path), encoding="utf-8") as file:
        fenced = False
        for number, line in enumerate(file, 1):
            fence = line.lstrip().startswith("```")
            fenced ^= fence
            if not fenced and not fence:
                yield number, line.rstrip("\n")


def markdown(root, folder=""):
    """Pages; inputs of tests may be malformed."""
    return (path for path in files_under(root, folder)
            if path.endswith(".md") and not set(path.split(os.sep)) & {"Inputs", "corpus"})


def headings(root, path):
    """The names under which the headings of a page can be linked."""
    found = set()
    for _, line in lines_of(root, path):
        if heading := re.match(r"#+ +(.*)", line):
            plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).strip().lower()
            found.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return found


def check_links(root):
    known = {}
    for path in markdown(root):
        for number, line in lines_of(root, path):
            # `Mlp[D](x)` in code is not a link.
            for link in re.findall(r"\]\(([^)\s]+)", re.sub(r"`[^`]*`", "", line)):
                if "://" in link:
                    continue
                page, _, heading = link.partition("#")
                target = os.path.normpath(os.path.join(os.path.dirname(path), page)) if page else path
                if not os.path.exists(os.path.join(root, target)):
                    yield f"{path}:{number}: {page} does not exist"
                elif heading and target.endswith(".md"):
                    if target not in known:
                        known[target] = headings(root, target)
                    if heading not in known[target]:
                        yield f"{path}:{number}: {page or 'the page'} has no heading #{heading}"


def check_names(root):
    known = {os.path.basename(path) for path in files_under(root)} | {"cuda.h"}  # of the CUDA toolkit
    for folder in ("docs/internals", "docs/decisions"):
        for path in markdown(root, folder):
            for number, line in lines_of(root, path):
                for name in re.findall(r"(?<![\w/*-])(?:[\w.-]+/)*([A-Za-z][\w-]*\.(?:cpp|h|td|def|py|mx|test|sh|ebnf))\b", line):
                    if name not in known:
                        yield f"{path}:{number}: {name} does not exist"


# Written by programs, so nobody wraps them.
GENERATED = ("docs/reference/errors.md", "docs/reference/primitives.md", "docs/reference/onnx.md", "docs/internals/dialects.md",
             "docs/benchmarks/")
MAX_COLUMNS = 100


def check_width(root):
    for path in markdown(root):
        if path.startswith(GENERATED) or os.sep in path and not path.startswith("docs/"):
            continue
        for number, line in lines_of(root, path):
            # A table row and a single long word, such as a link, cannot be wrapped.
            if len(line) > MAX_COLUMNS and not line.startswith(("|", "<!--")) and len(line.lstrip(" -*").split()) > 1:
                yield f"{path}:{number}: {len(line)} columns, but {MAX_COLUMNS} is the most for prose"


# Attributes beside those that ops declare. What an attribute function or a constant is given is one, and so is
# whatever has the name of a mark.
MARK_HEADER = re.compile(r"dialects/\w+/\w+\.h")
MARK_CONSTANT = re.compile(r'\b(?:StringLiteral|char|StringRef)\b[^;"]*\bk[A-Z]\w*(?:\[\])? = ("mxr?t?\.\w+")')
MARK_USE = re.compile(
    r'\b(?:get|set|has|remove|add|erase)(?:Arg|Discardable|Inherent|Result)?Attr(?:OfType|ibute)?(?:<[^>]*>)?'
    r'\((?:[^;"()]|\([^;"()]*\))*?("mxr?t?\.\w+")')
LITERAL = re.compile(r'"mxr?t?\.\w+"')


def check_marks(root):
    sources = [path for top in ("compiler", "dialects") for path in files_under(root, top) if path.endswith((".cpp", ".h", ".td"))]
    texts = {}
    for path in sources:
        with open(os.path.join(root, path), encoding="utf-8") as file:
            texts[path] = file.read()
    marks = {name for path, text in texts.items() if MARK_HEADER.fullmatch(path) for name in MARK_CONSTANT.findall(text)}
    for path, text in texts.items():
        if MARK_HEADER.fullmatch(path):
            continue
        found = {match.start(1) for rule in (MARK_CONSTANT, MARK_USE) for match in rule.finditer(text)}
        found |= {match.start() for match in LITERAL.finditer(text) if match[0] in marks}
        for at in sorted(found):
            name = LITERAL.match(text, at)[0]
            yield f"{path}:{text.count(chr(10), 0, at) + 1}: {name} is the name of an attribute: use its constant of dialects/*/Marks.h"


CHECKS = {
    "shell": check_shell,
    "size": check_size,
    "unique": check_unique,
    "runs": check_runs,
    "modes": check_modes,
    "links": check_links,
    "names": check_names,
    "width": check_width,
    "marks": check_marks,
}


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in CHECKS:
        sys.exit(f"usage: check-sources.py {{{','.join(CHECKS)}}} [ROOT]")
    default = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    root = os.path.normpath(sys.argv[2] if len(sys.argv) > 2 else default)
    if not os.path.isdir(root):
        sys.exit(f"check-sources.py: there is no folder {root}")
    findings = list(CHECKS[sys.argv[1]](root))
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
