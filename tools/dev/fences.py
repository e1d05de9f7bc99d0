# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fenced code blocks of Markdown files, for the scripts that check or run them."""

import re


class Fence(tuple):
    """(line, marks, text): the line of the first line inside, the words behind the backquotes, the text."""

    line = property(lambda self: self[0])
    marks = property(lambda self: self[1])
    text = property(lambda self: self[2])

    def is_behind(self, other):
        """Whether the block follows another one, without a line between them."""
        return self.line == other.line + other.text.count("\n") + 2


def blocks(path):
    """Yields each fenced block. Blocks begin and end with three backquotes at the start of a line."""
    marks, start, lines = None, 0, []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if marks is None and line.startswith("```"):
                marks, start, lines = line[3:].split(), number + 1, []
            elif marks is not None and line.startswith("```"):
                yield Fence((start, marks, "".join(lines)))
                marks = None
            elif marks is not None:
                lines.append(line)


def unread(path):
    """Yields the lines of fences that `blocks` does not take: indented, of tildes, of more backquotes, not closed."""
    inside = 0
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if re.match(r"```(?!`)", line):
                inside = 0 if inside else number
            elif not inside and re.match(r"[\s>]*(?:[-*+]\s+|\d+[.)]\s+)*(```|~~~)", line):
                yield number
    if inside:
        yield inside
