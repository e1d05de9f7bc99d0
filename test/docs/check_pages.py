#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks pages that `mxc doc` wrote: tags close, ids are unique, links and images lead somewhere, nothing comes from the network.

Usage: check_pages.py FOLDER [FOLDER-OF-SOURCES]

With sources, every public name of them must have an anchor, with its doc comment. Prints what is wrong and one line of counts.
"""
import html.parser
import json
import pathlib
import posixpath
import re
import sys
import urllib.parse

VOID = {"meta", "input", "br", "wbr", "link", "hr", "img"}


class Page(html.parser.HTMLParser):
    def __init__(self, name):
        super().__init__()
        self.name, self.open, self.ids, self.links, self.images, self.wrong = name, [], [], [], [], []
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
            if tag == "img" and key in attrs:
                self.images.append(attrs[key])
            elif tag != "a" and key in attrs:
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
for path in sorted(folder.rglob("*.html")):
    name = path.relative_to(folder).as_posix()
    page = pages[name] = Page(name)
    page.feed(path.read_text())
    page.close()
    wrong += page.wrong
    if page.open:
        wrong.append(f"{name}: not closed: {page.open}")
    wrong += [f"{name}: id {i} twice" for i in set(page.ids) if page.ids.count(i) > 1]



def resolved(page, link):
    """The file of the site and the id that an address on a page leads to."""
    target, _, anchor = link.partition("#")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(page), urllib.parse.unquote(target))) if target else page
    return target, urllib.parse.unquote(anchor)


links = 0
for page in pages.values():
    for link in page.links:
        if re.match(r"https?://|mailto:", link):
            continue
        links += 1
        target, anchor = resolved(page.name, link)
        if target not in pages:
            wrong.append(f"{page.name}: {link} leads to no page")
        elif anchor and anchor not in pages[target].ids:
            wrong.append(f"{page.name}: {link} leads to no anchor")
    for link in page.images:
        if not (folder / resolved(page.name, link)[0]).is_file():
            wrong.append(f"{page.name}: there is no image {link}")

names = json.loads(re.sub(r"^const NAMES = |,?\n\];\n$", lambda m: "]" if "]" in m[0] else "",
                          (folder / "names.js").read_text()))
for name, kind, module, link, doc in names:
    target, anchor = resolved("", link)
    if target not in pages or (anchor and anchor not in pages[target].ids):
        wrong.append(f"names.js: {name} leads to no anchor")

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
