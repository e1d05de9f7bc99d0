# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results as a table, as JSON, and beside older ones. Needs nothing but Python.

A result has `number` (of the 17 rows), `row`, `threads`, and then either `error`, or `mx` in `unit`; where there are
peers, `peers` with their figures, `best`, and `ratio` (best peer / mx); `of_memcpy` where memory limits it. `goal` says of
what (`ratio`, `memcpy` or `value`) at `least` or at `most` how much. `words` says of peers why they have no figure.
"""
TITLES = {1: "training step of an MLP", 2: "latency of a tiny model", 3: "training step of LeNet",
          4: "training step of an LSTM", 5: "prediction of a transformer block", 6: "training step of a transformer block",
          7: "prediction of ResNets, convolutions", 8: "training step of ResNet-18, gradients of convolutions",
          9: "products of f32", 10: "products of bf16", 11: "elements and rows", 12: "embedding with a sparse step",
          13: "dispatch of ops", 14: "cold start, the prompt", 15: "memory", 16: "two processes",
          17: "size and memory of a deployed program"}
NOT_THERE = {16: "training in several processes is not there yet"}


def measured_of(result):
    """What the goal is about; None where it was not measured."""
    goal = result.get("goal")
    return result.get({"ratio": "ratio", "memcpy": "of_memcpy", "value": "mx"}[goal["of"]]) if goal else None


def met(result):
    """True or False; None where there is no goal or nothing to compare with."""
    value = measured_of(result)
    if "error" in result or value is None:
        return None
    goal = result["goal"]
    return value >= goal["least"] if "least" in goal else value <= goal["most"]


def of_goal(result):
    """How far it is: 1 is the goal, more is better."""
    value, goal = measured_of(result), result.get("goal")
    if "error" in result or not value or value < 0:
        return None
    return value / goal["least"] if "least" in goal else goal["most"] / value


def number(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.4f}"


def goal_text(result):
    goal = result.get("goal")
    if not goal:
        return ""
    sign, value = (">=", goal["least"]) if "least" in goal else ("<=", goal["most"])
    return f"{sign} {value:g}" + {"ratio": f" of {goal['peer']}" if "peer" in goal else "", "memcpy": " of memcpy",
                                  "value": " " + result["unit"]}[goal["of"]]


def cells(result):
    name = result["row"]
    if "error" in result:
        return [name, str(result["threads"]), "", "", result["error"], "", "", ""]
    rate = (f"{result['gflops']:.1f} GFLOP/s" if "gflops" in result else
            f"{result['gbytes']:.1f} GB/s" if "gbytes" in result else "")
    peer = f"{result['best']} {number(result['peers'][result['best']])}" if "best" in result else ""
    ratio = f"{result['ratio']:.2f}" if "ratio" in result else ""
    if "quartiles" in result:
        ratio += " [{:.2f}, {:.2f}]".format(*result["quartiles"])
    if "of_memcpy" in result:
        ratio += ", " * bool(ratio) + f"memcpy {result['of_memcpy']:.2f}"
    said = {True: "met", False: "MISSED", None: ""}[met(result)]
    return [name, str(result["threads"] or ""), f"{number(result['mx'])} {result['unit']}", rate, peer, ratio,
            goal_text(result), said]


HEAD = ["row", "threads", "mx", "rate", "best peer", "ratio", "goal", ""]


def heading(run):
    machine = run["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    return [f"mx {run['commit']}, {run['date']}, {machine['cpu']} with {machine['cores']} cores ({machine['vectors']})",
            f"beside {versions or 'nobody'}"] + [f"{name} {word}" for name, word in run.get("missing", {}).items()]


def listed(run):
    """By the 17 rows: their number, and results or a word."""
    for number_, title in TITLES.items():
        results = [r for r in run["results"] if r["number"] == number_]
        if results or number_ in NOT_THERE:
            yield number_, title, results


def table(run):
    rows = [HEAD] + [cells(result) for result in run["results"] if "error" not in result]
    widths = [max(map(len, column)) for column in zip(*rows)]

    def line(row):
        return "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
    out = heading(run) + ["", line(HEAD)]
    for number_, title, results in listed(run):
        out.append(f"{number_}. {title}" + (": " + NOT_THERE[number_] if not results else ""))
        for result in results:
            out.append(line(cells(result)))
            out += [f"      {peer}: {word}" for peer, word in result.get("words", {}).items()]
    return "\n".join(out + ["", summary(run)])


def markdown(run):
    out = [". ".join(heading(run)) + ".", "", "| # | " + " | ".join(HEAD[:-1] + ["met"]) + " |", "|---" * (len(HEAD) + 1) + "|"]
    for number_, _, results in listed(run):
        if not results:
            out.append(f"| {number_} | {NOT_THERE[number_]} |" + " |" * (len(HEAD) - 1))
        for result in results:
            out.append(f"| {number_} | " + " | ".join(cells(result)) + " |")
    return "\n".join(out)


def summary(run):
    said = [met(result) for result in run["results"]]
    errors = sum("error" in result for result in run["results"])
    return (f"{said.count(True)} goals met, {said.count(False)} missed, {said.count(None) - errors} rows without a goal or a peer"
            + (f", {errors} failed" if errors else ""))


def fallen(results, baseline, share=0.9):
    """Rows that are further from their peer than they were; where there is no peer, than a copy or the figure itself."""
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
