// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The issuing side of a store: tables of keys, results, and ops of buckets.

#include "dist/StoreParts.h"

#include "abi/Runtime.h"
#include "mxrt/call.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace mxrt::dist {

using kvstore::Action;
using kvstore::Bucket;
using kvstore::Form;
using kvstore::KeySpec;

Store::Store(mxrt_runtime *runtime, net::TransportBox given, const kvstore::Layout &layout,
             kvstore::Form factors, const kvstore::Codec &codec)
    : runtime(runtime), alloc(&runtime->alloc), transport(std::move(given)), layout(layout),
      factorForm(factors), codec(codec), exchange(*transport), tables(alloc),
      keptResiduals(alloc) {}

Store::~Store() { close(); }

Result<Store *> Store::connect(mxrt_runtime *runtime, net::TransportBox transport,
                               const kvstore::Layout &layout, mxrt_location location,
                               kvstore::Form factors, const kvstore::Codec &codec) {
  const mxrt_allocator *alloc = &runtime->alloc;
  MXRT_CHECK(codec.check(alloc));
  auto *store = newObject<Store>(alloc, runtime, std::move(transport), layout, factors, codec);
  if (!store)
    return outOfMemory(alloc, location);
  if (Status status = store->start(location); status.failed()) {
    destroy(store);
    return status;
  }
  return store;
}

void Store::destroy(Store *store) {
  if (store)
    deleteObject(store->alloc, store);
}

Status Store::start(mxrt_location location) {
  MXRT_CHECK(Status(mxrt_runtime_engine(runtime, nullptr, &engine)));
  MXRT_CHECK(Status(mxrt_runtime_profile(runtime, &profile)));
  int problem = 0;
  if (!os::startThread(
          thread, [](void *store) { static_cast<Store *>(store)->run(); }, this, "mx-exchange",
          &problem))
    return error(alloc, MXRT_SYSTEM, location, "no thread for the exchange of a kvstore (error %d)",
                 problem);
  // The settings are a key, so that the ranks compare them.
  char settings[192];
  bool levels = layout.topology == kvstore::Topology::Levels;
  std::snprintf(settings, sizeof settings, "over=%s%s%s", topologyName(layout.topology),
                levels ? " of " : "", levels ? topologyName(layout.outer) : "");
  if (levels)
    std::snprintf(settings + std::strlen(settings), 32, ", inner=%d", layout.inner);
  if (takesFactors())
    std::snprintf(settings + std::strlen(settings), 32, ", compress=%s",
                  factorForm == kvstore::Form::Cheaper ? "auto" : "factors");
  using Kind = kvstore::Codec::Kind;
  if (codec.kind != Kind::None) {
    double number = codec.kind == Kind::Bit2   ? double(codec.threshold)
                    : codec.kind == Kind::TopK ? codec.ratio
                                               : 0;
    std::snprintf(settings + std::strlen(settings), 64,
                  number ? ", compress=%s(%.9g)" : ", compress=%s", codecName(), number);
  }
  KeySpec key;
  key.name = settings;
  Table *table = MXRT_TRY(tableFor(Action::Connect, {&key, 1}));
  auto *call = newObject<ActiveCall>(alloc, alloc, *table, 1.0, kvstore::ExchangeDone());
  if (!call)
    return outOfMemory(alloc, location);
  post(*call);
  return success();
}

void Store::close() {
  if (!thread.started || closed) {
    closed = true;
    return;
  }
  closed = true;
  {
    Lock lock(mutex);
    stopping = true;
  }
  transport->wake();
  os::joinThread(thread);
}

void Store::giveUp() {
  Lock lock(mutex);
  givesUp = true;
  transport->wake();
}

/// Wakes under the lock: when a worker posts, the store may be closed as soon as the letter is read.
void Store::post(Letter &letter) {
  Lock lock(mutex);
  (lastLetter ? lastLetter->next : firstLetter) = &letter;
  lastLetter = &letter;
  transport->wake();
}

Status Store::check(Action action, double weight) {
  if (closed)
    return error(alloc, MXRT_KVSTORE_CLOSED, noLocation, "%s: the kvstore is closed",
                 actionName(action));
  if (isWeighted(action) && !(std::isfinite(weight) && weight >= 0))
    return error(alloc, MXRT_KVSTORE_WEIGHT, noLocation,
                 "%s: the weight of rank %d is %g; it must be finite and not negative",
                 actionName(action), rank(), weight);
  Lock lock(mutex);
  return broken.share();
}

