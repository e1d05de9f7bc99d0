// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading side of the profiler: the Chrome trace and the summary table. Both may run while other
// threads record; events that are still being written are skipped.

#include "engine/LaneNames.h"
#include "profile/Profile.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

using namespace mxrt;
using namespace mxrt::profile;

namespace {

const char *const categoryNames[] = {"op", "wait", "copy", "allocation",
                                     "host"};
static_assert(std::size(categoryNames) == MXRT_PROFILE_CATEGORY_COUNT);

const char *categoryName(uint32_t category) {
  return category < std::size(categoryNames) ? categoryNames[category] : "?";
}

/// Buffers text for a sink; after the first error it does nothing.
class Writer {
public:
  Writer(mxrt_sink sink, void *user) : sink(sink), user(user) {}

  void put(const char *text) { put(text, std::strlen(text)); }
  void put(const char *text, size_t size) {
    if (failure.failed())
      return;
    if (filled + size > sizeof buffer)
      flush();
    if (size > sizeof buffer) {
      failure = Status(sink(user, text, size));
      return;
    }
    std::memcpy(buffer + filled, text, size);
    filled += size;
  }
  __attribute__((format(printf, 2, 3))) void print(const char *format, ...) {
    char line[512];
    va_list args;
    va_start(args, format);
    int size = std::vsnprintf(line, sizeof line, format, args);
    va_end(args);
    put(line, std::min<size_t>(static_cast<size_t>(size), sizeof line - 1));
  }
  /// A JSON string with its quotes.
  void quoted(const char *text) {
    put("\"");
    for (; *text; ++text) {
      auto c = static_cast<unsigned char>(*text);
      if (c == '"' || c == '\\') {
        char pair[2] = {'\\', static_cast<char>(c)};
        put(pair, 2);
      } else if (c < 0x20) {
        print("\\u%04x", static_cast<unsigned>(c));
      } else {
        put(text, 1);
      }
    }
    put("\"");
  }
  Status finish() {
    if (failure.ok())
      flush();
    return std::move(failure);
  }

private:
  void flush() {
    if (filled && failure.ok())
      failure = Status(sink(user, buffer, filled));
    filled = 0;
  }

  mxrt_sink sink;
  void *user;
  Status failure;
  size_t filled = 0;
  char buffer[8192];
};

const Event *eventsOf(const mxrt_profile *profile) {
  return profile->events.load(std::memory_order_acquire);
}

uint64_t eventCount(const mxrt_profile *profile) {
  return std::min<uint64_t>(profile->used.load(std::memory_order_acquire),
                            profile->capacity);
}

bool isComplete(const Event &event) {
  return event.complete.load(std::memory_order_acquire) != 0;
}

void writeEvent(Writer &out, const Event &event) {
  // ts and dur are microseconds; three digits keep the nanoseconds.
  out.put("{\"ph\":\"X\",\"pid\":1,\"name\":");
  out.quoted(event.name);
  out.print(",\"cat\":\"%s\",\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,\"args\":{",
            categoryName(event.category), event.thread,
            static_cast<double>(event.begin) / 1e3,
            static_cast<double>(event.end - event.begin) / 1e3);
  const char *comma = "";
  if (event.file[0]) {
    char location[96];
    std::snprintf(location, sizeof location, "%s:%d:%d", event.file, event.line,
                  event.column);
    out.put("\"location\":");
    out.quoted(location);
    comma = ",";
  }
  if (event.lane >= 0) {
    char lane[16];
    engine::laneName(static_cast<uint32_t>(event.lane), lane);
    out.print("%s\"lane\":\"%s\"", comma, lane);
    comma = ",";
  }
  if (event.bytes)
    out.print("%s\"bytes\":%lld", comma, static_cast<long long>(event.bytes));
  out.put("}}");
}

/// One row of the summary.
struct Row {
  const Event *sample; // category and name
  uint64_t count;
  int64_t total, least, most, bytes;
};

bool sameRow(const Event &a, const Event &b) {
  return a.category == b.category && std::strcmp(a.name, b.name) == 0;
}

} // namespace

