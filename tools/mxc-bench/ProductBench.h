// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GEMM benchmark.
#pragma once

/// `mxc-bench products`: matmul (GEMM) compared with OpenBLAS and oneDNN. Returns the exit code.
int runProductBench(int argc, char **argv);