Result<Store::Table *> Store::tableFor(Action action, std::span<const KeySpec> keys) {
  for (Box<Table> &table : tables)
    if (table->keys.matches(action, keys))
      return table.get();
  Box<Table> made = MXRT_TRY(makeBox<Table>(alloc, alloc));
  MXRT_CHECK(made->keys.make(action, keys, layout, rank(), size(), {}, codec));
  if (!made->rows.resize(keys.size()))
    return outOfMemory(alloc);
  if (encodes() && action == Action::Average)
    MXRT_CHECK(makeResiduals(*made));
  Table *table = made.get();
  Lock lock(mutex);
  if (!tables.push(std::move(made)))
    return outOfMemory(alloc);
  return table;
}

// -- tensors ------------------------------------------------------------------

Operand operandOf(mxrt_tensor *tensor) {
  return {mxrt_buffer_retain(mxrt_tensor_buffer(tensor)),
          static_cast<char *>(mxrt_tensor_data(tensor))};
}

Store::BucketOp::~BucketOp() {
  for (Operand &operand : inputs)
    mxrt_buffer_release(operand.buffer);
  for (Operand &operand : outputs)
    mxrt_buffer_release(operand.buffer);
  if (scratch.buffer)
    mxrt_buffer_release(scratch.buffer);
}

/// The tensor itself, or a copy.
Status Store::contiguous(mxrt_tensor *tensor, mxrt_location location, TensorRef &out) {
  if (mxrt_tensor_is_dense(tensor)) {
    out = TensorRef(mxrt_tensor_retain(tensor));
    return success();
  }
  mxrt_device device = mxrt_tensor_device(tensor);
  mxrt_tensor *made = nullptr;
  MXRT_CHECK(Status(mxrt_tensor_create(runtime, &device, tensor->type, tensor->rank,
                                       tensor->sizes(), &location, &made)));
  out = TensorRef(made);
  return Status(mxrt_call_copy(runtime, tensor, made, &location));
}

/// Contiguous inputs, and the tensors of the results.
Status Store::makeResults(const kvstore::KeyTable &keys, std::span<const Item> items,
                          mxrt_location location, std::span<Given> given,
                          std::span<TensorRef> results) {
  for (size_t i = 0; i < items.size(); ++i) {
    MXRT_CHECK(contiguous(items[i].tensor, location, given[i].tensor));
    if (items[i].second)
      MXRT_CHECK(contiguous(items[i].second, location, given[i].second));
    std::span<const int64_t> shape = keys.shapeOf(keys.keys[i]);
    int64_t sizes[MXRT_MAX_RANK];
    std::copy(shape.begin(), shape.end(), sizes);
    if (keys.action == Action::Gather)
      sizes[0] *= size(); // KeyTable::make has checked it
    if (keys.action == Action::Scatter)
      sizes[0] /= size();
    mxrt_device device = mxrt_tensor_device(items[i].tensor);
    mxrt_tensor *made = nullptr;
    MXRT_CHECK(Status(mxrt_tensor_create(runtime, &device, items[i].tensor->type,
                                         int32_t(shape.size()), sizes, &location, &made)));
    results[i] = TensorRef(made);
  }
  return success();
}

/// `given` and `results` are those of all keys.
Status Store::prepare(BucketOp &op, std::span<Given> given, std::span<TensorRef> results) {
  const kvstore::KeyTable &keys = op.keys();
  const Bucket &bucket = keys.buckets[op.bucket];
  if (!op.inputs.reserve(bucket.count + 1) || !op.outputs.reserve(bucket.count))
    return outOfMemory(alloc);
  for (uint32_t i = bucket.first; i < bucket.first + bucket.count; ++i) {
    (void)op.inputs.push(operandOf(given[i].tensor.get())); // reserved
    (void)op.outputs.push(operandOf(results[i].get()));
  }
  if (mxrt_tensor *index = given[bucket.first].second.get()) {
    (void)op.inputs.push(operandOf(index)); // reserved
    op.own = {op.inputs[0].data, op.inputs[1].data, index->type, size_t(index->elements)};
  } else {
    op.own.count = kvstore::allElements;
  }
  // Only a lone key whose elements are those of the exchange needs no other memory.
  const kvstore::Key &key = keys.keys[bucket.first];
  bool isInPlace = bucket.count == 1 && keys.action != Action::Scatter &&
                   (bucket.dtype == MXRT_U8 || bucket.dtype == key.dtype);
  if (isInPlace) {
    op.memory = op.outputs[0].data;
  } else {
    auto bytes = static_cast<int64_t>(bucket.bytes());
    mxrt_device device = mxrt_tensor_device(given[bucket.first].tensor.get());
    mxrt_tensor *made = nullptr;
    MXRT_CHECK(
        Status(mxrt_tensor_create(runtime, &device, MXRT_U8, 1, &bytes, &op.location, &made)));
    TensorRef scratch(made);
    op.scratch = operandOf(made);
    op.memory = op.scratch.data;
  }
  return nameBucket(op);
}

