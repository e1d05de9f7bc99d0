"""Random graphs for the graph passes, and a tiny interpreter to compare what they do.

  random_graphs.py make SEED COUNT   prints a module of COUNT graphs
  random_graphs.py compare A B       reads two modules (in MLIR's generic form) that came from one
                                     text, runs each graph of both, and compares results and prints

All numbers are whole, so results must be equal. Floor divisions may fail; then both must fail after
the same prints.
"""

import functools
import itertools
import operator
import random
import re
import sys

HOST = "!mx.tensor<i64[] on host>"
BOOL = "!mx.tensor<bool[]>"


def tensor(shape):
    return f"!mx.tensor<i64[{', '.join(map(str, shape))}]>"


# ------------------------------------------------------------------------------------------- making


class Maker:
    def __init__(self, rng):
        self.rng = rng
        self.lines = []
        self.count = 0

    def op(self, text, shape, depth):
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append("  " * depth + f"{name} = {text}")
        return name, shape

    def pick(self, values, fits=lambda shape: True):
        found = [v for v in values if fits(v[1])]
        return self.rng.choice(found) if found else None

    def step(self, values, must, depth):
        """Adds one op to the block; `must` takes values that have to be used."""
        rng = self.rng
        x, shape = self.pick(values)
        kind = rng.choice(["unary", "binary", "binary", "binary", "reduce", "matmul", "transpose",
                           "broadcast", "reshape", "iota", "full", "scalar", "print", "fail", "if",
                           "for", "concat"])
        if kind == "unary":
            return self.op(f"mx.{rng.choice(['neg', 'abs', 'sign'])} {x} : ({tensor(shape)}) -> "
                           f"{tensor(shape)}", shape, depth)
        if kind == "binary":
            y, other = self.pick(values, lambda s: fits(s, shape))
            name = rng.choice(["add", "sub", "maximum", "minimum", "mul"])
            return self.op(f"mx.{name} {x}, {y} : ({tensor(shape)}, {tensor(other)}) -> "
                           f"{tensor(shape)}", shape, depth)
        if kind == "scalar":
            name = rng.choice(["add", "mul", "sub"])
            number = self.op(f"mx.constant {rng.choice([0, 1, 3])} : i64 -> {HOST}", (), depth)[0]
            return self.op(f"mx.{name} {x}, {number} : ({tensor(shape)}, {HOST}) -> "
                           f"{tensor(shape)}", shape, depth)
        if kind == "reduce" and shape:
            axis, keep = rng.randrange(len(shape)), rng.random() < 0.7
            to = shape[:axis] + ((1,) if keep else ()) + shape[axis + 1:]
            return self.op(f"mx.{rng.choice(['sum', 'max'])} {x} over [{axis}]"
                           f"{' keep' if keep else ''} : {tensor(shape)} -> {tensor(to)}", to, depth)
        if kind == "matmul" and len(shape) == 2:
            found = self.pick(values, lambda s: len(s) == 2 and s[0] == shape[1])
            if found:
                to = (shape[0], found[1][1])
                return self.op(f"mx.matmul {x}, {found[0]} : ({tensor(shape)}, {tensor(found[1])})"
                               f" -> {tensor(to)}", to, depth)
        if kind == "transpose" and len(shape) == 2:
            to = shape[::-1]
            return self.op(f"mx.transpose {x} by [1, 0] : {tensor(shape)} -> {tensor(to)}", to, depth)
        if kind == "broadcast":
            to = tuple(n if n != 1 else 3 for n in shape)
            if len(to) < 2:
                to = (3,) + to
            return self.op(f"mx.broadcast {x} : {tensor(shape)} -> {tensor(to)}", to, depth)
        if kind == "reshape" and len(shape) == 2:
            to = (shape[0] * shape[1],)
            return self.op(f"mx.reshape {x} : {tensor(shape)} -> {tensor(to)}", to, depth)
        if kind == "concat" and shape:
            to = (2 * shape[0],) + shape[1:]
            return self.op(f"mx.concat {x}, {x} along 0 : ({tensor(shape)}, {tensor(shape)}) -> "
                           f"{tensor(to)}", to, depth)
        if kind == "iota":
            return self.op(f"mx.iota : {tensor((3,))}", (3,), depth)
        if kind == "full":
            number = self.op(f"mx.constant {rng.choice([0, 1, 2])} : i64 -> {HOST}", (), depth)[0]
            return self.op(f"mx.full {number} : {HOST} -> {tensor((3, 3))}", (3, 3), depth)
        if kind == "print" and rng.random() < 0.5:
            self.lines.append("  " * depth + f"mx.print {x} : {tensor(shape)}")
        if kind == "fail" and rng.random() < 0.4:
            y, other = self.pick(values, lambda s: fits(s, shape))
            value = self.op(f"mx.floordiv {x}, {y} : ({tensor(shape)}, {tensor(other)}) -> "
                            f"{tensor(shape)}", shape, depth)
            must.append(value)
            return value
        if kind == "if" and depth < 4:
            return self.make_if(values, must, depth, x, shape)
        if kind == "for" and depth < 4:
            return self.make_for(values, must, depth, x, shape)
        return None

    def block(self, values, depth, shape):
        """Ops of an inner block and the value of `shape` that uses all that must be used."""
        values, must = list(values), []
        for _ in range(self.rng.randrange(1, 6)):
            value = self.step(values, must, depth)
            if value:
                values.append(value)
        result = self.pick(values, lambda s: s == shape)
        for value in must:
            result = self.add_all(result, value, depth)
        return result

    def add_all(self, to, value, depth):
        axes = list(range(len(value[1])))
        total = self.op(f"mx.sum {value[0]} over {axes} : {tensor(value[1])} -> {tensor(())}", (), depth)
        return self.op(f"mx.add {to[0]}, {total[0]} : ({tensor(to[1])}, {tensor(())}) -> "
                       f"{tensor(to[1])}", to[1], depth)

    def make_if(self, values, must, depth, x, shape):
        axes = list(range(len(shape)))
        total = self.op(f"mx.sum {x} over {axes} : {tensor(shape)} -> {tensor(())}", (), depth)
        zero = self.op(f"mx.constant 0 : i64 -> {HOST}", (), depth)
        test = self.op(f"mx.gt {total[0]}, {zero[0]} : ({tensor(())}, {HOST}) -> {BOOL}", (), depth)
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append("  " * depth + f"{name} = mx.if {test[0]} : ({BOOL}) -> {tensor(shape)} {{")
        for last in (False, True):
            result = self.block(values, depth + 1, shape)
            self.lines.append("  " * depth + f"  mx.yield {result[0]} : {tensor(shape)}")
            self.lines.append("  " * depth + ("}" if last else "} else {"))
        must.append((name, shape))
        return name, shape

    def make_for(self, values, must, depth, x, shape):
        zero = self.op(f"mx.constant 0 : i64 -> {HOST}", (), depth)[0]
        trips = self.op(f"mx.constant {self.rng.randrange(3)} : i64 -> {HOST}", (), depth)[0]
        y, other = self.pick(values)
        self.count += 2
        name, index = f"%v{self.count}", f"%i{self.count}"
        types = f"{tensor(shape)}, {tensor(other)}"
        self.lines.append("  " * depth + f"{name}:2 = mx.for {zero} to {trips} carries ({x}, {y}) : "
                          f"({HOST}, {HOST}, {types}) -> ({types}) {{")
        self.lines.append("  " * depth + f"^bb0({index}: {HOST}, {index}a: {tensor(shape)}, "
                          f"{index}b: {tensor(other)}):")
        inner = values + [(f"{index}a", shape), (f"{index}b", other)]
        result = self.block(inner, depth + 1, shape)
        second = self.pick(inner, lambda s: s == other)
        self.lines.append("  " * depth + f"  mx.yield {result[0]}, {second[0]} : {types}")
        self.lines.append("  " * depth + "}")
        must.append((name + "#0", shape))
        return name + "#0", shape

    def graph(self, name):
        self.lines, self.count = [], 0
        shapes = [(3, 3), (3, 3), (3,), (3, 1), (1, 3), ()]
        values = [(f"%a{i}", shape) for i, shape in enumerate(shapes)]
        must = []
        for _ in range(self.rng.randrange(5, 40)):
            value = self.step(values, must, 1)
            if value:
                values.append(value)
        out = must + self.rng.sample(values, min(4, len(values)))
        header = ", ".join(f"%a{i}: {tensor(shape)}" for i, shape in enumerate(shapes))
        types = ", ".join(tensor(shape) for _, shape in out)
        names = ", ".join(value for value, _ in out)
        return "\n".join([f"mx.graph @{name}({header}) -> ({types}) {{"] + self.lines +
                         [f"  mx.return {names} : {types}", "}"])


