#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and runs the C and C++ programs of Markdown files against libmxc.

    check-doc-hosts.py BUILD FILE.md…

    ```mx file=NAME       is written to that file, where the programs find it
    ```cpp run, ```c run  is a whole program; a block marked ```text behind it is what it prints
    ```c after=HEADER     is declarations that fit behind this header of the runtime

Other blocks are left alone. Warnings are errors.
"""
import os
import subprocess
import sys
import tempfile

from fences import blocks

HERE = os.path.dirname(os.path.abspath(__file__))
COMPILERS = {"cpp": ["c++", "-std=c++20"], "c": ["cc", "-std=c11"]}


def compile_program(build, language, text, folder, number):
    """Starts the compiler; returns it and the program it makes."""
    source = os.path.join(folder, f"host{number}.{language}")
    program = os.path.join(folder, f"host{number}")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    library = os.path.join(build, "lib")
    command = COMPILERS[language] + [
        "-Wall", "-Wextra", "-Werror", f"-I{HERE}/../../compiler/include", source, "-o", program,
        f"-L{library}", "-lmxc", f"-Wl,-rpath,{library}",
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True), program


def fits(language, text, header):
    """What the compiler says of declarations behind a header, nothing if it accepts them."""
    command = [*COMPILERS[language], "-Wall", "-Werror", "-fsyntax-only", "-x", {"cpp": "c++"}.get(language, language),
               f"-I{HERE}/../../runtime/include", "-include", header, "-"]
    return subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def main():
    build, paths = os.path.abspath(sys.argv[1]), sys.argv[2:]
    checked = wrong = 0
    for path in paths:
        found = list(blocks(path))
        with tempfile.TemporaryDirectory() as folder:
            programs = []
            for index, (line, marks, text) in enumerate(found):
                for mark in marks[1:]:
                    if mark.startswith("file="):
                        with open(os.path.join(folder, mark[5:]), "w", encoding="utf-8") as file:
                            file.write(text)
                    elif mark.startswith("after="):
                        checked += 1
                        messages = fits(marks[0], text, mark[6:])
                        if messages:
                            wrong += 1
                            print(f"{path}:{line}: does not fit behind {mark[6:]}\n{messages}")
                if marks and marks[0] in COMPILERS and "run" in marks:
                    shown = found[index + 1][2] if found[index + 1:] and found[index + 1][1] == ["text"] else ""
                    programs.append((line, shown, *compile_program(build, marks[0], text, folder, index)))
            for line, shown, compiler, program in programs:
                checked += 1
                messages, _ = compiler.communicate()
                if compiler.returncode != 0:
                    wrong += 1
                    print(f"{path}:{line}: does not compile\n{messages}")
                    continue
                environment = dict(os.environ, MX_CACHE_DIR=os.path.join(folder, "cache"))
                run = subprocess.run([program], cwd=folder, capture_output=True, text=True, check=False,
                                     env=environment)
                if run.returncode != 0 or run.stderr or run.stdout != shown:
                    wrong += 1
                    print(f"{path}:{line}: ends with {run.returncode} and prints\n{run.stdout}{run.stderr}"
                          f"instead of\n{shown}")
    print(f"{checked} programs checked, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
