// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Latency benchmark.
#pragma once

/// `mxc-bench spine`: latency of startup, compilation and calls.
int runSpineBench(int argc, char **argv);
