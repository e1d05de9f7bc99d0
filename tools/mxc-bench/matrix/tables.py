# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A run as a Markdown page, one table a group. Needs nothing but Python."""
import re
import textwrap

import report

HEAD = ["what", "mx", "best peer", "ratio", "quartiles", "of the limit"]
SCALES = {"us": (("s", 1e6), ("ms", 1e3), ("us", 1)), "ms": (("s", 1e3), ("ms", 1), ("us", 1e-3))}


def quantity(value, unit):
    """1,234.5 us as 1.23 ms."""
    for name, scale in SCALES.get(unit, ((unit, 1),)):
        if value >= scale:
            break
    value /= scale
    digits = f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"
    return f"{digits} {name}".strip()


def plain(text):
    """Text that Markdown shows as it is."""
    return re.sub(r"([|*_<>\\`\[\]])", r"\\\1", text)


def ratio_cell(result):
    text = f"{result['ratio']:.2f}" if result["ratio"] < 10 else f"{result['ratio']:.1f}"
    return {"noisy": f"({text})", "slower": f"**{text}**"}.get(report.verdict(result), text)


def cells(run, result):
    name = plain(result["row"]) + (f", {result['threads']} threads" if result["threads"] not in ("", 1) else "")
    if "error" in result:
        return [name, plain(result["error"]), "", "", "", ""]
    peer = (f"{report.PEERS.get(result['best'], result['best'])} {quantity(result['peers'][result['best']], result['unit'])}"
            if "best" in result else "")
    quartiles = "{:.2f} to {:.2f}".format(*result["quartiles"]) if "quartiles" in result else ""
    share = report.limit(run, result)
    limit = "" if share is None else f"{100 * share:.0f} %" + " of memcpy" * ("of_memcpy" in result)
    ours = "≤ " * at_most(run, result) + quantity(result["mx"], result["unit"])
    return [name, ours, peer, ratio_cell(result) if "ratio" in result else "", quartiles,
            limit]


def counts(results):
    """12 rows faster, 3 even, …"""
    said = [report.verdict(result) for result in results]
    words = {"faster": "faster than the best peer", "even": "even", "slower": "slower", "noisy": "too noisy to say"}
    return ", ".join(f"{said.count(key)} {word}" for key, word in words.items() if said.count(key))


def limits(run):
    known = run.get("limits", {})
    out = [f"{name} {known[key]:.0f} GFLOP/s" for key, name in (("f32", "f32 multiply-adds"), ("bf16", "bf16 dot products"))
           if key in known]
    out += [f"memcpy of {size} MB, read and written, {value:.1f} GB/s" for size, value in known.get("memcpy", {}).items()]
    return "; ".join(out)


def is_shared(run):
    """Whether other programs used the machine: more load than the benchmark's own 1."""
    return max(run.get("load") or [0]) > 1.5


def at_most(run, result):
    """Whether the figure is wall time without quartiles on a shared machine, which other programs made longer."""
    return result["threads"] == "" and result["unit"] in SCALES and "mx_quartiles" not in result and is_shared(run)


def shared(run):
    """What else the machine did, as the run recorded it."""
    load = run.get("load")
    if not load:
        return "The load of the machine was not recorded."
    cores, low, high = run["machine"]["cores"], min(load), max(load)
    text = f"load average {low:.1f} to {high:.1f} on {cores} cores, of which 1 is the benchmark's own"
    if is_shared(run):
        return f"The machine was shared with other programs: {text}."
    return f"The machine was otherwise idle: {text}."


def wrapped(text):
    return textwrap.wrap(text, 100, break_long_words=False, break_on_hyphens=False) + [""]


def page(run, source):
    """The page of one machine; `source` is the name of its JSON file."""
    machine = run["machine"]
    out = [f"# Benchmarks: {machine['cpu']}", "",
           f"<!-- Made by tools/mxc-bench/matrix/page from data/{source}. Do not edit. -->", ""]
    out += wrapped(f"Commit {run['commit']}, {run['date']}. {machine['cores']} cores, {machine['vectors']}. " + shared(run) +
                   (f" Blocks ran with niceness {run['nice']}." if run.get("nice") else "") +
                   (f" Hypervisor steal: {100 * run['steal']:.1f} % of the time." if "steal" in run else ""))
    versions = ", ".join(f"{report.PEERS.get(name, name)} {version}" for name, version in run["versions"].items())
    missing = "".join(f" {report.PEERS.get(name, name)} {word}." for name, word in run.get("missing", {}).items())
    out += wrapped(f"Peers: {versions or 'none'}.{missing}")
    if limits(run):
        out += wrapped(f"Limits of one thread, measured in the same run: {limits(run)}.")
    out += [f"- **{counts(run['results'])}**, of {len(run['results'])} rows.",
            "- mx: the median. Ratio: the median over interleaved blocks of the best peer's time / mx's;",
            "  above 1 mx is faster. Bold: slower than the best peer.",
            f"- In parentheses: the quartiles are more than {100 * report.NOISY:.0f} % of the ratio apart, too noisy to say anything.",
            "- No quartiles: a single measurement, the best of several runs, or bytes.",
            *(["- ≤: the best wall time of a few runs while other programs used the machine, so an upper bound."]
              if any("error" not in result and at_most(run, result) for result in run["results"]) else []),
            "- Of the limit: GFLOP/s / the peak of the threads, or memcpy's time for as many bytes / mx's.",
            "  Above 100 % of memcpy is possible: NumPy's copy is not the fastest one at every size.", ""]
    for title, results in report.grouped(run):
        out += [f"## {title}", ""]
        if counts(results):
            out += [counts(results)[0].upper() + counts(results)[1:] + ".", ""]
        out += ["| " + " | ".join(HEAD) + " |", "|---|" + "--:|" * (len(HEAD) - 1)]
        out += ["| " + " | ".join(cells(run, result)) + " |" for result in results]
        notes = [f"- {plain(result['row'])}: {report.PEERS.get(peer, peer)}: {plain(word)}"
                 for result in results for peer, word in result.get("notes", {}).items()]
        out += [""] + (["Without a figure:", "", *notes, ""] if notes else [])
        for commit in sorted({result["commit"] for result in results if "commit" in result}):
            names = [cells(run, result)[0] for result in results if result.get("commit") == commit]
            out += wrapped(f"Measured at commit {commit}: {'; '.join(names)}.")
    return "\n".join(out).rstrip() + "\n"
