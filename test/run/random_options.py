# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random options and random command lines: what a program prints, or what is said about the command line.

Usage: random_options.py MXC FOLDER [--count N] [--seed N] [--built N]

A program declares options of all types and prints their values. For each command line the outcome is worked out here,
from the rules of docs/reference/command-line.md alone: the values, or the options that are given wrongly and the names that are not
known. With --built, that many programs are built as executables with the same values and must print the same.
"""

import argparse
import math
import os
import random
import re
import struct
import subprocess

RANGES = {"i8": (-128, 127), "u8": (0, 255), "i32": (-2**31, 2**31 - 1), "i64": (-2**63, 2**63 - 1)}
FLOATS = ("f16", "f32", "f64")
WHOLE = re.compile(r"[+-]?(0[xX][0-9a-fA-F]+(_[0-9a-fA-F]+)*|[0-9]+(_[0-9]+)*)")
REAL = re.compile(r"[+-]?[0-9]+(_[0-9]+)*(\.[0-9]+(_[0-9]+)*)?([eE][+-]?[0-9]+(_[0-9]+)*)?")
NAMES = ["n", "lr", "width", "depth", "batch_size", "seed", "fast", "name", "data", "x", "wid", "Lr"]


def rounded(kind, value):
    """The nearest number of a type; None if it is too large."""
    try:
        return struct.unpack({"f16": "<e", "f32": "<f", "f64": "<d"}[kind],
                             struct.pack({"f16": "<e", "f32": "<f", "f64": "<d"}[kind], value))[0]
    except OverflowError:
        return None


def read(kind, text):
    """The value that a text means for an option of this type; None if it means none."""
    if kind == "str":
        return text
    if kind == "bool":
        return {"true": True, "false": False}.get(text)
    if kind in RANGES:
        if not WHOLE.fullmatch(text):
            return None
        low, high = RANGES[kind]
        digits = text.replace("_", "")
        value = int(digits, 16 if "x" in digits.lower() else 10)
        return value if low <= value <= high else None
    sign, word = (text[0], text[1:]) if text[:1] in "+-" and text else ("", text)
    if word in ("inf", "nan"):
        return float(sign + word)
    if WHOLE.fullmatch(text) and "x" in text.lower():
        value = float(int(text.replace("_", ""), 16))
    elif REAL.fullmatch(text):
        value = float(text.replace("_", ""))
    else:
        return None
    return rounded(kind, value) if math.isfinite(value) else None


def default(rng, kind):
    """An expression for a default of this type, and its value."""
    if kind == "str":
        word = rng.choice(["", "adam", "two words", "a=b", "über"])
        return f'"{word}"', word
    if kind == "bool":
        value = rng.random() < 0.5
        return ("true", "false")[not value], value
    if kind in RANGES:
        low, high = RANGES[kind]
        value = rng.choice([0, 1, 7, high, rng.randint(max(low, -1000), min(high, 1000))])
        return (str(value) if kind == "i64" else f"{kind}({value})"), value
    value = rng.choice([0.0, 0.5, 1e-3, 1.25, -2.0, 3e2])
    return (repr(value) if kind == "f32" else f"{kind}({value!r})"), rounded(kind, value)


def text_for(rng, kind):
    """Something to give to an option of this type; often wrong, sometimes by a little."""
    if rng.random() < 0.25:
        kind = rng.choice(list(RANGES) + list(FLOATS) + ["str", "bool"])
    if kind == "bool":
        return rng.choice(["true", "false", "True", "1", "0", "yes", "", "truee"])
    if kind == "str":
        return rng.choice(["", "x", "a b", "n=3", "--", "true", "12", "ü"])
    if kind in RANGES:
        low, high = RANGES[kind]
        return rng.choice([str(rng.randint(-300, 300)), str(low), str(high), str(low - 1), str(high + 1), "1_000", "1__0",
                           "_1", "1_", "0x1f", "-0X7F", "0x", "+5", "- 5", "5 ", "2.5", "1e3", "abc", "", "00012", "٣",
                           "99999999999999999999", "0b11", "1,5"])
    return rng.choice(["1.5", "-0.25", "1e-3", "2E+2", "3", "-7", "1_0.2_5", ".5", "1.", "inf", "-inf", "nan", "Inf",
                       "infinity", "0x10", "1e400", "65504", "65519.9", "65520", "3.5e38", "1e-400", "1e", "1e+", "--1",
                       "", "abc", "1.5f", "1.2.3", "NaN", "-nan", "+2.5"])


def same(printed, kind, value):
    if kind == "str":
        return printed == value
    if kind == "bool":
        return printed == str(value).lower()
    if kind in RANGES:
        return printed == str(value)
    got = float(printed)
    if math.isnan(value) or math.isinf(value):
        return math.isnan(got) if math.isnan(value) else got == value
    # Numbers are printed with enough digits for their type.
    return rounded(kind, got) == value or math.isclose(got, value, rel_tol={"f16": 2e-3, "f32": 1e-5, "f64": 1e-5}[kind])


def make_program(rng):
    names = rng.sample(NAMES, rng.randint(0, 6))
    options = {name: (rng.choice(list(RANGES) + list(FLOATS) + ["str", "bool"]),) for name in names}
    lines = []
    for name, (kind,) in options.items():
        text, value = default(rng, kind)
        options[name] = (kind, value)
        where = rng.choice(["const v_{n} = {o}", "let v_{n} = {o}", "fn f_{n}() -> {k} {{ {o} }}\nlet v_{n} = f_{n}()"])
        if kind in ("f16",) or kind != "i64" and "fn" in where and kind not in ("str", "bool"):
            where = "let v_{n} = {o}"  # constants and results of other types are no matter of this test
        lines.append(where.format(n=name, o=f'option("{name}", {text})', k=kind))
    lines += [f'print(f"{name}=[{{v_{name}}}]")' for name in options]
    return options, "\n".join(lines) + "\n"


def make_line(rng, options):
    """Values by name, in the order they are given, with the way each is given."""
    given = {}
    for name in rng.sample(list(options), rng.randint(0, len(options))):
        given[name] = text_for(rng, options[name][0])
    if rng.random() < 0.2:
        name = rng.choice(NAMES + ["widht", "no_such"])
        given.setdefault(name, "3")
    words, rest = [], []
    for name, text in given.items():
        way = rng.randrange(3)
        if way == 2:
            rest.append(f"{name}={text}")
        else:
            words += ["-D", f"{name}={text}"] if way else [f"-D{name}={text}"]
    return given, words, rest


def problem(options, given, done):
    """What is wrong with an outcome, or None."""
    unknown = [name for name in given if name not in options]
    wrong = [name for name, text in given.items() if name in options and read(options[name][0], text) is None]
    if unknown or wrong:
        if done.returncode != 2 or done.stdout:
            return f"exit code {done.returncode}, not 2 for {unknown + wrong}; printed {done.stdout!r}"
        said = done.stderr
        for name in wrong:
            if f"error[E0808]: option `{name}` is" not in said and f"does not fit option `{name}`" not in said:
                return f"nothing is said about `{name}`"
        if said.count("error[E0808]") != len(wrong):
            return "E0808 is said about something else"
        if ("error[E0809]" in said) != bool(unknown):
            return "E0809 is said wrongly, or not said"
        for name in unknown:
            if f"`{name}`" not in said.split("error[E0809]")[1].split("\n")[0]:
                return f"`{name}` is not named as unknown"
        for name, (kind, _) in options.items():
            if unknown and f"{name}=" not in said.split("its options are")[1].split("\n")[0]:
                return f"the list of options lacks {name}"
        return None
    if done.returncode != 0 or done.stderr:
        return f"exit code {done.returncode}: {done.stderr}"
    printed = re.findall(r"^(\w+)=\[(.*)\]$", done.stdout, re.M)
    if [name for name, _ in printed] != list(options):
        return f"printed {done.stdout!r}"
    for name, text in printed:
        kind, value = options[name]
        value = read(kind, given[name]) if name in given else value
        if not same(text, kind, value):
            return f"{name} is {text}, not {value}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mxc")
    parser.add_argument("folder")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--built", type=int, default=0)
    args = parser.parse_args()
    os.makedirs(args.folder, exist_ok=True)
    path, wrong, refused, built = os.path.join(args.folder, "options.mx"), 0, 0, 0
    for seed in range(args.seed, args.seed + args.count):
        rng = random.Random(seed)
        if (seed - args.seed) % 4 == 0:
            options, text = make_program(random.Random(seed))
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        given, words, rest = make_line(rng, options)
        tail = ["--", *rest] if rest else []
        done = subprocess.run([args.mxc, "run", *words, path, *tail], capture_output=True, text=True)
        found = problem(options, given, done)
        refused += done.returncode == 2
        if not found and built < args.built and options:
            built += 1
            exe = os.path.join(args.folder, "program")
            made = subprocess.run([args.mxc, "build", "--exe", *words, path, "-o", exe, "--target-cpu", "generic", *tail],
                                  capture_output=True, text=True)
            if done.returncode == 2:
                said = [text.replace("mxc build", "mxc run") for text in (made.stderr,)][0]
                found = None if (made.returncode, said) == (2, done.stderr) else f"build: {made.stderr}"
            elif made.returncode:
                found = f"build: {made.stderr}"
            else:
                ran = subprocess.run([exe], capture_output=True, text=True)
                found = problem(options, given, ran)
        if found:
            wrong += 1
            print(f"seed {seed}: {words + tail}\n{found}\n{open(path, encoding='utf-8').read()}")
    print(f"{args.count} command lines, {refused} of them refused, {built} built, {wrong} wrong")


main()
