// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan as a page: the arena upwards, the ops of the program to the right, a rectangle for each
// slice. Thousands of them are drawn on one canvas; the wheel zooms, since few can be told apart
// otherwise.
#include "Memory/Report.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace mx::memory {
namespace {

constexpr const char *kStyle = R"(
body { font: 14px system-ui, sans-serif; margin: 24px; color: #222; background: #fff; }
h1 { font-size: 20px; } h2 { font-size: 16px; margin-top: 28px; }
canvas { width: 100%; height: 420px; border: 1px solid #bbb; display: block; margin-top: 16px; }
table { border-collapse: collapse; } td, th { padding: 2px 14px 2px 0; text-align: left; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
#tip { position: fixed; display: none; background: #222; color: #fff; padding: 6px 9px;
       border-radius: 4px; font-size: 13px; white-space: pre; pointer-events: none; }
)";

// Names of the plan reach the page only as text, never as markup.
constexpr const char *kScript = R"(
const plan = JSON.parse(document.getElementById('plan').textContent);
const tip = document.getElementById('tip');
const commas = n => n.toLocaleString('en-US');
function add(parent, tag, text, kind) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (kind) node.className = kind;
  return parent.appendChild(node);
}
const page = document.getElementById('page');
add(page, 'h1', 'plan of ' + plan.graph);
add(page, 'p', commas(plan.operations) + ' operations, ' + commas(plan.moved_bytes) +
    ' bytes moved' + (plan.work_is_exact ? '' : ' (loops of unknown length count once)'));
if (plan.again.length)
  add(page, 'p', 'made again: ' + commas(plan.again_operations) + ' operations; without that ' +
      commas(plan.plain_bytes) + ' bytes are needed');
for (const d of plan.devices) {
  add(page, 'h2', 'device ' + d.device);
  const table = add(page, 'table');
  for (const [what, bytes] of [['arena', d.arena_bytes], ['unshared', d.unshared_bytes],
      ['bound', d.bound_bytes],
      ...(plan.devices.length === 1 ? [['bound as written', plan.source_bound_bytes]] : []),
      ['arguments', d.argument_bytes], ['results', d.result_bytes],
      ['results in place', d.in_place_bytes],
      ...Object.entries(d.arguments).map(([use, n]) => ['argument: ' + use, n]),
      ...Object.entries(d.at_peak).map(([use, n]) => ['at the peak: ' + use, n])]) {
    const row = add(table, 'tr');
    add(row, 'td', what);
    add(row, 'td', commas(bytes) + ' bytes', 'n');
  }
  if (d.slices.length) picture(d);
  if (!d.peak.length) continue;
  add(page, 'h2', 'in use at the peak' + (d.peak_place ? ', ' + d.peak_place : ''));
  const rows = add(page, 'table');
  for (const t of d.peak) {
    const row = add(rows, 'tr');
    add(row, 'td', commas(t.bytes), 'n');
    for (const text of [t.type, t.what, t.place]) add(row, 'td', text);
  }
}
function picture(d) {
  const canvas = add(page, 'canvas'), ops = Math.max(1, d.in_use.length);
  const top = Math.max(1, d.arena_bytes), context = canvas.getContext('2d');
  let view = {x: 0, y: 0, w: ops, h: top}, shown = null;
  const hue = t => { let h = 7; for (const c of t.place + t.what) h = (h * 31 + c.charCodeAt(0)) % 360; return h; };
  function box(s) {
    const sx = canvas.width / view.w, sy = canvas.height / view.h;
    const w = (s.last - s.first + 1) * sx, h = s.bytes * sy;
    return [(s.first - view.x) * sx, canvas.height - (s.offset - view.y) * sy - h, w, h];
  }
  function draw() {
    const scale = window.devicePixelRatio || 1;
    canvas.width = canvas.clientWidth * scale;
    canvas.height = canvas.clientHeight * scale;
    for (const s of d.slices) {
      const [x, y, w, h] = box(s);
      if (x > canvas.width || y > canvas.height || x + w < 0 || y + h < 0) continue;
      context.fillStyle = `hsl(${hue(s)} 60% ${s === shown ? 45 : 72}%)`;
      context.fillRect(x, y, Math.max(w, 1), Math.max(h, 1));
      if (w > 4 && h > 4) { context.strokeStyle = '#fff'; context.strokeRect(x, y, w, h); }
      if (w > 70 * scale && h > 15 * scale) {
        context.fillStyle = '#000';
        context.font = 12 * scale + 'px sans-serif';
        context.save(); context.beginPath(); context.rect(x, y, w, h); context.clip();
        context.fillText(s.type + ' ' + s.what, x + 4 * scale, y + h / 2 + 4 * scale);
        context.restore();
      }
    }
    // What is in use, and the scales.
    const sx = canvas.width / view.w, sy = canvas.height / view.h;
    context.strokeStyle = '#000'; context.lineWidth = scale; context.beginPath();
    const begin = Math.max(0, Math.floor(view.x)), end = Math.min(d.in_use.length, Math.ceil(view.x + view.w));
    for (let op = begin; op < end; ++op) {
      const y = canvas.height - (d.in_use[op] - view.y) * sy;
      context.lineTo((op - view.x) * sx, y);
      context.lineTo((op + 1 - view.x) * sx, y);
    }
    context.stroke();
    context.fillStyle = '#000'; context.font = 11 * scale + 'px sans-serif';
    context.fillText(commas(Math.round(view.y + view.h)) + ' bytes', 4 * scale, 12 * scale);
    const right = 'op ' + Math.round(view.x + view.w);
    context.fillText(right, canvas.width - context.measureText(right).width - 4 * scale, canvas.height - 4 * scale);
  }
  function at(event) {
    const r = canvas.getBoundingClientRect();
    return [view.x + (event.clientX - r.left) / r.width * view.w,
            view.y + (1 - (event.clientY - r.top) / r.height) * view.h];
  }
  canvas.onmousemove = event => {
    const [op, byte] = at(event);
    const found = d.slices.find(s => s.first <= op && op < s.last + 1 && s.offset <= byte &&
                                     byte < s.offset + s.bytes) || null;
    if (found !== shown) { shown = found; draw(); }
    tip.style.display = found ? 'block' : 'none';
    if (!found) return;
    tip.textContent = found.type + '  ' + found.what + '\n' + commas(found.bytes) + ' bytes at ' +
      commas(found.offset) + ', ops ' + found.first + ' to ' + found.last + '\n' + found.place;
    tip.style.left = event.clientX + 14 + 'px';
    tip.style.top = event.clientY + 14 + 'px';
  };
  canvas.onmouseleave = () => { tip.style.display = 'none'; shown = null; draw(); };
  canvas.onwheel = event => {
    event.preventDefault();
    const [x, y] = at(event), by = event.deltaY < 0 ? 0.8 : 1.25;
    view.w = Math.min(ops, view.w * by); view.h = Math.min(top, view.h * by);
    view.x = Math.min(Math.max(0, x - (x - view.x) * by), ops - view.w);
    view.y = Math.min(Math.max(0, y - (y - view.y) * by), top - view.h);
    draw();
  };
  canvas.ondblclick = () => { view = {x: 0, y: 0, w: ops, h: top}; draw(); };
  window.addEventListener('resize', draw);
  draw();
  add(page, 'p', ops + ' ops from left to right, bytes of the arena upwards; the line is what is in use. The wheel zooms, a double click shows all.');
}
)";

} // namespace

std::string planAsHtml(const PlanReport &plan) {
  std::string title, data = planAsJson(plan);
  llvm::raw_string_ostream stream(title);
  llvm::printHTMLEscaped(plan.name, stream);
  // Inside of a script only this could end it.
  for (size_t at = 0; (at = data.find('<', at)) != std::string::npos; at += 6)
    data.replace(at, 1, "\\u003c");
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>plan of " +
         title + "</title>\n<style>" + kStyle +
         "</style></head>\n<body><div id=\"page\"></div><div id=\"tip\"></div>\n"
         "<script type=\"application/json\" id=\"plan\">" +
         data + "</script>\n<script>" + kScript + "</script></body></html>\n";
}

} // namespace mx::memory
