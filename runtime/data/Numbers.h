// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors of a program as numbers: elements, whole tensors, and single values
// that may not be there yet.

#ifndef MXRT_DATA_NUMBERS_H
#define MXRT_DATA_NUMBERS_H

#include "data/DataHost.h"
#include "memory/Tensor.h"

namespace mxrt::data {

/// Another tensor with the same elements, without gaps; issued, not waited for.
Status copyOf(DataHost &host, mxrt_tensor *tensor, const mxrt_place &place, TensorRef &out);
/// The same tensor if it has no gaps, else a copy.
Status denseOf(DataHost &host, mxrt_tensor *tensor, const mxrt_place &place, TensorRef &out);

/// Element `i` of a dense tensor whose elements are there.
double elementOf(const mxrt_tensor *tensor, int64_t i = 0);

/// All elements of a tensor, in order; waits for them.
Status readNumbers(DataHost &host, mxrt_tensor *tensor, const mxrt_place &place, Vec<double> &out);

/// A single number of the program: there, or being computed.
struct Number {
  double value = 0;
  bool known = false;
  TensorRef coming; // set until it is known
};
/// `name` is for messages, `verb` what happens with a number ("shown").
Status takeNumber(DataHost &host, const host::Value &value, const char *name, const char *verb,
                  Number &out);
/// Looks whether a number has come, and never waits. An error of the op that
/// should have made it comes out here.
Status pollNumber(DataHost &host, const mxrt_place &place, Number &number);
/// Waits for it.
Status awaitNumber(DataHost &host, const mxrt_place &place, Number &number);

} // namespace mxrt::data

#endif // MXRT_DATA_NUMBERS_H
