#!/usr/bin/env python3
"""The table of docs/status.md that says which primitives are compared with NumPy, and how often.

Usage: op_table.py --check | --write

It is made from what the tests of this folder run: the groups that their RUN lines name, and the
expressions that compare_with_numpy.py makes for them. Each is evaluated op by op and in a graph.
Below it stands which test calls each of the others. `--check` exits with 1 when the page is not current, a
primitive is in neither, or fewer than 3,000 cases run.
"""

import collections
import glob
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
PAGE = os.path.join(ROOT, "docs", "status.md")
BEGIN, END = "<!-- op table: written by test/ops/op_table.py -->", "<!-- end of the op table -->"
ELEMS = ["bool", "i8", "u8", "i32", "i64", "bf16", "f16", "f32", "f64"]
OPERATORS = [("//", r" // "), ("**", r" \*\* "), ("+", r" \+ "), ("-", r" - |^-x"), ("*", r" \* "), ("/", r" / "),
             ("%", r" % "), ("@", r" @ "), ("comparisons", r" (==|!=|<=?|>=?) "), ("and or not", r" and | or |^not "), (".T", r"\.T\b"),
             ("x[…]", r"\bx\d+\["), ("x[…] = v", r"^changed\("), ("comprehensions", r" for \w+ in ")]
# What NumPy has nothing to say about: the test that calls each and looks at what it gives.
NAMED = {
    "test/ops/samples.test": "normal uniform truncated_normal bernoulli categorical randint permutation",
    "test/run/host.mx": "print len str device to wait sync fan_in fan_out seed exists Error",
    "test/run/options.mx": "option",
    "test/run/rules-and-leaves.mx": "leaves zeros_like_grad",
    "test/run/summary.test": "summary",
    "test/data/checkpoint.mx": "save restore",
    "test/data/program.test": "progress",
    "test/data/draw.test": "plot draw_hist draw_image",
    "test/data/log.test": "log_value",
    "test/data/loader.mx": "load_batches shard_items take_items repeat_items row_items sequence_items map_items filter_items",
    "test/data/augment.test": "resize_items crop_items zoom_items flip_items colour_items normalise_items",
    "test/data/last-batch.test": "read_mnist",
    "test/data/cifar.test": "read_cifar10",
    "test/data/images.test": "read_images",
    "test/data/files.test": "read_csv read_bin read_bytes read_chars read_array spell_text",
    "test/data/bpe.test": "read_bpe read_tokens encode_text decode_text",
}
LEAST = 3000


def primitives():
    """Name: how programs spell it, from docs/reference/primitives.md, which a test compares with primitives.def."""
    out = {}
    with open(os.path.join(ROOT, "docs", "reference", "primitives.md")) as f:
        for line in f:
            if match := re.match(r"\| `(\w+)` \|", line):
                spelled = re.search(r"; spelled ([\w.]+)", line)
                out[match.group(1)] = (spelled.group(1) if spelled else match.group(1)).rpartition(".")[2]
    return out


def named_tests(names):
    """Name: the test that calls it, or nothing where that is not so."""
    out = {}
    for path, words in NAMED.items():
        with open(os.path.join(ROOT, path)) as f:
            text = f.read()
        # A test runs a program, or what a script writes.
        for script in set(re.findall(r"%S/([\w./]+\.(?:py|mx))", text)):
            with open(os.path.join(ROOT, os.path.dirname(path), script)) as f:
                text += f.read()
        for name in words.split():
            # Items of data sets are changed by methods, named by the first word.
            spelled = names[name].removesuffix("_items")
            if re.search(rf"\b{spelled}\(", text):
                out[name] = path
    return out


def groups_that_run():
    """Group: the test whose RUN line names it."""
    out = {}
    for path in sorted(glob.glob(os.path.join(HERE, "*.test"))):
        with open(path) as f:
            for group in re.findall(r"compare_with_numpy\.py %mxc ([\w-]+)", f.read()):
                out[group] = os.path.basename(path)
    return out


def words_of(text, names):
    """The primitives and operators an expression uses."""
    found = {n for n in re.findall(r"\b([a-z_]\w*)\(", text) if n in names}
    if re.search(rf"\b({'|'.join(ELEMS)})\(", text):
        found.add("conversions")
    return found | {word for word, pattern in OPERATORS if re.search(pattern, text)}


def table():
    names, running = primitives(), groups_that_run()
    done = subprocess.run([sys.executable, os.path.join(HERE, "compare_with_numpy.py"), "-", "--cases"],
                          capture_output=True, text=True, check=True)
    cases = json.loads(done.stdout)
    count, elems, tests, total = collections.Counter(), collections.defaultdict(set), collections.defaultdict(set), 0
    for group, test in running.items():
        for text in cases[group]:
            total += 1
            for word in words_of(text, names):
                count[word] += 1
                elems[word].add(group.split("-")[1])
                tests[word].add(test)
    rows = [f"{total} cases, each evaluated op by op and in a graph, on 1, 2 and 4 threads with the same bits.", "",
            "| primitive | element types | cases | test/ops |", "|---|---|---|---|"]
    for word in sorted(count):
        kinds = [e for e in ELEMS if e in elems[word]]
        rows.append(f"| {word} | {' '.join(kinds)} | {count[word]} | {', '.join(sorted(tests[word]))} |")
    named = named_tests(names)
    rows += ["", "Primitives without a NumPy counterpart have tests of their own:", "", "| primitives | test |", "|---|---|"]
    rows += [f"| {' '.join(n for n in names if named.get(n) == path)} | {path} |" for path in NAMED]
    untested = sorted(n for n in names if n not in count and n not in named)
    return "\n".join(rows), total, untested


def main():
    text, total, untested = table()
    if untested:
        print("no test of this table calls " + ", ".join(untested))
        return 1
    with open(PAGE) as f:
        page = f.read()
    before, _, rest = page.partition(BEGIN)
    current, _, after = rest.partition(END)
    if not rest or END not in rest:
        sys.exit(f"docs/status.md lacks the lines\n  {BEGIN}\n  {END}")
    if "--write" in sys.argv:
        with open(PAGE, "w") as f:
            f.write(f"{before}{BEGIN}\n{text}\n{END}{after}")
        print(f"{total} cases")
        return 0
    if current.strip() != text.strip():
        print("the op table of docs/status.md is not current; write it with\n  test/ops/op_table.py --write")
        return 1
    if total < LEAST:
        print(f"{total} cases run, fewer than {LEAST}")
        return 1
    print(f"{total} cases, the table is current")
    return 0


if __name__ == "__main__":
    sys.exit(main())
