#!/usr/bin/env python3
"""Random programs of the mxrt dialect, and a machine that runs them on memory cell by cell.

Usage: random_programs.py make SEED COUNT        prints a module
       random_programs.py compare BEFORE AFTER   runs the programs of two modules and compares

The machine knows nothing of plans: a write fills the cells of its slice with pieces of the value, and
a read gives the value only if every cell holds the right piece. So a plan that lets buffers overlap
while they are needed changes the outputs.
"""

import random
import re
import sys

SIZES = [16, 32, 80]
KERNELS = {
    "neg": (1, "%r0 = mx.neg %a0 : (T) -> T"),
    "add": (2, "%r0 = mx.add %a0, %a1 : (T, T) -> T"),
    "sums": (1, "%s = mx.add %a0, %a0 : (T, T) -> T\n    %r0 = mx.exp %s : (T) -> T"),
}


def kernel_text(name, size):
    count, body = KERNELS[name]
    tensor = f"!mx.tensor<f32[{size}]>"
    arguments = ", ".join(f"%x{i}: {tensor}" for i in range(count))
    inner = ", ".join(f"%a{i}: {tensor}" for i in range(count))
    inputs = ", ".join(f"%x{i}" for i in range(count))
    types = ", ".join([tensor] * count)
    return (f"mxrt.kernel @{name}{size}({arguments}) {{\n"
            f"  %r = mx.kernel({inputs}) : ({types}) -> {tensor} {{\n  ^bb0({inner}):\n"
            f"    {body.replace('T', tensor)}\n    mx.yield %r0 : {tensor}\n  }}\n}}\n")


class Maker:
    def __init__(self, rng, name):
        self.rng, self.name, self.lines, self.slices = rng, name, [], []

    def buffer(self, size):
        return f"!mxrt.buffer<f32[{size}]>"

    def slice(self, size):
        self.slices.append(size)
        return f"%s{len(self.slices) - 1}"

    def op(self, known, size, into, indent):
        """One op that writes `into` from buffers that hold something."""
        have = known[size]
        if self.rng.random() < 0.3:
            source = self.rng.choice(have)
            if source != into:
                self.lines.append(f"{indent}mxrt.copy {source} to {into} : <f32[{size}]>, <f32[{size}]>")
                return
        name = self.rng.choice(list(KERNELS))
        reads = [self.rng.choice(have) for _ in range(KERNELS[name][0])]
        if into in reads:
            reads = [f"%x{size}"] * len(reads)
        kind = self.buffer(size)
        self.lines.append(f"{indent}mxrt.call @{name}{size} reads({', '.join(reads)} : "
                          f"{', '.join([kind] * len(reads))}) writes({into} : {kind})")

    def block(self, known, depth, indent):
        for _ in range(self.rng.randint(2, 7)):
            size = self.rng.choice(SIZES)
            kind = self.rng.random()
            if depth < 3 and kind < 0.12:  # a loop that carries one buffer
                carried = self.slice(size)
                self.op(known, size, carried, indent)
                self.lines.append(f"{indent}scf.for %i{len(self.lines)} = %zero to %n step %one : i64 {{")
                inner = {s: list(b) for s, b in known.items()}
                inner[size].append(carried)
                self.block(inner, depth + 1, indent + "  ")
                self.op(inner, size, carried, indent + "  ")
                self.lines.append(indent + "}")
                known[size].append(carried)
            elif depth < 3 and kind < 0.24:  # a branch with one result, perhaps only from one side
                result = self.slice(size)
                self.lines.append(f"{indent}scf.if %c {{")
                for side in range(2):
                    inner = {s: list(b) for s, b in known.items()}
                    self.block(inner, depth + 1, indent + "  ")
                    self.op(inner, size, result, indent + "  ")
                    self.lines.append(indent + ("} else {" if side == 0 else "}"))
                known[size].append(result)
            else:
                into = self.slice(size)
                self.op(known, size, into, indent)
                known[size].append(into)
                if len(known[size]) > 3 and self.rng.random() < 0.7:
                    known[size].pop(self.rng.randrange(len(known[size])))

    def text(self):
        known = {size: [f"%x{size}"] for size in SIZES}
        self.block(known, 0, "  ")
        self.block(known, 0, "  ")
        for size in SIZES:
            self.lines.append(f"  mxrt.copy {self.rng.choice(known[size])} to %y{size} : "
                              f"<f32[{size}]>, <f32[{size}]>")
        inputs = ", ".join(f"%x{s}: {self.buffer(s)}" for s in SIZES)
        outputs = ", ".join(f"%y{s}: {self.buffer(s)}" for s in SIZES)
        offset, head = 0, []
        for index, size in enumerate(self.slices):
            head.append(f"  %s{index} = mxrt.slice {offset} bytes {4 * size} : <f32[{size}]>")
            offset += (4 * size + 63) // 64 * 64
        head += ["  %zero = arith.constant 0 : i64", "  %one = arith.constant 1 : i64"]
        return (f"mxrt.program @{self.name}({inputs}, %n: i64, %c: i1) writes ({outputs}) "
                f"arenas [#mxrt.arena<\"\" {offset}>] {{\n" + "\n".join(head + self.lines) + "\n}\n")


