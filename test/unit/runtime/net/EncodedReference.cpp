// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Averages with encodings, rank by rank and piece by piece.

#include "EncodedRun.h"

#include <functional>

namespace mxrt::test {

using namespace kvstore;

std::vector<float> EncodedReference::average(const Layout &layout, const Encoding &encoding,
                                             const std::vector<std::vector<float>> &gradients,
                                             const std::vector<double> &weights) {
  const mxrt_allocator *alloc = mxrt_system_allocator();
  int ranks = int(gradients.size());
  size_t count = gradients[0].size();
  residuals.resize(size_t(ranks), std::vector<float>(count));
  bool isLevels = layout.topology == Topology::Levels;
  int inner = isLevels ? std::min(layout.inner, ranks) : 1, groups = (ranks + inner - 1) / inner;
  Topology topology = isLevels ? layout.outer : layout.topology;
  double total = 0;
  for (double weight : weights)
    total += weight;
  // The shares of the groups.
  std::vector own(static_cast<size_t>(groups), std::vector<float>(count));
  for (int rank = 0; rank < ranks; ++rank) {
    auto factor = float(groups > 1 ? weights[size_t(rank)] / total : weights[size_t(rank)]);
    for (size_t i = 0; i < count; ++i) {
      float share = factor == 0 ? 0 : gradients[size_t(rank)][i] * factor;
      float &sum = own[size_t(rank / inner)][i];
      sum = rank % inner == 0 ? share : sum + share;
    }
  }
  if (groups == 1) {
    for (float &value : own[0])
      value /= float(total);
    return own[0];
  }
  std::vector<float> result(count);
  int chunks = topology == Topology::Tree ? 1 : groups;
  size_t each = count / size_t(chunks), more = count % size_t(chunks), begin = 0;
  size_t most = layout.pieceBytes / sizeof(float);
  for (int chunk = 0; chunk < chunks; ++chunk) {
    size_t end = begin + each + (size_t(chunk) < more);
    for (; begin < end; begin += std::min(most, end - begin)) {
      size_t n = std::min(most, end - begin);
      // What the others decode of the values of a group; its leader keeps the rest.
      auto sent = [&](int group, const std::vector<float> &values, bool isResult) {
        Codec codec = encoding.codec;
        if (!isResult)
          codec.threshold /= float(groups);
        Section section = {encoding.parts, begin, n};
        std::span<float> rest(residuals[size_t(group * inner)].data() + begin, n);
        std::vector<char> bytes(*encodedBytes(alloc, codec, section));
        std::vector<float> out(n);
        (void)encode(alloc, codec, section, {values, rest, rest}, bytes);
        (void)decode(alloc, codec, section, bytes, out);
        return out;
      };
      auto piece = [&](int group) {
        const float *from = own[size_t(group)].data() + begin;
        return std::vector<float>(from, from + n);
      };
      auto add = [&](std::vector<float> &sum, const std::vector<float> &values) {
        for (size_t i = 0; i < n; ++i)
          sum[i] += values[i];
      };
      std::vector<float> sum;
      int root = topology == Topology::Tree ? 0 : chunk;
      if (topology == Topology::Direct) {
        for (int group = 0; group < groups; ++group) {
          std::vector<float> share =
              group == root ? piece(group) : sent(group, piece(group), false);
          group ? add(sum, share) : void(sum = share);
        }
      } else if (topology == Topology::Ring) {
        sum = piece((root + 1) % groups);
        for (int i = 2; i <= groups; ++i) {
          sum = sent((root + i - 1) % groups, sum, false);
          add(sum, piece((root + i) % groups));
        }
      } else {
        std::function<std::vector<float>(int)> below = [&](int node) {
          std::vector<float> values = piece(node);
          for (int child : {2 * node + 1, 2 * node + 2})
            if (child < groups)
              add(values, sent(child, below(child), false));
          return values;
        };
        sum = below(0);
      }
      sum = sent(root, sum, true);
      std::copy(sum.begin(), sum.end(), result.begin() + long(begin));
    }
  }
  return result;
}

} // namespace mxrt::test
