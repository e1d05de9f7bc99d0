// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys that are not dense: rows of tables, and factors of matmuls.

#include "dist/StoreParts.h"

#include "abi/Runtime.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace mxrt::dist {

using kvstore::Action;
using kvstore::Form;
using kvstore::KeySpec;

// -- buckets ------------------------------------------------------------------

Status Store::BucketOp::pack() {
  switch (form()) {
  case Form::Dense:
    packBucket(keys(), bucket, store.rank(), {inputs.data(), inputs.size()}, memory);
    return success();
  case Form::Rows: {
    kvstore::TableShape table = keys().tableOf(keys().keys[keys().buckets[bucket].first]);
    size_t bytes = table.rows * table.rowBytes();
    if (own.count != kvstore::allElements)
      MXRT_CHECK(kvstore::checkRows(store.alloc, table, own).issuedAt(location));
    if (bytes > 0 && own.count == kvstore::allElements)
      std::memcpy(memory, inputs[0].data, bytes);
    else if (bytes > 0)
      std::memset(memory, 0, bytes);
    return success();
  }
  default:
    for (size_t i = 0; i < 2; ++i)
      if (sizes[i] > 0)
        std::memcpy(memory + offsets[i], inputs[i].data, sizes[i]);
    return success();
  }
}

size_t Store::BucketOp::bytesOf(Form travelled) const {
  const kvstore::Bucket &packed = keys().buckets[bucket];
  if (travelled == Form::Dense)
    return packed.bytes();
  const kvstore::Key &key = keys().keys[packed.first];
  return active.call.countsOf(key)[size_t(store.rank())] * keys().entryBytes(key);
}

Store::BucketOp::Name Store::BucketOp::nameOf(Form travelled) const {
  Name out;
  const char *form = travelled == Form::Dense ? "" : formName(travelled);
  std::snprintf(out.text, sizeof out.text, "%s%s%s", name.data(), *form ? " " : "", form);
  return out;
}

// -- factors ------------------------------------------------------------------

Status Factors::partsOf(int rank, mxrt_location location, TensorRef &u, TensorRef &v) const {
  int64_t width = mxrt_dtype_size(memory->type);
  for (int side = 0; side < 2; ++side) {
    kvstore::Range range = parts[2 * size_t(rank) + size_t(side)].range;
    int64_t begin = static_cast<int64_t>(range.begin) / width;
    int64_t end = begin + static_cast<int64_t>(range.count) / width;
    mxrt_tensor *flat = nullptr, *shaped = nullptr;
    MXRT_CHECK(Status(mxrt_tensor_slice(memory.get(), 0, begin, end, 1, &location, &flat)));
    TensorRef held(flat);
    int64_t sizes[] = {static_cast<int64_t>(counts[size_t(rank)]), columns[side]};
    MXRT_CHECK(Status(mxrt_tensor_reshape(flat, 2, sizes, &location, &shaped)));
    (side == 0 ? u : v) = TensorRef(shaped);
  }
  return success();
}

/// What the thread that issues waits for.
struct Store::Agreement {
  Mutex mutex;
  Condition changed;
  bool open = false;
  Status status;
  ActiveCall *call = nullptr;
  FactorsOfCall *out = nullptr;

  /// Copies what the ranks have told: the call may end before it is read.
  Status read() {
    const kvstore::Call &agreed = call->call;
    const kvstore::KeyTable &keys = call->table.keys;
    for (int rank = 0; rank < int(out->weights.size()); ++rank)
      out->weights[size_t(rank)] = agreed.weightOf(rank);
    out->total = agreed.weights();
    for (size_t i = 0; i < out->keys.size(); ++i) {
      Factors &key = out->keys[i];
      key.travel = agreed.travels(keys.keys[i].bucket) == Form::Factors;
      std::span<const uint64_t> counts = agreed.countsOf(keys.keys[i]);
      if (!key.travel)
        continue;
      if (!key.counts.resize(counts.size()))
        return outOfMemory(key.counts.allocator());
      std::copy(counts.begin(), counts.end(), key.counts.data());
      MXRT_CHECK(agreed.factorParts(keys.keys[i].bucket, key.parts, key.bytes));
    }
    return success();
  }
};

/// On the store's thread. Buckets that do not travel are over.
void Store::agreedOnFactors(void *user, Status status) {
  auto &agreement = *static_cast<Agreement *>(user);
  if (status.ok())
    status = agreement.read();
  ActiveCall &call = *agreement.call;
  call.bucketsLeft = 0;
  for (const Factors &key : agreement.out->keys)
    call.bucketsLeft += key.travel && status.ok();
  Lock lock(agreement.mutex);
  agreement.status = std::move(status);
  agreement.open = true;
  agreement.changed.wakeAll();
}

