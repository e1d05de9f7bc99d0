// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Embedding benchmark.
#pragma once

/// `mxc-bench embed`: calls through libmxc. Returns the exit code.
int runEmbedBench(int argc, char **argv);
