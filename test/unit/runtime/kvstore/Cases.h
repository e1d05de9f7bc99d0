// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers of the tests of collectives: layouts, gradients, and an exchange over any
// transport.

#ifndef MX_TEST_UNIT_RUNTIME_KVSTORE_CASES_H
#define MX_TEST_UNIT_RUNTIME_KVSTORE_CASES_H

#include "kvstore/Collective.h"
#include "kvstore/Reference.h"

#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace mxrt::test {

inline std::vector<kvstore::Layout> allLayouts(size_t pieceBytes) {
  using kvstore::Topology;
  std::vector<kvstore::Layout> layouts;
  for (Topology topology : {Topology::Direct, Topology::Ring, Topology::Tree})
    layouts.push_back({topology, Topology::Direct, 1, pieceBytes});
  for (Topology outer : {Topology::Direct, Topology::Ring, Topology::Tree})
    for (int inner : {1, 2, 3, 100})
      layouts.push_back({Topology::Levels, outer, inner, pieceBytes});
  return layouts;
}

inline std::string nameOf(const kvstore::Layout &layout) {
  std::string name = topologyName(layout.topology);
  if (layout.topology == kvstore::Topology::Levels)
    name += " of " + std::to_string(layout.inner) + " over " + topologyName(layout.outer);
  return name + ", pieces of " + std::to_string(layout.pieceBytes);
}

/// Values of very different magnitudes, so that another order of additions gives other bits.
template <typename T> std::vector<T> gradient(int rank, size_t count) {
  std::minstd_rand random(unsigned(rank * 7919 + 1));
  std::vector<T> values(count);
  for (T &value : values)
    value = T(std::ldexp(double(random() % 65536) - 32768, int(random() % 40) - 30));
  return values;
}

/// The result that every rank must get.
template <typename T>
std::vector<T> expected(const kvstore::Layout &layout, int ranks, size_t count,
                        const double *weights = nullptr) {
  std::vector<std::vector<T>> inputs;
  std::vector<const T *> rows;
  for (int rank = 0; rank < ranks; ++rank)
    inputs.push_back(gradient<T>(rank, count));
  for (auto &input : inputs)
    rows.push_back(input.data());
  std::vector<T> out(count);
  if (weights)
    referenceMean(layout, ranks, rows.data(), weights, count, out.data());
  else
    referenceSum(layout, ranks, rows.data(), count, out.data());
  return out;
}

template <typename T> constexpr mxrt_dtype dtypeOf = sizeof(T) == 4 ? MXRT_F32 : MXRT_F64;

/// One exchange of `data`, in place.
template <typename T>
Status exchange(net::Transport &transport, const kvstore::Layout &layout, uint32_t step, T *data,
                size_t count, const double *weight = nullptr) {
  kvstore::Plan plan(transport.allocator());
  MXRT_CHECK(plan.make(layout, transport.rank(), transport.size(), count, sizeof(T)));
  kvstore::Reduction what;
  what.tag = {0, step, 0, 0};
  what.dtype = dtypeOf<T>;
  what.data = data;
  what.mean = weight != nullptr;
  what.weight = weight ? *weight : 1;
  kvstore::Collective collective(transport, plan, what);
  MXRT_CHECK(collective.start());
  return waitFor(transport, collective);
}

} // namespace mxrt::test

#endif // MX_TEST_UNIT_RUNTIME_KVSTORE_CASES_H
