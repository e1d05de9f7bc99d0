#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks pages that `mxc doc` wrote: tags close, ids are unique, links lead somewhere, nothing comes from the network.

Usage: check_pages.py FOLDER [FOLDER-OF-SOURCES]

With sources, every public name of them must have an anchor, with its doc comment. Prints what is wrong and one line of counts.
"""
import html.parser
import json
import pathlib
import re
import sys

VOID = {"meta", "input", "br", "link", "hr", "img"}


class Page(html.parser.HTMLParser):
    def __init__(self, name):
        super().__init__()
        self.name, self.open, self.ids, self.links, self.wrong = name, [], [], [], []
        self.text = {}     # of each section, by its id
        self.section = []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if "id" in attrs:
            self.ids.append(attrs["id"])
        if tag == "section":
            self.section.append(attrs.get("id", ""))
        if tag == "a":
            self.links.append(attrs["href"])
        for key in ("src", "href"):
            if tag != "a" and key in attrs and attrs[key] != "names.js":
                self.wrong.append(f"{self.name}: <{tag}> reads {attrs[key]}")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"{self.name}:{self.getpos()[0]}: </{tag}> closes nothing")
        if tag == "section":
            self.section.pop()

    def handle_data(self, data):
        if self.section:
            self.text[self.section[-1]] = self.text.get(self.section[-1], "") + data


folder = pathlib.Path(sys.argv[1])
pages, wrong = {}, []
for path in sorted(folder.glob("*.html")):
    page = pages[path.name] = Page(path.name)
    page.feed(path.read_text())
    page.close()
    wrong += page.wrong
    if page.open:
        wrong.append(f"{path.name}: not closed: {page.open}")
    wrong += [f"{path.name}: id {i} twice" for i in set(page.ids) if page.ids.count(i) > 1]

links = 0
for page in pages.values():
    for link in page.links:
        if re.match(r"https?://", link):
            continue
        links += 1
        target, _, anchor = link.partition("#")
        target = target or page.name
        if target not in pages:
            wrong.append(f"{page.name}: {link} leads to no page")
        elif anchor and anchor not in pages[target].ids:
            wrong.append(f"{page.name}: {link} leads nowhere")

names = json.loads(re.sub(r"^const NAMES = |,?\n\];\n$", lambda m: "]" if "]" in m[0] else "",
                          (folder / "names.js").read_text()))
for name, kind, module, link, doc in names:
    target, _, anchor = link.partition("#")
    if target not in pages or anchor not in pages[target].ids:
        wrong.append(f"names.js: {name} leads nowhere")

if len(sys.argv) > 2:
    item = re.compile(r"(?:export |mut |graph )*(?:fn|model|struct|type|const) ([A-Za-z]\w*)")
    sources = pathlib.Path(sys.argv[2])
    for path in sorted(sources.rglob("*.mx")):
        module = str(path.relative_to(sources).with_suffix("")).replace("/", ".")
        lines = path.read_text().split("\n")
        for at, line in enumerate(lines):
            found = item.match(line)
            if not found:
                continue
            text = pages[module + ".html"].text.get(found[1], "")
            above = at - 1
            while above > 0 and not lines[above].startswith("##") and lines[above].strip():
                above -= 1
            doc = lines[above].lstrip("# ").replace("`", "") if lines[above].startswith("##") else ""
            if doc not in re.sub(r"\s+", " ", text) or not text:
                wrong.append(f"{module}.{found[1]}: its page does not say `{doc}`")

print("\n".join(wrong + [f"{len(pages)} pages, {len(names)} names, {links} links, {len(wrong)} wrong"]))
sys.exit(1 if wrong else 0)
