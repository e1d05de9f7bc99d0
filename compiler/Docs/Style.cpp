// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Style sheet of the HTML pages.
#include "Docs/Shell.h"

namespace mx::docs {

const char *const kStyle = R"(
:root { color-scheme: light dark; --bar: 56px; --ink: light-dark(#1c2430, #dde4ec); --paper: light-dark(#fff, #14181e);
  --quiet: light-dark(#566270, #9aa6b3); --line: light-dark(#dfe4ea, #2c343e); --soft: light-dark(#f5f7fa, #1c222a);
  --raised: light-dark(#e9eef5, #262e38); --link: light-dark(#0b57b8, #7db4ff); --key: light-dark(#7a1fd0, #c99bff);
  --text: light-dark(#0a6f38, #7fd6a0); --number: light-dark(#a0430c, #f0a878); --type: light-dark(#805300, #e2c07a);
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
:root[data-theme=light] { color-scheme: light; } :root[data-theme=dark] { color-scheme: dark; }
* { box-sizing: border-box; }
html { scroll-padding-top: calc(var(--bar) + 16px); -webkit-text-size-adjust: 100%; }
body { margin: 0; display: grid; grid-template-columns: 264px minmax(0, 1fr) 236px; grid-template-rows: var(--bar) auto;
  font: 16px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; color: var(--ink); background: var(--paper); }
a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 4px; }
.skip { position: fixed; left: 12px; top: -60px; z-index: 5; padding: 8px 14px; background: var(--paper); border-radius: 6px; }
.skip:focus { top: 8px; }

header { grid-column: 1 / -1; position: sticky; top: 0; z-index: 3; display: flex; align-items: center; gap: 14px; padding: 0 20px;
  height: var(--bar); background: var(--paper); border-bottom: 1px solid var(--line); }
.home { font-size: 19px; font-weight: 700; color: var(--ink); white-space: nowrap; }
.search { position: relative; flex: 0 1 440px; margin-left: auto; }
.search label { position: absolute; left: -999em; }
#search { width: 100%; height: 36px; padding: 0 12px; font: inherit; font-size: 15px; color: inherit; background: var(--soft);
  border: 1px solid var(--line); border-radius: 8px; }
#search::placeholder { color: var(--quiet); opacity: 1; }
.search kbd { position: absolute; right: 10px; top: 8px; padding: 0 6px; font: 12px/18px var(--mono); color: var(--quiet);
  border: 1px solid var(--line); border-radius: 4px; pointer-events: none; } #search:focus + kbd { display: none; }
#search:not(:placeholder-shown) + kbd { display: none; }
#found { position: absolute; right: 0; top: 42px; width: min(600px, calc(100vw - 24px)); max-height: min(70vh, 640px); overflow-y: auto;
  margin: 0; padding: 6px; list-style: none; background: var(--paper); border: 1px solid var(--line); border-radius: 10px;
  box-shadow: 0 12px 40px light-dark(#0003, #000a); overscroll-behavior: contain; }
#found li { padding: 8px 10px; color: var(--quiet); font-size: 14px; } #found li:has(a) { padding: 0; }
#found a { display: block; padding: 7px 10px; border-radius: 6px; color: var(--ink); overflow-wrap: anywhere; text-decoration: none; }
#found a.at { background: var(--raised); } #found b { font-weight: 600; color: var(--link); } #found small { display: block; color: var(--quiet); font-size: 13px; line-height: 1.4; }
#found mark { color: inherit; background: light-dark(#ffe38a, #6b5510); border-radius: 2px; }
#found .of { font-size: 13px; color: var(--quiet); margin-left: 8px; }
header button, .menu > summary { flex: none; width: 36px; height: 36px; display: flex; align-items: center; justify-content: center; font: 18px/1 system-ui, sans-serif; color: var(--ink);
  background: none; border: 1px solid var(--line); border-radius: 8px; cursor: pointer; }
header button:hover, .menu > summary:hover { background: var(--soft); } header button[hidden] { display: none; }
.menu { display: none; margin: 0; } .menu > summary { list-style: none; } .menu > summary::-webkit-details-marker { display: none; }

nav, aside { position: sticky; top: var(--bar); align-self: start; max-height: calc(100vh - var(--bar)); overflow-y: auto; font-size: 14px;
  line-height: 1.45; overscroll-behavior: contain; }
nav { height: calc(100vh - var(--bar)); padding: 18px 14px 40px; border-right: 1px solid var(--line); background: var(--soft); }
nav ul, aside ul { list-style: none; margin: 0; padding: 0; }
nav li a, aside li a { display: block; padding: 4px 8px; border-radius: 6px; color: var(--ink); overflow-wrap: anywhere; text-decoration: none; }
nav li a:hover, .part > summary:hover { background: var(--raised); }
nav .here > a { font-weight: 600; color: var(--link); background: var(--raised); }
nav .here > ul { display: none; }
.part { margin: 2px 0; } .part > summary { padding: 5px 8px; font-size: 14px; font-weight: 600; color: var(--ink); border-radius: 6px; }
.part > ul { margin: 2px 0 8px 14px; padding-left: 8px; border-left: 1px solid var(--line); }
aside { padding: 30px 18px 40px 0; } aside p { margin: 0 0 6px 9px; font-weight: 600; }
aside ul { border-left: 1px solid var(--line); } aside li a { padding: 3px 8px; margin-left: -1px; color: var(--quiet); border-left: 2px solid transparent; border-radius: 0; }
aside li.sub a { padding-left: 20px; } aside li a:hover { color: var(--ink); } aside li.at a { color: var(--link); border-color: var(--link); }

main { width: 100%; max-width: 900px; min-width: 0; margin: 0 auto; padding: 28px 40px 60px; overflow-wrap: break-word; }
body:not(:has(aside)) main { grid-column: 2 / -1; }
.crumb { margin: 0 0 4px; font-size: 14px; color: var(--quiet); }
h1, h2, h3, h4, h5, h6 { line-height: 1.3; } h1 { font-size: 32px; margin: 0 0 14px; letter-spacing: -.01em; }
h2 { font-size: 23px; margin: 0 0 10px; } h3 { font-size: 18px; margin: 0 0 6px; } h4 { font-size: 16px; }
h2[id] { margin-top: 42px; } h3[id] { margin-top: 30px; } h4, h5, h6 { margin: 24px 0 6px; }
main :is(h1, h2, h3, h4, h5, h6) { position: relative; } .anchor { position: absolute; left: -.85em; top: 0; padding-right: .3em; color: var(--quiet); opacity: 0; font-weight: 400; }
:hover > .anchor, .anchor:focus { opacity: 1; text-decoration: none; }
h2 a, h3 a { color: inherit; } h2 .anchor, h3 .anchor { color: var(--quiet); } p { margin: 12px 0; }
h2.shelf { margin: 34px 0 8px; font-size: 20px; }
section { margin-top: 34px; padding-top: 22px; border-top: 1px solid var(--line); }
.kind { font-size: 13px; font-weight: 500; color: var(--quiet); text-transform: lowercase; }
code, pre { font: 13.5px/1.55 var(--mono); }
:not(pre) > code { padding: 1.5px 5px; background: var(--soft); border: 1px solid var(--line); border-radius: 5px; font-size: .86em; overflow-wrap: anywhere;
  -webkit-box-decoration-break: clone; box-decoration-break: clone; }
h1 code, h2 code, h3 code { font-size: .9em; }
pre { position: relative; margin: 14px 0; padding: 13px 16px; overflow-x: auto; background: var(--soft); border-radius: 8px; tab-size: 2; }
pre.signature { border-left: 3px solid var(--link); border-radius: 0 8px 8px 0; }
pre.example { border: 1px solid var(--line); }
.block { position: relative; } .copy { position: absolute; top: 7px; right: 7px; padding: 3px 9px; font: 12px/1.5 system-ui, sans-serif;
  color: var(--quiet); background: var(--paper); border: 1px solid var(--line); border-radius: 6px; cursor: pointer; opacity: 0; }
.block:hover .copy, .copy:focus { opacity: 1; } .copy:hover { color: var(--ink); }
.method { margin: 14px 0 14px 18px; } .method p { margin: 6px 0; }
.quiet { color: var(--quiet); font-size: 14px; }
.wide { overflow-x: auto; margin: 14px 0; } table { border-collapse: collapse; font-size: 15px; line-height: 1.5; }
.names, .fields { width: 100%; }
td, th { padding: 7px 14px 7px 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { font-size: 13px; font-weight: 600; color: var(--quiet); white-space: nowrap; }
.plain td, .plain th { padding: 7px 12px; overflow-wrap: normal; } .plain th { background: var(--soft); color: var(--ink); } .plain th:empty { padding: 0 12px; }
.plain tr:hover td { background: var(--soft); } td.right, th.right { text-align: right; font-variant-numeric: tabular-nums; } td.center, th.center { text-align: center; }
.names td:first-child { white-space: nowrap; } .names td:last-child { width: 100%; }
.fields td { white-space: nowrap; } .fields td:last-child { width: 100%; white-space: normal; min-width: 12em; }
img { max-width: 100%; height: auto; } hr { border: 0; border-top: 1px solid var(--line); margin: 28px 0; }
blockquote { margin: 14px 0; padding: 1px 0 1px 16px; border-left: 3px solid var(--line); color: var(--quiet); }
main ul, main ol { padding-left: 26px; margin: 12px 0; } main li { margin: 4px 0; } main li > ul, main li > ol { margin: 4px 0; }
.file { border-bottom: 1px dotted var(--quiet); }
.primitive { margin-top: 18px; padding-top: 14px; } .primitive h3 { font-size: 16px; } .primitive p { margin: 4px 0; }
details { margin: 8px 0; } summary { cursor: pointer; color: var(--quiet); font-size: 14px; }
.k { color: var(--key); } .s { color: var(--text); } .n { color: var(--number); } .c { color: var(--quiet); font-style: italic; }
.t { color: var(--type); } td.k { font: 13px var(--mono); }
.pager { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 14px; margin-top: 64px; }
.pager a { overflow-wrap: anywhere; padding: 10px 16px; border: 1px solid var(--line); border-radius: 8px; font-weight: 600; } .pager a:hover { background: var(--soft); text-decoration: none; }
.pager small { display: block; font-weight: 400; color: var(--quiet); } .pager [rel=next] { grid-column: 2; text-align: right; }

@media (max-width: 1199px) { body { grid-template-columns: 250px minmax(0, 1fr); } aside { display: none; }
  nav .here > ul { display: block; margin: 2px 0 8px 10px; padding-left: 6px; border-left: 2px solid var(--line); } nav .here li.sub { display: none; } }
@media (max-width: 820px) { body { display: block; } .menu { display: block; } header { gap: 10px; padding: 0 12px; } #search { font-size: 16px; }
  .search { flex: 1 1 auto; } .search kbd { display: none; } #found { position: fixed; left: 12px; right: 12px; top: var(--bar); width: auto; }
  nav { display: none; } header:has(.menu[open]) + nav { display: block; position: fixed; z-index: 2; inset: var(--bar) 0 0 0; height: auto;
  max-height: none; align-self: auto; border: 0; font-size: 16px; } nav li a, .part > summary { padding: 8px; font-size: 16px; }
  body:has(.menu[open]) { overflow: hidden; } main { padding: 20px 16px 48px; } h1 { font-size: 27px; } h2 { font-size: 21px; }
  .copy { display: none; } .method { margin-left: 8px; } .plain { width: max-content; min-width: 100%; } .plain td { max-width: 62vw; } .anchor { display: none; } }
@media print { header, nav, aside, .pager, .copy, .anchor { display: none; } body { display: block; } pre { white-space: pre-wrap; } }
)";

} // namespace mx::docs
