// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Residuals of encoded averages as state of a program: by key, to and from checkpoints.

#include "dist/StoreParts.h"

#include <algorithm>
#include <cstring>

namespace mxrt::dist {

using kvstore::Bucket;
using kvstore::Key;
using kvstore::Residual;

void Store::waitForCalls() {
  Lock lock(mutex);
  while (openCalls > 0)
    callEnded.wait(mutex);
}

/// The elements of a key in the residual of its bucket.
static std::span<float> residualOf(const kvstore::KeyTable &keys, const Key &key,
                                   Vec<Residual> &residuals) {
  Vec<float> &held = residuals[key.bucket].held;
  return held.empty() ? std::span<float>() : std::span(held.data() + key.offset, key.part);
}

/// A residual belongs to a name, so that a checkpoint has it once.
Status Store::makeResiduals(Table &table) {
  const kvstore::KeyTable &keys = table.keys;
  for (const Box<Table> &other : tables)
    for (const Key &key : other->residuals.empty() ? std::span<const Key>()
                                                   : std::span(keys.keys.data(), keys.keys.size()))
      if (std::string_view name = keys.nameOf(key); other->keys.find(name))
        return error(
            alloc, MXRT_KVSTORE_KEY, noLocation,
            "average: `%.*s` was exchanged with other sizes, or among other keys, and "
            "`compress=%s` keeps what it left out by name\nhelp: give the variable another "
            "name, or connect another KVStore",
            int(std::min<size_t>(name.size(), 200)), name.data(), codecName());
  for (const Bucket &bucket : keys.buckets) {
    (void)bucket;
    if (!table.residuals.push(Residual(alloc)))
      return outOfMemory(alloc);
  }
  return takeKept(table);
}

/// What a checkpoint has of these keys.
Status Store::takeKept(Table &table) {
  const kvstore::KeyTable &keys = table.keys;
  for (const Key &key : keys.keys)
    for (size_t i = keptResiduals.size(); i-- > 0;) {
      if (keptResiduals[i].name() != keys.nameOf(key))
        continue;
      const mxrt_tensor *values = keptResiduals[i].values.get();
      std::span<const int64_t> shape = keys.shapeOf(key);
      if (values->type != MXRT_F32 || size_t(values->rank) != shape.size() ||
          !std::equal(shape.begin(), shape.end(), values->sizes()))
        return error(alloc, MXRT_CHECKPOINT, noLocation,
                     "average: the residual of `%.*s` in the checkpoint has another shape",
                     int(std::min<size_t>(key.nameBytes, 200)), keys.nameOf(key).data());
      const Bucket &bucket = keys.buckets[key.bucket];
      if (!table.residuals[key.bucket].resize(bucket.elements()))
        return outOfMemory(alloc);
      std::memcpy(residualOf(keys, key, table.residuals).data(), values->data(),
                  key.part * sizeof(float));
      keptResiduals.swapRemove(i);
    }
  return success();
}

Status Store::eachResidual(EachResidual each, void *user) {
  waitForCalls();
  for (Box<Table> &table : tables)
    for (const Key &key :
         table->residuals.empty()
             ? std::span<const Key>()
             : std::span<const Key>(table->keys.keys.data(), table->keys.keys.size())) {
      std::span<float> values = residualOf(table->keys, key, table->residuals);
      if (!values.empty())
        MXRT_CHECK(each(user, table->keys.nameOf(key), table->keys.shapeOf(key), values));
    }
  for (const KeptResidual &kept : keptResiduals) {
    const mxrt_tensor *values = kept.values.get();
    MXRT_CHECK(each(user, kept.name(), {values->sizes(), size_t(values->rank)},
                    {reinterpret_cast<const float *>(values->data()),
                     size_t(mxrt_tensor_bytes(values)) / sizeof(float)}));
  }
  return success();
}

Status Store::restoreResiduals(Vec<KeptResidual> kept) {
  waitForCalls();
  keptResiduals = std::move(kept);
  for (Box<Table> &table : tables) {
    if (table->residuals.empty())
      continue;
    for (Residual &residual : table->residuals)
      std::fill(residual.held.begin(), residual.held.end(), 0.0f);
    MXRT_CHECK(takeKept(*table));
  }
  return success();
}

} // namespace mxrt::dist