Status Store::nameBucket(BucketOp &op) {
  const kvstore::KeyTable &keys = op.keys();
  const Bucket &bucket = keys.buckets[op.bucket];
  std::string_view name = keys.nameOf(keys.keys[bucket.first]);
  char text[128];
  int length = std::snprintf(text, sizeof text, bucket.count > 1 ? "%s %.*s +%u" : "%s %.*s",
                             actionName(keys.action), int(std::min<size_t>(name.size(), 80)),
                             name.data(), bucket.count - 1);
  if (!op.name.resize(size_t(length) + 1))
    return outOfMemory(alloc);
  std::copy_n(text, op.name.size(), op.name.data());
  return success();
}

Status Store::pushBucket(BucketOp &op, mxrt_location location, std::span<Given> given,
                         std::span<TensorRef> results) {
  const Bucket &bucket = op.keys().buckets[op.bucket];
  Vec<mxrt_var> variables(alloc);
  if (!variables.resize(3 * bucket.count))
    return outOfMemory(alloc);
  mxrt_var *writes = variables.data(), *reads = writes + bucket.count, *read = reads;
  uint64_t bytes = op.scratch.buffer ? bucket.bytes() : 0;
  for (uint32_t i = 0; i < bucket.count; ++i) {
    mxrt_tensor *result = results[bucket.first + i].get();
    const Given &inputs = given[bucket.first + i];
    MXRT_CHECK(Status(mxrt_tensor_variable(runtime, inputs.tensor.get(), read++)));
    if (inputs.second)
      MXRT_CHECK(Status(mxrt_tensor_variable(runtime, inputs.second.get(), read++)));
    MXRT_CHECK(Status(mxrt_tensor_variable(runtime, result, &writes[i])));
    bytes += uint64_t(mxrt_tensor_bytes(result));
  }
  std::sort(reads, read); // keys may be views of one buffer
  mxrt_op description = {};
  description.run = runBucket;
  description.payload = &op;
  description.reads = reads;
  description.read_count = size_t(std::unique(reads, read) - reads);
  description.writes = writes;
  description.write_count = bucket.count;
  description.lane = MXRT_LANE_COMMUNICATION;
  description.priority = bucket.priority;
  // It always runs, because the other ranks must be told of an error. It is not throttled: the ops
  // in flight may be buckets that other ranks wait for.
  description.flags = MXRT_OP_ALWAYS_RUN | MXRT_OP_OVERWRITES | MXRT_OP_NO_THROTTLE;
  // Static: the worker's span ends after the op, which may be complete and freed by then.
  description.name = actionName(op.keys().action);
  description.location = location;
  description.bytes = bytes;
  return Status(mxrt_engine_push(engine, &description));
}

/// What the key of an item has all together.
static std::span<const int64_t> shapeOf(const Item &item, int64_t *room) {
  const mxrt_tensor &tensor = *item.tensor;
  if (item.form != Form::Rows || !item.second)
    return {tensor.sizes(), size_t(tensor.rank)};
  room[0] = item.rows;
  int32_t axes = tensor.rank - item.second->rank;
  std::copy_n(tensor.sizes() + item.second->rank, axes, room + 1);
  return {room, size_t(axes) + 1};
}

/// Ops with an input error end the exchange of this rank.
Status Store::pushBuckets(std::span<BucketOp *const> ops, mxrt_location location,
                          std::span<Given> given, std::span<TensorRef> results) {
  for (size_t i = 0; i < ops.size(); ++i) {
    Status pushed = ops[i]->inputError.failed() ? ops[i]->inputError.share()
                                                : pushBucket(*ops[i], location, given, results);
    if (pushed.ok())
      continue;
    // The other ranks wait for these buckets, which will never be sent.
    for (; i < ops.size(); ++i) {
      ops[i]->inputError = pushed.share();
      post(*ops[i]);
    }
    return std::move(pushed).issuedAt(location);
  }
  return success();
}

