// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exception handling: raising and catching. The pending error needs no memory beyond the status:
// out of memory can be raised and caught like any error.

#include "host/Machine.h"

namespace mxrt::host {

static const LocationData *findLocation(const FunctionData &fn, uint32_t offset) {
  size_t low = 0, high = fn.locations.size();
  while (low < high) { // first location after the instruction
    size_t middle = (low + high) / 2;
    if (fn.locations[middle].offset <= offset)
      low = middle + 1;
    else
      high = middle;
  }
  return low ? &fn.locations[low - 1] : nullptr;
}

static uint32_t offsetOf(const Frame &frame) {
  return uint32_t(frame.pc - frame.fn->code) - 1;
}

Location Machine::locationOf(const Frame &frame) const {
  Location location = {frame.fn->name, frame.fn->file, 0, 0};
  if (const LocationData *data = findLocation(*frame.fn->data, offsetOf(frame))) {
    location.line = data->line;
    location.column = data->column;
  }
  return location;
}

static mxrt_location toStatusLocation(const Location &location) {
  return {location.file ? location.file->text() : nullptr, int32_t(location.line),
          int32_t(location.column)};
}

mxrt_location Machine::currentLocation() const {
  return frame ? toStatusLocation(locationOf(*frame)) : noLocation;
}

void Machine::clearPending() {
  pending.status = success();
  for (uint32_t i = 0; i < pending.count; ++i) {
    release(heap, pending.locations[i].function);
    release(heap, pending.locations[i].file);
  }
  pending.count = pending.elided = 0;
}

static void addLocation(PendingError &pending, const Location &location) {
  if (pending.count == PendingError::maxLocations) {
    ++pending.elided;
    return;
  }
  retain(location.function);
  retain(location.file);
  pending.locations[pending.count++] = location;
}

bool Machine::raise(Status status) {
  // A native whose callback failed returns the same error: its locations were recorded then,
  // further in, and reach down to the first frame.
  if (pending.status.failed() && pending.status.get() == status.get())
    return false;
  clearPending();
  if (frame) {
    mxrt_location here = currentLocation();
    bool issuedElsewhere = status.location().line > 0;
    status = issuedElsewhere ? std::move(status).noticedAt(here)
                             : std::move(status).issuedAt(here);
  }
  pending.status = std::move(status);
  for (Frame *f = frame; f; f = f->caller)
    addLocation(pending, locationOf(*f));
  return false;
}

bool Machine::raise(mxrt_code code, const char *message) {
  return raise(error(heap.baseAllocator(), code, noLocation, message));
}

bool Machine::raiseValue(ErrorObject *error) {
  Status status(mxrt_status_retain(error->status));
  if (error->count == 0)
    return raise(std::move(status));
  retain(error);
  clearPending();
  pending.status = std::move(status);
  for (uint32_t i = 0; i < error->count; ++i)
    addLocation(pending, error->locations()[i]);
  pending.elided = error->elided;
  release(heap, error);
  return false;
}

bool Machine::raiseUnset() {
  return raise(MXRT_HOST_TYPE,
               "a value is used before it is set, or after it was moved away");
}

bool Machine::raiseKind(Kind wanted, Kind found) {
  return raise(error(heap.baseAllocator(), MXRT_HOST_TYPE, noLocation,
                     "a value of %s is needed here, this one is %s",
                     kindName(wanted), kindName(found)));
}

static const HandlerData *findHandler(const Frame &frame) {
  uint32_t offset = offsetOf(frame);
  for (const HandlerData &handler : frame.fn->data->handlers)
    if (offset >= handler.begin && offset < handler.end)
      return &handler;
  return nullptr;
}

bool Machine::unwind() {
  bool catchable = isCatchable(pending.status.code());
  while (true) {
    const HandlerData *handler = catchable ? findHandler(*frame) : nullptr;
    if (!handler) {
      bool isEntry = frame->isEntry;
      popFrame();
      if (isEntry)
        return false;
      continue;
    }
    if (handler->error != noRegister) {
      ErrorObject *caught = makeError(heap, pending.status.share(),
                                      {pending.locations, pending.count},
                                      pending.elided);
      if (!caught) {
        caught = memoryError;
        retain(caught);
      }
      replace(heap, frame->registers()[handler->error],
              Value(Kind::Error, caught));
    }
    clearPending();
    frame->pc = frame->fn->code + handler->target;
    return true;
  }
}

bool Machine::watch() {
  if (hasBudget) {
    if (budget == 0)
      return raise(MXRT_HOST_LIMIT, "the instruction limit is reached");
    --budget;
  }
  if (!hook)
    return true;
  uint32_t offset = offsetOf(*frame);
  const LocationData *location = findLocation(*frame->fn->data, offset);
  if (!location || location->offset != offset || !(location->flags & locationIsStatement))
    return true;
  Status status = hook(hookContext, face);
  return status.ok() ? true : raise(std::move(status));
}

bool Machine::poll(uint64_t work) {
  if (attention.load(std::memory_order_relaxed) & cancelBit)
    return raise(MXRT_CANCELLED, "cancelled");
  if (hasBudget) {
    if (budget < work) {
      budget = 0;
      return raise(MXRT_HOST_LIMIT, "the instruction limit is reached");
    }
    budget -= work;
  }
  return true;
}

} // namespace mxrt::host
