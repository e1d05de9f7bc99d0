# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of the matrix that C++ programs measure: `mxc-bench` and test/nightly/aot.sh. Their output as results."""
import json
import pathlib
import re
import subprocess
import tempfile

import report

ROOT = pathlib.Path(__file__).resolve().parents[3]


def started(command, environment, json_file=None):
    """Its output and the JSON it wrote, or why there is none. The exit code is not looked at: a missed goal is not a failure."""
    words = [*map(str, command), *(["--json", json_file] if json_file else [])]
    try:
        done = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=ROOT)
    except OSError as failure:
        return "", None, f"cannot be started: {failure.strerror}"
    try:
        return done.stdout, json.loads(pathlib.Path(json_file).read_text()) if json_file else None, None
    except (OSError, ValueError):
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return done.stdout, None, f"ended with {done.returncode}" + (f": {last}" if last else "")


def failed(group, name, word):
    return {"group": group, "row": name, "threads": "", "error": word}


# ----------------------------------------------------------------------------------- JSON of mxc-bench

def compared(written, group, threads, ours, goals):
    """Rows of a `Report`: ours is the first of each work, the peers are those whose names do not begin with `ours`."""
    works = {}
    for row in written["rows"]:
        works.setdefault(row["work"], []).append(row)
    for work, rows in works.items():
        first = rows[0]
        result = {"group": group, "row": work, "threads": threads, "mx": first["median_us"], "unit": "us", "notes": {},
                  "mx_quartiles": [first["q1_us"], first["q3_us"]],
                  "peers": {r["by"]: r["median_us"] for r in rows[1:] if not r["by"].startswith(ours)},
                  "goal": goals(work, first)}
        if result["peers"]:
            best = min(result["peers"], key=result["peers"].get)
            row = next(r for r in rows if r["by"] == best)
            result.update(best=best, ratio=row["ratio"], quartiles=[row["ratio_q1"], row["ratio_q3"]])
        yield result


def of_engine(written):
    def goals(_, first):
        return {"of": "value", "max": first["goal_us"]} if "goal_us" in first else None
    # Rows without peers say how the engine scales, not how fast it is.
    return [{**r, "row": "engine: " + r["row"]} for r in compared(written, "eager", "", "mxrt", goals) if r["peers"] or r["goal"]]


def of_matmul(written, threads):
    def goals(work, _):
        small = work in ("64x64x64", "128x128x128")
        return {"of": "ratio", "min": 1.25, "peer": "OpenBLAS"} if small else {"of": "ratio", "min": 0.95}
    results = list(compared(written, "matmul", threads, "mx", goals))
    for result in results:
        m, n, k = map(int, result["row"].split()[0].split("x"))
        if "f32" in result["peers"]:  # bf16 beside our own f32
            result.update(peers={report.OWN: result["peers"]["f32"]}, best=report.OWN)
        name = result["row"].replace("transposedA", "A transposed").replace("transposedB", "B transposed")
        result.update(row=f"matmul {name}" + ", beside f32" * name.endswith("bf16"), flops=2 * m * n * k)
    return results


def of_limits(written):
    """f32 and bf16 GFLOP/s, memcpy in GB/s by megabytes, of one thread."""
    limits = {"memcpy": {}}
    for figure in written["figures"]:
        megabytes = re.search(r"memcpy of (\d+) MB", figure["what"])
        if megabytes:
            limits["memcpy"][megabytes.group(1)] = figure["value"]
        else:
            limits["bf16" if "bf16" in figure["what"] else "f32"] = figure["value"]
    return limits


# Figures of Python as the peer of those of mx.
PYTHON = {"start: mxc -e 'print(1.0 + 1.0)'": ("python3", "start: python3 -c 'print(1.0 + 1.0)'"),
          "start: mxc -e 'print(ones([3]) + 1.0)'": ("numpy", "start: python3 with numpy")}


def of_figures(written, group, only=""):
    values = {re.sub(r" \([^()]*\)(?=:)", "", figure["what"]): figure for figure in written["figures"]}
    for name, figure in values.items():
        if not re.search(only, name) or name in [peer for _, peer in PYTHON.values()]:
            continue
        goal = {key: figure[key] for key in ("min", "max") if key in figure}
        result = {"group": "start" if name.startswith(("start:", "the prompt", "Ctrl-C")) else group, "row": name,
                  "threads": "", "mx": figure["value"], "unit": figure["unit"], "notes": {},
                  "goal": {"of": "value", **goal} if goal else None}
        if figure["value"] < 0:
            result = {key: result[key] for key in ("group", "row", "threads")} | {"error": "not measured"}
        elif name in PYTHON and PYTHON[name][1] in values:
            peer, other = PYTHON[name][0], values[PYTHON[name][1]]["value"]
            result.update(peers={peer: other}, best=peer, ratio=other / figure["value"])
        yield result


