// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reference implementation of all-reduce: plain loops over the inputs of all
// ranks. A job's result has these bits at every rank (NaN payloads may differ).
// Shares no code with the plans.

#ifndef MXRT_KVSTORE_REFERENCE_H
#define MXRT_KVSTORE_REFERENCE_H

#include "kvstore/Plan.h"

namespace mxrt::kvstore {

/// out[i] = the sum of inputs[rank][i] over all ranks, in the order of `layout`.
template <typename T>
void referenceSum(const Layout &layout, int ranks, const T *const *inputs, size_t count, T *out);

/// The mean with a weight for each rank: each element is multiplied by its
/// rank's weight (with weight 0 it is 0), summed as above, and divided by the
/// sum of the weights, which is taken in f64 in rank order and then rounded to T.
template <typename T>
void referenceMean(const Layout &layout, int ranks, const T *const *inputs, const double *weights,
                   size_t count, T *out);

/// Payload bytes that a rank sends in one exchange, by formula; `mean` adds the
/// weights.
uint64_t expectedSentBytes(const Layout &layout, int rank, int ranks, size_t count,
                           size_t elementBytes, bool mean);

} // namespace mxrt::kvstore

#endif // MXRT_KVSTORE_REFERENCE_H
