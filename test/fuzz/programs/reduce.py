"""Cuts a program down while it still fails in the same way."""

import re

from breakage import tokens


def shortened(parts, holds, budget):
    """Delta debugging: fewer parts for which `holds`, within `budget` attempts."""
    size = max(len(parts) // 2, 1)
    while parts and budget[0] > 0:
        at, changed = 0, False
        while at < len(parts) and budget[0] > 0:
            candidate = parts[:at] + parts[at + size:]
            budget[0] -= 1
            if holds(candidate):
                parts, changed = candidate, True
            else:
                at += size
        if size == 1 and not changed:
            break
        size = max(size // 2, 1)
    return parts


def blocks(lines):
    """Runs of lines that belong together: a statement with its block."""
    found, depth = [], 0
    for line in lines:
        if depth == 0 or not found:
            found.append([])
        found[-1].append(line)
        depth = max(depth + line.count("{") - line.count("}"), 0)
    return found


def kind(reason):
    """What stays the same while a program is cut down: the reason without names and numbers."""
    return re.sub(r"\S*\.mx\S*|\d+|'[^']*'|`[^`]*`|\"[^\"]*\"", "#", reason)[:80]


def reduce(text, reason_of, budget=400):
    """A smaller program for which `reason_of` gives a reason of the same kind."""
    wanted = kind(reason_of(text) or "")
    if not wanted:
        return text
    left = [budget]

    def holds(candidate):
        found = reason_of(candidate)
        return found is not None and kind(found) == wanted

    groups = shortened(blocks(text.split("\n")), lambda c: holds("\n".join(sum(c, []))), left)
    lines = shortened(sum(groups, []), lambda c: holds("\n".join(c)), left)
    parts = shortened(tokens("\n".join(lines)), lambda c: holds("".join(c)), left)
    return "".join(parts)
