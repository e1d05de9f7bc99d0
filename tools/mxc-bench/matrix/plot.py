# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A picture of a run: each row's distance from its goal, which is the line. Needs nothing but Python."""
import math
from xml.sax.saxutils import escape

import report

WIDTH, LEFT, RIGHT, LINE, TOP, BOTTOM = 1000, 370, 190, 17, 74, 34
COLOURS = {True: "#2a7f4f", False: "#c2571a", None: "#888888"}


def text(x, y, said, anchor="start", style=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{style}>{escape(said)}</text>'


def drawn(run):
    """An SVG. To the right of the line the goal is met; a step of the scale is a factor of two."""
    results = [r for _, _, results in report.listed(run) for r in results if report.of_goal(r)]
    reach = max([2.0] + [abs(math.log2(report.of_goal(r))) for r in results])
    reach = min(math.ceil(reach), 4)
    height = TOP + LINE * max(len(results), 1) + BOTTOM
    across = (WIDTH - LEFT - RIGHT) / (2 * reach)
    middle = LEFT + across * reach

    def place(value):
        return middle + across * max(-reach, min(reach, math.log2(value)))
    head = report.heading(run)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
           'font-family="system-ui, sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
           text(16, 24, "Each row and its goal", style=' font-size="16" font-weight="600"'), text(16, 42, head[0], style=' fill="#666666"'),
           text(LEFT - 8, 60, "row (threads)", "end", ' fill="#666666"'), text(WIDTH - RIGHT + 8, 60, "ratio or figure (goal)", style=' fill="#666666"'),
           text(middle, 60, "goal", "middle", ' font-weight="600"'), text(middle - 30, 60, "← missed", "end", ' fill="#666666"'),
           text(middle + 30, 60, "met →", style=' fill="#666666"')]
    bottom = height - BOTTOM
    for step in range(-reach, reach + 1):
        x = middle + across * step
        out.append(f'<path d="M{x:.1f} {TOP - 8}V{bottom}" stroke="{"#333333" if step == 0 else "#e3e3e3"}"/>')
        out.append(text(x, bottom + 18, f"{2.0 ** step:g}×", "middle", ' fill="#666666"'))
    for i, result in enumerate(results):
        y, value = TOP + LINE * i + LINE / 2, report.of_goal(result)
        colour = COLOURS[report.met(result)]
        x = place(value)
        name = result["row"] + (f" ({result['threads']})" if result["threads"] else "")
        out.append(f'<g><title>{escape(name)}</title>')
        out.append(text(LEFT - 8, y + 4, short(name, 56), "end"))
        out.append(text(WIDTH - RIGHT + 8, y + 4, figure(result), style=' fill="#444444"'))
        out.append(f'<path d="M{middle:.1f} {y:.1f}H{x:.1f}" stroke="{colour}" stroke-width="7" stroke-opacity="0.35"/>')
        if "quartiles" in result and result["goal"]["of"] == "ratio":
            low, high = (place(q / result["goal"]["least"]) for q in result["quartiles"])
            out.append(f'<path d="M{low:.1f} {y:.1f}H{high:.1f}" stroke="{colour}" stroke-width="2"/>')
        out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/></g>')
    if not results:
        out.append(text(WIDTH / 2, TOP + LINE, "no row has a goal and a figure", "middle"))
    return "\n".join(out + ["</svg>\n"])


def short(name, most):
    return name if len(name) <= most else name[:most - 1] + "…"


def figure(result):
    goal, value = result["goal"], report.measured_of(result)
    unit = f" {result['unit']}" if goal["of"] == "value" else " of memcpy" if goal["of"] == "memcpy" else ""
    sign = "≥" if "least" in goal else "≤"
    return f"{report.number(value)}{unit}  ({sign} {goal.get('least', goal.get('most')):g})"
