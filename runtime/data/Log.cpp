// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Metrics log: JSON lines and TensorBoard events.

#include "data/Log.h"
#include "base/Files.h"
#include "base/Os.h"
#include "io/Events.h"
#include "io/Input.h"
#include "io/Json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace mxrt::data {

using host::Invocation;
using host::Kind;
using host::ParamData;

namespace {

constexpr size_t flushBytes = size_t(1) << 16;
constexpr int64_t flushEveryNs = 1'000'000'000;

/// The shortest text that round-trips to the same number. JSON has no non-finite numbers: they are
/// written as strings.
bool appendNumber(Vec<char> &out, double value) {
  if (!std::isfinite(value))
    return io::append(out, std::isnan(value) ? "\"nan\"" : value > 0 ? "\"inf\"" : "\"-inf\"");
  char digits[40];
  auto narrow = static_cast<float>(value);
  auto end = double(narrow) == value ? std::to_chars(digits, std::end(digits), narrow)
                                     : std::to_chars(digits, std::end(digits), value);
  return io::append(out, {digits, static_cast<size_t>(end.ptr - digits)});
}

/// Creates the folder and its parents.
Status makeFolders(const mxrt_allocator *alloc, std::string_view folder) {
  Vec<char> path(alloc);
  for (size_t at = 0; at <= folder.size(); ++at) {
    if ((at == folder.size() || folder[at] == '/') && at > 0) {
      if (!path.push(0))
        return outOfMemory(alloc);
      if (int failure = os::makeFolder(path.data()))
        return io::fileError(alloc, "make the folder", path.data(), failure);
      path.pop();
    }
    if (at < folder.size() && !path.push(folder[at]))
      return outOfMemory(alloc);
  }
  return success();
}

} // namespace

RunLog::RunLog(DataHost &host)
    : host(host), alloc(host.allocator()), startNs(os::monotonicNs()), curves(alloc),
      waiting(alloc), lineBytes(alloc), eventBytes(alloc) {}

RunLog::~RunLog() {
  for (int file : {lines, events})
    if (file >= 0)
      os::closeFile(file);
}

Status RunLog::open() {
  std::string_view folder = host.options.logFolder;
  MXRT_CHECK(makeFolders(alloc, folder));
  Vec<char> path(alloc);
  auto openFile = [&](const char *name, int &file) -> Status {
    path.clear();
    if (!io::append(path, folder) || !path.push('/') || !io::append(path, name) || !path.push(0))
      return outOfMemory(alloc);
    if (int failure = os::openForAppending(path.data(), file))
      return io::fileError(alloc, "write", path.data(), failure);
    return success();
  };
  char name[80];
  std::snprintf(name, sizeof name, "events.out.tfevents.%lld.mx",
                static_cast<long long>(host.options.startSeconds));
  if (lines < 0)
    MXRT_CHECK(openFile("log.jsonl", lines));
  if (events < 0)
    MXRT_CHECK(openFile(name, events));
  if (!io::appendVersionEvent(eventBytes, host.options.startSeconds))
    return outOfMemory(alloc);
  isOpen = true;
  return success();
}

Result<size_t> RunLog::curveOf(std::string_view name) {
  for (size_t i = 0; i < curves.size(); ++i)
    if (name == std::string_view(curves[i].name.data(), curves[i].name.size()))
      return i;
  Curve curve = {Vec<char>(alloc)};
  if (!io::append(curve.name, name) || !curves.push(std::move(curve)))
    return outOfMemory(alloc);
  return curves.size() - 1;
}

Status RunLog::add(std::string_view name, int64_t step, Number number, const mxrt_location &location) {
  if (!isOpen)
    MXRT_CHECK(open());
  Line line;
  line.curve = MXRT_TRY(curveOf(name));
  Curve &curve = curves[line.curve];
  line.step = step < 0 ? curve.step + 1 : step;
  line.seconds = double(os::monotonicNs() - startNs) * 1e-9;
  line.number = std::move(number);
  int64_t reached = line.step;
  if (!waiting.push(std::move(line)))
    return outOfMemory(alloc);
  curve.step = reached;
  return write(location, false);
}

