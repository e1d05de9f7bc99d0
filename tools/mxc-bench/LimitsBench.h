// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The limits of one thread of this machine: peak multiply-add throughput and memcpy bandwidth.
#pragma once

namespace mx::bench {

/// Peak FMA throughput of one thread in GFLOP/s, the upper bound of an f32 GEMM; 0: not known.
double peakF32();

/// The same for the bf16 dot products of AVX512_BF16; 0 on CPUs without them, and on those with AMX,
/// whose tiles are faster.
double peakBf16();

} // namespace mx::bench

/// `mxc-bench limits`. Returns the exit code.
int runLimitsBench(int argc, char **argv);
