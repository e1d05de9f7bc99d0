// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GEMM benchmark.
#pragma once

/// `mxc-bench matmul`: matmul (GEMM) compared with OpenBLAS and oneDNN. Returns the exit code.
int runMatmulBench(int argc, char **argv);
