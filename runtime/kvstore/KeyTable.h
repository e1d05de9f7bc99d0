// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The keys (named tensors) of one collective call, packed into buckets (gradient
// bucketing). Ranks compare the hashes of their tables before any element is sent,
// so ranks that run different models get an error, with the first difference.
//
// Keys come in the order of their first use in the forward pass. Gradients are
// ready in the opposite order, so buckets are packed from the last key to the
// first: a bucket is closed once it has `minBytes`, and before a key that would
// bring it above `maxBytes` or has another element type. A larger key is a bucket
// by itself. Buckets are a function of the table alone, the same at every rank.

#ifndef MXRT_KVSTORE_KEYTABLE_H
#define MXRT_KVSTORE_KEYTABLE_H

#include "kvstore/Rows.h"

#include <span>
#include <string_view>

namespace mxrt::kvstore {

/// The operation of a collective call.
enum class Action : uint8_t {
  Connect, // no keys: the settings of the ranks are compared
  Barrier, // no keys
  Init,    // the values of rank 0 for all
  Average, // the weighted mean over all ranks, of gradients: these may be encoded
  Sum,
  Gather,  // the values of all ranks one after the other, along the first axis
  Scatter, // a sum, of which each rank gets its part of the first axis
  Mean,    // the weighted mean over all ranks
};
inline constexpr int actionCount = 8;
inline bool isWeighted(Action action) {
  return action == Action::Average || action == Action::Mean;
}
/// As programs spell it: `average`.
const char *actionName(Action action);

/// What a rank has of the values of a key. Only averages have other forms than Dense, of f32 and
/// f64. Ranks may have different numbers of rows, so these are announced with the call.
enum class Form : uint8_t {
  Dense,   // all elements
  Rows,    // an index of rows, and these rows: gradients of gathers. Ranks may have them densely
  Factors, // u[n, rows] and v[n, columns] of uᵀ @ v: gradients of dense layers
  Cheaper, // Factors, if they are fewer bytes than all elements
};
inline constexpr int formCount = 4;
/// As tables spell it: `rows`.
const char *formName(Form form);

/// The announced number of rows of a rank that has all elements.
inline constexpr uint64_t allElements = UINT64_MAX;

/// A key as the caller describes it.
struct KeySpec {
  std::string_view name; // such as `net.fc1.w`; unique in its table
  mxrt_dtype dtype = MXRT_F32;
  std::span<const int64_t> shape; // of this rank's tensor
  Form form = Form::Dense;
};

struct Key {
  uint32_t name = 0, nameBytes = 0; // in KeyTable::text
  uint32_t shape = 0, rank = 0;     // in KeyTable::sizes
  mxrt_dtype dtype = MXRT_F32;
  Form form = Form::Dense;
  uint32_t bucket = 0;
  uint32_t counted = 0; // among the keys whose rows are counted
  size_t elements = 0;  // of this rank's tensor
  /// Of a part of the bucket (see there), in the bucket's elements.
  size_t offset = 0, part = 0;
  uint64_t sentBytes = 0; // by this rank in an exchange
};

/// The memory of a bucket has one part, or one for each rank: the tensors of all
/// ranks (Gather), the slices of the sum (Scatter). A part has those of all keys. A key
/// that is not dense is a bucket by itself, with a plan for all of its elements.
struct Bucket {
  uint32_t first = 0, count = 0; // keys
  /// Larger goes first: the front layers.
  int32_t priority = 0;
  /// Element type of the exchange: sums of f16 and bf16 are of f32, what is only
  /// moved is bytes (u8).
  mxrt_dtype dtype = MXRT_F32;
  size_t part = 0, parts = 1;
  size_t elements() const { return part * parts; }
  size_t bytes() const { return elements() * size_t(mxrt_dtype_size(dtype)); }
};

struct BucketSizes {
  size_t minBytes = size_t(1) << 20, maxBytes = size_t(4) << 20;
};

class KeyTable {
public:
  explicit KeyTable(const mxrt_allocator *alloc)
      : keys(alloc), buckets(alloc), plans(alloc), alloc(alloc), text(alloc), sizes(alloc),
        parts(alloc) {}
  /// R0203 for a type that is not summed, R0201 for a shape that the action does
  /// not take, R0706 for a name that is there twice, R0005 for a form that the
  /// action or the type does not have; all name the key. `codec` is for averages of f32, and of
  /// what is summed in it.
  Status make(Action action, std::span<const KeySpec> given, const Layout &layout, int rank,
              int ranks, const BucketSizes &bucketSizes = {}, const Codec &codec = {});

  std::string_view nameOf(const Key &key) const { return {text.data() + key.name, key.nameBytes}; }
  std::span<const int64_t> shapeOf(const Key &key) const {
    return {sizes.data() + key.shape, key.rank};
  }
  /// The key of this name, or nullptr.
  const Key *find(std::string_view name) const;
  /// Of a key with Form::Rows.
  TableShape tableOf(const Key &key) const;
  /// Of a row of a key that is not dense, in messages.
  size_t entryBytes(const Key &key) const;
  /// How the key travels, Dense, Rows or Factors: a function of what all ranks know.
  /// `counts` has the rows of each rank.
  Form travels(const Key &key, std::span<const uint64_t> counts) const;
  /// Whether a table made of `given` would be the same.
  bool matches(Action action, std::span<const KeySpec> given) const;

  /// How the elements of a bucket travel.
  Encoding encodingOf(const Bucket &bucket) const {
    bool encodes = action == Action::Average && bucket.dtype == MXRT_F32 && bucket.count > 0 &&
                   keys[bucket.first].form == Form::Dense;
    return {encodes ? codec : Codec(), {parts.data() + bucket.first, bucket.count}};
  }

  /// The action and the keys as bytes, for the ranks to compare when hashes differ.
  Status describe(Vec<char> &out) const;
  /// The first difference between this table, of `rank`, and the description that
  /// `peer` sent: an R0702 that names both. R0701 if the bytes are malformed or
  /// there is no difference.
  Status difference(int rank, int peer, std::span<const char> description) const;

  Action action = Action::Sum;
  Codec codec;
  uint64_t hash = 0; // of the description
  uint32_t counted = 0; // keys that are not dense
  Vec<Key> keys;
  Vec<Bucket> buckets; // those of the last keys first
  Vec<Plan> plans;     // of the buckets
  Layout layout;

private:
  Status add(const KeySpec &spec, int ranks);
  Status pack(int rank, int ranks, const BucketSizes &bucketSizes);
  Status uniqueNames() const;
  mxrt_dtype exchanged(mxrt_dtype dtype) const;

  const mxrt_allocator *alloc;
  Vec<char> text;
  Vec<int64_t> sizes;
  Vec<size_t> parts; // of the keys
};

} // namespace mxrt::kvstore

#endif // MXRT_KVSTORE_KEYTABLE_H
