// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Benchmark of exchanges between processes.
#pragma once

/// `mxc-bench processes`: CPU and wall time beside gloo and Open MPI.
int runProcessesBench(int argc, char **argv);
