"""Makes random programs: typed by construction, and evaluated while they grow.

Every statement is evaluated on reference values as soon as it is made. What cannot be predicted (see
bounds.py) is dropped and something else is tried, so a finished program has one right answer.
"""

import random

import numpy as np

from bounds import FLOATS, INTS, NP, Unclear, Value
from program import If, Let, Loop, Program, every_statement, is_index, run
from registry import OPS

ELEMS = ["f32"] * 6 + ["f64"] * 2 + ["f16"] + ["i32"] * 2 + ["i64", "i8", "u8", "bool"]
SIZES = [1, 2, 3, 3, 4, 5, 7]
PRINTED = 72  # elements of an output
# Ops that are often undone, or done again on their own result.
AGAIN = ("cast", "transpose", "T", "neg", "not", "bit_not", "reshape", "slice", "flip", "update", "concat")


# Few programs have convolutions, since these take long to compile; some of the ops of these are.
CONVOLVING, CONVOLUTIONS = 32, 12.0


class Generator:
    def __init__(self, seed, convolves=None):
        self.rng = random.Random(seed)
        self.convolves = seed % CONVOLVING == 3 if convolves is None else convolves
        self.weights = [CONVOLUTIONS if self.convolves and o.name == "convolution" else o.weight for o in OPS.values()]
        self.numbers = np.random.default_rng(seed)
        self.sizes = [self.rng.choice(SIZES) for _ in range(3)] + ([0] if self.chance(0.15) else [1])
        self.elems = [self.rng.choice(ELEMS) for _ in range(3)]
        if self.convolves:
            self.elems[:2] = ["f32", "f32"]
        self.made = 0
        self.turns, self.turn_name = 0, None
        # What a new op may read, with its value now; later ones are more likely.
        self.env, self.scope = {}, []

    # ------------------------------------------------------------------ what the table of ops asks for

    def chance(self, p):
        return self.rng.random() < p

    def choice(self, items):
        return self.rng.choice(items)

    def number(self, low, high):
        return self.rng.randint(low, high)

    def shuffle(self, items):
        self.rng.shuffle(items)

    def value(self, name):
        return self.env[name]

    def some(self, wanted):
        """A visible name whose value is as wanted; the newest are likely."""
        fitting = [n for n in self.scope if wanted(self.env[n])]
        if not fitting:
            return None
        if self.chance(0.6):
            fitting = fitting[-4:]
        return self.rng.choice(fitting)

    def turn(self):
        return self.turn_name

    # -------------------------------------------------------------------------------------- making

    def fresh(self, letter="v"):
        self.made += 1
        return f"{letter}{self.made}"

    def input_value(self):
        elem = self.choice(self.elems)
        shape = tuple(self.choice(self.sizes) for _ in range(self.choice([0, 1, 1, 2, 2, 2, 3])))
        n = int(np.prod(shape))
        if elem == "bool":
            flat = self.numbers.integers(0, 2, n)
        elif elem in INTS:
            low = 0 if elem == "u8" else -9
            flat = self.numbers.integers(low, 10, n).astype(NP[elem])
            if n > 2 and self.chance(0.15):
                flat[self.number(0, n - 1)] = np.iinfo(NP[elem]).max
        elif self.chance(0.4):  # numbers that stay exact for a while
            flat = self.numbers.integers(-12, 13, n) / 4
        else:
            native = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[elem]
            flat = (self.numbers.standard_normal(n) * 1.5).astype(native)
        if elem in FLOATS and n > 2 and self.chance(0.2):
            flat[self.number(0, n - 1)] = self.choice([np.nan, np.inf, -np.inf])
        return Value(elem, np.asarray(flat).reshape(shape))

    def add(self, block, statement):
        """Evaluates a statement and appends it; what it binds becomes visible."""
        env = dict(self.env)
        run(statement, env)
        block.append(statement)
        names = [statement.name] if isinstance(statement, Let) else statement.names
        self.env = env
        self.scope += names

    def step(self, block, depth):
        """One more statement, or none if what was tried did not work."""
        try:
            kind = self.rng.random()
            if depth < 2 and kind < 0.04:
                return self.branch(block, depth)
            if depth < 2 and kind < 0.08:
                return self.loop(block, depth)
            op = self.rng.choices(list(OPS.values()), self.weights)[0]
            made = op.make(self)
            if made:
                self.add(block, Let(self.fresh(), op.name, *made))
                if self.chance(0.25):
                    self.relative(block, block[-1])
        except (Unclear, IndexError, ValueError):  # it does not apply to these shapes
            pass

    def relative(self, block, last):
        """A statement like the last one: what is equal, nearly equal or undone is what passes look for."""
        op = OPS[last.op]
        if len(last.args) == 2 and op.name in "+-*/@":
            return self.add(block, Let(self.fresh(), op.name, last.args[::-1], last.attrs))
        if op.name in AGAIN:
            # Once more, on its own result or on the same operand.
            args = [last.name if self.chance(0.6) else last.args[0], *last.args[1:]]
            for _ in range(4):
                made = op.make(self)
                if made and len(made[0]) == len(args):
                    return self.add(block, Let(self.fresh(), op.name, args, made[1]))
        elif "axis" in last.attrs:
            rank = len(self.env[last.args[0]].shape)
            return self.add(block, Let(self.fresh(), op.name, last.args,
                                       last.attrs | {"axis": self.number(0, max(rank - 1, 0))}))
        if self.env[last.name].is_float:
            self.add(block, Let(self.fresh(), "* literal", [last.name],
                                {"value": self.choice([0.0, 0.0, 1.0]), "left": self.chance(0.5)}))

    def block(self, depth, length):
        """Statements in a scope of their own; returns them and the names they made."""
        before, seen = dict(self.env), len(self.scope)
        block = []
        for _ in range(40):
            if len(block) >= length:
                break
            self.step(block, depth)
        made, after = self.scope[seen:], self.env
        self.env, self.scope = before, self.scope[:seen]
        return block, made, after

    def branch(self, block, depth):
        cond = self.some(lambda v: v.elem == "bool" and v.shape == ())
        if cond is None:
            wide = self.some(lambda v: v.elem == "bool")
            if wide is None:
                return
            cond = self.fresh()
            self.add(block, Let(cond, self.choice(["any", "all"]), [wide], {"axis": None, "keep": False}))
        then, made, after = self.block(depth + 1, self.number(1, 4))
        other, made_other, after_other = self.block(depth + 1, self.number(1, 4))
        pairs = []
        for a in made[::-1]:
            twins = [b for b in made_other + self.scope if after_other[b].elem == after[a].elem and
                     after_other[b].shape == after[a].shape]
            if twins:
                pairs.append((a, self.choice(twins[:6])))
        if not pairs:
            return
        pairs = pairs[:self.number(1, 2)]
        names = [self.fresh() for _ in pairs]
        sides = [(then, [a for a, _ in pairs]), (other, [b for _, b in pairs])]
        if self.made % 2:  # values from outside come from either side
            sides.reverse()
        self.add(block, If(names, cond, *sides[0], *sides[1]))

    def loop(self, block, depth):
        inits = list({self.some(lambda v: v.size <= 100) for _ in range(self.number(1, 2))} - {None})
        if not inits:
            return
        inits.sort()
        names = [self.fresh() for _ in inits]
        params = sorted(n for n in self.env if n.startswith("n"))
        count = self.choice(params) if params and self.chance(0.4) else self.number(0, 4)
        index = self.fresh("turn")
        outer = self.turn_name, self.turns
        before, seen = dict(self.env), len(self.scope)
        self.turn_name, self.turns = index, self.env[count] if isinstance(count, str) else count
        for name, init in zip(names, inits):
            self.env[name] = self.env[init]
        self.env[index] = 0
        self.scope += names
        body, made, after = self.block(depth + 1, self.number(1, 5))
        self.env, self.scope = before, self.scope[:seen]
        self.turn_name, self.turns = outer
        outs = []
        for name, init in zip(names, inits):
            fitting = [m for m in made + [n for n in names if n != name]
                       if after[m].elem == after[name].elem and after[m].shape == after[name].shape]
            outs.append(fitting[-1] if fitting else name)
        if outs == names or not body:
            return
        self.add(block, Loop(names, inits, index, count, body, outs, is_while=self.chance(0.25)))


