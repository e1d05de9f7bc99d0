# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cells of mx in notebooks and IPython: `%load_ext mx`, then

    %%mx
    graph fn half(x: f32[N]) -> f32[N] { x / 2.0 }

The functions and models of a cell become names of the notebook, and what it prints appears below
it. `%%mx NAME` binds the program itself to NAME instead. Each cell is a program of its own.
"""

import sys

import mx


def _cell(shell):
    def run(line, cell):
        target = line.strip()
        if target and not target.isidentifier():
            raise ValueError(f"%%mx takes one name, not `{target}`")
        try:
            program = mx.compile(cell, target or "cell")
        except mx.Error as error:  # the diagnostic says it all: no traceback of Python around it
            print(error, file=sys.stderr)
            return
        shell.push({target: program} if target else {name: getattr(program, name) for name in program.functions})

    return run


def register(shell):
    shell.register_magic_function(_cell(shell), "cell", "mx")
