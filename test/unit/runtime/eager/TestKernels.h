// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels for tests, for any key: they read the key and compute element by
// element. Slow and simple: they check that the executor passes what the key
// promises.

#ifndef MX_TEST_UNIT_RUNTIME_EAGER_TESTKERNELS_H
#define MX_TEST_UNIT_RUNTIME_EAGER_TESTKERNELS_H

#include "eager/Kernels.h"

#include <string>
#include <vector>

namespace mxrt::eager {

/// One element operation on doubles; integers up to 2^53 are exact in them.
double apply(const std::string &op, mxrt_dtype type, const double *x);
double loadElement(mxrt_dtype type, const void *data, int64_t index);
void storeElement(mxrt_dtype type, void *data, int64_t index, double value);
/// The neutral element of a reduction and one step of it.
double reduceStart(const std::string &op);
double reduceStep(const std::string &op, double sum, double x);

class TestKernels final : public KernelSource {
public:
  Status find(std::string_view key, mxrt_compiled_kernel &out) override;
  std::vector<std::string> asked; // keys, in order
  bool refuse = false;
  bool idle = false; // kernels that are found write nothing
};

} // namespace mxrt::eager

#endif // MX_TEST_UNIT_RUNTIME_EAGER_TESTKERNELS_H
