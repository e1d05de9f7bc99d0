// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// `mxc-bench products`: matrix products beside OpenBLAS and oneDNN. Returns the exit code.
int runProductBench(int argc, char **argv);