Status Store::prepareFactors(BucketOp &op, const Factors &key, const Given &given) {
  if (!op.inputs.reserve(2) || !op.outputs.reserve(1))
    return outOfMemory(alloc);
  (void)op.inputs.push(operandOf(given.tensor.get())); // reserved
  (void)op.inputs.push(operandOf(given.second.get()));
  (void)op.outputs.push(operandOf(key.memory.get()));
  op.memory = op.outputs[0].data;
  for (size_t i = 0; i < 2; ++i) {
    kvstore::Range range = key.parts[2 * size_t(rank()) + i].range;
    op.offsets[i] = range.begin;
    op.sizes[i] = range.count;
  }
  return nameBucket(op);
}

Status Store::exchangeFactors(double weight, std::span<const Item> items, mxrt_location location,
                              FactorsOfCall &out) {
  MXRT_CHECK(check(Action::Average, weight));
  struct Shape {
    int64_t sizes[2];
  };
  Vec<Shape> shapes(alloc);
  Vec<KeySpec> specs(alloc);
  Vec<uint64_t> counts(alloc);
  Vec<Given> given(alloc);
  Vec<TensorRef> memories(alloc);
  Vec<BucketOp *> ops(alloc), travelling(alloc);
  if (!shapes.resize(items.size()) || !specs.resize(items.size()) ||
      !travelling.reserve(items.size()) || !counts.resize(items.size()) || !given.resize(items.size()) ||
      !memories.resize(items.size()) || !ops.reserve(items.size()) ||
      !out.keys.reserve(items.size()) || !out.weights.resize(size_t(size())))
    return outOfMemory(alloc, location);
  for (size_t i = 0; i < items.size(); ++i) {
    const mxrt_tensor &u = *items[i].tensor, &v = *items[i].second;
    shapes[i] = {{u.sizes()[1], v.sizes()[1]}};
    specs[i] = {items[i].name, u.type, {shapes[i].sizes, 2}, factorForm};
    counts[i] = uint64_t(u.sizes()[0]);
    Factors key(alloc);
    key.columns[0] = u.sizes()[1];
    key.columns[1] = v.sizes()[1];
    (void)out.keys.push(std::move(key)); // reserved
    MXRT_CHECK(contiguous(items[i].tensor, location, given[i].tensor));
    MXRT_CHECK(contiguous(items[i].second, location, given[i].second));
  }
  Table *table = MXRT_TRY(tableFor(Action::Average, {specs.data(), specs.size()}));
  Agreement agreement;
  agreement.out = &out;
  auto *call = newObject<ActiveCall>(alloc, alloc, *table, weight,
                                     kvstore::ExchangeDone{agreedOnFactors, &agreement});
  if (!call || !call->call.announce({counts.data(), counts.size()})) {
    deleteObject(alloc, call);
    return outOfMemory(alloc, location);
  }
  agreement.call = call;
  // Made before the other ranks are told: from then on they wait for these buckets.
  Status status;
  for (size_t i = items.size(); i-- > 0 && status.ok();) {
    auto *op = newObject<BucketOp>(alloc, alloc, *this, *call, table->keys.keys[i].bucket);
    status = op ? success() : outOfMemory(alloc, location);
    if (op)
      (void)ops.push(op); // reserved
  }
  if (status.ok()) {
    waitForRoom();
    countCall();
    post(*call);
    Lock lock(agreement.mutex);
    while (!agreement.open)
      agreement.changed.wait(agreement.mutex);
    status = std::move(agreement.status);
  } else {
    deleteObject(alloc, call);
  }
  for (size_t i = items.size(); i-- > 0;) {
    size_t at = items.size() - 1 - i;
    if (at >= ops.size())
      continue;
    BucketOp &op = *ops[at];
    Factors &key = out.keys[i];
    if (status.failed() || !key.travel) {
      deleteObject(alloc, &op);
      continue;
    }
    op.location = location;
    op.inputError = makeMemory(key, *given[i].tensor.get(), location);
    if (op.inputError.ok())
      op.inputError = prepareFactors(op, key, given[i]);
    memories[i] = TensorRef(key.memory ? mxrt_tensor_retain(key.memory.get()) : nullptr);
    (void)travelling.push(&op); // reserved
  }
  if (status.failed())
    return std::move(status).issuedAt(location);
  return pushBuckets({travelling.data(), travelling.size()}, location,
                     {given.data(), given.size()}, {memories.data(), memories.size()});
}

Status Store::makeMemory(Factors &key, const mxrt_tensor &like, mxrt_location location) {
  auto elements = static_cast<int64_t>(key.bytes) / mxrt_dtype_size(like.type);
  mxrt_device device = mxrt_tensor_device(&like);
  mxrt_tensor *made = nullptr;
  MXRT_CHECK(
      Status(mxrt_tensor_create(runtime, &device, like.type, 1, &elements, &location, &made)));
  key.memory = TensorRef(made);
  return success();
}

} // namespace mxrt::dist