def fits(part, whole):
    """Whether `part` broadcasts to `whole`."""
    return len(part) <= len(whole) and all(
        p in (1, w) for p, w in zip(part[::-1], whole[::-1]))


# ------------------------------------------------------------------------------------------ reading


class Op:
    def __init__(self, match):
        self.result, self.name, self.attributes = match[1], match[2], match[4] or ""
        self.operands = [o.strip() for o in match[3].split(",") if o.strip()]
        self.regions, self.types = [], ""


OP = re.compile(r'^(?:(%[\w$]+)(?::\d+)? = )?"([\w.]+)"\(([^)]*)\)(?: <\{(.*?)\}>)?(.*)$')


def read_block(lines):
    """One block, up to the line that closes its region; returns that line too."""
    arguments, ops = [], []
    for line in lines:
        line = line.strip()
        if line.startswith("^"):
            arguments = re.findall(r"(%\w+):", line)
        elif line.startswith("}"):
            return (arguments, ops), line
        elif match := OP.match(line):
            op = Op(match)
            op.types = match[5]
            while op.types.endswith("({") or op.types.endswith(", {"):
                block, op.types = read_block(lines)
                op.regions.append(block)
            ops.append(op)
    return (arguments, ops), ""


def graphs_of(path):
    with open(path) as file:
        (_, ops), _ = read_block(iter(file.read().splitlines()))
    found = {}
    for op in ops[0].regions[0][1] if ops[0].name == "builtin.module" else ops:
        found[re.search(r'sym_name = "(\w+)"', op.attributes)[1]] = op.regions[0]
    return found


