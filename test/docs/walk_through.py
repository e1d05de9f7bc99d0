#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Applies the patches of walk-throughs to a copy of the sources, and builds the programs that they change.

Usage: walk_through.py SOURCE BUILD FOLDER PAGE…

A page's patches are its blocks of the kind `diff`. The lines around a change must be in the file exactly once; line
numbers are left out, so that a page lasts. The copy is FOLDER/tree, the programs are FOLDER/bin/mxc and FOLDER/bin/Tests
(LoweringTests). Compiled are the sources that a patch changes, and those that read a changed table (*.def) or define
what a changed TableGen file declares. A patch adds something at an end, so all other objects of BUILD are linked as
they are. --only-apply stops before the build.
"""
import concurrent.futures
import os
import re
import shlex
import shutil
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tools", "dev"))
from fences import blocks  # noqa: E402
from tree import files_under  # noqa: E402


def hunks(text):
    """(old lines, new lines) of each hunk."""
    for hunk in re.split(r"^@@\n", text, flags=re.M)[1:]:
        lines = hunk.splitlines()
        if bad := [line for line in lines if line[:1] not in ("", " ", "-", "+")]:
            raise SystemExit(f"not a line of a patch: {bad[0]}")
        yield [line[1:] for line in lines if line[:1] != "+"], [line[1:] for line in lines if line[:1] != "-"]


def apply(page, tree):
    """Applies the patches of a page; returns the files that they change."""
    changed = []
    for line, marks, text in blocks(page):
        if marks != ["diff"]:
            continue
        where = f"{page}:{line}"
        head = re.match(r"--- a/(\S+)\n\+\+\+ b/(\S+)\n", text)
        if not head or head[1] != head[2]:
            raise SystemExit(f"{where}: the block does not begin with --- a/FILE and +++ b/FILE")
        path = os.path.join(tree, head[1])
        with open(path, encoding="utf-8") as file:
            content = file.read()
        for old, new in hunks(text[head.end():]):
            before, after = ("".join(part + "\n" for part in lines) for lines in (old, new))
            if ("\n" + content).count("\n" + before) != 1:
                raise SystemExit(f"{where}: {head[1]} has these lines {content.count(before)} times:\n{before}")
            content = content.replace(before, after)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
        changed.append(head[1])
    if len(set(changed)) != len(changed) or not changed:
        raise SystemExit(f"{page}: a file has one block, and a walk-through has one at least")
    return changed


class Build:
    """Commands of the build, with the copy's files instead of the sources'."""

    def __init__(self, source, build, folder):
        self.source, self.build, self.folder = (os.path.realpath(path) for path in (source, build, folder))
        self.tree, self.made = os.path.join(self.folder, "tree"), os.path.join(self.folder, "made")

    def ninja(self, *arguments):
        return subprocess.run(["ninja", "-C", self.build, "--quiet", *arguments], capture_output=True, text=True, check=True).stdout

    def moved(self, text):
        """Paths of sources as paths of the copy."""
        parts = text.split(self.build)
        return self.build.join(re.sub(re.escape(self.source) + r"(?=/|\s|$)", self.tree, part) for part in parts)

    def run(self, command, cwd=None):
        done = subprocess.run(command, shell=isinstance(command, str), cwd=cwd or self.build, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{command}\n{done.stdout}{done.stderr}")

    def generate(self):
        """The tables that TableGen writes for the dialect."""
        out = os.path.join(self.made, "dialects", "mx")
        os.makedirs(out)
        self.run(["cmake", "-D", f"TABLE={self.tree}/runtime/include/mxrt/functions.def", "-D", f"FOLDER={out}",
                  "-P", f"{self.tree}/cmake/FunctionOps.cmake"])
        for command in self.ninja("-t", "commands", "dialects/mx/mxcDialectMxGenerated").splitlines():
            if "mlir-tblgen" in command:
                command = self.moved(command[command.index(" && ") + 4:] if command.startswith("cd ") else command)
                # The copy is inside of the build folder.
                command = re.sub(rf"-I {re.escape(self.build)}(?=\s)", f"-I {self.made}", command)
                command = command.replace(f"-o {self.build}/", f"-o {self.made}/")
                # Included files are looked for in the working folder first.
                self.run(command, cwd=self.made)

    def objects(self, changed):
        """Objects to compile: of changed sources, and of readers of changed tables and definitions."""
        wanted = {os.path.join(self.source, path) for path in changed if path.endswith((".cpp", ".def"))}
        if any(path.endswith((".td", ".def")) for path in changed):
            wanted |= {os.path.join(self.build, "dialects/mx", name) for name in ("MxOps.cpp.inc", "MxEnums.cpp.inc", "Functions.inc")}
        found, current = [], None
        for line in self.ninja("-t", "deps").splitlines():
            if not line.startswith(" "):
                current = line.split(":")[0]
            elif current and os.path.normpath(os.path.join(self.build, line.strip())) in wanted:
                found.append(current)
                current = None
        return [name for name in found if not name.startswith("test/") or "LoweringTests.dir" in name]

    def compile(self, name):
        """Compiles an object without optimisation; returns (name, path)."""
        command = self.ninja("-t", "commands", "-s", name).strip()
        words = shlex.split(self.moved(command))
        kept, skip = [], 0
        for i, word in enumerate(words):
            if skip:
                skip -= 1
            elif word == "-Xclang" and words[i + 1] in ("-include-pch", "-include"):
                skip = 3
            elif word == "-MF":
                skip = 1
            elif word not in ("-MD", "-O2", "-Winvalid-pch", "-MT") and words[i - 1] != "-MT":
                kept.append(word)
        out = os.path.join(self.made, name)
        os.makedirs(os.path.dirname(out), exist_ok=True)
        kept[kept.index("-o") + 1] = out
        first = next(i for i, word in enumerate(kept) if word.startswith("-I"))
        kept.insert(first, f"-I{self.made}")
        self.run(kept)
        return out

    def link(self, target, output, objects):
        """Links a program; objects of the copy come first, so that the archives' are not taken."""
        command = self.ninja("-t", "commands", "-s", target).strip()
        mine = []
        for name, path in objects.items():
            without = re.sub(rf"(?<=\s){re.escape(name)}(?=\s)", "", command)
            archive = "/lib" + re.search(r"/CMakeFiles/([^/]+)\.dir/", name)[1] + ".a"
            if without != command or archive in command:
                mine.append(shlex.quote(path))
            command = without
        mine = " ".join(mine)
        os.makedirs(os.path.dirname(output), exist_ok=True)
        command = re.sub(r"-o (\S+)", lambda match: f"-o {shlex.quote(output)} {mine}", command, count=1)
        # Commands behind the link, such as links of libraries, are the build's own.
        self.run(command)


def main():
    arguments = [word for word in sys.argv[1:] if not word.startswith("--")]
    build = Build(*arguments[:3])
    shutil.rmtree(build.folder, ignore_errors=True)
    for path in files_under(build.source):
        to = os.path.join(build.tree, path)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copy2(os.path.join(build.source, path), to)
    changed = []
    for page in arguments[3:]:
        own = apply(page, build.tree)
        changed += own
        print(f"{os.path.basename(page)}: {len(own)} files")
    if "--only-apply" in sys.argv:
        return
    build.generate()
    names = build.objects(changed)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        objects = dict(zip(names, pool.map(build.compile, names)))
    # The programs look for LLVM and the library beside their own folder.
    for name in ("lib", "share"):
        os.symlink(os.path.join(build.build, name), os.path.join(build.folder, name))
    build.link("bin/mxc", os.path.join(build.folder, "bin", "mxc"), objects)
    build.link("test/unit/LoweringTests", os.path.join(build.folder, "bin", "Tests"), objects)
    print(f"{len(objects)} objects compiled")


if __name__ == "__main__":
    main()
