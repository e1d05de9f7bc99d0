#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dry run of the commands of pages that install, build or measure: the blocks marked ```sh, ```cmake and ```python.

Usage: dry-run.py BUILD [--root ROOT] PAGE…

Each command of a ```sh block is run with the option that stops it before the expensive part (`--dry-run`, `--list`,
`-n`, one case instead of hundreds), so the program, its options, presets, targets, files and filters must exist.
`build/<preset>/…` is a file of BUILD. A file named in capitals, such as FILE.json, is any of that folder and ending.
Of a ```cmake block every function, keyword and target must exist, and a ```python block must be Python. Prints what is
wrong; exits with 1 if there is any.
"""
import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tools", "dev"))
from fences import blocks  # noqa: E402


class Wrong(Exception):
    pass


def commands(text):
    """(line in the block, variables, words) of each command. Variables set on a line of their own stay set."""
    variables = {}
    for at, line in enumerate(text.split("\n")):
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.wordchars += "$=.:^+,%{}@"
        words, command = list(lexer), []
        for word in [*words, "&&"]:
            if word == "&&":
                if command:
                    yield at, *split(command, variables)
                command = []
            elif re.fullmatch(r"[();<>|&]+", word):
                raise Wrong(f"`{line}` has `{word}`: only `&&` joins commands that are not run")
            else:
                command.append(word)


def split(command, variables):
    def expanded(word):
        return re.sub(r"\$(\w+)", lambda m: variables.get(m[1], m[0]), word)
    own = {}
    while command and re.match(r"\w+=", command[0]):
        name, _, value = command.pop(0).partition("=")
        own[name] = expanded(value)
    if not command:
        variables.update(own)
    return own, [expanded(word) for word in command]


class DryRun:
    def __init__(self, root, build):
        self.root, self.build = os.path.abspath(root), os.path.abspath(build)
        self.scratch = tempfile.TemporaryDirectory()
        self.known_targets = None

    def file(self, word):
        """A path as a command of the page means it, here."""
        word = re.sub(r"^build/(\w+)(?=/|$)", self.preset_folder, word)
        word = re.sub(r"^/tmp(?=/)", self.scratch.name, word)
        folder, name = os.path.split(word)
        if re.fullmatch(r"[A-Z]+\.\w+", name):
            known = [f for f in sorted(os.listdir(os.path.join(self.root, folder))) if f.endswith(os.path.splitext(name)[1])]
            if not known:
                raise Wrong(f"no file could be `{word}`")
            word = os.path.join(folder, known[-1])
        return word

    def preset_folder(self, match):
        self.preset(match[1])
        return self.build

    def preset(self, name):
        if f"\"{name}\"" not in self.output(["cmake", "--list-presets"]):
            raise Wrong(f"there is no preset `{name}`")

    def output(self, words, **more):
        done = subprocess.run(words, cwd=self.root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", **more)
        if done.returncode:
            raise Wrong(f"{' '.join(words)}\nends with {done.returncode} and prints\n{done.stdout}")
        return done.stdout

    def targets(self):
        if self.known_targets is None:
            listed = self.output(["ninja", "-C", self.build, "-t", "targets", "all"])
            self.known_targets = set(re.findall(r"^(\S+): ", listed, re.M))
        return self.known_targets

    # How a program is run without its work. Each returns the words to run, or none.

    def apt(self, words):
        if words[:1] != ["install"]:
            raise Wrong(f"only `apt install`, not `apt {' '.join(words)}`")
        with open(os.path.join(self.root, "tools", "dev", "packages.txt")) as file:
            listed = re.sub("#.*", "", file.read()).split()
        for word in words[1:]:
            if word not in listed:
                raise Wrong(f"tools/dev/packages.txt does not list `{word}`")

    def cmake(self, words):
        parser = argparse.ArgumentParser(exit_on_error=False, add_help=False)
        for option in ("--preset", "--target", "--prefix"):
            parser.add_argument(option)
        parser.add_argument("--build", nargs="?", const="")
        parser.add_argument("--install")
        given = parser.parse_args(words)
        if given.preset is not None:
            self.preset(given.preset)
        if given.install is not None:  # an install without components
            return ["cmake", "--install", given.install, "--prefix", self.scratch.name, "--component", "none"]
        if given.target and given.target not in self.targets():
            raise Wrong(f"there is no target `{given.target}`")
        return ["cmake", "--build", given.build, "--", "-n"] if given.build else None

    def unit_tests(self, program, words):
        listed = self.output([program, *words, "--gtest_list_tests"])
        if not re.search(r"^  \S", listed, re.M):
            raise Wrong(f"{os.path.basename(program)} {' '.join(words)} runs no test")

    def stopped(self, program, words):
        """What to run instead of a program of the repository."""
        name = os.path.relpath(program, self.root)
        if name == "tools/dev/run":  # what follows the file is for the program
            return [program, "--dry-run", *words]
        for pattern, last in ((r"tools/dev/(test|docs|coverage)", ["--dry-run"]),
                              (r"tools/dev/(setup|nightly)", ["--list"]),
                              (r"tools/mxc-bench/matrix/run", ["--dry-run"]),
                              (r"tools/mxc-bench/matrix/page", ["--check"]),
                              (r"test/(random/random_graphs|fuzz/programs/random_programs)\.py", ["--count", "1"]),
                              (r"test/random/mistakes\.py", ["times-zero"]),
                              (r"test/conv/sweep\.py", ["--count", "1"])):
            if re.fullmatch(pattern, name):
                return [program, *words, *last]
        if re.fullmatch(r"\w+Tests", os.path.basename(program)):
            return self.unit_tests(program, words)
        if re.fullmatch(r"fuzz-\w+", os.path.basename(program)):
            os.makedirs(os.path.join(self.scratch.name, "lexer"), exist_ok=True)
            return [program, *words, "-runs=0"]
        raise Wrong(f"dry-run.py does not know how to stop `{name}`: mark the block ```sh run, or add it")

    def command(self, variables, words):
        environment = dict(os.environ)
        for name, value in variables.items():
            value = environment[name] = self.file(value)
            if "/" in value and not os.path.exists(os.path.join(self.root, value)):
                raise Wrong(f"{name}: there is no `{value}`")
            if words and not self.mentioned(name):
                raise Wrong(f"no source reads the variable `{name}`")
        if not words:
            return
        program, *rest = map(self.file, words)
        if program in ("apt", "cmake"):
            instead = getattr(self, program)(rest)
        else:
            path = os.path.join(self.root, program)
            if not os.access(path, os.X_OK) or os.path.isdir(path):
                raise Wrong(f"there is no program `{program}`")
            instead = self.stopped(path, rest)
        if instead:
            self.output(instead, env=environment)

    def mentioned(self, name):
        """Whether a source names the environment variable. The system's own begin with a word that is known here."""
        if name in ("LD_LIBRARY_PATH", "PATH", "HOME"):
            return True
        done = subprocess.run(["grep", "-rqw", f'"{name}"', *(os.path.join(self.root, top) for top in ("compiler", "runtime", "test", "tools"))])
        return done.returncode == 0

    # CMake

    def check_cmake(self, text):
        sources = [os.path.join(folder, name) for folder, _, names in os.walk(os.path.join(self.root, "cmake")) for name in names]
        functions = {}
        for path in sources:
            with open(path) as file:
                for name, body in re.findall(r"(?ms)^function\((\w+)(.*?)^endfunction", file.read()):
                    keywords = re.search(r'cmake_parse_arguments\(\w+ "([^"]*)" "([^"]*)" "([^"]*)"', body)
                    functions[name] = set(";".join(keywords.groups()).split(";")) if keywords else set()
        for name, arguments in re.findall(r"^(\w+)\(([^)]*)\)", text, re.M):
            words = arguments.split()
            if name not in functions:
                self.builtin(f"{name}({arguments})", name)
                continue
            for word in words:
                if re.fullmatch(r"[A-Z]{3,}", word) and word not in functions[name]:
                    raise Wrong(f"{name} has no keyword `{word}`")
            for word in words[words.index("DEPENDS") + 1:] if "DEPENDS" in words else []:
                if word not in self.targets():
                    raise Wrong(f"{name}: there is no target `{word}`")

    def builtin(self, line, name):
        """A command of CMake's own stands as it is in the project of examples/embed, which a test builds."""
        with open(os.path.join(self.root, "examples", "embed", "CMakeLists.txt")) as file:
            example = re.sub(r"\s+", " ", re.sub(r"example-embed\b", "host", file.read()))
        if re.sub(r"\s+", " ", line) not in example:
            raise Wrong(f"examples/embed/CMakeLists.txt has no `{line}`")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--root", default=ROOT)
    parser.add_argument("pages", nargs="+")
    given = parser.parse_args()
    run = DryRun(given.root, given.build)
    checked = wrong = 0
    for page in given.pages:
        for line, marks, text in blocks(page):
            try:
                at = 0
                if marks == ["cmake"]:
                    checked += 1
                    run.check_cmake(text)
                elif marks == ["python"]:
                    checked += 1
                    compile(text, page, "exec")
                elif marks == ["sh"]:
                    for at, variables, words in commands(text):
                        checked += 1
                        try:
                            run.command(variables, words)
                        except (Wrong, argparse.ArgumentError) as problem:
                            wrong += 1
                            print(f"{page}:{line + at}: {problem}")
            except (Wrong, SyntaxError) as problem:
                wrong += 1
                print(f"{page}:{line + at}: {problem}")
    print(f"{checked} commands, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
