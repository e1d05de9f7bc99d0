// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code shared by both engines that is not on the hot path: defaults, lane names, and error
// messages.

#include "base/Os.h"
#include "engine/Engine.h"

#include <algorithm>
#include <cstdio>

namespace mxrt::engine {

/// Share of the memory that may be results in flight.
static constexpr uint64_t memoryShare = 4;
static constexpr uint64_t usualBytes = uint64_t{256} << 20;

static void completeBytes(EngineOptions &options, uint64_t memoryLimit) {
  if (options.max_bytes != 0) {
    options.max_bytes = std::min<uint64_t>(options.max_bytes, INT64_MAX / 2);
    options.growBytes = options.max_bytes;
    return;
  }
  options.max_bytes = usualBytes;
  if (memoryLimit > 0) // leaves most of the limit to running ops
    options.max_bytes = std::clamp<uint64_t>(memoryLimit / memoryShare, 1, usualBytes);
  uint64_t memory =
      memoryLimit > 0 ? memoryLimit : static_cast<uint64_t>(os::usableMemory());
  options.growBytes = std::max(
      options.max_bytes, std::min<uint64_t>(memory / memoryShare, INT64_MAX / 2));
}

EngineOptions completeOptions(const mxrt_engine_options *given,
                              uint64_t memoryLimit) {
  EngineOptions options = {given ? *given : mxrt_engine_options{}, 0};
  if (!options.allocator)
    options.allocator = mxrt_system_allocator();
  if (options.workers_per_device <= 0)
    options.workers_per_device = os::processorCount();
  if (options.copy_workers <= 0)
    options.copy_workers = 1;
  if (options.communication_workers <= 0)
    options.communication_workers = 1;
  if (options.max_ops == 0)
    options.max_ops = 1024;
  // Positions in flight are compared as signed numbers.
  if (options.max_ops > INT64_MAX / 2)
    options.max_ops = INT64_MAX / 2;
  completeBytes(options, memoryLimit);
  if (options.spin_microseconds == 0)
    options.spin_microseconds = 20;
  else if (options.spin_microseconds < 0)
    options.spin_microseconds = 0;
  return options;
}

Result<Engine *> createEngine(const EngineOptions &options) {
  if (options.kind == MXRT_ENGINE_NAIVE)
    return createNaive(options);
  if (options.kind == MXRT_ENGINE_THREADED)
    return createThreaded(options);
  return error(options.allocator, MXRT_BAD_SETTING, noLocation,
               "no engine of kind %d", static_cast<int>(options.kind));
}

Result<uint32_t> laneIndexOf(const mxrt_allocator *alloc, const mxrt_op &op) {
  switch (op.lane) {
  case MXRT_LANE_COPY:
    return copyLane;
  case MXRT_LANE_COMMUNICATION:
    return communicationLane;
  case MXRT_LANE_COMPUTE:
    break;
  default:
    return error(alloc, MXRT_ENGINE_USAGE, op.location, "op '%s': no lane %d",
                 op.name ? op.name : "?", static_cast<int>(op.lane));
  }
  auto kind = static_cast<uint32_t>(op.device.kind);
  auto index = static_cast<uint32_t>(op.device.index);
  if (kind >= deviceKinds || index >= devicesPerKind)
    return error(alloc, MXRT_NO_DEVICE, op.location,
                 "op '%s': no device of kind %d with index %d",
                 op.name ? op.name : "?", static_cast<int>(op.device.kind),
                 static_cast<int>(op.device.index));
  return kind * devicesPerKind + index;
}

Status issuedBy(Status status, const char *name, mxrt_location location) {
  status = std::move(status).issuedAt(location);
  if (!name)
    return status;
  char note[128];
  std::snprintf(note, sizeof note, "note: in op '%s'", name);
  return std::move(status).withNote(note);
}

Status cancelledStatus(const mxrt_allocator *alloc, const char *name,
                       mxrt_location location) {
  return error(alloc, MXRT_CANCELLED, location, "op '%s' was cancelled",
               name ? name : "?");
}

Status badHandle(const mxrt_allocator *alloc, const char *what,
                 mxrt_location location) {
  return error(alloc, MXRT_ENGINE_USAGE, location,
               "%s: no such engine variable; it was deleted or never existed",
               what);
}

Status duplicateVar(const mxrt_allocator *alloc, const char *name,
                    bool bothSets, mxrt_location location) {
  return error(alloc, MXRT_ENGINE_USAGE, location,
               bothSets ? "op '%s' both reads and writes one variable; name it "
                          "in the write set only"
                        : "op '%s' names one variable twice in a set",
               name ? name : "?");
}

Status insideOp(const mxrt_allocator *alloc, const char *what,
                mxrt_location location) {
  return error(alloc, MXRT_ENGINE_USAGE, location,
               "%s inside an op would wait for itself; push an op that reads "
               "the variable",
               what);
}

Status badOp(const mxrt_allocator *alloc, const char *why, mxrt_location location) {
  return error(alloc, MXRT_ENGINE_USAGE, location, "%s", why);
}

Status badRelease(const mxrt_allocator *alloc, const char *name, const char *why,
                  mxrt_location location) {
  return error(alloc, MXRT_ENGINE_USAGE, location,
               "op '%s' cannot release a variable %s", name ? name : "?", why);
}

} // namespace mxrt::engine
