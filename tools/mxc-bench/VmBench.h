// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MX_TOOLS_MXCBENCH_VMBENCH_H
#define MX_TOOLS_MXCBENCH_VMBENCH_H

/// `mxc-bench vm`: nanoseconds an instruction of the host VM takes, and how
/// soon an endless loop stops when it is cancelled. Returns 0, or 1 if an
/// instruction takes more than 100 ns.
int runVmBench(int argc, char **argv);

#endif // MX_TOOLS_MXCBENCH_VMBENCH_H
