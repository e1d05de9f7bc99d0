# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results as a table in the terminal, and compared with older ones. Needs nothing but Python.

A result has `group`, `row`, `threads`, and then either `error`, or `mx` in `unit` with its quartiles `mx_quartiles`; where
there are peers, `peers` with their figures, `best`, and `ratio` (best peer / mx) with `quartiles`; `flops` or `bytes` per
call, and `of_memcpy`, the time of a copy of as many bytes / mx's. `goal` says of what (`ratio`, `memcpy` or `value`) the
`min` or `max` is asked. `notes` says why a peer has no figure. A run has `limits`: GFLOP/s and GB/s of one thread.
"""
import json
import pathlib
import re

FORMAT = 2
GROUPS = {"matmul": "Matmul", "convolution": "Convolution", "attention": "Attention",
          "rows": "Elementwise chains, softmax, norms", "functions": "Elementwise functions", "training": "Training steps",
          "inference": "Inference", "eager": "Eager ops and the engine", "compile": "Compile time", "memory": "Memory",
          "start": "Start, prompt, executables"}
OWN = "mx in f32"  # beside which bf16 is measured too; not a peer
NOISY = 0.25  # quartiles further apart than this share of the median say too little
PEERS = {"torch": "PyTorch", "torch.compile": "torch.compile", "jax": "JAX", "onnxruntime": "ONNX Runtime",
         "openvino": "OpenVINO", "iree": "IREE", "numpy": "NumPy", "python3": "Python"}


class Unreadable(Exception):
    pass


def read(path):
    """A run that --json wrote."""
    try:
        run = json.loads(pathlib.Path(path).read_text())
    except OSError as failure:
        raise Unreadable(f"cannot read {path}: {failure.strerror}") from None
    except ValueError as failure:
        raise Unreadable(f"{path} is not JSON: {failure}") from None
    if not isinstance(run, dict) or run.get("format") != FORMAT:
        raise Unreadable(f"{path} is not of format {FORMAT}: measure its commit again with --json")
    return run


def written(run):
    """As JSON, one line a result, so that changes can be read."""
    head = {key: value for key, value in run.items() if key != "results"}
    lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    results = ",\n".join("  " + json.dumps(result) for result in run["results"])
    return "{\n" + "\n".join(lines) + '\n "results": [\n' + results + "\n ]\n}\n"


def machine_name(run):
    """The CPU as part of a file's name: amd-epyc-family-26-model-2."""
    return re.sub(r"[^a-z0-9]+", "-", run["machine"]["cpu"].lower()).strip("-")


def joined(older, run):
    """The older run with the results of this one, which replace those of the same rows and say of which commit they are."""
    def key(result):
        return result["row"], result["threads"]
    added = {key(result): {**result, **({"commit": run["commit"]} if run["commit"] != older["commit"] else {})}
             for result in run["results"]}
    known = [key(result) for result in older["results"]]
    results = [added.get(key(result), result) for result in older["results"]]
    return {**older, "versions": {**run["versions"], **older["versions"]}, "load": older.get("load", []) + run.get("load", []),
            "results": results + [result for row, result in added.items() if row not in known]}


def measured_of(result):
    """What the goal is about; None where it was not measured."""
    goal = result.get("goal")
    if goal and "peer" in goal:
        return result["peers"][goal["peer"]] / result["mx"] if goal["peer"] in result.get("peers", {}) else None
    return result.get({"ratio": "ratio", "memcpy": "of_memcpy", "value": "mx"}[goal["of"]]) if goal else None


def met(result):
    """True or False; None without a goal, or without the figure it is about."""
    value = measured_of(result)
    if "error" in result or value is None:
        return None
    goal = result["goal"]
    return value >= goal["min"] if "min" in goal else value <= goal["max"]


def noisy(result):
    """Whether the quartiles of the ratio are too far apart."""
    low, high = result.get("quartiles", (0, 0))
    return high - low > NOISY * result.get("ratio", 0)


def verdict(result):
    """`faster` or `slower` than the best peer, `even` where the quartiles are on both sides of 1, `noisy`; None without a
    ratio, and where it is one of single wall times."""
    if "error" in result or "ratio" not in result or result["best"] == OWN:
        return None
    if result["threads"] == "" and "quartiles" not in result:
        return None
    if noisy(result):
        return "noisy"
    low, high = result.get("quartiles", (result["ratio"],) * 2)
    return "faster" if low > 1 else "slower" if high < 1 else "even"


