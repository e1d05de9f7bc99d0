// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Orders. Elements become unsigned keys that sort as the elements do, and these
// are sorted with their places digit by digit from the lowest (each pass keeps
// the order of equal digits), a few by insertion. A stable order is unique, so
// how it is found does not show.

#include "routines/Routines.h"

#include <cstring>
#include <type_traits>

using namespace mxrt;

namespace {

template <typename Key> struct Item {
  Key key;
  uint32_t place;
};

/// The sign bit flipped for positive numbers, all bits for negative ones; both
/// zeros are one key, and all NaN the last.
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
      bits = floatKey(bits, Key(0x7c00));
      break;
    case MXRT_BF16:
      bits = floatKey(bits, Key(0x7f80));
      break;
    case MXRT_F32:
      bits = floatKey(bits, Key(0x7f800000));
      break;
    case MXRT_F64:
      bits = floatKey(bits, Key(0x7ff0000000000000));
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

/// Sorts `items`; `other` has as much room. Returns which of them has the result.
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
      continue; // all the same
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
          for (int64_t i = 0; i < n; ++i)
            items[i] = {read(x + base + i * inner), uint32_t(i)};
          Item<Key> *sorted = items;
          constexpr int wide = sizeof(Key) >= 4 ? 11 : 8;
          if (n <= MXRT_SORT_FEW)
            insertionSort(sorted, n);
          else if (n < MXRT_SORT_MANY)
            sorted = radixSort<Key, 8>(sorted, other, n, counts);
          else
            sorted = radixSort<Key, wide>(sorted, other, n, counts);
          for (int64_t i = 0; i < n; ++i)
            out[base + i * inner] = int32_t(sorted[i].place);
        }
        return nullptr;
      });
}

mxrt_status argsort(const mxrt_context *context, mxrt_dtype type, bool down, const int64_t *sizes,
                    const void *const *inputs, void *out, void *work) {
  if (sizes[0] == 0 || sizes[1] == 0 || sizes[2] == 0)
    return nullptr;
  if (sizes[1] > INT32_MAX)
    return error(context->allocator, MXRT_SHAPE, context->place,
                 "%lld elements are more than the places of an order, which are i32, can count",
                 static_cast<long long>(sizes[1]))
        .release();
  auto *places = static_cast<int32_t *>(out);
  switch (mxrt_dtype_size(type)) {
  case 1:
    return sortRows(context, Reader<uint8_t>{type, down}, sizes, inputs[0], places, work);
  case 2:
    return sortRows(context, Reader<uint16_t>{type, down}, sizes, inputs[0], places, work);
  case 4:
    return sortRows(context, Reader<uint32_t>{type, down}, sizes, inputs[0], places, work);
  case 8:
    return sortRows(context, Reader<uint64_t>{type, down}, sizes, inputs[0], places, work);
  default:
    return wrongType(context, "argsort", type);
  }
}

} // namespace

extern "C" {

mxrt_status mxrt_argsort(const mxrt_context *context, mxrt_dtype type, const int64_t *sizes,
                         const void *const *inputs, void *out, void *work) {
  return argsort(context, type, /*down=*/false, sizes, inputs, out, work);
}

mxrt_status mxrt_argsort_down(const mxrt_context *context, mxrt_dtype type, const int64_t *sizes,
                              const void *const *inputs, void *out, void *work) {
  return argsort(context, type, /*down=*/true, sizes, inputs, out, work);
}

} // extern "C"