Status Store::issue(Action action, double weight, std::span<const Item> items,
                    mxrt_location location, std::span<TensorRef> results) {
  MXRT_CHECK(check(action, weight));
  struct Shape {
    int64_t sizes[MXRT_MAX_RANK];
  };
  Vec<Shape> shapes(alloc);
  Vec<KeySpec> specs(alloc);
  Vec<uint64_t> counts(alloc);
  Vec<Given> given(alloc);
  Vec<BucketOp *> ops(alloc);
  if (!shapes.resize(items.size()) || !specs.resize(items.size()) || !given.resize(items.size()))
    return outOfMemory(alloc, location);
  for (size_t i = 0; i < items.size(); ++i) {
    const Item &item = items[i];
    specs[i] = {item.name, item.tensor->type, shapeOf(item, shapes[i].sizes), item.form};
    if (item.form == Form::Rows &&
        !counts.push(item.second ? uint64_t(item.second->elements) : kvstore::allElements))
      return outOfMemory(alloc, location);
  }
  Table *table = MXRT_TRY(tableFor(action, {specs.data(), specs.size()}));
  std::span<Given> inputs = {given.data(), given.size()};
  MXRT_CHECK(makeResults(table->keys, items, location, inputs, results));
  auto *call = newObject<ActiveCall>(alloc, alloc, *table, weight, kvstore::ExchangeDone());
  bool room = call && ops.reserve(table->keys.buckets.size()) &&
              call->call.announce({counts.data(), counts.size()});
  Status status = room ? success() : outOfMemory(alloc);
  for (uint32_t i = 0; i < table->keys.buckets.size() && status.ok(); ++i) {
    auto *op = newObject<BucketOp>(alloc, alloc, *this, *call, i);
    status = op ? success() : outOfMemory(alloc);
    if (status.failed())
      break;
    (void)ops.push(op); // reserved
    op->location = location;
    status = prepare(*op, inputs, results);
  }
  if (status.failed()) { // the other ranks were told nothing
    for (BucketOp *op : ops)
      deleteObject(alloc, op);
    deleteObject(alloc, call);
    return std::move(status).issuedAt(location);
  }
  waitForRoom();
  countCall();
  post(*call);
  return pushBuckets({ops.data(), ops.size()}, location, inputs, results);
}

Status Store::barrier(mxrt_location location) {
  MXRT_CHECK(check(Action::Barrier, 1));
  struct Gate {
    Mutex mutex;
    Condition changed;
    bool open = false;
    Status status;
  } gate;
  auto agreed = [](void *user, Status status) {
    auto &gate = *static_cast<Gate *>(user);
    Lock lock(gate.mutex);
    gate.status = std::move(status);
    gate.open = true;
    gate.changed.wakeAll();
  };
  Table *table = MXRT_TRY(tableFor(Action::Barrier, {}));
  auto *call =
      newObject<ActiveCall>(alloc, alloc, *table, 1.0, kvstore::ExchangeDone{agreed, &gate});
  if (!call)
    return outOfMemory(alloc, location);
  countCall();
  post(*call);
  Lock lock(gate.mutex);
  while (!gate.open)
    gate.changed.wait(gate.mutex);
  return std::move(gate.status).issuedAt(location);
}

// -- figures ------------------------------------------------------------------

void Store::countCall() {
  Lock lock(mutex);
  ++figures.calls;
  ++openCalls;
}

/// Called before a call is announced: all earlier calls are in flight here, and other ranks wait
/// for earlier calls only. So the slowest rank never waits for the others.
void Store::waitForRoom() {
  Lock lock(mutex);
  while (openCalls >= maxCalls)
    callEnded.wait(mutex);
}

Totals Store::totals() {
  Lock lock(mutex);
  return figures;
}

Status Store::describe(std::string_view key, Vec<char> &text) {
  Lock lock(mutex);
  auto add = [&](const char *format, auto... what) {
    char line[256];
    int length = std::snprintf(line, sizeof line, format, what...);
    for (int i = 0; i < std::min(length, int(sizeof line) - 1); ++i)
      if (!text.push(line[i]))
        return false;
    return true;
  };
  bool any = false;
  bool room = add("%-8s  %-40s  %-7s  %8s  %14s  %10s\n", "call", "key", "form", "steps",
                  "bytes sent", "wait ms");
  for (Box<Table> &table : tables)
    for (size_t i = 0; i < table->rows.size() && room; ++i) {
      std::string_view name = table->keys.nameOf(table->keys.keys[i]);
      const Table::Row &row = table->rows[i];
      bool isDenseAfterAll = table->keys.keys[i].form == Form::Cheaper && row.steps == 0;
      if (table->keys.action == Action::Connect || isDenseAfterAll ||
          (!key.empty() && name != key))
        continue;
      any = true;
      std::string_view shown = name.substr(name.size() - std::min<size_t>(name.size(), 40));
      room = add("%-8s  %-40.*s  %-7s  %8llu  %14llu  %10.3f\n", actionName(table->keys.action),
                 int(shown.size()), shown.data(), formName(row.form), static_cast<unsigned long long>(row.steps),
                 static_cast<unsigned long long>(row.sentBytes), double(row.waitNs) * 1e-6);
    }
  if (!room)
    return outOfMemory(alloc);
  if (!any && !key.empty())
    return error(alloc, MXRT_KVSTORE_KEY, noLocation, "the kvstore has no key `%.*s`",
                 int(std::min<size_t>(key.size(), 200)), key.data());
  return success();
}

} // namespace mxrt::dist