mxrt_status mxrt_profile_write_trace(mxrt_profile *profile, mxrt_sink sink,
                                     void *user) {
  Writer out(sink, user);
  out.put("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
  out.put("{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\","
          "\"args\":{\"name\":\"mx\"}}");
  // Live bytes as a counter, so that Perfetto plots the memory over time.
  int64_t live = 0;
  for (uint64_t i = 0, end = eventCount(profile); i < end; ++i) {
    const Event &event = eventsOf(profile)[i];
    if (!isComplete(event))
      continue;
    out.put(",\n");
    writeEvent(out, event);
    if (event.category == MXRT_PROFILE_ALLOCATION) {
      live += event.bytes;
      out.print(",\n{\"ph\":\"C\",\"pid\":1,\"name\":\"live bytes\",\"ts\":%.3f,"
                "\"args\":{\"bytes\":%lld}}",
                static_cast<double>(event.end) / 1e3,
                static_cast<long long>(live));
    }
  }
  uint64_t lost;
  mxrt_profile_count(profile, nullptr, &lost);
  out.print("\n],\"otherData\":{\"lost\":\"%llu\"}}\n",
            static_cast<unsigned long long>(lost));
  return out.finish().release();
}

mxrt_status mxrt_profile_write_summary(mxrt_profile *profile, size_t rows,
                                       mxrt_sink sink, void *user) {
  // Sorting pointers leaves the events in place, for a trace after this.
  Vec<const Event *> sorted(profile->alloc);
  uint64_t end = eventCount(profile);
  if (!sorted.reserve(end))
    return outOfMemory(profile->alloc).release();
  for (uint64_t i = 0; i < end; ++i)
    if (isComplete(eventsOf(profile)[i]) && !sorted.push(eventsOf(profile) + i))
      return outOfMemory(profile->alloc).release();
  std::sort(sorted.begin(), sorted.end(), [](const Event *a, const Event *b) {
    if (a->category != b->category)
      return a->category < b->category;
    int order = std::strcmp(a->name, b->name);
    return order ? order < 0 : a < b;
  });
  Vec<Row> table(profile->alloc);
  int64_t all = 0;
  for (const Event *event : sorted) {
    int64_t took = event->end - event->begin;
    all += took;
    if (table.empty() || !sameRow(*table.back().sample, *event)) {
      if (!table.push({event, 1, took, took, took, event->bytes}))
        return outOfMemory(profile->alloc).release();
      continue;
    }
    Row &row = table.back();
    ++row.count;
    row.total += took;
    row.least = std::min(row.least, took);
    row.most = std::max(row.most, took);
    row.bytes += event->bytes;
  }
  std::sort(table.begin(), table.end(), [](const Row &a, const Row &b) {
    return a.total != b.total ? a.total > b.total : a.sample < b.sample;
  });
  Writer out(sink, user);
  out.print("%-10s %-32s %10s %12s %6s %12s %12s %12s\n", "kind", "name",
            "count", "total us", "%", "mean us", "min us", "max us");
  size_t shown = 0;
  for (const Row &row : table) {
    if (rows && shown++ == rows)
      break;
    double total = static_cast<double>(row.total) / 1e3;
    out.print("%-10s %-32s %10llu %12.3f %6.1f %12.3f %12.3f %12.3f\n",
              categoryName(row.sample->category), row.sample->name,
              static_cast<unsigned long long>(row.count), total,
              all ? 100.0 * static_cast<double>(row.total) /
                        static_cast<double>(all)
                  : 0.0,
              total / static_cast<double>(row.count),
              static_cast<double>(row.least) / 1e3,
              static_cast<double>(row.most) / 1e3);
  }
  uint64_t lost;
  mxrt_profile_count(profile, nullptr, &lost);
  if (lost)
    out.print("%llu events did not fit\n",
              static_cast<unsigned long long>(lost));
  return out.finish().release();
}
