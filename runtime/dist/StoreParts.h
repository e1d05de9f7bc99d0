// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internals of a store, shared by Store.cpp and StoreThread.cpp: a call in flight, the op
// of a bucket, and packing of elements into the memory of the exchange and out of it.

#ifndef MXRT_DIST_STOREPARTS_H
#define MXRT_DIST_STOREPARTS_H

#include "dist/Store.h"

#include <atomic>

namespace mxrt::dist {

/// The keys of a repeated call, and its statistics.
struct Store::Table {
  explicit Table(const mxrt_allocator *alloc) : keys(alloc), rows(alloc), residuals(alloc) {}
  /// Of a key; guarded by the store's mutex.
  struct Row {
    uint64_t steps = 0, sentBytes = 0;
    int64_t waitNs = 0;
    kvstore::Form form = kvstore::Form::Dense; // of the latest step
  };
  kvstore::KeyTable keys;
  Vec<Row> rows;
  /// Of the buckets, if their averages are encoded. The store's thread writes them while a call
  /// runs, the thread that issues looks at them when none does.
  Vec<kvstore::Residual> residuals;
};

/// A message to the store's thread, in the order of the calls.
struct Store::Letter {
  enum Kind : uint8_t { Begin, Push } kind;
  Letter *next = nullptr;
  explicit Letter(Kind kind) : kind(kind) {}
};

/// Owned by the store's thread from Begin on.
struct Store::ActiveCall : Letter {
  ActiveCall(const mxrt_allocator *alloc, Table &table, double weight, kvstore::ExchangeDone agreed)
      : Letter(Begin),
        call(alloc, table.keys, weight, agreed, {table.residuals.data(), table.residuals.size()}),
        table(table), bucketsLeft(table.keys.buckets.size()) {}
  kvstore::Call call;
  Table &table;
  size_t bucketsLeft; // whose ops are not complete
  ActiveCall *after = nullptr;
};

/// The tensors of an item, contiguous.
struct Store::Given {
  TensorRef tensor, second;
};

/// The tensor of a key. The op holds buffers, not tensors: to be read in flight does not make
/// a tensor shared.
struct Operand {
  mxrt_buffer *buffer = nullptr;
  char *data = nullptr;
};

Operand operandOf(mxrt_tensor *tensor);

struct Store::BucketOp : Letter {
  BucketOp(const mxrt_allocator *alloc, Store &store, ActiveCall &call, uint32_t bucket)
      : Letter(Push), store(store), active(call), bucket(bucket), inputs(alloc), outputs(alloc),
        name(alloc) {}
  ~BucketOp();
  const kvstore::KeyTable &keys() const { return active.table.keys; }
  kvstore::Form form() const { return keys().keys[keys().buckets[bucket].first].form; }
  /// Brings the inputs into the memory of the exchange. R0204 for a number outside of the table.
  Status pack();
  /// For traces: `average net.e rows`, and the bytes that this rank has.
  struct Name {
    char text[144];
  };
  Name nameOf(kvstore::Form travelled) const;
  size_t bytesOf(kvstore::Form travelled) const;

  Store &store;
  ActiveCall &active;
  const uint32_t bucket;
  Vec<Operand> inputs, outputs; // of the keys of the bucket; of one that is not dense, two inputs
  Operand scratch;              // of a bucket that is not summed in its result
  char *memory = nullptr;       // of the exchange
  kvstore::OwnRows own;         // of a key with Form::Rows
  size_t offsets[2] = {}, sizes[2] = {}; // of this rank's factors in the memory
  Vec<char> name;               // `average net.fc1.w +2`
  mxrt_location location = noLocation;
  int64_t readyNs = 0;
  Status inputError;
  mxrt_op_token *token = nullptr;
};

/// Copies the tensors of a bucket into the memory of its exchange, in its element type.
void packBucket(const kvstore::KeyTable &keys, uint32_t bucket, int rank,
                std::span<const Operand> inputs, char *memory);
/// And the results out of it.
void unpackBucket(const kvstore::KeyTable &keys, uint32_t bucket, int rank, const char *memory,
                  std::span<const Operand> outputs);

} // namespace mxrt::dist

#endif // MXRT_DIST_STOREPARTS_H
