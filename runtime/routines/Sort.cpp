// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Argsort and top-k. Elements become unsigned keys with the same order. Keys and indices are
// sorted by LSD radix sort (each pass is stable); short rows use insertion sort. Top-k of a long
// row keeps only candidates. A stable order is unique, so the choice of algorithm does not
// affect the result.

#include "base/Elements.h"
#include "routines/Routines.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

using namespace mxrt;

namespace {

template <typename Key> struct Item {
  Key key;
  uint32_t position;
};

/// Flips the sign bit of positive numbers and all bits of negative ones; both zeros have the same
/// key, and every NaN has the last key.
template <typename Key> Key floatKey(Key bits, Key infinity) {
  constexpr Key sign = Key(Key(1) << (sizeof(Key) * 8 - 1));
  Key size = Key(bits & Key(~sign));
  if (size > infinity)
    return Key(~Key(0));
  if (size == 0)
    return sign;
  return Key(bits & sign ? ~bits : bits | sign);
}

template <typename Key> struct Reader {
  mxrt_dtype type;
  bool down;
  Key operator()(const Key *from) const {
    Key bits = *from;
    switch (type) {
    case MXRT_I8:
    case MXRT_I32:
    case MXRT_I64:
      bits = Key(bits ^ Key(Key(1) << (sizeof(Key) * 8 - 1)));
      break;
    case MXRT_F16:
      bits = floatKey(bits, Key(ElementF16::infinity));
      break;
    case MXRT_BF16:
      bits = floatKey(bits, Key(ElementBF16::infinity));
      break;
    case MXRT_F32:
      bits = floatKey(bits, Key(ElementF32::infinity));
      break;
    case MXRT_F64:
      bits = floatKey(bits, Key(ElementF64::infinity));
      break;
    default: // bool, u8
      break;
    }
    return down ? Key(~bits) : bits;
  }
};

template <typename Key> void insertionSort(Item<Key> *items, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    Item<Key> item = items[i];
    int64_t to = i;
    for (; to > 0 && items[to - 1].key > item.key; --to)
      items[to] = items[to - 1];
    items[to] = item;
  }
}

/// LSD radix sort of `items`; `other` has the same capacity. Returns the buffer with the result.
template <typename Key, int bits>
Item<Key> *radixSort(Item<Key> *items, Item<Key> *other, int64_t n, uint32_t *counts) {
  constexpr int width = sizeof(Key) * 8, passes = (width + bits - 1) / bits;
  constexpr uint32_t values = 1u << bits;
  memset(counts, 0, sizeof(uint32_t) * values * passes);
  for (int64_t i = 0; i < n; ++i)
    for (int pass = 0; pass < passes; ++pass)
      ++counts[uint32_t(pass) * values + (uint64_t(items[i].key) >> (pass * bits) & (values - 1))];
  for (int pass = 0; pass < passes; ++pass) {
    uint32_t *count = counts + uint32_t(pass) * values;
    auto digit = [&](Key key) { return uint64_t(key) >> (pass * bits) & (values - 1); };
    if (count[digit(items[0].key)] == n)
      continue; // all keys have the same digit
    uint32_t before = 0;
    for (uint32_t v = 0; v < values; ++v) {
      uint32_t here = count[v];
      count[v] = before;
      before += here;
    }
    for (int64_t i = 0; i < n; ++i)
      other[count[digit(items[i].key)]++] = items[i];
    std::swap(items, other);
  }
  return items;
}

/// Sorts all n items; the result is in `items` or in `other`.
template <typename Key, typename ReadAt>
Item<Key> *sortRow(Item<Key> *items, Item<Key> *other, uint32_t *counts, int64_t n,
                   const ReadAt &readAt) {
  for (int64_t i = 0; i < n; ++i)
    items[i] = {readAt(i), uint32_t(i)};
  constexpr int wide = sizeof(Key) >= 4 ? 11 : 8;
  if (n > MXRT_SORT_FEW)
    return n < MXRT_SORT_MANY ? radixSort<Key, 8>(items, other, n, counts)
                              : radixSort<Key, wide>(items, other, n, counts);
  insertionSort(items, n);
  return items;
}

template <typename Key>
mxrt_status sortRows(const mxrt_context *context, Reader<Key> read, const int64_t *sizes,
                     const void *from, int32_t *out, void *work) {
  int64_t n = sizes[1], inner = sizes[2];
  const Key *x = static_cast<const Key *>(from);
  const mxrt_workspace layout = mxrt_argsort_workspace(sizeof(Key), sizes);
  return inPieces(
      context, layout, work, sizes[0] * inner,
      [&](int64_t begin, int64_t end, const Piece &piece, const mxrt_context *here) -> mxrt_status {
        auto *items = piece.part<Item<Key>>(0), *other = piece.part<Item<Key>>(1);
        auto *counts = piece.part<uint32_t>(2);
        static_assert(sizeof(Item<Key>) == (sizeof(Key) == 8 ? 16 : 8));
        for (int64_t row = begin; row < end; ++row) {
          int64_t base = row / inner * n * inner + row % inner;
          if (mxrt_status stop = mxrt_poll(here))
            return stop;
          Item<Key> *sorted = sortRow<Key>(items, other, counts, n,
                                           [&](int64_t i) { return read(x + base + i * inner); });
          for (int64_t i = 0; i < n; ++i)
            out[base + i * inner] = int32_t(sorted[i].position);
        }
        return nullptr;
      });
}

