// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Progress bars. A value is shown once it is computed. Only the last line of a bar waits for its
// values.

#include "base/Os.h"
#include "data/Numbers.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace mxrt::data {

using host::Invocation;
using host::Kind;
using host::ParamData;
using host::Value;

namespace {

/// Min intervals between redraws of a bar, and between lines where lines are permanent.
constexpr int64_t drawEveryNs = 100'000'000, lineEveryNs = 10'000'000'000;
constexpr size_t maxShown = 16;

/// A named number of a bar.
struct Shown {
  char name[32] = {};
  double value = 0;
  bool known = false;
  Number waiting, latest; // the older one is polled until it is ready
};

Status poll(DataHost &host, const Invocation &call, Shown &shown) {
  MXRT_CHECK(pollNumber(host, call.location, shown.latest));
  if (shown.latest.known) {
    shown.value = shown.latest.value;
    shown.known = true;
    shown.waiting = Number();
    shown.latest = Number();
    return success();
  }
  MXRT_CHECK(pollNumber(host, call.location, shown.waiting));
  if (shown.waiting.known) {
    shown.value = shown.waiting.value;
    shown.known = true;
    shown.waiting = std::move(shown.latest);
    shown.latest = Number();
  }
  return success();
}

Status offer(DataHost &host, const Invocation &call, Shown &shown, const Value &value) {
  Number number;
  MXRT_CHECK(takeNumber(host, value, shown.name, "shown", number));
  MXRT_CHECK(poll(host, call, shown));
  if (number.known)
    shown.waiting = Number(), shown.latest = Number();
  (shown.waiting.coming ? shown.latest : shown.waiting) = std::move(number);
  return poll(host, call, shown);
}

struct Bar {
  explicit Bar(const mxrt_allocator *alloc) : alloc(alloc), label(alloc) {}
  const mxrt_allocator *alloc;
  Vec<char> label;
  bool visible = true, running = false;
  int64_t total = 0, done = -1; // completed iterations
  int64_t startNs = 0, drawnNs = 0;
  size_t drawnWidth = 0;
  Shown values[maxShown];
  size_t count = 0;
};

void deleteBar(void *payload) {
  auto *bar = static_cast<Bar *>(payload);
  deleteObject(bar->alloc, bar);
}
const host::ForeignType barType = {"progress", deleteBar};
Bar &barOf(const Invocation &call) { return *static_cast<Bar *>(call.args[0].foreign()->payload); }

/// 1:02:03, 2:03 or 12.3s.
void formatTime(double seconds, char (&out)[32]) {
  auto whole = static_cast<long long>(std::min(std::max(seconds, 0.0), 1e9));
  if (whole >= 3600)
    std::snprintf(out, sizeof out, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
  else if (whole >= 60)
    std::snprintf(out, sizeof out, "%lld:%02lld", whole / 60, whole % 60);
  else
    std::snprintf(out, sizeof out, "%.1fs", std::max(seconds, 0.0));
}

/// The number of characters, which may have several bytes in UTF-8.
size_t cellsOf(const char *text, size_t size) {
  return size_t(std::count_if(text, text + size, [](char c) { return (c & 0xc0) != 0x80; }));
}

/// Bytes of the longest prefix of `text` that fits into `cells`.
size_t fitting(const char *text, size_t size, size_t cells) {
  size_t at = 0;
  while (at < size && ((text[at] & 0xc0) == 0x80 || cells-- > 0))
    ++at;
  return at;
}

void draw(DataHost &host, Bar &bar, bool last) {
  if (!bar.visible || !host.options.showProgress)
    return;
  int64_t now = os::monotonicNs();
  bool terminal = host.options.onTerminal;
  if (!last && now - bar.drawnNs < (terminal ? drawEveryNs : lineEveryNs))
    return;
  bar.drawnNs = now;
  double seconds = double(now - bar.startNs) * 1e-9;
  int64_t done = std::max<int64_t>(bar.done, 0);
  double rate = seconds > 0 ? double(done) / seconds : 0;
  char spent[32], left[32] = "?", line[1024];
  formatTime(seconds, spent);
  if (rate > 0)
    formatTime(double(bar.total - done) / rate, left);
  // A line that is redrawn must not wrap. The last one stays and may wrap.
  int64_t columns = terminal && host.options.terminalColumns ? host.options.terminalColumns() : 0;
  constexpr int64_t widthWithCells = 70;
  size_t used = 0;
  auto add = [&](const char *format, auto... args) {
    int length = std::snprintf(line + used, sizeof line - used, format, args...);
    used = std::min(used + size_t(std::max(length, 0)), sizeof line - 1);
  };
  add("%.*s", int(std::min<size_t>(bar.label.size(), 200)), bar.label.data());
  if (!bar.label.empty())
    add("%s", "  ");
  if (terminal && (columns <= 0 || columns >= widthWithCells)) {
    int64_t filled = bar.total > 0 ? 20 * done / bar.total : 20;
    char cells[21] = {};
    for (int64_t i = 0; i < 20; ++i)
      cells[i] = i < filled ? '=' : i == filled ? '>' : ' ';
    add("[%s] ", cells);
  }
  add("%lld/%lld  %s", static_cast<long long>(done), static_cast<long long>(bar.total), spent);
  if (!last)
    add(" +%s", left);
  add("  %.4g/s", rate);
  for (size_t i = 0; i < bar.count; ++i)
    if (bar.values[i].known)
      add("  %s=%.4g", bar.values[i].name, bar.values[i].value);
  if (columns > 1 && !last)
    used = fitting(line, used, size_t(columns - 1));
  size_t width = cellsOf(line, used);
  // Blanks erase the remainder of a longer previous line.
  if (terminal)
    for (size_t cells = width; cells < bar.drawnWidth && used < sizeof line - 2; ++cells)
      line[used++] = ' ';
  bar.drawnWidth = columns > 1 ? std::min(width, size_t(columns - 1)) : width;
  if (terminal)
    host.options.showProgress(host.options.progressContext, "\r");
  if (last || !terminal)
    line[used++] = '\n';
  host.options.showProgress(host.options.progressContext, {line, used});
}

Status pollAll(DataHost &host, const Invocation &call, Bar &bar) {
  for (size_t i = 0; i < bar.count; ++i)
    MXRT_CHECK(poll(host, call, bar.values[i]));
  return success();
}

/// make(label, visible)
Status make(void *context, Invocation &call) {
  const mxrt_allocator *alloc = hostOf(context).allocator();
  Bar *bar = newObject<Bar>(alloc, alloc);
  if (!bar)
    return outOfMemory(alloc);
  std::string_view label = call.args[0].str()->view();
  bar->visible = call.args[1].i != 0;
  host::ForeignObject *object =
      bar->label.resize(label.size()) ? host::makeForeign(call.vm.heap(), &barType, bar) : nullptr;
  if (!object) {
    deleteBar(bar);
    return call.vm.heap().exhausted();
  }
  std::memcpy(bar->label.data(), label.data(), label.size());
  call.result = Value(Kind::Handle, object);
  return success();
}

Status begin(void *, Invocation &call) {
  Bar &bar = barOf(call);
  bar.total = std::max<int64_t>(call.args[1].i, 0);
  bar.done = -1;
  bar.startNs = os::monotonicNs();
  bar.drawnNs = bar.startNs;
  bar.running = true;
  return success();
}

Status step(void *context, Invocation &call) {
  Bar &bar = barOf(call);
  ++bar.done;
  MXRT_CHECK(pollAll(hostOf(context), call, bar));
  draw(hostOf(context), bar, false);
  return success();
}

Status end(void *context, Invocation &call) {
  Bar &bar = barOf(call);
  ++bar.done;
  bar.running = false;
  // The last line shows the time of the iterations, not of issuing them.
  DataHost &host = hostOf(context);
  for (size_t i = 0; i < bar.count && bar.visible; ++i) {
    Shown &shown = bar.values[i];
    MXRT_CHECK(
        awaitNumber(host, call.location, shown.latest.coming ? shown.latest : shown.waiting));
  }
  MXRT_CHECK(pollAll(host, call, bar));
  draw(host, bar, true);
  return success();
}

/// show(bar, name, value, name, value, ...)
Status show(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  Bar &bar = barOf(call);
  for (size_t i = 1; i + 1 < call.args.size(); i += 2) {
    std::string_view name = call.args[i].str()->view();
    name = name.substr(0, sizeof(Shown::name) - 1);
    size_t at = 0;
    while (at < bar.count && name != bar.values[at].name)
      ++at;
    if (at == maxShown)
      return error(host.allocator(), MXRT_INVALID_ARGUMENT, noLocation,
                   "show: a bar shows %zu values at most", maxShown);
    if (at == bar.count) {
      std::memcpy(bar.values[at].name, name.data(), name.size());
      ++bar.count;
    }
    MXRT_CHECK(offer(host, call, bar.values[at], call.args[i + 1]));
  }
  if (bar.running)
    draw(host, bar, false);
  return success();
}

} // namespace

static constexpr ParamData makeParams[] = {{Kind::Str, false}, {Kind::Bool, false}};
static constexpr ParamData bar[] = {{Kind::Handle, false}};
static constexpr ParamData barInt[] = {{Kind::Handle, false}, {Kind::Int, false}};
static const NativeRow natives[] = {{"mx.progress.make", makeParams, false, Kind::Handle, make},
                                    {"mx.progress.begin", barInt, false, Kind::Unit, begin},
                                    {"mx.progress.step", bar, false, Kind::Unit, step},
                                    {"mx.progress.end", bar, false, Kind::Unit, end},
                                    {"mx.progress.show", bar, true, Kind::Unit, show}};
const NativeGroup mxrt_natives_progress = {"mxrt_natives_progress", natives, std::size(natives)};

} // namespace mxrt::data
