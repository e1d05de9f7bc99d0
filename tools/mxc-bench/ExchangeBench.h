// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Benchmark of the exchange of gradients during a backward pass.
#pragma once

/// `mxc-bench exchange`: step time beside max(compute, exchange).
int runExchangeBench(int argc, char **argv);
