#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks docs/internals/glossary.md: each linked file exists and has the terms of its row in a comment.

Usage: check-glossary.py GLOSSARY

Terms of a row are separated by commas; a row's files together must have all of them, and each file at
least one. Capitals and hyphens do not count, and a term may go on in the next line of a comment.
"""
import os
import re
import sys

HASH = (".py", ".txt", ".mx", ".test", ".cmake")


def plain(text):
    return re.sub(r"[\s-]+", " ", text).lower()


def comments(path):
    """The text of all comments of a file, as one line."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if path.endswith(HASH):
        found = re.findall(r"#+(.*)|\"\"\"(.*?)\"\"\"", text) + re.findall(r"()\"\"\"(.*?)\"\"\"", text, flags=re.S)
    else:
        found = re.findall(r"//+<?(.*)|/\*(.*?)\*/", text) + re.findall(r"()/\*(.*?)\*/", text, flags=re.S)
        if path.endswith(".td"):
            found += re.findall(r"()\[\{(.*?)\}\]", text, flags=re.S) + re.findall(r"summary = \"(.*?)\"()", text)
    return plain(" ".join(a + " " + b for a, b in found))


def check(glossary):
    folder, rows, wrong, seen = os.path.dirname(os.path.abspath(glossary)), 0, [], set()
    with open(glossary, encoding="utf-8") as file:
        lines = [line for line in file if line.startswith("|") and not line.startswith(("|---", "| term |"))]
    for line in lines:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        terms = [term.strip() for term in cells[0].split(",")]
        links = re.findall(r"\]\(([^)]+)\)", cells[-1])
        rows += 1
        wrong += [f"`{term}` stands in two rows" for term in terms if plain(term) in seen]
        seen.update(plain(term) for term in terms)
        texts = {}
        for link in links:
            path = os.path.normpath(os.path.join(folder, link))
            if os.path.isfile(path):
                texts[link] = comments(path)
            else:
                wrong.append(f"`{cells[0]}`: {link} does not exist")
        if not links:
            wrong.append(f"`{cells[0]}` has no link")
        wrong += [f"`{term}` is in no comment of {', '.join(texts)}" for term in terms
                  if texts and not any(plain(term) in text for text in texts.values())]
        wrong += [f"{link} has none of `{cells[0]}` in a comment" for link, text in texts.items()
                  if not any(plain(term) in text for term in terms)]
    return rows, wrong


def main():
    rows, wrong = check(sys.argv[1])
    print("\n".join(wrong + [f"{rows} rows, {len(wrong)} wrong"]))
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