class Machine:
    """Runs the text of one program as mxc-opt prints it."""

    def __init__(self, lines, trips, taken):
        self.lines, self.trips, self.taken = lines, trips, taken
        self.cells, self.slices, self.named = {}, {}, {}
        head = lines[0]
        names = re.findall(r"(%arg\d+): !mxrt.buffer<", head)
        for i, name in enumerate(names):
            self.named[name] = ("input", i) if i < len(SIZES) else None
        self.outputs = names[len(SIZES):]
        self.arena = int((re.search(r'arena<"" (\d+)>', head) or re.search("()", head)).group(1) or 0)

    def read(self, name):
        if name in self.named:
            return self.named[name]
        begin, end = self.slices[name]
        first = self.cells.get(begin)
        whole = first and all(self.cells.get(at) == (first[0], at - begin)
                              for at in range(begin, end, 64))
        return first[0] if whole and first[1] == 0 else "garbage"

    def write(self, name, value):
        if name in self.named:
            self.named[name] = value
            return
        begin, end = self.slices[name]
        assert end <= self.arena, "a slice ends behind its arena"
        for at in range(begin, end, 64):
            self.cells[at] = (value, at - begin)

    def run(self, at=1, end=None):
        end = len(self.lines) if end is None else end
        while at < end:
            line = self.lines[at].strip()
            if found := re.match(r"(%\S+) = mxrt.slice (\d+) bytes (\d+)", line):
                self.slices[found[1]] = (int(found[2]), int(found[2]) + int(found[3]))
            elif found := re.match(r"mxrt.copy (%\S+) to (%\S+)", line):
                self.write(found[2], self.read(found[1]))
            elif found := re.match(r"mxrt.call @(\w+) reads\(([^:]*) :[^)]*\) writes\((%\S+)", line):
                name = found[1].split("_over")[0]
                self.write(found[3], hash((name, *[self.read(r) for r in found[2].split(", ")])))
            elif line.startswith(("scf.for", "scf.if")):
                close = self.close(at)
                if line.startswith("scf.for"):
                    for _ in range(self.trips):
                        self.run(at + 1, close)
                else:
                    other = next((i for i in range(at + 1, close) if self.lines[i].strip() == "} else {"
                                  and self.depth(i) == self.depth(at)), close)
                    self.run(at + 1, other) if self.taken else self.run(other + 1, close)
                at = close
            at += 1
        return [self.named[name] for name in self.outputs]

    def depth(self, at):
        return len(self.lines[at]) - len(self.lines[at].lstrip())

    def close(self, at):
        return next(i for i in range(at + 1, len(self.lines))
                    if self.lines[i].strip() == "}" and self.depth(i) == self.depth(at))


def programs(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return {found[1]: found[0].splitlines()
            for found in re.finditer(r"mxrt.program @(\w+).*?\n  }", text, re.S)}


def compare(before, after):
    old, new = programs(before), programs(after)
    wrong = bytes_old = bytes_new = garbage = 0
    for name in old:
        for trips in (0, 1, 3):
            for taken in (False, True):
                a, b = Machine(old[name], trips, taken), Machine(new[name], trips, taken)
                x, y = a.run(), b.run()
                # What nobody wrote may differ; it is never written in one and right in the other.
                garbage += "garbage" in x
                wrong += x != y
        bytes_old += a.arena
        bytes_new += b.arena
    print(f"{len(old)} programs, {wrong} differ, {bytes_old} bytes before, {bytes_new} after")
    return wrong != 0 or garbage != 0 or len(old) != len(new)


def main():
    if sys.argv[1] == "make":
        rng = random.Random(int(sys.argv[2]))
        for name in KERNELS:
            for size in SIZES:
                print(kernel_text(name, size))
        for index in range(int(sys.argv[3])):
            print(Maker(rng, f"p{index}").text())
        return 0
    return compare(sys.argv[2], sys.argv[3])


if __name__ == "__main__":
    sys.exit(main())
