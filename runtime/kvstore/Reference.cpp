// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reference implementation of all-reduce, and formulas of its traffic.

#include "kvstore/Reference.h"

namespace mxrt::kvstore {
namespace {

/// Which of `chunks` the element belongs to.
int chunkOfElement(size_t count, int chunks, size_t element) {
  size_t each = count / size_t(chunks), more = count % size_t(chunks);
  size_t front = more * (each + 1);
  return element < front ? int(element / (each + 1)) : int(more + (element - front) / each);
}

/// The sum over a subtree.
template <typename T, typename Value> T treeSum(int node, int nodes, const Value &value) {
  T sum = value(node);
  if (2 * node + 1 < nodes)
    sum = sum + treeSum<T>(2 * node + 1, nodes, value);
  if (2 * node + 2 < nodes)
    sum = sum + treeSum<T>(2 * node + 2, nodes, value);
  return sum;
}

/// value(i) for i below n, in the order of a topology that is not Levels.
template <typename T, typename Value>
T ordered(Topology topology, int n, int chunk, const Value &value) {
  if (topology == Topology::Tree)
    return treeSum<T>(0, n, value);
  int first = topology == Topology::Ring ? (chunk + 1) % n : 0;
  T sum = value(first);
  for (int i = 1; i < n; ++i)
    sum = sum + value((first + i) % n);
  return sum;
}

template <typename T, typename Value>
T sumOfElement(const Layout &layout, int ranks, size_t count, size_t i, const Value &value) {
  if (layout.topology != Topology::Levels)
    return ordered<T>(layout.topology, ranks, chunkOfElement(count, ranks, i), value);
  int inner = layout.inner < ranks ? layout.inner : ranks;
  int groups = (ranks + inner - 1) / inner;
  auto groupSum = [&](int group) {
    int begin = group * inner, end = begin + inner < ranks ? begin + inner : ranks;
    T sum = value(begin);
    for (int rank = begin + 1; rank < end; ++rank)
      sum = sum + value(rank);
    return sum;
  };
  return ordered<T>(layout.outer, groups, chunkOfElement(count, groups, i), groupSum);
}

} // namespace

template <typename T>
void referenceSum(const Layout &layout, int ranks, const T *const *inputs, size_t count, T *out) {
  for (size_t i = 0; i < count; ++i)
    out[i] = sumOfElement<T>(layout, ranks, count, i, [&](int rank) { return inputs[rank][i]; });
}

template <typename T>
void referenceMean(const Layout &layout, int ranks, const T *const *inputs, const double *weights,
                   size_t count, T *out) {
  double total = 0;
  for (int rank = 0; rank < ranks; ++rank)
    total += weights[rank];
  for (size_t i = 0; i < count; ++i) {
    T sum = sumOfElement<T>(layout, ranks, count, i, [&](int rank) {
      return weights[rank] == 0 ? T(0) : T(inputs[rank][i] * T(weights[rank]));
    });
    out[i] = sum / T(total);
  }
}

template void referenceSum(const Layout &, int, const float *const *, size_t, float *);
template void referenceSum(const Layout &, int, const double *const *, size_t, double *);
template void referenceMean(const Layout &, int, const float *const *, const double *, size_t,
                            float *);
template void referenceMean(const Layout &, int, const double *const *, const double *, size_t,
                            double *);

namespace {

/// Elements that member `index` of `n` sends in a topology that is not Levels.
uint64_t sentElements(Topology topology, int index, int n, size_t count) {
  if (n == 1)
    return 0;
  uint64_t all = count;
  auto chunk = [&](int i) { return uint64_t(count / size_t(n) + (size_t(i) < count % size_t(n))); };
  switch (topology) {
  case Topology::Direct: // all chunks but its own, and its own to all others
    return all - chunk(index) + chunk(index) * uint64_t(n - 1);
  case Topology::Ring: // twice around, without the chunk that ends there each time
    return all - chunk(index) + (all - chunk((index + 1) % n));
  default: { // up unless it is the root, down to its children
    uint64_t edges = index > 0;
    edges += 2 * index + 1 < n;
    edges += 2 * index + 2 < n;
    return all * edges;
  }
  }
}

} // namespace

uint64_t expectedSentBytes(const Layout &layout, int rank, int ranks, size_t count,
                           size_t elementBytes, bool mean) {
  uint64_t weights = mean && count > 0 ? 8 * uint64_t(ranks - 1) : 0;
  if (layout.topology != Topology::Levels)
    return sentElements(layout.topology, rank, ranks, count) * elementBytes + weights;
  int inner = layout.inner < ranks ? layout.inner : ranks;
  int groups = (ranks + inner - 1) / inner, group = rank / inner;
  if (rank % inner != 0)
    return uint64_t(count) * elementBytes + weights;
  int members = group * inner + inner < ranks ? inner : ranks - group * inner;
  return (uint64_t(count) * uint64_t(members - 1) +
          sentElements(layout.outer, group, groups, count)) *
             elementBytes +
         weights;
}

} // namespace mxrt::kvstore
