// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Style sheet and search script of the HTML pages.
#include "Docs/Shell.h"

namespace mx::docs {

const char *const kStyle = R"(
:root { color-scheme: light dark; --ink: #1c2430; --paper: #fff; --quiet: #5c6773; --line: #dfe4ea; --soft: #f5f7fa;
  --link: #0b57b8; --key: #8a2be2; --text: #0a7a3d; --number: #a6480f; --type: #8a5a00; }
@media (prefers-color-scheme: dark) { :root { --ink: #dde4ec; --paper: #14181e; --quiet: #98a4b1; --line: #2c343e;
  --soft: #1c222a; --link: #7db4ff; --key: #c99bff; --text: #7fd6a0; --number: #f0a878; --type: #e2c07a; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 16px; }
body { margin: 0; display: grid; grid-template-columns: 250px minmax(0, 1fr); font: 16px/1.55 system-ui, sans-serif;
  color: var(--ink); background: var(--paper); }
nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 20px 16px; background: var(--soft);
  border-right: 1px solid var(--line); font-size: 14px; }
nav label { position: absolute; left: -999em; }
nav ul, nav ol { list-style: none; margin: 0; padding: 0; }
nav ul ul { margin: 2px 0 8px; padding-left: 12px; border-left: 2px solid var(--line); }
nav li a { display: block; padding: 2px 6px; border-radius: 4px; overflow-wrap: anywhere; }
nav li a:hover, #found a.at { background: var(--line); }
.menu { display: none; } .menu summary, .part > summary { padding: 3px 6px; font-size: 14px; color: var(--ink); }
.part { margin: 2px 0; } .part > summary { font-weight: 600; } .part > ul { padding-left: 14px; }
nav .here > a { font-weight: 650; color: var(--ink); }
.home { display: block; font-size: 19px; font-weight: 700; margin-bottom: 10px; color: var(--ink); }
#search { width: 100%; padding: 7px 9px; margin-bottom: 12px; font: inherit; color: inherit; background: var(--paper);
  border: 1px solid var(--line); border-radius: 6px; }
#found { position: fixed; left: 16px; width: min(560px, calc(100vw - 32px)); max-height: 70vh; overflow-y: auto; z-index: 1;
  padding: 6px; background: var(--paper); border: 1px solid var(--line); border-radius: 8px; box-shadow: 0 8px 30px #0003; }
#found small { color: var(--quiet); display: block; }
main { max-width: 880px; min-width: 0; padding: 24px 40px 90px; overflow-wrap: break-word; }
a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
h1 { font-size: 30px; line-height: 1.2; margin: 0 0 12px; } h2 { font-size: 22px; margin: 0 0 8px; } h3 { margin: 0 0 6px; }
h2[id] { margin-top: 34px; } h3[id], h4, h5, h6 { margin: 24px 0 6px; }
.anchor { color: var(--quiet); opacity: 0; font-weight: 400; } :hover > .anchor, .anchor:focus { opacity: 1; }
h2 a, h3 a { color: inherit; }
h2.shelf { margin: 30px 0 8px; font-size: 19px; }
section { margin-top: 34px; padding-top: 22px; border-top: 1px solid var(--line); }
.kind { font-size: 13px; font-weight: 500; color: var(--quiet); text-transform: lowercase; }
code, pre { font: 13.5px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
:not(pre) > code { padding: 1px 4px; background: var(--soft); border-radius: 4px; overflow-wrap: anywhere; }
pre { margin: 10px 0; padding: 12px 14px; overflow-x: auto; background: var(--soft); border-radius: 8px; tab-size: 2; }
pre.signature { border-left: 3px solid var(--link); border-radius: 0 8px 8px 0; }
pre.example { border: 1px solid var(--line); }
.method { margin: 14px 0 14px 18px; } .method p { margin: 6px 0; }
.quiet { color: var(--quiet); font-size: 14px; }
table { border-collapse: collapse; width: 100%; margin: 10px 0; display: block; overflow-x: auto; }
img { max-width: 100%; height: auto; } hr { border: 0; border-top: 1px solid var(--line); margin: 24px 0; }
blockquote { margin: 10px 0; padding: 1px 0 1px 14px; border-left: 3px solid var(--line); color: var(--quiet); }
main ul, main ol { padding-left: 26px; } .file { border-bottom: 1px dotted var(--quiet); }
.plain td, .plain th { overflow-wrap: normal; } .plain td > code { overflow-wrap: normal; }
td.right, th.right { text-align: right; } td.center, th.center { text-align: center; }
td, th { padding: 5px 14px 5px 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { font-size: 12.5px; font-weight: 500; color: var(--quiet); }
.names td:first-child { white-space: nowrap; } .names td:last-child { width: 100%; }
.fields td { white-space: nowrap; } .fields td:last-child { width: 100%; white-space: normal; min-width: 8em; }
.primitive { margin-top: 18px; padding-top: 14px; } .primitive h3 { font-size: 16px; } .primitive p { margin: 4px 0; }
details { margin: 8px 0; } summary { cursor: pointer; color: var(--quiet); font-size: 14px; }
.k { color: var(--key); } .s { color: var(--text); } .n { color: var(--number); } .c { color: var(--quiet); }
.t { color: var(--type); } td.k { font: 13px ui-monospace, monospace; }
@media (max-width: 800px) { body { display: block; } nav { position: static; height: auto; border-right: 0;
  border-bottom: 1px solid var(--line); padding: 14px 16px; } .menu { display: block; } .menu:not([open]) + .tree { display: none; }
  #search { margin-bottom: 6px; font-size: 16px; } .home { margin-bottom: 6px; } main { padding: 20px 16px 60px; } }
@media print { nav { display: none; } body { display: block; } }
)";

// Ranking: names with the query as a prefix, then names that contain it, then descriptions that
// contain it.
const char *const kScript = R"(
(() => {
  const root = document.body.dataset.root || "";
  const box = document.getElementById("search"), found = document.getElementById("found");
  let at = 0;
  const rank = (entry, word) => {
    const name = entry[0].toLowerCase(), last = name.slice(name.lastIndexOf(".") + 1);
    if (name === word) return 0;
    if (last === word) return 1;
    if (name.startsWith(word)) return 2;
    if (last.startsWith(word)) return 3;
    if (name.includes(word) || (entry[2] + "." + name).includes(word)) return 4;
    return entry[4].toLowerCase().includes(word) ? 5 : 9;
  };
  const show = () => {
    const word = box.value.trim().toLowerCase();
    found.replaceChildren();
    found.hidden = !word;
    if (!word || typeof NAMES === "undefined") return;
    const hits = NAMES.map(entry => [rank(entry, word), entry]).filter(hit => hit[0] < 9)
      .sort((a, b) => a[0] - b[0] || a[1][0].length - b[1][0].length).slice(0, 40);
    for (const [, entry] of hits) {
      const item = document.createElement("li"), link = document.createElement("a"), more = document.createElement("small");
      link.href = root + entry[3];
      link.textContent = entry[0];
      more.textContent = entry[1] + " of " + entry[2] + (entry[4] ? " - " + entry[4] : "");
      link.append(more);
      item.append(link);
      found.append(item);
    }
    if (!hits.length) {
      const none = document.createElement("li");
      none.textContent = "nothing is called so";
      found.append(none);
    }
    mark(0);
  };
  const mark = to => {
    const links = found.querySelectorAll("a");
    at = Math.max(0, Math.min(to, links.length - 1));
    links.forEach((link, i) => link.classList.toggle("at", i === at));
    if (links[at]) links[at].scrollIntoView({ block: "nearest" });
  };
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
  found.addEventListener("click", () => { found.hidden = true; box.value = ""; });
  document.addEventListener("click", event => { if (event.target !== box && !found.contains(event.target)) found.hidden = true; });
  document.addEventListener("keydown", event => {
    if (event.key === "/" && document.activeElement !== box) { event.preventDefault(); box.focus(); box.select(); }
  });
})();
)";

} // namespace mx::docs