def limit(run, result):
    """The share of the machine's limit: the peak of its threads, or memcpy of as many bytes. None where it is not known."""
    if "error" in result:
        return None
    if "of_memcpy" in result:
        return result["of_memcpy"]
    limits = run.get("limits", {})
    peak = limits.get("bf16", 0) if "bf16" in result["row"] else limits.get("f32", 0)
    if not peak or "flops" not in result or result["unit"] != "us":
        return None
    return result["flops"] / result["mx"] / 1e3 / (peak * (result["threads"] or 1))


def number(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.4f}"


def goal_text(result):
    goal = result.get("goal")
    if not goal:
        return ""
    sign, value = (">=", goal["min"]) if "min" in goal else ("<=", goal["max"])
    return f"{sign} {value:g}" + {"ratio": f" of {goal['peer']}" if "peer" in goal else "", "memcpy": " of memcpy",
                                  "value": " " + result["unit"]}[goal["of"]]


def rate(result):
    for key, unit in (("flops", "GFLOP/s"), ("bytes", "GB/s")):
        if key in result and result["unit"] == "us":
            return f"{result[key] / result['mx'] / 1e3:.1f} {unit}"
    return ""


def cells(result):
    name = result["row"]
    if "error" in result:
        return [name, str(result["threads"]), "", "", result["error"], "", "", ""]
    peer = f"{result['best']} {number(result['peers'][result['best']])}" if "best" in result else ""
    ratio = f"{result['ratio']:.2f}" if "ratio" in result else ""
    if "quartiles" in result:
        ratio += " [{:.2f}, {:.2f}]".format(*result["quartiles"]) + " noisy" * noisy(result)
    if "of_memcpy" in result:
        ratio += ", " * bool(ratio) + f"memcpy {result['of_memcpy']:.2f}"
    said = {True: "met", False: "MISSED", None: ""}[met(result)]
    return [name, str(result["threads"] or ""), f"{number(result['mx'])} {result['unit']}", rate(result), peer, ratio,
            goal_text(result), said]


HEAD = ["row", "threads", "mx", "rate", "best peer", "ratio", "goal", ""]


def heading(run):
    machine = run["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    return [f"mx {run['commit']}, {run['date']}, {machine['cpu']} with {machine['cores']} cores ({machine['vectors']})",
            f"beside {versions or 'nobody'}"] + [f"{name} {word}" for name, word in run.get("missing", {}).items()]


def grouped(run):
    """Groups in their order: title and results."""
    for group, title in GROUPS.items():
        results = [r for r in run["results"] if r["group"] == group]
        if results:
            yield title, results


def table(run):
    rows = [HEAD] + [cells(result) for result in run["results"] if "error" not in result]
    widths = [max(map(len, column)) for column in zip(*rows)]

    def line(row):
        return "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
    out = heading(run) + ["", line(HEAD)]
    for title, results in grouped(run):
        out.append(title)
        for result in results:
            out.append(line(cells(result)))
            out += [f"      {peer}: {word}" for peer, word in result.get("notes", {}).items()]
    return "\n".join(out + ["", summary(run)])


def summary(run):
    said = [met(result) for result in run["results"]]
    errors = sum("error" in result for result in run["results"])
    return (f"{said.count(True)} goals met, {said.count(False)} missed, {said.count(None) - errors} rows without a goal or a peer"
            + (f", {errors} failed" if errors else ""))


def fallen(results, baseline, share=0.9):
    """Rows whose ratio fell; of rows without peers, those whose ratio to memcpy fell."""
    def known(result):
        if "error" in result:
            return None
        if result.get("goal", None) and result["goal"]["of"] == "memcpy" and "of_memcpy" in result:
            return result["of_memcpy"]
        return result.get("ratio")
    before = {(r["row"], r["threads"]): known(r) for r in baseline}
    for result in results:
        old, new = before.get((result["row"], result["threads"])), known(result)
        if old and "error" in result:
            yield f"{result['row']} on {result['threads']}: {old:.2f} before, now {result['error']}"
        elif old and new is not None and new < share * old:
            yield f"{result['row']} on {result['threads']}: {old:.2f} before, {new:.2f} now"
