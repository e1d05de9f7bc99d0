// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors of a program as numbers: elements, whole tensors, and scalars that may still be computed.

#ifndef MXRT_DATA_NUMBERS_H
#define MXRT_DATA_NUMBERS_H

#include "data/DataHost.h"
#include "memory/Tensor.h"

namespace mxrt::data {

/// Issues a contiguous copy of a tensor. Does not wait.
Status copyOf(DataHost &host, mxrt_tensor *tensor, const mxrt_location &location, TensorRef &out);
/// The same tensor if it is contiguous, else a copy.
Status denseOf(DataHost &host, mxrt_tensor *tensor, const mxrt_location &location, TensorRef &out);

/// Element `i` of a dense tensor whose data is ready.
double elementOf(const mxrt_tensor *tensor, int64_t i = 0);

/// All elements of a tensor, in order; waits for them.
Status readNumbers(DataHost &host, mxrt_tensor *tensor, const mxrt_location &location, Vec<double> &out);

/// A scalar of the program: known, or being computed.
struct Number {
  double value = 0;
  bool known = false;
  TensorRef coming; // set until the value is known
};
/// `name` is for messages. `verb` says what is done with a number ("shown").
Status takeNumber(DataHost &host, const host::Value &value, const char *name, const char *verb,
                  Number &out);
/// Polls whether a number is ready, and never waits. Returns the error of the op that should have
/// computed it.
Status pollNumber(DataHost &host, const mxrt_location &location, Number &number);
/// Waits for it.
Status awaitNumber(DataHost &host, const mxrt_location &location, Number &number);

} // namespace mxrt::data

#endif // MXRT_DATA_NUMBERS_H
