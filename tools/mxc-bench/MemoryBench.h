// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory planner benchmark.
#ifndef MX_TOOLS_MXCBENCH_MEMORYBENCH_H
#define MX_TOOLS_MXCBENCH_MEMORYBENCH_H

/// `mxc-bench memory [--seconds=S] [FILE…]`: ratio of the packer's result to the lower bound, on
/// generated instances or on files.
int runMemoryBench(int argc, char **argv);

#endif // MX_TOOLS_MXCBENCH_MEMORYBENCH_H
