#!/usr/bin/env python3
"""Small checks of the source tree's form.

Usage: check-sources.py CHECK [ROOT]

  shell   every shell script passes `bash -n`, and shellcheck where installed
  size    no source file has more than 1,000 lines
  runs    every lit test has a RUN line
  modes   files that start with #! are executable, and only those
  links   links between Markdown files lead somewhere

In a working tree of git only the files that it tracks count.
Prints each finding as file:line or file; exits with 1 if there is any.
"""

import os
import re
import shutil
import subprocess
import sys

from tree import files_under

MAX_LINES = 1000
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
    for path in files_under(root):
        if path.endswith(SOURCES):
            with open(os.path.join(root, path), "rb") as file:
                lines = sum(1 for _ in file)
            if lines > MAX_LINES:
                yield f"{path}: {lines} lines, but {MAX_LINES} is the most: split it"


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


def check_links(root):
    for path in files_under(root):
        if not path.endswith(".md"):
            continue
        with open(os.path.join(root, path), encoding="utf-8") as file:
            fenced = False
            for number, line in enumerate(file, 1):
                fenced ^= line.startswith("```")
                # `Mlp[D](x)` in code is not a link.
                text = "" if fenced else re.sub(r"`[^`]*`", "", line)
                for link in re.findall(r"\]\(([^)#\s]+)", text):
                    target = os.path.join(root, os.path.dirname(path), link)
                    if "://" not in link and not os.path.exists(target):
                        yield f"{path}:{number}: there is no {link}"


CHECKS = {
    "shell": check_shell,
    "size": check_size,
    "runs": check_runs,
    "modes": check_modes,
    "links": check_links,
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
