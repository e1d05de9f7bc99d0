// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// REPL latency benchmark.
#ifndef MX_TOOLS_MXCBENCH_PROMPTBENCH_H
#define MX_TOOLS_MXCBENCH_PROMPTBENCH_H
int runPromptBench(int argc, char **argv);
#endif // MX_TOOLS_MXCBENCH_PROMPTBENCH_H