def generate(seed, low=5, high=40, convolves=None):
    """A program of about `low` to `high` ops; the same for the same seed."""
    g = Generator(seed, convolves)
    inputs = {f"x{i}": g.input_value() for i in range(g.number(2, 4))}
    counts = {f"n{i}": g.number(0, 4) for i in range(g.number(0, 1))}
    g.env, g.scope = dict(inputs) | dict(counts), list(inputs)
    # Most are short: they are quick to compile, and long ones find little that short ones miss.
    length, body = low + int((high - low + 1) * g.rng.random() ** 4), []
    for _ in range(6 * length):
        if len(body) >= length:
            break
        g.step(body, 0)
    if not body:
        return None
    outputs = choose_outputs(g, body, inputs)
    return Program(inputs, counts, body, outputs) if outputs else None


def choose_outputs(g, body, inputs):
    """What nobody reads, and a few of the others; small ones, since they are printed."""
    read = set()
    for s in every_statement(body):
        read |= set(s.args if isinstance(s, Let) else [s.cond, *s.then_out, *s.other_out] if isinstance(s, If)
                    else [*s.inits, *s.outs])
    made = [n for n in g.scope if n not in inputs and not is_index(g.env[n]) and g.env[n].size <= PRINTED]
    unread = [n for n in made if n not in read][-6:]
    others = [n for n in made if n in read]
    return unread + g.rng.sample(others, min(len(others), 2 if unread else 3))
