// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data pipeline benchmark.
#pragma once

/// Images decoded and augmented per second, compared with Pillow, and the overhead of a loader per
/// batch.
int runDataBench(int argc, char **argv);
