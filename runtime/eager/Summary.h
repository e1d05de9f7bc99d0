// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The native function behind summary(net, x); see Summary.cpp.

#ifndef MXRT_EAGER_SUMMARY_H
#define MXRT_EAGER_SUMMARY_H

#include "eager/Executor.h"

namespace mxrt::eager {

/// mx.summary(known, rows, path, trained, tensor or text, ..., path, output, FLOPs, ...)
Status summarize(void *context, host::Invocation &call);

} // namespace mxrt::eager

#endif // MXRT_EAGER_SUMMARY_H