/// Selects the first `wanted` of n items, sorted. Items that cannot be among them are skipped;
/// others are collected in `items`, and when that is full the first `wanted` of them are kept.
template <typename Key, typename ReadAt>
void selectFirst(Item<Key> *items, int64_t room, int64_t wanted, int64_t n, const ReadAt &readAt) {
  auto before = [](const Item<Key> &a, const Item<Key> &b) {
    return a.key < b.key || (a.key == b.key && a.position < b.position);
  };
  int64_t count = 0;
  Key last =
      Key(~Key(0)); // largest kept key; a later item with an equal key is not among the first
  bool isFull = false;
  for (int64_t i = 0; i < n; ++i) {
    Key key = readAt(i);
    if (isFull && key >= last)
      continue;
    items[count++] = {key, uint32_t(i)};
    if (count == room) {
      std::nth_element(items, items + wanted - 1, items + count, before);
      last = items[wanted - 1].key;
      count = wanted;
      isFull = true;
    }
  }
  std::sort(items, items + count, before);
}

/// Top-k of each row: indices of the sizes[3] smallest keys. `read` inverts the order of elements.
template <typename Key>
mxrt_status topOfRows(const mxrt_context *context, Reader<Key> read, const int64_t *sizes,
                      const void *from, int32_t *out, void *work) {
  int64_t n = sizes[1], inner = sizes[2], wanted = sizes[3];
  const Key *x = static_cast<const Key *>(from);
  const mxrt_workspace layout = mxrt_argsort_top_workspace(sizeof(Key), sizes);
  const int64_t room = mxrt_argsort_candidates(sizes);
  return inPieces(
      context, layout, work, sizes[0] * inner,
      [&](int64_t begin, int64_t end, const Piece &piece, const mxrt_context *here) -> mxrt_status {
        auto *items = piece.part<Item<Key>>(0), *other = piece.part<Item<Key>>(1);
        auto *counts = piece.part<uint32_t>(2);
        for (int64_t row = begin; row < end; ++row) {
          const Key *first = x + row / inner * n * inner + row % inner;
          int32_t *to = out + row / inner * wanted * inner + row % inner;
          if (mxrt_status stop = mxrt_poll(here))
            return stop;
          Item<Key> *sorted = items;
          auto readAt = [&](int64_t i) { return read(first + i * inner); };
          if (room < n)
            selectFirst<Key>(items, room, wanted, n, readAt);
          else
            sorted = sortRow<Key>(items, other, counts, n, readAt);
          for (int64_t i = 0; i < wanted; ++i)
            to[i * inner] = int32_t(sorted[i].position);
        }
        return nullptr;
      });
}

/// Whether there is nothing to do, or the axis is too long: then `failure` is set.
bool isDone(const mxrt_context *context, const int64_t *sizes, mxrt_status &failure) {
  failure = nullptr;
  if (sizes[0] == 0 || sizes[1] == 0 || sizes[2] == 0)
    return true;
  if (sizes[1] > INT32_MAX)
    failure = error(context->allocator, MXRT_SHAPE, context->location,
                    "%lld elements are more than the indices of an order, which are i32, can count",
                    static_cast<long long>(sizes[1]))
                  .release();
  return failure != nullptr;
}

/// Calls `run` with the reader of keys for `type`.
template <typename Run>
mxrt_status withReader(const mxrt_context *context, mxrt_dtype type, bool down, const Run &run) {
  switch (mxrt_dtype_size(type)) {
  case 1:
    return run(Reader<uint8_t>{type, down});
  case 2:
    return run(Reader<uint16_t>{type, down});
  case 4:
    return run(Reader<uint32_t>{type, down});
  case 8:
    return run(Reader<uint64_t>{type, down});
  default:
    return wrongType(context, "argsort", type);
  }
}

} // namespace

extern "C" {

mxrt_status mxrt_argsort(const mxrt_context *context, mxrt_dtype type, const int64_t *sizes,
                         const void *const *inputs, void *out, void *work) {
  mxrt_status failure;
  if (isDone(context, sizes, failure))
    return failure;
  return withReader(context, type, /*down=*/false, [&](auto read) {
    return sortRows(context, read, sizes, inputs[0], static_cast<int32_t *>(out), work);
  });
}

mxrt_status mxrt_argsort_top(const mxrt_context *context, mxrt_dtype type, const int64_t *sizes,
                             const void *const *inputs, void *out, void *work) {
  mxrt_status failure;
  if (sizes[3] == 0 || isDone(context, sizes, failure))
    return sizes[3] == 0 ? nullptr : failure;
  return withReader(context, type, /*down=*/true, [&](auto read) {
    return topOfRows(context, read, sizes, inputs[0], static_cast<int32_t *>(out), work);
  });
}

} // extern "C"
