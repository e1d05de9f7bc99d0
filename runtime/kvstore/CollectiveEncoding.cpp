// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps of a plan that encodes: shares and results as bytes, and sums of what was decoded.

#include "kvstore/Collective.h"
#include "kvstore/Fold.h"
#include "net/Faults.h"

#include <cmath>
#include <cstring>

namespace mxrt::kvstore {

Status Collective::makeRoomToEncode() {
  const mxrt_allocator *alloc = transport.allocator();
  if (!exchange.mean || !(exchange.totalWeight > 0) || !exchange.residual ||
      exchange.encoding.isPlain())
    return error(alloc, MXRT_INVALID_ARGUMENT, noLocation,
                 "an exchange that encodes is a mean with a known total weight");
  if (!exchange.residual->resize(plan.count) || !encoded.resize(plan.encodedBytes) ||
      !decoded.resize(2 * plan.largestPiece))
    return outOfMemory(alloc);
  return success();
}

/// A share is replaced when the result arrives; a result is what all ranks decode.
bool Collective::encodeStep(const Step &step) {
  const mxrt_allocator *alloc = transport.allocator();
  size_t begin = step.range.begin, count = step.range.count;
  float *own = static_cast<float *>(exchange.data) + begin;
  Residual &residual = *exchange.residual;
  Codec codec = exchange.encoding.of(step.coding, plan.encoders);
  Section section = exchange.encoding.section(begin, count);
  std::span<char> bytes(encoded.data() + step.encoded, step.bytes);
  Feedback values = {{own, count},
                     {residual.held.data() + begin, count},
                     {residual.written.data() + begin, count}};
  Status status = encode(alloc, codec, section, values, bytes);
  if (status.ok() && step.coding == Coding::Result)
    status = decode(alloc, codec, section, bytes, {own, count});
  if (net::planted(net::Fault::ResidualForgotten))
    std::memset(residual.written.data() + begin, 0, count * sizeof(float));
  if (status.ok())
    return true;
  if (status.code() == MXRT_NAN_FOUND)
    for (unsendable = 0; unsendable < count; ++unsendable)
      if (!std::isfinite(own[unsendable] + residual.held[begin + unsendable]))
        break;
  unsendable += begin;
  fail(std::move(status));
  return false;
}

/// As fold().
bool Collective::foldEncoded(const Step &step) {
  size_t begin = step.range.begin, count = step.range.count;
  float *own = static_cast<float *>(exchange.data) + begin;
  float *sum = decoded.data(), *next = sum + plan.largestPiece;
  const uint32_t *inputs = plan.inputs.data() + step.firstInput;
  Codec codec = exchange.encoding.of(step.coding, plan.encoders);
  Section section = exchange.encoding.section(begin, count);
  Status status;
  bool intact = true;
  for (size_t i = 0; i < step.inputs; ++i) {
    const float *from = own;
    if (inputs[i] != Plan::own) {
      net::View view = std::exchange(states[inputs[i]].view, {});
      std::span<const char> bytes(static_cast<const char *>(view.data), view.bytes);
      if (status.ok())
        status = decode(transport.allocator(), codec, section, bytes, {i ? next : sum, count});
      if (step.keeps)
        std::memcpy(encoded.data() + step.encoded, bytes.data(), bytes.size());
      intact &= transport.release(view);
      from = i ? next : sum;
    }
    if (i > 0) {
      const float *both[] = {sum, from};
      foldInto(sum, both, 2, count);
    } else if (from == own) {
      std::memcpy(sum, own, count * sizeof(float));
    }
  }
  if (!intact)
    return false;
  if (status.failed()) {
    fail(std::move(status));
    return false;
  }
  std::memcpy(own, sum, count * sizeof(float));
  return true;
}

} // namespace mxrt::kvstore
