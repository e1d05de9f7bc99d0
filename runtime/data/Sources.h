// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the readers of data have in common.

#ifndef MXRT_DATA_SOURCES_H
#define MXRT_DATA_SOURCES_H

#include "data/DataHost.h"
#include "io/Input.h"
#include "memory/Tensor.h"

namespace mxrt::data {

/// A tensor of the call's place, to be filled.
Result<mxrt_tensor *> makeTensor(DataHost &host, const host::Invocation &call, mxrt_dtype type,
                                 int32_t rank, const int64_t *sizes);
Status readWhole(io::Input &input, Vec<char> &bytes);

} // namespace mxrt::data

#endif // MXRT_DATA_SOURCES_H
