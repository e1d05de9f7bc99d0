// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scripts of the HTML pages. Without them the pages can be read; search, the choice of a theme and
// the mark of the current section need them.
#include "Docs/Shell.h"

namespace mx::docs {

// Pages of files may have no storage.
const char *const kThemeScript = R"js(
try { const kept = localStorage.getItem("theme"); if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept; } catch {}
)js";

// The index is read when the search is used first. Ranking: names equal to the query, names that
// begin with it, names that contain it or its words, then texts, in the order of the pages.
// `?q=word` in the address opens the search.
const char *const kScript = R"js(
(() => {
  const root = document.body.dataset.root || "";
  const box = document.getElementById("search"), found = document.getElementById("found");
  let at = 0, isLoading = false;
  const element = (tag, text, name) => {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    if (name) made.className = name;
    return made;
  };

  const load = () => {
    if (isLoading) return;
    isLoading = true;
    const script = element("script");
    script.src = root + "names.js";
    script.onload = script.onerror = show;
    document.head.append(script);
  };
  const rank = (entry, query, words) => {
    const name = entry[0].toLowerCase(), last = name.slice(name.lastIndexOf(".") + 1), path = entry[2].toLowerCase() + "." + name;
    if (name === query) return 0;
    if (last === query) return 1;
    if (name.startsWith(query)) return 2;
    if (last.startsWith(query)) return 3;
    if (name.includes(query)) return 4;
    if (words.every(word => name.includes(word))) return 5;
    const text = entry[4].toLowerCase();
    if (path.includes(query)) return 6;
    if (text.includes(query)) return 7;
    return words.every(word => path.includes(word) || text.includes(word)) ? 8 : 9;
  };
  // The text around the first of the words, which are marked.
  const excerpt = (text, words) => {
    const out = element("small"), lower = text.toLowerCase();
    const first = words.map(word => lower.indexOf(word)).filter(i => i >= 0);
    let begin = first.length ? Math.max(0, Math.min(...first) - 60) : 0;
    if (begin > 0) begin = text.indexOf(" ", begin) + 1;
    const end = Math.min(text.length, begin + 160);
    if (begin > 0) out.append("… ");
    for (let i = begin; i < end;) {
      const hit = words.map(word => [lower.indexOf(word, i), word.length]).filter(h => h[0] >= 0 && h[0] < end).sort((a, b) => a[0] - b[0] || b[1] - a[1])[0];
      const next = hit ? hit[0] : end;
      out.append(text.slice(i, next));
      if (hit) out.append(element("mark", text.slice(next, next + hit[1])));
      i = hit ? next + hit[1] : end;
    }
    if (end < text.length) out.append(" …");
    return out;
  };
  const show = () => {
    const query = box.value.trim().toLowerCase().replace(/\s+/g, " "), words = [...new Set(query.split(" "))];
    found.replaceChildren();
    found.hidden = !query;
    if (!query) return;
    load();
    if (typeof NAMES === "undefined") {
      found.append(element("li", "Reading the index …"));
      return;
    }
    const hits = NAMES.map(entry => [rank(entry, query, words), entry]).filter(hit => hit[0] < 9)
      .sort((a, b) => a[0] - b[0] || (a[0] < 6 ? a[1][0].length - b[1][0].length : 0)).slice(0, 50);
    for (const [, entry] of hits) {
      const item = element("li"), link = element("a");
      link.href = root + entry[3];
      link.append(element("b", entry[0]), element("span", entry[1] === "section" ? entry[2] : entry[1] === "page" ? "page" : entry[1] + " of " + entry[2], "of"));
      if (entry[4]) link.append(excerpt(entry[4], words));
      item.append(link);
      found.append(item);
    }
    if (!hits.length) found.append(element("li", "No page has “" + box.value.trim() + "”."));
    mark(0);
  };
  const mark = to => {
    const links = found.querySelectorAll("a");
    at = Math.max(0, Math.min(to, links.length - 1));
    links.forEach((link, i) => link.classList.toggle("at", i === at));
    if (links[at]) links[at].scrollIntoView({ block: "nearest" });
  };
  box.addEventListener("focus", load);
  box.addEventListener("input", show);
  box.addEventListener("keydown", event => {
    const links = found.querySelectorAll("a");
    if (event.key === "ArrowDown") mark(at + 1);
    else if (event.key === "ArrowUp") mark(at - 1);
    else if (event.key === "Enter" && links[at]) { location.href = links[at].href; found.hidden = true; box.value = ""; }
    else if (event.key === "Escape") { box.value = ""; show(); box.blur(); }
    else return;
    event.preventDefault();
  });
  found.addEventListener("click", event => { if (event.target.closest("a")) { found.hidden = true; box.value = ""; } });
  document.addEventListener("click", event => { if (event.target !== box && !found.contains(event.target)) found.hidden = true; });
  document.addEventListener("keydown", event => {
    if (event.key === "/" && document.activeElement !== box && !event.ctrlKey && !event.metaKey) { event.preventDefault(); box.focus(); box.select(); }
  });
  const asked = new URLSearchParams(location.search).get("q");
  if (asked) { box.value = asked; box.focus(); show(); }

  const theme = document.getElementById("theme"), style = document.documentElement.dataset;
  const isDark = () => style.theme ? style.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const name = () => { theme.textContent = isDark() ? "☀" : "☾"; theme.title = isDark() ? "Light" : "Dark"; };
  theme.hidden = false;
  theme.addEventListener("click", () => {
    style.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("theme", style.theme); } catch {}
    name();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
  name();

  const menu = document.querySelector(".menu");
  document.querySelector("nav").addEventListener("click", event => { if (event.target.closest("a")) menu.open = false; });
  const here = document.querySelector("nav .here");
  if (here) here.scrollIntoView({ block: "nearest" });

  if (navigator.clipboard)
    for (const pre of document.querySelectorAll("pre.example")) {
      const block = element("div", "", "block"), copy = element("button", "Copy", "copy");
      copy.type = "button";
      pre.replaceWith(block);
      block.append(pre, copy);
      copy.addEventListener("click", () => navigator.clipboard.writeText(pre.textContent).then(() => {
        copy.textContent = "Copied";
        setTimeout(() => { copy.textContent = "Copy"; }, 1500);
      }, () => {}));
    }

  // The outline marks the section at the top of the window.
  const lines = [...document.querySelectorAll("aside li")];
  const heads = lines.map(line => document.getElementById(decodeURIComponent(line.firstChild.hash.slice(1))));
  const follow = () => {
    let last = -1;
    heads.forEach((head, i) => { if (head && head.getBoundingClientRect().top < 120) last = i; });
    lines.forEach((line, i) => line.classList.toggle("at", i === last));
    if (lines[last] && last >= 0) {
      const side = lines[last].closest("aside"), box = lines[last].getBoundingClientRect(), all = side.getBoundingClientRect();
      if (box.top < all.top || box.bottom > all.bottom) side.scrollTop += box.top - all.top - all.height / 2;
    }
  };
  let isDue = false;
  addEventListener("scroll", () => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => { isDue = false; follow(); });
  }, { passive: true });
  follow();
})();
)js";

} // namespace mx::docs
