#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutates the attributes of the kernels of a program, one at a time; the verifier must refuse each.

Usage: kernel_mutations.py MXC PROGRAM.mx > MUTATIONS.mlir

Takes the graphs as fusion leaves them (`--emit=mx-fused`) and writes for each kernel: each other kind, other iteration
spaces, and each input that an output must not overwrite, every one in a module of its own, with the error that
`mxc-opt --split-input-file --verify-diagnostics` must find. Twins that are legal, a kernel that lists fewer inputs, have
no error. The last line is a comment with the number of kernels, kinds and mutations.
"""
import re
import subprocess
import sys

KINDS = ["elementwise", "gather", "reduce", "rows", "matmul", "conv", "scatter", "move", "random", "routine"]
KERNEL = re.compile(r"mx\.kernel\((?P<inputs>[^)]*)\) (?P<kind>\w+) \[(?P<space>[^\]]*)\] overwrites \[(?P<lists>(?:\[[^\]]*\](?:, )?)*)\]")


def listed(lists):
    return [[int(n) for n in text.split(", ") if n] for text in re.findall(r"\[([^\]]*)\]", lists)]


def mutations(kernel):
    """(text of the attributes, the error or nothing) of each mutation of a kernel."""
    inputs = [name for name in kernel["inputs"].split(", ") if name]
    kind, space, lists = kernel["kind"], kernel["space"], listed(kernel["lists"])

    def text(kind=kind, space=space, lists=lists):
        return f"{kind} [{space}] overwrites [{', '.join(map(str, lists))}]"

    for other in KINDS:
        if other != kind:
            yield text(kind=other), f"is of the kind {other}, but its body is of the kind {kind}"
    sizes = space.split(", ") if space else []
    for other in (sizes[1:], [*sizes, "1"], [*sizes, "3"], [str(int(sizes[0]) + 1), *sizes[1:]] if sizes else ["2"], sizes[::-1]):
        if other != sizes:
            yield text(space=", ".join(other)), "does not have the iteration space of its body"
    for output, allowed in enumerate(lists):
        for number in range(len(inputs) + 1):  # the last is no input
            if number not in allowed:
                more = [*lists[:output], [*allowed, number], *lists[output + 1:]]
                yield text(lists=more), f"reads input {number} after it stored output {output}, which must not overwrite it"
        for number in allowed:
            yield text(lists=[*lists[:output], [n for n in allowed if n != number], *lists[output + 1:]]), None
    yield text(lists=[*lists, []]), f"has {len(lists)} outputs, but `overwrites` lists {len(lists) + 1}"
    if lists:
        yield text(lists=lists[1:]), f"has {len(lists)} outputs, but `overwrites` lists {len(lists) - 1}"


def main():
    mxc, program = sys.argv[1:]
    done = subprocess.run([mxc, "run", "--emit=mx-fused", program], capture_output=True, text=True, check=True)
    chunks, kinds, kernels = [], set(), 0
    for module in re.findall(r"^module.*?^}$", done.stdout, re.M | re.S):
        for kernel in KERNEL.finditer(module):
            kernels += 1
            kinds.add(kernel["kind"])
            for changed, error in mutations(kernel):
                head = f"mx.kernel({kernel['inputs']}) "
                line = module.rindex("\n", 0, kernel.start()) + 1
                expected = f"// expected-error @+1 {{{{{error}}}}}\n" if error else ""
                chunks.append(module[:line] + expected + module[line:kernel.start()] + head + changed + module[kernel.end():])
    print("\n// -----\n".join(chunks))
    print(f"// {kernels} kernels of {len(kinds)} kinds, {len(chunks)} mutations")


main()
