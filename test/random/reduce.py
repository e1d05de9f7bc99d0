"""Cuts a failing program down: the smallest one found that still fails in the same mode.

Tried again and again until nothing helps: leave out outputs, statements, whole branches and loops;
give a loop fewer iterations; replace a statement by its branch or body; replace what an op
reads by an input of the same type, or an op by one of its operands.
"""

import copy

from bounds import Unclear, Value
from program import If, Let, Loop, Program, blocks_of, every_statement, results


def valid(program):
    """Whether the program is still one: every name is bound, and the reference is clear."""
    try:
        types = {}
        results(program, types)
        return bool(program.outputs)
    except (Unclear, KeyError, IndexError, ValueError, AttributeError, TypeError):
        return False


def every_block(block):
    yield block
    for s in block:
        for inner in blocks_of(s):
            yield from every_block(inner)


def prune(program):
    """Drops what no output needs."""
    def used_by(s):
        if isinstance(s, Let):
            return set(s.args)
        if isinstance(s, If):
            return {s.cond, *s.then_out, *s.other_out}
        return {*s.inits, *s.outs} | ({s.count} if isinstance(s.count, str) else set())

    while True:
        needed = set(program.outputs)
        for s in every_statement(program.body):
            needed |= used_by(s)
        dropped = False
        for block in every_block(program.body):
            for s in list(block):
                names = [s.name] if isinstance(s, Let) else s.names
                if not needed & set(names):
                    block.remove(s)
                    dropped = True
        if not dropped:
            program.inputs = {n: v for n, v in program.inputs.items() if n in needed}
            program.counts = {n: v for n, v in program.counts.items() if n in needed}
            return program


def rename(program, old, new):
    def one(n):
        return new if n == old else n
    for s in every_statement(program.body):
        if isinstance(s, Let):
            s.args = [one(a) for a in s.args]
        elif isinstance(s, If):
            s.cond, s.then_out, s.other_out = one(s.cond), [one(n) for n in s.then_out], [one(n) for n in s.other_out]
        else:
            s.inits, s.outs = [one(n) for n in s.inits], [one(n) for n in s.outs]
    program.outputs = list(dict.fromkeys(one(n) for n in program.outputs))


def candidates(program):
    """Smaller programs, the boldest first. Each is a copy."""
    for keep in program.outputs if len(program.outputs) > 1 else []:
        smaller = copy.deepcopy(program)
        smaller.outputs = [keep]
        yield smaller
    blocks = list(every_block(program.body))
    for b, block in enumerate(blocks):
        for i in reversed(range(len(block))):
            yield from instead_of(program, b, i)
    for name, value in program.inputs.items():
        if value.is_float and value.size > 1:
            smaller = copy.deepcopy(program)
            smaller.inputs[name] = Value(value.elem, value.ref * 0 + 1)
            yield smaller


def instead_of(program, b, i):
    """Other forms of statement `i` of block `b`."""
    def edited():
        smaller = copy.deepcopy(program)
        block = list(every_block(smaller.body))[b]
        return smaller, block, block[i]

    types = {}
    results(program, types)
    s = list(every_block(program.body))[b][i]
    names = [s.name] if isinstance(s, Let) else s.names
    # Its value becomes an input, so that what leads to it can go.
    for name in names:
        value = types.get(name)
        if isinstance(s, Let) and isinstance(value, Value) and value.exact():
            smaller, block, _ = edited()
            del block[i]
            smaller.inputs[name] = value
            yield smaller
    sources = list(s.args if isinstance(s, Let) else []) + list(program.inputs)
    for name in names:
        for other in dict.fromkeys(sources):
            a, o = types.get(name), types.get(other)
            if isinstance(a, Value) and isinstance(o, Value) and (a.elem, a.shape) == (o.elem, o.shape):
                smaller, block, _ = edited()
                rename(smaller, name, other)
                yield smaller
    if isinstance(s, If):
        for block_of, outs_of in (("then", "then_out"), ("other", "other_out")):
            smaller, block, t = edited()
            block[i:i + 1] = getattr(t, block_of)
            for name, out in zip(t.names, getattr(t, outs_of)):
                rename(smaller, name, out)
            yield smaller
    if isinstance(s, Loop):
        for turns in (1, 2):
            if s.count != turns:
                smaller, block, t = edited()
                t.count = turns
                yield smaller
        if s.is_while:
            smaller, block, t = edited()
            t.is_while = False
            yield smaller
        for k in range(len(s.names)) if len(s.names) > 1 else []:
            smaller, block, t = edited()
            gone = t.names.pop(k)
            init = t.inits.pop(k)
            t.outs.pop(k)
            rename(smaller, gone, init)
            yield smaller


def cost(program):
    statements = list(every_statement(program.body))
    return (len(statements) + len(program.outputs), sum(len(getattr(s, "args", "..")) for s in statements),
            sum(v.size for v in program.inputs.values()))


def reduce(failure, check, rounds=400):
    """The smallest failing program found, and its failure. `check(program)` gives failures."""
    best = failure
    best_cost = cost(best.program)
    tried, progress = 0, True
    while progress and tried < rounds:
        progress = False
        for candidate in candidates(best.program):
            candidate = prune(candidate)
            if cost(candidate) >= best_cost or not valid(candidate):
                continue
            tried += 1
            found = check(candidate)
            # Refusals of the checker do not replace a wrong number.
            if found and ("exit code" in found[0].reason) == ("exit code" in failure.reason):
                best, best_cost, progress = found[0], cost(candidate), True
                break
            if tried >= rounds:
                break
    return best.program, best
