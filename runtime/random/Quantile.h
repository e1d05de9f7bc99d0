// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Natural logarithm and quantile of the normal distribution from additions, multiplications,
// divisions and square roots only. These are exact to the bit on every IEEE machine (with
// contraction off), which a libm is not.

#ifndef MXRT_RANDOM_QUANTILE_H
#define MXRT_RANDOM_QUANTILE_H

#include <cstdint>

namespace mxrt {

/// ln x for finite normal x > 0, within about 1 ulp.
double portableLog(double x);

/// The x with P(N(0,1) <= x) = p, for 0 < p < 1. Wichura's AS 241 (PPND16),
/// relative error about 1e-16.
double normalQuantile(double p);

} // namespace mxrt

#endif // MXRT_RANDOM_QUANTILE_H
