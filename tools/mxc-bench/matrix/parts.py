# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of the matrix that C++ programs measure: `mxc-bench` and test/nightly/aot.sh. Their output as results."""
import json
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]


def started(command, environment, json_file=None):
    """What it printed, and what it wrote; or a word why not. A goal that is missed is no failure: codes differ."""
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


def failed(number, name, word):
    return {"number": number, "row": name, "threads": "", "error": word}


# ----------------------------------------------------------------------------------- JSON of mxc-bench

def compared(written, number, threads, ours, goals):
    """Rows of a `Report`: ours is the first of each work, the peers are those whose names do not begin with `ours`."""
    works = {}
    for row in written["rows"]:
        works.setdefault(row["work"], []).append(row)
    for work, rows in works.items():
        first = rows[0]
        result = {"number": number, "row": work, "threads": threads, "mx": first["median_us"], "unit": "us", "words": {},
                  "peers": {r["by"]: r["median_us"] for r in rows[1:] if not r["by"].startswith(ours)},
                  "goal": goals(work, first)}
        for peer in sorted(result["peers"], key=result["peers"].get)[:1]:
            use_peer(result, rows, peer)
        goal = result["goal"]
        if goal and goal.get("peer") in result["peers"]:
            use_peer(result, rows, goal["peer"])
        yield result


def use_peer(result, rows, peer):
    row = next(r for r in rows if r["by"] == peer)
    result.update(best=peer, ratio=row["ratio"], quartiles=[row["ratio_q1"], row["ratio_q3"]])


def of_engine(written):
    def goals(_, first):
        return {"of": "value", "most": first["goal_us"]} if "goal_us" in first else None
    # Rows of ours alone say how it scales, not how fast it is.
    return [r for r in compared(written, 13, "", "mxrt", goals) if r["peers"] or r["goal"]]


def of_products(written, threads):
    def goals(work, _):
        small = work in ("64x64x64", "128x128x128")
        return {"of": "ratio", "least": 1.25, "peer": "OpenBLAS"} if small else {"of": "ratio", "least": 0.95}
    results = list(compared(written, 9, threads, "mx", goals))
    for result in results:
        m, n, k = map(int, result["row"].split()[0].split("x"))
        result.update(row="matmul " + result["row"], gflops=2 * m * n * k / result["mx"] / 1e3)
    return results


def of_figures(written, number, only=""):
    for figure in written["figures"]:
        goal = {key: figure[key] for key in ("least", "most") if key in figure}
        name = re.sub(r" \([^()]*\)(?=:)", "", figure["what"])
        if re.search(only, name):
            yield {"number": number, "row": name, "threads": "", "mx": figure["value"], "unit": figure["unit"],
                   "words": {}, "goal": {"of": "value", **goal} if goal else None}


def of_plans(written, files):
    """Plans of instances that come with a capacity are within a tenth of it."""
    for result in of_figures(written, 15):
        result.update(row="plan: " + result["row"], goal={"of": "value", "most": 1.1} if files else None)
        yield result


# -------------------------------------------------------------------------------------------- aot.sh

PEERS = {"PyTorch": "torch", "ONNX Runtime": "onnxruntime"}


def of_aot(printed):
    """Rows 2 and 17 of what the script prints; peers are called from Python."""
    def found(pattern):
        match = re.search(pattern, printed, re.M)
        return float(match.group(1)) if match else None

    def peers(pattern):
        values = {name: found(rf"^{who} \S+: {pattern}") for who, name in PEERS.items()}
        return {name: value for name, value in values.items() if value is not None}
    size = re.search(r"^\s*text\s+data\s+bss.*\n\s*(\d+)\s+(\d+)\s+(\d+)", printed, re.M)
    nanoseconds = found(r"^tiny mlp 64-32-8: ([\d.]+) ns a call")
    rows = [
        (2, "tiny MLP 64-32-8 b1, ahead of time, from C", nanoseconds and nanoseconds / 1e3, "us",
         peers(r"tiny mlp ([\d.]+) us a call"), {"of": "ratio", "least": 10.0}),
        (2, "LeNet b1, ahead of time, from C", found(r"^lenet: ([\d.]+) us a call"), "us",
         peers(r"lenet ([\d.]+) us a call"), {"of": "ratio", "least": 1.0}),
        (17, "LeNet in a C program: bytes", size and sum(map(int, size.groups()[:2])) / 1e6, "MB", {},
         {"of": "value", "most": 1.0}),
        (17, "LeNet in a C program: resident", (found(r"^lenet: .* resident (\d+) KB") or 0) / 1e3 or None, "MB",
         {name: value / 1e3 for name, value in peers(r"first result .* resident (\d+) KB").items()},
         {"of": "ratio", "least": 10.0}),
        (17, "LeNet in a C program: parameters and first result", found(r"^lenet: parameters and first result ([\d.]+) ms"),
         "ms", peers(r"first result ([\d.]+) ms after"), {"of": "ratio", "least": 10.0})]
    for number, name, ours, unit, others, goal in rows:
        if ours is None:
            continue
        result = {"number": number, "row": name, "threads": 1, "mx": ours, "unit": unit, "peers": others, "words": {},
                  "goal": goal}
        if others:
            result["best"] = min(others, key=others.get)
            result["ratio"] = others[result["best"]] / ours
        yield result


# ------------------------------------------------------------------------------------------- all parts

def measured(bench, environment, threads, quick, wanted, instances, say):
    """Results of all parts whose name matches `wanted`."""
    few = ["--blocks", "3"] if quick else []
    parts = [(f"products on {n}", 9, ["products", f"--threads={n}", f"--blocks={3 if quick or n > 1 else 9}"],
              lambda written, n=n: of_products(written, n)) for n in threads]
    parts.append(("engine", 13, ["engine", *few], of_engine))
    if not quick:
        parts += [("embed", 2, ["embed"], lambda w: of_figures(w, 2, "^a call from C")),
                  ("spine", 14, ["spine"], lambda w: of_figures(w, 14)),
                  ("prompt", 14, ["prompt"], lambda w: of_figures(w, 14)), ("memory", 15, ["memory", *instances], lambda w: of_plans(w, instances))]
    results = []
    for name, number, words, read in parts:
        if not re.search(wanted, name):
            continue
        say(f"mxc-bench {' '.join(map(str, words[:3]))}")
        with tempfile.TemporaryDirectory() as folder:
            _, written, word = started([bench, *words], environment, f"{folder}/figures.json")
        results += list(read(written)) if written else [failed(number, f"mxc-bench {name}", word)]
    if not quick and re.search(wanted, "aot"):
        say("test/nightly/aot.sh")
        printed, _, _ = started([ROOT / "test/nightly/aot.sh"], environment)
        results += list(of_aot(printed)) or [failed(17, "test/nightly/aot.sh", "printed no figure")]
    return results
