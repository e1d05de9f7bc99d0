# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds compiler/Syntax/Grammar.ebnf against the compiler's parser.

Usage: grammar.py MXC GRAMMAR COUNT FILE…

The grammar is executed as it is written, by a recogniser that tries all alternatives; only `[ args ]`
is greedy. It must accept each FILE, and agree with the parser on COUNT programs in which a token was
dropped, doubled, or exchanged with its neighbour or another one. Every rule and every word of the token
table must be used.
"""
import random
import re
import subprocess
import sys
import threading

MXC, GRAMMAR, COUNT, FILES = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
CLASSES = {"ID", "INT", "FLOAT", "STRING", "NEWLINE", "FSTART", "TEXT", "FORMAT", "FEND"}


# ---------------------------------------------------------------------------------- the grammar
def read_rules(text):
    """{name: expression}; an expression is a nested tuple: (kind, parts…)."""
    text = re.sub(r"^#.*$", "", text, flags=re.M)
    words = re.findall(r'"[^"]*"|[A-Za-z]+|[=.|()\[\]{}]', text)
    at = 0

    def alternatives():
        nonlocal at
        choices = [sequence()]
        while words[at] == "|":
            at += 1
            choices.append(sequence())
        return choices[0] if len(choices) == 1 else ("or", *choices)

    def sequence():
        nonlocal at
        parts = []
        while words[at] not in ("|", ")", "]", "}", "."):
            word = words[at]
            at += 1
            if word in "([{":
                parts.append(({"(": "group", "[": "maybe", "{": "many"}[word], alternatives()))
                assert words[at] == {"(": ")", "[": "]", "{": "}"}[word], (word, words[at - 5:at + 1])
                at += 1
            elif word.startswith('"'):
                parts.append(("word", word[1:-1]))
            else:
                parts.append(("class" if word in CLASSES else "rule", word))
        return ("seq", *parts)

    rules = {}
    while at < len(words):
        name = words[at]
        assert words[at + 1] == "=" and name not in rules, name
        at += 2
        rules[name] = alternatives()
        assert words[at] == ".", (name, words[at])
        at += 1
    return rules


def ends(rules, tokens):
    """A function (expression, position) -> the positions behind what the expression can match there."""
    known = {}

    def match(e, at):
        kind = e[0]
        if kind == "word":
            return {at + 1} if at < len(tokens) and tokens[at][1] == e[1] and tokens[at][0] in ("word", "ID") else set()
        if kind == "class":
            return {at + 1} if at < len(tokens) and tokens[at][0] == e[1] else set()
        if kind == "rule":
            key = e[1], at
            if key not in known:
                known[key] = match(rules[e[1]], at)
            return known[key]
        if kind == "or":
            return set().union(*(match(choice, at) for choice in e[1:]))
        if kind == "group":
            return match(e[1], at)
        if kind == "maybe":
            taken = match(e[1], at)
            return taken if taken and e[1] == ("seq", ("rule", "args")) else taken | {at}
        if kind == "many":
            reached, new = {at}, {at}
            while new:
                new = set().union(*(match(e[1], p) for p in new)) - reached
                reached |= new
            return reached
        positions = {at}  # a sequence
        for part in e[1:]:
            positions = set().union(*(match(part, p) for p in positions)) if positions else positions
        return positions

    return match


# ---------------------------------------------------------------------------------- the compiler
def tokens_of(text):
    """[(class, text, offset)] of a program, or None if the lexer refuses it."""
    run = subprocess.run([MXC, "check", "--emit=tokens", "-"], input=text, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        return None
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    out, strings = [], []  # strings: the open interpolated strings; True while inside of braces
    for entry in run.stdout.splitlines():
        position, _, token = entry.partition("\t")
        line, column = map(int, position.split(":"))
        offset = starts[line - 1] + column - 1
        kind, _, shown = token.partition(" ")
        raw = shown[1:-1].replace('\\"', '"').replace("\\\\", "\\") if shown else ""
        if kind == "end":
            break
        if kind == "string":
            if raw == 'f"':
                kind = "FSTART"
                strings.append(False)
            elif strings and not strings[-1]:
                kind = {'"': "FEND", "{": "word"}.get(raw, "TEXT")
                if kind == "FEND":
                    strings.pop()
                elif kind == "word":
                    strings[-1] = True
            elif strings and raw == "}":
                kind = "word"
                strings[-1] = False
            else:
                kind = "STRING" if raw.startswith('"') else "FORMAT"
        elif shown:
            kind = {"name": "ID", "int": "INT", "float": "FLOAT"}[kind]
        elif kind == "newline":
            kind = "NEWLINE"
        else:
            kind, raw = "word", kind
        out.append((kind, raw, offset))
    return out


def parses(text):
    run = subprocess.run([MXC, "check", "--emit=ast", "-"], input=text, capture_output=True, text=True, check=False)
    return run.returncode == 0, run.stderr


def accepts(rules, tokens):
    return len(tokens) in ends(rules, tokens)(("rule", "module"), 0)


def changed(text, tokens, rng):
    """The program with one token dropped, doubled, exchanged with the next one, or replaced by another."""
    at = rng.randrange(len(tokens) - 1)
    begin, middle = tokens[at][2], tokens[at + 1][2]
    end = tokens[at + 2][2] if at + 2 < len(tokens) else len(text)
    first, second = text[begin:middle], text[middle:end]
    change = rng.choice(["drop", "double", "exchange", "replace"])
    if change == "exchange":
        return text[:begin] + second + " " + first + " " + text[end:]
    other = rng.choice([t for t in tokens if t[0] in ("ID", "INT", "FLOAT", "word", "NEWLINE")])
    new = {"drop": "", "double": first + " " + first, "replace": "\n" if other[0] == "NEWLINE" else other[1] + " "}[change]
    return text[:begin] + new + text[middle:]


def main():
    with open(GRAMMAR, encoding="utf-8") as file:
        rules = read_rules(file.read())
    wrong = []

    def leaves(e):
        for part in e[1:]:
            yield from leaves(part) if isinstance(part, tuple) else [(e[0], part)]

    used = {leaf for e in rules.values() for leaf in leaves(e)}
    wrong += [f"rule `{name}` is not used" for name in rules if ("rule", name) not in used and name != "module"]
    wrong += [f"rule `{name}` is not defined" for kind, name in used if kind == "rule" and name not in rules]
    table = subprocess.run([MXC, "grammar", "--tokens"], capture_output=True, text=True, check=True).stdout
    listed = set(re.findall(r"`([^`]+)`", table.replace("\\|", "|")))
    words = {name for kind, name in used if kind == "word"}
    wrong += [f"token `{token}` is not in the grammar" for token in sorted(listed - words)]
    wrong += [f"`{word}` of the grammar is not a token" for word in sorted(words - listed)]
    if wrong:
        print("\n".join(wrong))
        return 1
    rng, texts, refused = random.Random(7), [], 0
    for path in FILES:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        tokens = tokens_of(text)
        if not accepts(rules, tokens):
            wrong.append(f"{path}: the grammar refuses it")
        if len(tokens) > 8:
            texts.append((path, text, tokens))
    compared = 0
    while compared < COUNT:
        path, text, tokens = rng.choice(texts)
        # A part of a file, so that a program takes milliseconds: from a top-level statement on.
        tops = [t[2] for t, before in zip(tokens[1:], tokens)
                if before[0] == "NEWLINE" and text[t[2] - 1] == "\n" and t[1] != "}"]
        begin = rng.choice([0] + tops)
        later = [t for t in tops if t > begin + 200] + [len(text)]
        text = text[begin:later[0]]
        tokens = tokens_of(text)
        if not tokens or len(tokens) < 4:
            continue
        program = changed(text, tokens, rng)
        tokens = tokens_of(program)
        if tokens is None:
            continue
        compared += 1
        right, message = parses(program)
        if right != accepts(rules, tokens):
            wrong.append(f"{path}: the parser {'accepts' if right else 'refuses'}, the grammar does not agree:\n{program}\n{message}")
        refused += not right
    print("\n".join(wrong + [f"{len(rules)} rules, {len(FILES)} files, {compared} programs compared, {refused} refused, {len(wrong)} wrong"]))
    return 1 if wrong else 0


result = []
sys.setrecursionlimit(1_000_000)
threading.stack_size(512 << 20)
thread = threading.Thread(target=lambda: result.append(main()))
thread.start()
thread.join()
sys.exit(result[0] if result else 1)
