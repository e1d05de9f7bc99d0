// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversion of single elements between host values and the bytes of an element type.

#ifndef MXRT_EAGER_SCALARS_H
#define MXRT_EAGER_SCALARS_H

#include "base/Halfs.h"
#include "base/Status.h"
#include "host/Value.h"

namespace mxrt::eager {

uint16_t floatToF16(double value); // rounds to nearest, ties to even
uint16_t floatToBf16(double value);

inline bool isHostNumber(host::Kind kind) {
  return kind == host::Kind::Bool || kind == host::Kind::Int || kind == host::Kind::F32 ||
         kind == host::Kind::F64;
}

/// Stores an element of `type` in the first bytes of `bits`. Integers wrap as in arithmetic; false
/// for a float that does not fit in i64.
bool toElement(const host::Value &number, mxrt_dtype type, uint64_t &bits);

/// The element at `data` as a Bool, Int, F32 or F64, whichever represents its type.
host::Value fromElement(mxrt_dtype type, const void *data);

/// Converts `number` to another kind of number; false if it does not fit.
bool convertNumber(const host::Value &number, host::Kind wanted, host::Value &out);

} // namespace mxrt::eager

#endif // MXRT_EAGER_SCALARS_H
