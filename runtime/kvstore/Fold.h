// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise sums of several arrays (the reduction of all-reduce), in input order.

#ifndef MXRT_KVSTORE_FOLD_H
#define MXRT_KVSTORE_FOLD_H

#include <cstddef>
#include <cstdint>

namespace mxrt::kvstore {

/// out[i] = ((in[0][i] + in[1][i]) + in[2][i]) + ..., at least one input. `out`
/// may be one of the inputs, at the same address. Inputs need only be aligned as
/// their elements are. Of uint8_t there is one input.
template <typename T>
void foldInto(T *out, const T *const *inputs, size_t inputCount, size_t count);

/// out[i] *= factor; a factor of 0 clears, whatever is there (also NaN).
template <typename T> void scaleBy(T *out, T factor, size_t count);
/// out[i] /= divisor.
template <typename T> void divideBy(T *out, T divisor, size_t count);

} // namespace mxrt::kvstore

#endif // MXRT_KVSTORE_FOLD_H
