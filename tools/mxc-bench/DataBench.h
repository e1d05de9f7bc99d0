// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// Pictures decoded and changed a second, beside Pillow; what a loader costs a batch.
int runDataBench(int argc, char **argv);
