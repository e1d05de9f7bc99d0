// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of rows in the order of dense sums.

#include "kvstore/Rows.h"

#include "kvstore/Fold.h"

#include <algorithm>
#include <cstring>

namespace mxrt::kvstore {
namespace {

int64_t given(const OwnRows &own, size_t i) {
  if (own.indexType == MXRT_I64)
    return static_cast<const int64_t *>(own.index)[i];
  return static_cast<const int32_t *>(own.index)[i];
}
/// The number of the row, if it is one.
size_t rowOf(const TableShape &table, int64_t number) {
  return size_t(number < 0 ? number + static_cast<int64_t>(table.rows) : number);
}

template <typename T> void addTo(T *__restrict out, const T *__restrict row, size_t count) {
  for (size_t i = 0; i < count; ++i)
    out[i] += row[i];
}

template <typename T> void addAll(const TableShape &table, const OwnRows &own, T *dense) {
  for (size_t i = 0; i < own.count; ++i)
    addTo(dense + rowOf(table, given(own, i)) * table.width,
          static_cast<const T *>(own.rows) + i * table.width, table.width);
}

/// Where an entry is. Sorted, entries are in the order in which they are added.
struct Entry {
  uint64_t row;
  uint32_t rank, at;
  auto operator<=>(const Entry &) const = default;
};

/// Adds the values of all ranks in the order of a topology.
template <typename T> class Sums {
public:
  Sums(const mxrt_allocator *alloc, const Layout &layout, size_t ranks)
      : layout(layout), ranks(ranks), values(alloc), arrays(alloc) {}
  [[nodiscard]] bool reserve(size_t width) {
    this->width = width;
    return values.resize(ranks * width) && arrays.resize(2 * ranks);
  }
  T *valueOf(size_t rank) { return values.data() + rank * width; }

  /// Of the elements [first, first + width) of `count`. The values are used up.
  void sum(size_t first, size_t count, T *out) {
    size_t members = 1;
    Topology topology = layout.topology;
    if (topology == Topology::Levels) {
      members = std::min(size_t(layout.inner), ranks);
      topology = layout.outer;
    }
    const T **inputs = arrays.data(), **all = inputs + ranks;
    size_t groups = 0;
    for (size_t leader = 0; leader < ranks; leader += members) {
      size_t here = std::min(members, ranks - leader);
      for (size_t i = 0; i < here; ++i)
        inputs[i] = valueOf(leader + i);
      foldInto(valueOf(leader), inputs, here, width);
      all[groups++] = valueOf(leader);
    }
    if (topology == Topology::Tree) {
      for (size_t node = groups; node-- > 0;) {
        size_t inputCount = 0;
        inputs[inputCount++] = all[node];
        for (size_t child = 2 * node + 1; child <= 2 * node + 2 && child < groups; ++child)
          inputs[inputCount++] = all[child];
        foldInto(valueOf(node * members), inputs, inputCount, width);
      }
      foldInto(out, all, 1, width);
    } else if (topology == Topology::Ring) {
      aroundRing(first, count, groups, all, inputs, out);
    } else {
      foldInto(out, all, groups, width);
    }
  }

private:
  /// The order depends on the chunk, and a row may have parts of several.
  void aroundRing(size_t first, size_t count, size_t groups, const T *const *all, const T **inputs,
                  T *out) {
    for (size_t chunk = 0; chunk < groups; ++chunk) {
      Range range = chunkOf(count, int(groups), int(chunk));
      size_t begin = std::max(range.begin, first);
      size_t end = std::min(range.begin + range.count, first + width);
      if (begin >= end)
        continue;
      for (size_t i = 0; i < groups; ++i)
        inputs[i] = all[(chunk + 1 + i) % groups] + (begin - first);
      foldInto(out + (begin - first), inputs, groups, end - begin);
    }
  }

  const Layout &layout;
  const size_t ranks;
  size_t width = 0;
  Vec<T> values; // of one row: those of each rank
  Vec<const T *> arrays;
};

template <typename T>
Status averageOf(const mxrt_allocator *alloc, const Layout &layout, const TableShape &table,
                 std::span<const PackedRows> ranks, double total, T *dense) {
  Vec<Entry> entries(alloc);
  Sums<T> sums(alloc, layout, ranks.size());
  size_t count = 0;
  for (const PackedRows &rank : ranks)
    count += rank.count;
  if (!entries.reserve(count) || !sums.reserve(table.width))
    return outOfMemory(alloc);
  for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
    const char *numbers =
        static_cast<const char *>(ranks[rank].data) + ranks[rank].count * table.rowBytes();
    for (uint32_t at = 0; at < ranks[rank].count; ++at) {
      uint64_t row = 0;
      uint32_t shortRow = 0;
      if (table.numberBytes() == 8)
        std::memcpy(&row, numbers + at * 8, 8);
      else
        std::memcpy(&shortRow, numbers + at * 4, 4);
      row += shortRow;
      if (row >= table.rows)
        return error(alloc, MXRT_KVSTORE, noLocation,
                     "rank %u sent a row that the table does not have", rank);
      (void)entries.push({row, rank, at}); // reserved
    }
  }
  std::sort(entries.begin(), entries.end());
  for (size_t next = 0; next < entries.size();) {
    uint64_t row = entries[next].row;
    for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
      T *value = sums.valueOf(rank);
      std::fill(value, value + table.width, T(0));
      bool isThere = false;
      for (; next < entries.size() && entries[next].row == row && entries[next].rank == rank;
           ++next) {
        addTo(value, static_cast<const T *>(ranks[rank].data) + entries[next].at * table.width,
              table.width);
        isThere = true;
      }
      if (isThere)
        scaleBy(value, T(ranks[rank].weight), table.width);
    }
    T *out = dense + row * table.width;
    sums.sum(row * table.width, table.rows * table.width, out);
    divideBy(out, T(total), table.width);
  }
  return success();
}

} // namespace

Status checkRows(const mxrt_allocator *alloc, const TableShape &table, const OwnRows &own) {
  for (size_t i = 0; i < own.count; ++i) {
    int64_t number = given(own, i);
    if (rowOf(table, number) >= table.rows)
      return error(alloc, MXRT_INDEX, noLocation,
                   "index %lld is out of range for axis 0 of size %lld",
                   static_cast<long long>(number), static_cast<long long>(table.rows));
  }
  return success();
}

void packRows(const TableShape &table, const OwnRows &own, void *out) {
  char *to = static_cast<char *>(out);
  if (own.count > 0 && table.width > 0)
    std::memcpy(to, own.rows, own.count * table.rowBytes());
  to += own.count * table.rowBytes();
  for (size_t i = 0; i < own.count; ++i) {
    uint64_t row = rowOf(table, given(own, i));
    auto shortRow = uint32_t(row);
    if (table.numberBytes() == 8)
      std::memcpy(to + i * 8, &row, 8);
    else
      std::memcpy(to + i * 4, &shortRow, 4);
  }
}

void addRows(const TableShape &table, const OwnRows &own, void *dense) {
  if (table.dtype == MXRT_F64)
    addAll(table, own, static_cast<double *>(dense));
  else
    addAll(table, own, static_cast<float *>(dense));
}

Status averageRows(const mxrt_allocator *alloc, const Layout &layout, const TableShape &table,
                   std::span<const PackedRows> ranks, double total, void *dense) {
  if (table.dtype == MXRT_F64)
    return averageOf(alloc, layout, table, ranks, total, static_cast<double *>(dense));
  return averageOf(alloc, layout, table, ranks, total, static_cast<float *>(dense));
}

} // namespace mxrt::kvstore
