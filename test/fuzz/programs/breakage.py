"""Deliberate damage: tokens that are deleted, doubled, swapped or replaced, lines out of order, extreme text."""

import re

from scope import BUILTINS, RESERVED, WORDS

TOKEN = re.compile(r'f?"(?:\\.|[^"\\\n])*"|\d[\w.]*|\w+|\*\*|//|->|\|>|\.\.\.|\.\.|[<>=!]=|[-+*/]=|[ \t]+|\n|.')
OTHERS = RESERVED + WORDS + BUILTINS + list("()[]{},;:.=+-*/@<>%#?_\"'\\$&^~!") + ["->", "..", "...", "**", "//", "|>", "==", "0", "1", "1e999", "-1",
                                                                                  "9223372036854775808", "f32[N]", "[...S]", "\n", "\t", "\u202e", "é", "\x00"]


def tokens(text):
    return TOKEN.findall(text)


def loops(text):
    """What keeps loops from going on for ever: the head of each `while` and the line behind it, and large ends of ranges."""
    lines = text.split("\n") + [""]
    return ([(line, after) for line, after in zip(lines, lines[1:]) if re.search(r"\bwhile\b", line)],
            re.findall(r"\.\.[^{]*\d{6,}[^{]*", text))


def broken(random, lines):
    """The text of a program after one to three changes."""
    text = "\n".join(lines) + "\n"
    for _ in range(random.randint(1, 3)):
        changed = changed_once(random, text)
        if loops(changed) == loops(text):  # a program that runs for ever says nothing about mxc
            text = changed
    return text


def changed_once(random, text):
    parts = tokens(text)
    solid = [i for i, t in enumerate(parts) if t.strip()] or [0]
    if not parts:
        return text
    i, j = random.choice(solid), random.choice(solid)
    way = random.randrange(8)
    if way == 0:
        parts[i] = ""
    elif way == 1:
        parts[i] = parts[i] + " " + parts[i]
    elif way == 2:
        parts[i], parts[j] = parts[j], parts[i]
    elif way == 3:
        parts[i] = random.choice(OTHERS)
    elif way == 4:
        parts[i] = parts[i] + " " + random.choice(OTHERS)
    elif way == 5:  # a name or a number becomes another of the program
        words = [t for t in parts if re.fullmatch(r"\w+|\d.*", t)]
        parts[i] = random.choice(words) if words else ""
    elif way == 6:
        rows = "".join(parts).split("\n")
        a, b = random.randrange(len(rows)), random.randrange(len(rows))
        rows[a], rows[b] = rows[b], rows[a]
        parts = ["\n".join(rows)]
    else:
        rows = "".join(parts).split("\n")
        del rows[random.randrange(len(rows))]
        parts = ["\n".join(rows)]
    return "".join(parts)


def extreme_line(g):
    """A statement past what anyone writes: deep, long or large."""
    n = g.pick([3, 50, 300, 2000])
    x = g.pick(["1", "1.0", "(1, 2)", "true"])
    return g.pick([
        lambda: f"print({'(' * n}{x}{')' * n})", lambda: f"print({'[' * min(n, 300)}{x}{']' * min(n, 300)})", lambda: f"print({'-' * n}1)",
        lambda: f"print({' + '.join([x] * n)})", lambda: f"print([{', '.join(['1.0'] * n)}])", lambda: f"let {'a' * n} = 1",
        lambda: f'print("{"x" * n}")', lambda: f"print({'not ' * n}true)", lambda: f"print(1{'0' * n})", lambda: f"print(0.{'1' * n})",
        lambda: "{" * min(n, 300), lambda: f"print({'if true { ' * n}1{' } else { 2 }' * n})", lambda: f"print({'str(' * n}1{')' * n})",
        lambda: f"let x: f32[{', '.join(['1'] * min(n, 300))}] = zeros()", lambda: f"print(zeros([{', '.join(['1'] * min(n, 300))}]).sum())",
        lambda: f"print({' |> '.join(['ones([2])'] + ['exp'] * n)}.sum())", lambda: f"print(1{'.abs()' * min(n, 300)})",
        lambda: f"fn wide({', '.join(f'a{i}: i64' for i in range(min(n, 300)))}) -> i64 {{ 1 }}",
        lambda: f"let t = ({', '.join([x] * min(n, 300))})", lambda: f"print({' ** '.join(['2'] * n)})",
        lambda: f"for i in 0..{g.pick(['-5', '0', '1.5', 'true', '9223372036854775807'])} {{ break }}",
        lambda: f"for i in {g.pick(['5', '[]', 'zeros([3])', '()', 'true', '1..', '..', '3..1'])} {{ print(i) }}",
        lambda: f"while {g.pick(['1', '1.0', '[true]', 'nowhere', 'ones([2]) > 0.0'])} limit {g.pick(['3', '-1', '0', '1.5', 'true'])} {{ let a = 1 }}",
        lambda: "raise " + g.pick(['1', 'Error(1)', 'Error()', '"text"', 'Error("")', 'nowhere']),
        lambda: g.pick(["return 1", "break", "continue", "let = 1", "var (a, a) = (1, 2)", "let (a, b) = 3", "const k = normal([2])", "mut x = 1", "1 = 2",
                        "print = 3", "f32 = 1", "Error = 1", "import nn", "type Q = Q", "type Q = (Q, Q)", "type Q[N] = f32[N, N]", "struct R { r: R }",
                        "model W { sub w: W }", "struct E { }", "model E { }", "model B { param w: i32[3] = zeros() }", "model B { param w: f32[2] }", "fn h()",
                        "export graph fn h(x: f32[N]) -> f32[N] { x }", "extern fn h(x: f32) -> f32", "fn h(x: f32[N, N + 1]) -> f32[N * N] { x.reshape([N * N]) }",
                        "fn h[T: str](x: T) -> T { x }", "fn h(x: f32[2 * N], y: f32[N // 2]) -> f32[N] { x[:N] }", "fn h(static n: i64) -> f32[n] { zeros([n]) }",
                        "graph fn h(x: f32[dyn N <= 8]) -> f32[N] { x + x }", "graph fn h(x: f32[dyn N <= -1]) -> f32[N] { x }", "fn h(x: f32[...S, ...R]) -> f32 { 1.0 }",
                        "@vjp(nowhere) fn h(x: f32) -> f32 { x }", "@nothing fn h() { }", "@amp(i32) fn h() { }", "@max_bytes(-1) graph fn h() { }", "@remat(every=0) for i in 0..3 { }",
                        "let q = fn(x) { x }", "print(fn(x: f32) { x })", "let z = h.fetch(x)", "assert", "assert 1", "assert [true, false]", "test \"\" { assert false }"]),
    ])()
