// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MX_TOOLS_MXCBENCH_MEMORYBENCH_H
#define MX_TOOLS_MXCBENCH_MEMORYBENCH_H

/// `mxc-bench memory [--seconds=S] [FILE…]`: how close the packer comes to
/// the bound, on instances of its own or of files.
int runMemoryBench(int argc, char **argv);

#endif // MX_TOOLS_MXCBENCH_MEMORYBENCH_H
