// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Native functions of the KVStore for matmuls that travel as factors (DistFactors.cpp).

#ifndef MXRT_DATA_DISTFACTORS_H
#define MXRT_DATA_DISTFACTORS_H

#include "data/DataHost.h"
#include "dist/Store.h"

namespace mxrt::data {

/// The store of the first argument; R0803 if it is none.
Status storeOf(void *context, const host::Invocation &call, dist::Store *&store);

Status factors(void *context, host::Invocation &call);
Status factorsTravel(void *context, host::Invocation &call);
Status factorRows(void *context, host::Invocation &call);
Status factorPair(void *context, host::Invocation &call);
Status factorWeights(void *context, host::Invocation &call);

} // namespace mxrt::data

#endif // MXRT_DATA_DISTFACTORS_H
