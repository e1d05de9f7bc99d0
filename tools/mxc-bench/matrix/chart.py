# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A run as a picture: ratios to the best peer. Whole networks have a line each, kernels a line a group with a dot for each
row. Needs nothing but Python. The colours follow the reader's light or dark mode on a background of the picture's own."""
import math
import statistics
from xml.sax.saxutils import escape

import report

WIDTH, LEFT, RIGHT, LINE, TOP, BOTTOM = 880, 330, 220, 24, 84, 48
SCALE = (-2, 3)  # powers of two
NETWORKS = ("training", "inference", "memory")  # groups whose rows have lines of their own
STYLE = """<style>
.card { fill: #ffffff; stroke: #d0d7de } .text { fill: #1f2328 } .weak { fill: #59636e } .grid { stroke: #d8dee4 }
.one { stroke: #59636e } .faster { fill: #1a7f37; stroke: #1a7f37 } .slower { fill: #bc4c00; stroke: #bc4c00 }
.even { fill: #59636e; stroke: #59636e }
@media (prefers-color-scheme: dark) {
.card { fill: #0d1117; stroke: #3d444d } .text { fill: #f0f6fc } .weak { fill: #9198a1 } .grid { stroke: #2a313c }
.one { stroke: #9198a1 } .faster { fill: #3fb950; stroke: #3fb950 } .slower { fill: #f0883e; stroke: #f0883e }
.even { fill: #9198a1; stroke: #9198a1 }
}
</style>"""


def text(x, y, said, kind="text", anchor="start", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}"{more}>{escape(said)}</text>'


def short(name, longest=46):
    return name if len(name) <= longest else name[:longest - 1] + "…"


def lines_of(run):
    """What the picture has, top down: a heading, a row of a network, or a group of kernels. Of the numbers of threads only
    the smallest."""
    fewest = min((r["threads"] for r in run["results"] if r["threads"]), default=1)
    with_ratio = [r for r in run["results"] if report.verdict(r) not in (None, "noisy") and r["threads"] in ("", fewest)]
    networks = [r for group in NETWORKS for r in with_ratio if r["group"] == group]
    if networks:
        yield "heading", "Networks"
        yield from (("row", result) for result in networks)
    groups = [(title, [r for r in with_ratio if r["group"] == group]) for group, title in report.GROUPS.items()
              if group not in NETWORKS]
    groups = [(title, results) for title, results in groups if len(results) > 1]
    if groups:
        yield "heading", "Kernels and calls: a dot is a row"
        yield from (("group", group) for group in groups)


def drawn(run):
    """An SVG. The scale is logarithmic; ratios beyond its ends are drawn as arrows at them."""
    lines, (low, high) = list(lines_of(run)), SCALE
    height = TOP + LINE * max(len(lines), 1) + BOTTOM
    step = (WIDTH - LEFT - RIGHT) / (high - low)

    def across(value):
        return LEFT + step * (min(max(math.log2(value), low), high) - low)
    machine, bottom = run["machine"], height - BOTTOM
    threads = sorted({r["threads"] for kind, r in lines if kind == "row" and r["threads"] != ""})
    count = f"{' and '.join(map(str, threads))} thread{'s' * (threads != [1])}" if threads else ""
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
           'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" font-size="13">', STYLE,
           f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6" class="card"/>',
           text(20, 28, "Speed of mx relative to the best peer", more=' font-size="17" font-weight="600"'),
           text(20, 48, ", ".join(filter(None, [machine["cpu"].split(", family")[0], machine["vectors"].replace(" + ", ", "),
                                                count, run["date"]])), "weak"),
           text(across(1) - 12, TOP - 12, "← slower", "weak", "end"), text(across(1) + 12, TOP - 12, "faster →", "weak")]
    for power in range(low, high + 1):
        x = LEFT + step * (power - low)
        out.append(f'<path d="M{x:.1f} {TOP - 4}V{bottom}" class="{"one" if power == 0 else "grid"}"/>')
        out.append(text(x, bottom + 17, f"{2.0 ** power:g}×", "weak", "middle"))
    for i, (kind, what) in enumerate(lines):
        y = TOP + LINE * i + LINE / 2
        if kind == "heading":
            out.append(f'<rect x="14" y="{y - 9:.1f}" width="{LEFT - 28}" height="18" class="card" stroke-opacity="0"/>')
            out.append(text(20, y + 5, what, more=' font-weight="600"'))
        elif kind == "row":
            out += of_row(what, y, across)
        else:
            out += of_group(*what, y, across)
    if not lines:
        out.append(text(WIDTH / 2, TOP + LINE / 2, "no row has a peer", "weak", "middle"))
    out.append(text(20, height - 12, "Ratio of the best peer's time (memory: bytes) to that of mx; lines are quartiles, arrows are "
                    "beyond the scale. Noisy rows are left out.", "weak", more=' font-size="12"'))
    return "\n".join(out + ["</svg>"]) + "\n"


def ratio_text(value):
    return f"{value:.2f}×" if value < 10 else f"{value:.0f}×"


def dot(result, across, y, size, more=""):
    """A circle, or an arrow for a ratio beyond the scale."""
    x, kind, title = across(result["ratio"]), report.verdict(result), f"<title>{escape(result['row'])}</title>"
    beyond = (math.log2(result["ratio"]) > SCALE[1]) - (math.log2(result["ratio"]) < SCALE[0])
    if beyond:
        return f'<path d="M{x:.1f} {y - 5:.1f}l{8 * beyond} 5l{-8 * beyond} 5z" class="{kind}"{more}>{title}</path>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" class="{kind}"{more}>{title}</circle>'


def of_row(result, y, across):
    kind, x = report.verdict(result), across(result["ratio"])
    name = result["row"] + (f" ({result['threads']} threads)" if result["threads"] not in ("", 1) else "")
    out = ["<g>", text(20, y + 4.5, short(name)),
           f'<path d="M{across(1):.1f} {y:.1f}H{x:.1f}" class="{kind}" stroke-width="8" stroke-opacity="0.3"/>']
    if "quartiles" in result:
        low, high = map(across, result["quartiles"])
        out.append(f'<path d="M{low:.1f} {y:.1f}H{high:.1f}" class="{kind}" stroke-width="2"/>')
    peer = report.PEERS.get(result["best"], result["best"])
    return out + [dot(result, across, y, 4.5), text(WIDTH - RIGHT + 20, y + 4.5, f"{ratio_text(result['ratio'])}  {peer}", "weak"),
                  "</g>"]


def of_group(title, results, y, across):
    out = ["<g>", text(20, y + 4.5, title)]
    out += [dot(result, across, y, 4, ' fill-opacity="0.45"') for result in results]
    median = statistics.median(result["ratio"] for result in results)
    return out + [text(WIDTH - RIGHT + 20, y + 4.5, f"{ratio_text(median)}  median of {len(results)}", "weak"), "</g>"]