# ------------------------------------------------------------------------------------------ running


class Failed(Exception):
    pass


def result_shape(op):
    last = re.findall(r"!mx\.tensor<\w+\[([\d, ]*)\]", op.types.split("->")[-1])[-1]
    return tuple(int(n) for n in last.split(",") if n.strip())


def indices(shape):
    return itertools.product(*map(range, shape))


def at(value, index):
    shape, numbers = value
    offset = 0
    for n, i in zip(shape, index[len(index) - len(shape):]):
        offset = offset * n + (0 if n == 1 else i)
    return numbers[offset]


def floordiv(x, y):
    if y == 0:
        raise Failed
    return x // y


ELEMENTWISE = {
    "mx.add": operator.add, "mx.sub": operator.sub, "mx.mul": operator.mul, "mx.neg": operator.neg,
    "mx.abs": abs, "mx.sign": lambda x: (x > 0) - (x < 0), "mx.maximum": max, "mx.minimum": min,
    "mx.gt": operator.gt, "mx.floordiv": floordiv,
}


def evaluate(op, operands):
    shape = result_shape(op)
    if op.name in ELEMENTWISE:
        function = ELEMENTWISE[op.name]
        return shape, [function(*(at(o, p) for o in operands)) for p in indices(shape)]
    if op.name == "mx.constant":
        text = re.search(r"value = (?:dense<)?(-?\w+)", op.attributes)[1]
        number = {"true": 1, "false": 0}.get(text)
        number = int(text) if number is None else number
        return shape, [number] * len(list(indices(shape)))
    if op.name in ("mx.full", "mx.broadcast"):
        return shape, [at(operands[0], p) for p in indices(shape)]
    if op.name == "mx.iota":
        return shape, list(range(shape[0]))
    if op.name == "mx.reshape":
        return shape, operands[0][1]
    if op.name == "mx.transpose":
        order = [int(n) for n in re.search(r"array<i64: ([\d, ]+)>", op.attributes)[1].split(",")]
        return shape, [at(operands[0], [p[order.index(i)] for i in range(len(order))])
                       for p in indices(shape)]
    if op.name == "mx.concat":
        return shape, operands[0][1] + operands[1][1]
    if op.name == "mx.matmul":
        inner = operands[0][0][1]
        return shape, [sum(at(operands[0], (i, k)) * at(operands[1], (k, j)) for k in range(inner))
                       for i, j in indices(shape)]
    if op.name in ("mx.sum", "mx.max"):
        text = re.search(r"axes = array<i64(?:: ([\d, ]+))?>", op.attributes)[1] or ""
        axes = [int(n) for n in text.split(",") if n.strip()]
        parts = {}
        for p in indices(operands[0][0]):
            rest = tuple(i for axis, i in enumerate(p) if axis not in axes)
            parts.setdefault(rest, []).append(at(operands[0], p))
        return shape, [(sum if op.name == "mx.sum" else max)(parts[p]) for p in sorted(parts)]
    raise SystemExit(f"cannot run {op.name}")


def run(block, values, outer, prints):
    arguments, ops = block
    names = dict(outer)
    names.update(zip(arguments, values))
    for op in ops:
        operands = [names[o] for o in op.operands]
        if op.name in ("mx.yield", "mx.return"):
            return operands
        if op.name == "mx.print":
            prints.append(operands)
            continue
        if op.name == "mx.kernel":
            results = run(op.regions[0], operands, {}, prints)
        elif op.name == "mx.if":
            results = run(op.regions[0 if operands[0][1][0] else 1], [], names, prints)
        elif op.name == "mx.for":
            results = operands[2:]
            for i in range(operands[0][1][0], operands[1][1][0]):
                results = run(op.regions[0], [((), [i])] + results, names, prints)
        else:
            results = [evaluate(op, operands)]
        if op.result:
            names.update({op.result: results[0]} if results else {})
            names.update({f"{op.result}#{i}": value for i, value in enumerate(results)})
    return []


def outcome(block):
    values = []
    for i, shape in enumerate([(3, 3), (3, 3), (3,), (3, 1), (1, 3), ()]):
        count = functools.reduce(operator.mul, shape, 1)
        values.append((shape, [(j * 5 + i * 3) % 7 - 2 for j in range(count)]))
    prints = []
    try:
        return prints, run(block, values, {}, prints)
    except Failed:
        return prints, "failed"


def main():
    if sys.argv[1] == "make":
        rng = random.Random(int(sys.argv[2]))
        for i in range(int(sys.argv[3])):
            print(Maker(rng).graph(f"g{i}"))
        return
    before, after = graphs_of(sys.argv[2]), graphs_of(sys.argv[3])
    different = [name for name in before if outcome(before[name]) != outcome(after[name])]
    failed = sum(outcome(graph)[1] == "failed" for graph in before.values())
    print(f"{len(before)} graphs, {failed} of them fail, {len(different)} differ {different}")
    sys.exit(bool(different) or len(before) != len(after))


main()
