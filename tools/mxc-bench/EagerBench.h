// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Eager dispatch benchmark.

#ifndef MX_TOOLS_MXCBENCH_EAGERBENCH_H
#define MX_TOOLS_MXCBENCH_EAGERBENCH_H

/// `mxc-bench eager [--naive]`: microseconds per operation on a tiny tensor in a loop of the host
/// VM, including completion. Returns 0, or 1 if one takes more than 3 us (threaded engine).
int runEagerBench(int argc, char **argv);

#endif // MX_TOOLS_MXCBENCH_EAGERBENCH_H
