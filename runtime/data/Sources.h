// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared helpers of the data readers.

#ifndef MXRT_DATA_SOURCES_H
#define MXRT_DATA_SOURCES_H

#include "data/DataHost.h"
#include "io/Input.h"
#include "memory/Tensor.h"

namespace mxrt::data {

/// Allocates a tensor for the call, to be filled.
Result<mxrt_tensor *> makeTensor(DataHost &host, const host::Invocation &call, mxrt_dtype type,
                                 int32_t rank, const int64_t *sizes);
Status readWhole(io::Input &input, Vec<char> &bytes);

} // namespace mxrt::data

#endif // MXRT_DATA_SOURCES_H
