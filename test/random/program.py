"""Random programs as data: statements that can be written as mx, evaluated, and cut down.

A block is a list of statements; every value has a name, and an op reads names only. That keeps the
text readable and lets the reducer drop statements one by one.
"""

from dataclasses import dataclass, field

import numpy as np

from bounds import Unclear, Value
from registry import OPS
import arithmetic  # noqa: F401  they fill the table of ops
import convolutions  # noqa: F401
import moves  # noqa: F401


@dataclass
class Let:
    """name = op(args), with `attrs` for everything that is not a value."""
    name: str
    op: str
    args: list
    attrs: dict = field(default_factory=dict)


@dataclass
class If:
    """(names) = if cond { then; (then_out) } else { other; (other_out) }"""
    names: list
    cond: str
    then: list
    then_out: list
    other: list
    other_out: list


@dataclass
class Loop:
    """var names = inits; `count` iterations of { body; names = outs }. As a `while` it counts by itself."""
    names: list
    inits: list
    index: str
    count: object  # a number, or the name of a parameter
    body: list
    outs: list
    is_while: bool = False


@dataclass
class Program:
    inputs: dict  # name: Value
    counts: dict  # name: int, parameters of loops
    body: list
    outputs: list


# ------------------------------------------------------------------------------------- evaluation

def evaluate(block, env, types=None):
    """Runs statements on reference values; `types` collects the Value of each name once."""
    for s in block:
        run(s, env, types)


def note(env, types, name, value):
    env[name] = value
    if types is not None:
        types.setdefault(name, value)


def run(s, env, types=None):
    if isinstance(s, Let):
        values = [env[a] for a in s.args]
        note(env, types, s.name, OPS[s.op].ref(values, s.attrs))
    elif isinstance(s, If):
        # Both sides: neither may be unclear, and their types must agree.
        sides = []
        for block, outs in ((s.then, s.then_out), (s.other, s.other_out)):
            inner = dict(env)
            evaluate(block, inner, types)
            sides.append([inner[o] for o in outs])
        if any(a.elem != b.elem or a.shape != b.shape for a, b in zip(*sides)):
            raise Unclear("the sides of an if differ")
        for name, value in zip(s.names, sides[0] if bool(env[s.cond].ref) else sides[1]):
            note(env, types, name, value)
    else:
        carried = [env[i] for i in s.inits]
        count = env[s.count] if isinstance(s.count, str) else s.count
        for turn in range(max(count, 1)):  # at least one iteration, for the types of its names
            inner = dict(env)
            for name, value in zip(s.names, carried):
                note(inner, types, name, value)
            inner[s.index] = turn
            evaluate(s.body, inner, types)
            after = [inner[o] for o in s.outs]
            if any(a.elem != b.elem or a.shape != b.shape for a, b in zip(carried, after)):
                raise Unclear("a carried value changes its type")
            if turn < count:
                carried = after
        for name, value in zip(s.names, carried):
            note(env, types, name, value)


def results(program, types=None):
    env = dict(program.inputs) | dict(program.counts)
    if types is not None:
        types.update(program.inputs)
    evaluate(program.body, env, types)
    return [env[o] for o in program.outputs]


# ---------------------------------------------------------------------------------------- writing

def tuple_text(names):
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def write(block, types, depth, placed):
    pad, out = "  " * depth, []
    for s in block:
        if isinstance(s, Let):
            op = OPS[s.op]
            shown = [(types[a].elem, types[a].shape) if isinstance(types.get(a), Value) else None for a in s.args]
            for line in op.lines(s.name, s.args, s.attrs, shown):
                out.append(pad + (placed(s, line) if placed else line))
        elif isinstance(s, If):
            out.append(f"{pad}let {tuple_text(s.names)} = if {s.cond} {{")
            out += write(s.then, types, depth + 1, None) + [f"{pad}  {tuple_text(s.then_out)}", f"{pad}}} else {{"]
            out += write(s.other, types, depth + 1, None) + [f"{pad}  {tuple_text(s.other_out)}", f"{pad}}}"]
        else:
            out += [f"{pad}var {n} = {i}" for n, i in zip(s.names, s.inits)]
            if s.is_while:
                out += [f"{pad}var {s.index} = 0", f"{pad}while {s.index} < {s.count} limit 100 {{"]
            else:
                out.append(f"{pad}for {s.index} in 0..{s.count} {{")
            out += write(s.body, types, depth + 1, None)
            out += [f"{pad}  let {n}_next = {o}" for n, o in zip(s.names, s.outs)]
            out += [f"{pad}  {n} = {n}_next" for n in s.names]
            if s.is_while:
                out.append(f"{pad}  {s.index} += 1")
            out.append(pad + "}")
    return out


def function(program, name, is_graph=True, placed=None, known=None):
    """The program as a function. `placed` may put the text of single ops on other devices; `known` are the
    types and outputs of a program that was evaluated before."""
    types, outs = known or ({}, None)
    outs = outs or results(program, types)
    params = [f"{n}: {v.type_text()}" for n, v in program.inputs.items()]
    params += [f"{n}: i64" for n in program.counts]
    lines = [f"{'graph ' if is_graph else ''}fn {name}({', '.join(params)}) -> "
             f"{tuple_text([v.type_text() for v in outs])} {{"]
    return lines + write(program.body, types, 1, placed) + ["  " + tuple_text(program.outputs), "}"]


def every_statement(block):
    for s in block:
        yield s
        for inner in blocks_of(s):
            yield from every_statement(inner)


def blocks_of(s):
    if isinstance(s, If):
        return [s.then, s.other]
    return [s.body] if isinstance(s, Loop) else []


def size_of(program):
    """Number of ops."""
    return sum(1 for _ in every_statement(program.body))


def is_index(value):
    return isinstance(value, (int, np.integer))
