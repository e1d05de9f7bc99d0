// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All ops of the dialect, by family.
include "dialects/mx/Elementwise.td"
include "dialects/mx/Tensors.td"
include "dialects/mx/Structure.td"
include "dialects/mx/Host.td"
