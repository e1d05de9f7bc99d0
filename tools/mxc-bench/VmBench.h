// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host VM benchmark.

#ifndef MX_TOOLS_MXCBENCH_VMBENCH_H
#define MX_TOOLS_MXCBENCH_VMBENCH_H

/// `mxc-bench vm`: nanoseconds per instruction of the host VM, and the latency of cancelling an
/// endless loop. Returns 0, or 1 if an instruction takes more than 100 ns.
int runVmBench(int argc, char **argv);

#endif // MX_TOOLS_MXCBENCH_VMBENCH_H
