// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queues in checkpoints: closed, seed, counter, count, and the parts of each element as 0.0, 0.1,
// 1.0 and so on.

#include "data/Checkpoint.h"
#include "data/QueueHandle.h"
#include "dist/Parcel.h"

#include <cstdio>

namespace mxrt::data {

using dist::Element;
using dist::PartType;
using dist::Queue;
using dist::QueueState;
using host::Value;

Status pack(DataHost &host, const Queue &queue, mxrt_location location, Element &element) {
  if (!queue.isShared())
    return success();
  element.parcel = MXRT_TRY(dist::Parcel::send(
      host.options.runtime, {element.tensors.data(), element.tensors.size()}, location));
  element.tensors = Vec<TensorRef>(mxrt_system_allocator()); // it may outlive the runtime
  return success();
}

namespace {

/// The path of a part; leave() goes back.
Status enterNumber(Leaves &paths, int64_t number) {
  char text[24];
  int size = std::snprintf(text, sizeof text, "%lld", static_cast<long long>(number));
  return paths.enter({text, size_t(size)});
}

Status save(const Value &value, Saver &to) {
  Held &held = heldOf(value);
  QueueState state = MXRT_TRY(held.queue->state());
  size_t root = to.paths.path().size();
  auto add = [&](const char *name, Value number) {
    MXRT_CHECK(to.paths.enter(name));
    MXRT_CHECK(to.add(number));
    to.paths.leave(root);
    return success();
  };
  MXRT_CHECK(add("closed", Value::boolean(state.isClosed)));
  MXRT_CHECK(add("seed", Value::integer(int64_t(state.stream.key))));
  MXRT_CHECK(add("counter", Value::integer(int64_t(state.stream.position))));
  MXRT_CHECK(add("count", Value::integer(int64_t(state.elements.size()))));
  for (size_t i = 0; i < state.elements.size(); ++i) {
    Element &element = state.elements[i];
    MXRT_CHECK(enterNumber(to.paths, int64_t(i)));
    size_t above = to.paths.path().size();
    if (element.parcel)
      MXRT_CHECK(element.parcel->read(to.host.options.runtime, to.location, element.tensors));
    for (size_t part = 0; part < element.tensors.size(); ++part) {
      MXRT_CHECK(enterNumber(to.paths, int64_t(part)));
      MXRT_CHECK(to.addTensor(element.tensors[part].get()));
      to.paths.leave(above);
    }
    to.paths.leave(root);
  }
  return success();
}

/// The number that the file has at `name` below the queue; 0 if it has none, which check() reports.
Status readNumber(Restorer &from, const char *name, mxrt_dtype type, int64_t &out) {
  size_t root = from.paths.path().size();
  MXRT_CHECK(from.paths.enter(name));
  out = 0;
  const io::SafeTensor *found = from.index.find(from.paths.path());
  if (found && found->type == type && found->rank == 0)
    MXRT_CHECK(from.index.readTensor(*found, &out));
  from.paths.leave(root);
  return success();
}

Status check(const Value &value, Restorer &from) {
  Held &held = heldOf(value);
  size_t root = from.paths.path().size();
  for (auto [name, type] : {std::pair("closed", MXRT_BOOL), std::pair("seed", MXRT_I64),
                            std::pair("counter", MXRT_I64), std::pair("count", MXRT_I64)}) {
    MXRT_CHECK(from.paths.enter(name));
    MXRT_CHECK(from.checkEntry({type, 0, nullptr}, false));
    from.paths.leave(root);
  }
  int64_t count = 0;
  MXRT_CHECK(readNumber(from, "count", MXRT_I64, count));
  if (count < 0 || count > held.queue->capacity()) {
    char have[24], want[24];
    std::snprintf(have, sizeof have, "%lld", static_cast<long long>(count));
    std::snprintf(want, sizeof want, "%lld", static_cast<long long>(held.queue->capacity()));
    return from.differs(from.paths.path(),
                        "`%.*s` has %s elements in the file, room for %s in the program", have,
                        want);
  }
  for (int64_t i = 0; i < count; ++i) {
    MXRT_CHECK(enterNumber(from.paths, i));
    size_t above = from.paths.path().size();
    for (size_t part = 0; part < held.queue->parts().size(); ++part) {
      const PartType &type = held.queue->parts()[part];
      MXRT_CHECK(enterNumber(from.paths, int64_t(part)));
      MXRT_CHECK(from.checkEntry({type.type, type.rank, type.sizes}, false));
      from.paths.leave(above);
    }
    from.paths.leave(root);
  }
  return success();
}

Status read(const Value &value, Restorer &from, std::string_view) {
  Held &held = heldOf(value);
  const mxrt_allocator *alloc = held.alloc;
  int64_t closed = 0, seed = 0, counter = 0, count = 0;
  MXRT_CHECK(readNumber(from, "closed", MXRT_BOOL, closed));
  MXRT_CHECK(readNumber(from, "seed", MXRT_I64, seed));
  MXRT_CHECK(readNumber(from, "counter", MXRT_I64, counter));
  MXRT_CHECK(readNumber(from, "count", MXRT_I64, count));
  Box<QueueState> state = MXRT_TRY(makeBox<QueueState>(alloc, alloc));
  state->isClosed = closed != 0;
  state->stream = {uint64_t(seed), uint64_t(counter)};
  size_t root = from.paths.path().size();
  for (int64_t i = 0; i < count; ++i) {
    Element element(alloc);
    MXRT_CHECK(enterNumber(from.paths, i));
    size_t above = from.paths.path().size();
    for (size_t part = 0; part < held.queue->parts().size(); ++part) {
      MXRT_CHECK(enterNumber(from.paths, int64_t(part)));
      TensorRef tensor;
      MXRT_CHECK(from.readTensor(*from.index.find(from.paths.path()), {MXRT_CPU, 0}, tensor));
      if (!element.tensors.push(std::move(tensor)))
        return outOfMemory(alloc);
      from.paths.leave(above);
    }
    from.paths.leave(root);
    MXRT_CHECK(pack(from.host, *held.queue, from.location, element));
    if (!state->elements.push(std::move(element)))
      return outOfMemory(alloc);
  }
  held.next = std::move(state);
  return success();
}

Status commit(const Value &value) {
  Held &held = heldOf(value);
  held.queue->setState(std::move(*held.next));
  held.next = Box<QueueState>();
  return success();
}

} // namespace

const StoredHandle storedQueue = {&queueType, save, check, read, commit};

} // namespace mxrt::data
