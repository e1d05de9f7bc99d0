// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// From text to running code: start, compilation, calls.
int runSpineBench(int argc, char **argv);