def of_plans(written, files):
    """Plans of instances that come with a capacity are within a tenth of it."""
    for result in of_figures(written, "memory"):
        result.update(row="plan: " + result["row"], goal={"of": "value", "max": 1.1} if files else None)
        yield result


# -------------------------------------------------------------------------------------------- aot.sh

PEERS = {"PyTorch": "torch", "ONNX Runtime": "onnxruntime"}


def of_aot(printed):
    """Rows of what the script prints; peers are called from Python."""
    def found(pattern):
        match = re.search(pattern, printed, re.M)
        return float(match.group(1)) if match else None

    def peers(pattern):
        values = {name: found(rf"^{title} \S+: {pattern}") for title, name in PEERS.items()}
        return {name: value for name, value in values.items() if value is not None}
    size = re.search(r"^\s*text\s+data\s+bss.*\n\s*(\d+)\s+(\d+)\s+(\d+)", printed, re.M)
    nanoseconds = found(r"^tiny mlp 64-32-8: ([\d.]+) ns a call")
    rows = [
        ("inference", "tiny MLP 64-32-8 b1, ahead of time, from C", nanoseconds and nanoseconds / 1e3, "us",
         peers(r"tiny mlp ([\d.]+) us a call"), {"of": "ratio", "min": 10.0}),
        ("inference", "LeNet b1, ahead of time, from C", found(r"^lenet: ([\d.]+) us a call"), "us",
         peers(r"lenet ([\d.]+) us a call"), {"of": "ratio", "min": 1.0}),
        ("start", "LeNet in a C program: code and data", size and sum(map(int, size.groups()[:2])) / 1e6, "MB", {},
         {"of": "value", "max": 1.0}),
        ("start", "LeNet in a C program: resident memory", (found(r"^lenet: .* resident (\d+) KB") or 0) / 1e3 or None, "MB",
         {name: value / 1e3 for name, value in peers(r"first result .* resident (\d+) KB").items()},
         {"of": "ratio", "min": 10.0}),
        ("start", "LeNet in a C program: parameters and first result", found(r"^lenet: parameters and first result ([\d.]+) ms"),
         "ms", peers(r"first result ([\d.]+) ms after"), {"of": "ratio", "min": 10.0})]
    for group, name, ours, unit, others, goal in rows:
        if ours is None:
            continue
        result = {"group": group, "row": name, "threads": 1, "mx": ours, "unit": unit, "peers": others, "notes": {},
                  "goal": goal}
        if others:
            result["best"] = min(others, key=others.get)
            result["ratio"] = others[result["best"]] / ours
        yield result


# ------------------------------------------------------------------------------------------- all parts

def limits(bench, environment):
    """The limits of this machine; empty where mxc-bench is not built."""
    with tempfile.TemporaryDirectory() as folder:
        _, written, _ = started([bench, "limits"], environment, f"{folder}/figures.json")
    return of_limits(written) if written else {}


def chosen(threads, quick, wanted, instances):
    """(name, group, words for mxc-bench, reader of its figures) of the parts whose name matches `wanted`. The last, the
    script `aot`, has neither words nor a reader."""
    few = ["--blocks", "3"] if quick else []
    parts = [(f"matmul on {n}", "matmul", ["matmul", f"--threads={n}", f"--blocks={3 if quick else 15}"],
              lambda written, n=n: of_matmul(written, n)) for n in threads]
    parts.append(("engine", "eager", ["engine", *few], of_engine))
    if not quick:
        parts += [("embed", "inference", ["embed"], lambda w: of_figures(w, "inference", "^a call from C")),
                  ("spine", "compile", ["spine"], lambda w: of_figures(w, "compile")),
                  ("prompt", "start", ["prompt"], lambda w: of_figures(w, "start")),
                  ("memory", "memory", ["memory", *instances], lambda w: of_plans(w, instances)),
                  ("aot", "start", None, None)]
    return [part for part in parts if re.search(wanted, part[0])]


def measured(bench, environment, threads, quick, wanted, instances, say):
    """Results of the parts that are chosen."""
    results = []
    for name, group, words, read in chosen(threads, quick, wanted, instances):
        if words is None:
            say("test/nightly/aot.sh")
            printed, _, _ = started([ROOT / "test/nightly/aot.sh"], environment)
            results += list(of_aot(printed)) or [failed(group, "test/nightly/aot.sh", "printed no figure")]
            continue
        say(f"mxc-bench {' '.join(map(str, words[:3]))}")
        with tempfile.TemporaryDirectory() as folder:
            _, written, word = started([bench, *words], environment, f"{folder}/figures.json")
        results += list(read(written)) if written else [failed(group, f"mxc-bench {name}", word)]
    return results
