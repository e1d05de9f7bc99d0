// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HTML report of a plan: arena offsets on the vertical axis, ops of the program on the horizontal
// axis, a rectangle for each slice. A single canvas shows thousands of them; the wheel zooms, since
// few can be told apart otherwise.
#include "Memory/Report.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace mx::memory {
namespace {

constexpr const char *kStyle = R"(
body { font: 14px system-ui, sans-serif; margin: 24px; color: #222; background: #fff; }
h1 { font-size: 20px; } h2 { font-size: 16px; margin-top: 28px; }
canvas { width: 100%; height: 460px; display: block; margin-top: 16px; }
canvas { cursor: crosshair; touch-action: none; } canvas.moves { cursor: grabbing; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; } td, th { padding: 2px 14px 2px 0; text-align: left; white-space: nowrap; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
#tip { position: fixed; display: none; background: #222; color: #fff; padding: 6px 9px;
       border-radius: 4px; font-size: 13px; white-space: pre; pointer-events: none; }
)";

// Names from the plan are inserted into the page as text only, never as markup.
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
if (plan.recomputed.length)
  add(page, 'p', 'rematerialised: ' + commas(plan.recomputed_operations) + ' operations; without that ' +
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
  if (d.peak.length) peak(d);
}
// Tensors that differ only in their offset share one row.
function peak(d) {
  add(page, 'h2', 'in use at the peak' + (d.peak_location ? ', ' + d.peak_location : ''));
  const groups = new Map();
  for (const t of d.peak) {
    const key = JSON.stringify([t.bytes, t.type, t.what, t.location]);
    groups.set(key, {t, count: (groups.get(key)?.count ?? 0) + 1});
  }
  const all = [...groups.values()].sort((a, b) => b.t.bytes * b.count - a.t.bytes * a.count);
  const rows = add(add(page, 'div', undefined, 'wide'), 'table'), limit = 40;
  for (const {t, count} of all.slice(0, limit)) {
    const row = add(rows, 'tr');
    add(row, 'td', commas(t.bytes * count), 'n');
    add(row, 'td', count > 1 ? count + ' times' : '', 'n');
    for (const text of [t.type, t.what, t.location]) add(row, 'td', text);
  }
  const rest = all.slice(limit);
  if (rest.length)
    add(page, 'p', 'and ' + commas(rest.reduce((n, g) => n + g.count, 0)) + ' smaller ones, ' +
        commas(rest.reduce((n, g) => n + g.count * g.t.bytes, 0)) + ' bytes together');
}
// A round number of which a few fit into `range`.
function step(range) {
  const power = 10 ** Math.floor(Math.log10(Math.max(range, 1) / 4));
  return Math.max(1, power * [1, 2, 5, 10].find(n => n * power >= range / 6));
}
function short(bytes) {
  for (const [unit, size] of [['GB', 1e9], ['MB', 1e6], ['kB', 1e3]])
    if (bytes >= size) return +(bytes / size).toPrecision(4) + ' ' + unit;
  return bytes + ' B';
}
function picture(d) {
  const canvas = add(page, 'canvas'), ops = Math.max(1, d.in_use.length);
  const top = Math.max(1, d.arena_bytes), context = canvas.getContext('2d');
  const left = 72, below = 22; // for the scales
  let view = {x: 0, y: 0, w: ops, h: top}, shown = null, held = null;
  const hue = t => { let h = 7; for (const c of t.location + t.what) h = (h * 31 + c.charCodeAt(0)) % 360; return h; };
  function draw() {
    const scale = window.devicePixelRatio || 1, wide = canvas.clientWidth - left, high = canvas.clientHeight - below;
    canvas.width = canvas.clientWidth * scale;
    canvas.height = canvas.clientHeight * scale;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    const toX = op => left + (op - view.x) * wide / view.w, toY = byte => high - (byte - view.y) * high / view.h;
    context.font = '11px sans-serif'; context.fillStyle = '#222'; context.strokeStyle = '#ddd'; context.lineWidth = 1;
    for (let n = step(view.h), byte = Math.ceil(view.y / n) * n; byte <= view.y + view.h; byte += n) {
      const text = short(byte), y = toY(byte);
      context.fillText(text, left - 6 - context.measureText(text).width, Math.max(y + 4, 10));
      context.beginPath(); context.moveTo(left, y); context.lineTo(left + wide, y); context.stroke();
    }
    for (let n = step(view.w), op = Math.ceil(view.x / n) * n; op <= view.x + view.w; op += n) {
      const text = 'op ' + op, x = toX(op), room = context.measureText(text).width;
      context.fillText(text, Math.min(Math.max(x - room / 2, left), left + wide - room), high + 15);
      context.beginPath(); context.moveTo(x, high); context.lineTo(x, high + 4); context.stroke();
    }
    context.save(); context.beginPath(); context.rect(left, 0, wide, high); context.clip();
    for (const s of d.slices) {
      const x = toX(s.first), y = toY(s.offset + s.bytes), w = toX(s.last + 1) - x, h = toY(s.offset) - y;
      if (x > left + wide || y > high || x + w < left || y + h < 0) continue;
      context.fillStyle = `hsl(${hue(s)} 60% ${s === shown ? 45 : 72}%)`;
      context.fillRect(x, y, Math.max(w, 1), Math.max(h, 1));
      if (w > 4 && h > 4) { context.strokeStyle = '#fff'; context.strokeRect(x, y, w, h); }
      // In its visible part.
      const x0 = Math.max(x, left), x1 = Math.min(x + w, left + wide), y0 = Math.max(y, 0), y1 = Math.min(y + h, high);
      if (x1 - x0 > 70 && y1 - y0 > 15) {
        context.fillStyle = '#000'; context.font = '12px sans-serif';
        context.save(); context.beginPath(); context.rect(x0, y0, x1 - x0 - 3, y1 - y0); context.clip();
        context.fillText(s.type + ' ' + s.what, x0 + 4, (y0 + y1) / 2 + 4);
        context.restore();
      }
    }
    // Bytes in use.
    context.strokeStyle = '#000'; context.beginPath();
    const begin = Math.max(0, Math.floor(view.x)), end = Math.min(d.in_use.length, Math.ceil(view.x + view.w));
    for (let op = begin; op < end; ++op) {
      context.lineTo(toX(op), toY(d.in_use[op]));
      context.lineTo(toX(op + 1), toY(d.in_use[op]));
    }
    context.stroke();
    context.restore();
    context.strokeStyle = '#999'; context.strokeRect(left + 0.5, 0.5, wide - 1, high - 1);
  }
  function moveTo(x, y) {
    view.x = Math.min(Math.max(0, x), ops - view.w);
    view.y = Math.min(Math.max(0, y), top - view.h);
    draw();
  }
  function at(event) {
    const r = canvas.getBoundingClientRect();
    return [view.x + (event.clientX - r.left - left) / (r.width - left) * view.w,
            view.y + (1 - (event.clientY - r.top) / (r.height - below)) * view.h];
  }
  const isInside = ([op, byte]) => op >= view.x && op < view.x + view.w && byte >= view.y && byte < view.y + view.h;
  canvas.onpointerdown = event => {
    if (!isInside(at(event))) return;
    held = at(event);
    try { canvas.setPointerCapture(event.pointerId); } catch { /* an event that no pointer made */ }
    canvas.className = 'moves';
  };
  canvas.onpointerup = canvas.onpointercancel = () => { held = null; canvas.className = ''; };
  canvas.onpointermove = event => {
    const [op, byte] = at(event);
    if (held) {
      tip.style.display = 'none';
      return moveTo(view.x + held[0] - op, view.y + held[1] - byte);
    }
    const found = isInside([op, byte]) && d.slices.find(s => s.first <= op && op < s.last + 1 && s.offset <= byte &&
                                     byte < s.offset + s.bytes) || null;
    if (found !== shown) { shown = found; draw(); }
    tip.style.display = found ? 'block' : 'none';
    if (!found) return;
    tip.textContent = found.type + '  ' + found.what + '\n' + commas(found.bytes) + ' bytes at ' +
      commas(found.offset) + ', ops ' + found.first + ' to ' + found.last + '\n' + found.location;
    // Beside the pointer, and not outside of the window.
    const room = tip.getBoundingClientRect();
    tip.style.left = Math.max(0, Math.min(event.clientX + 14, window.innerWidth - room.width - 4)) + 'px';
    tip.style.top = (event.clientY + 14 + room.height > window.innerHeight ? event.clientY - 10 - room.height : event.clientY + 14) + 'px';
  };
  canvas.onpointerleave = () => { tip.style.display = 'none'; shown = null; draw(); };
  canvas.onwheel = event => {
    event.preventDefault();
    const [x, y] = at(event), by = event.deltaY < 0 ? 0.8 : 1.25;
    view.w = Math.min(ops, view.w * by); view.h = Math.min(top, view.h * by);
    moveTo(x - (x - view.x) * by, y - (y - view.y) * by);
  };
  canvas.ondblclick = () => { view = {x: 0, y: 0, w: ops, h: top}; draw(); };
  window.addEventListener('resize', draw);
  draw();
  add(page, 'p', ops + ' ops from left to right, bytes of the arena upwards; the line is what is in use. The wheel zooms, dragging moves, a double click shows all.');
}
)";

} // namespace

std::string planAsHtml(const PlanReport &plan) {
  std::string title, data = planAsJson(plan);
  llvm::raw_string_ostream stream(title);
  llvm::printHTMLEscaped(plan.name, stream);
  // Inside a script element only `<` could end it.
  for (size_t at = 0; (at = data.find('<', at)) != std::string::npos; at += 6)
    data.replace(at, 1, "\\u003c");
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>plan of " +
         title + "</title>\n<style>" + kStyle +
         "</style></head>\n<body><div id=\"page\"></div><div id=\"tip\"></div>\n"
         "<script type=\"application/json\" id=\"plan\">" +
         data + "</script>\n<script>" + kScript + "</script></body></html>\n";
}

} // namespace mx::memory