Status RunLog::append(const Line &line) {
  Curve &curve = curves[line.curve];
  std::string_view name(curve.name.data(), curve.name.size());
  double value = line.number.value, time = host.options.startSeconds + line.seconds;
  bool room = io::append(lineBytes, "{\"name\":") && io::appendQuoted(lineBytes, name) &&
              io::appendf(lineBytes, ",\"step\":%lld,\"time\":%.3f,\"value\":",
                          static_cast<long long>(line.step), line.seconds) &&
              appendNumber(lineBytes, value) && io::append(lineBytes, "}\n") &&
              io::appendScalarEvent(eventBytes, time, line.step, name, static_cast<float>(value));
  if (!room)
    return outOfMemory(alloc);
  if (curve.count++ == 0)
    curve.first = curve.min = curve.max = value;
  curve.latest = value;
  // fmin and fmax ignore a NaN unless all values are NaN.
  curve.min = std::fmin(curve.min, value);
  curve.max = std::fmax(curve.max, value);
  return success();
}

Status RunLog::flush() {
  flushedNs = os::monotonicNs();
  int failure = os::writeAll(lines, lineBytes.data(), lineBytes.size());
  if (!failure)
    failure = os::writeAll(events, eventBytes.data(), eventBytes.size());
  lineBytes.clear();
  eventBytes.clear();
  return failure ? io::fileError(alloc, "write the log in", host.options.logFolder, failure)
                 : success();
}

Status RunLog::write(const mxrt_location &location, bool last) {
  if (!isOpen)
    return success();
  while (begin < waiting.size()) {
    Line &line = waiting[begin];
    MXRT_CHECK(last ? awaitNumber(host, location, line.number) : pollNumber(host, location, line.number));
    if (!line.number.known)
      break;
    MXRT_CHECK(append(line));
    ++begin;
  }
  // Written lines are erased in bulk, so the amortised cost is low.
  if (begin > 64 || begin == waiting.size()) {
    size_t left = waiting.size() - begin;
    for (size_t i = 0; i < left; ++i)
      waiting[i] = std::move(waiting[begin + i]);
    while (waiting.size() > left)
      waiting.pop();
    begin = 0;
  }
  if (last || lineBytes.size() >= flushBytes || os::monotonicNs() - flushedNs >= flushEveryNs)
    return flush();
  return success();
}

Status RunLog::summarise(Vec<char> &text) const {
  size_t width = 4;
  long long numbers = 0;
  for (const Curve &curve : curves) {
    width = std::min<size_t>(std::max(width, curve.name.size()), 40);
    numbers += curve.count;
  }
  bool room = io::appendf(text,
                          "%lld %s of %zu %s in %.300s\n  %-*s  numbers       first      latest"
                          "         min         max\n",
                          numbers, numbers == 1 ? "number" : "numbers", curves.size(),
                          curves.size() == 1 ? "curve" : "curves", host.options.logFolder,
                          int(width), "name");
  for (const Curve &curve : curves)
    room = room && io::appendf(text, "  %-*.*s  %7lld  %10.4g  %10.4g  %10.4g  %10.4g\n",
                               int(width), int(std::min(width, curve.name.size())),
                               curve.name.data(), static_cast<long long>(curve.count), curve.first,
                               curve.latest, curve.min, curve.max);
  return room ? success() : outOfMemory(alloc);
}

namespace {

/// log(name, value, step)
Status log(void *context, Invocation &call) {
  DataHost &host = hostOf(context);
  host::StrObject *name = call.args[0].str();
  if (name->size == 0)
    return error(host.allocator(), MXRT_INVALID_ARGUMENT, noLocation, "log: a curve has a name");
  Number number;
  MXRT_CHECK(takeNumber(host, call.args[1], name->text(), "logged", number));
  RunLog *log = MXRT_TRY(host.openLog());
  return log->add(name->view(), call.args[2].i, std::move(number), call.location);
}

} // namespace

static constexpr ParamData params[] = {{Kind::Str, false}, {Kind::Any, false}, {Kind::Int, false}};
static const NativeRow natives[] = {{"mx.log", params, false, Kind::Unit, log}};
const NativeGroup mxrt_natives_log = {"mxrt_natives_log", natives, std::size(natives)};

} // namespace mxrt::data
