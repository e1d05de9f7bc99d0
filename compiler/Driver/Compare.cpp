// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numerical comparison of eager and compiled results, with differences measured in ULPs.
#include "Driver/Compare.h"
#include "Support/ElementFacts.h"
#include "base/Elements.h"
#include "eager/TensorValue.h"
#include "mxrt/call.h"
#include <cmath>

namespace mx::driver {
namespace {

/// The element at a linear index of a strided tensor.
const char *elementAt(const mxrt_tensor *tensor, int64_t linear) {
  const int64_t *shape = mxrt_tensor_shape(tensor), *strides = mxrt_tensor_strides(tensor);
  int64_t offset = 0;
  for (int32_t axis = mxrt_tensor_rank(tensor); axis-- > 0;) {
    offset += linear % shape[axis] * strides[axis];
    linear /= shape[axis];
  }
  return static_cast<const char *>(mxrt_tensor_data(tensor)) +
         offset * mxrt_dtype_size(mxrt_tensor_dtype(tensor));
}

/// The value as a double, and the spacing of neighbouring numbers there (ULP).
struct Number {
  double value, ulp;
};
Number numberAt(mxrt_dtype type, const char *at) {
  auto spacing = [](double value, int digits) {
    int exponent = 0;
    std::frexp(value, &exponent);
    return value == 0 || !std::isfinite(value) ? std::ldexp(1.0, -digits - 120)
                                               : std::ldexp(1.0, exponent - digits);
  };
  return mxrt::visitElement(type, [&](auto element) -> Number {
    auto value = static_cast<double>(element.load(at));
    auto dtype = static_cast<ElementType>(element.dtype);
    return {value, element.isFloat ? spacing(value, elementFacts(dtype).digits) : 1};
  });
}

} // namespace

void Comparison::addTensors(mxrt_tensor *x, mxrt_tensor *y, const std::string &location) {
  mxrt_dtype type = mxrt_tensor_dtype(x);
  int64_t count = std::min(mxrt_tensor_elements(x), mxrt_tensor_elements(y));
  elements += static_cast<uint64_t>(count);
  for (int64_t i = 0; i < count; ++i) {
    const char *p = elementAt(x, i), *q = elementAt(y, i);
    if (std::memcmp(p, q, static_cast<size_t>(mxrt_dtype_size(type))) == 0)
      continue;
    Number a = numberAt(type, p), b = numberAt(type, q);
    if (std::isnan(a.value) && std::isnan(b.value))
      continue;
    ++different;
    double ulps = std::abs(a.value - b.value) / std::max(a.ulp, b.ulp);
    if (std::isnan(ulps) || ulps > largestUlps) {
      largestUlps = std::isnan(ulps) ? INFINITY : ulps;
      where = location + ", element " + std::to_string(i);
      eager = a.value;
      graph = b.value;
    }
  }
}

void Comparison::add(const mxrt::host::Value &x, const mxrt::host::Value &y,
                     const std::string &location) {
  mxrt_tensor *a = mxrt::eager::tensorOf(x), *b = mxrt::eager::tensorOf(y);
  if (a && b)
    return addTensors(a, b, location);
  if (mxrt::host::isAggregate(x.kind) && x.kind == y.kind) {
    auto left = x.aggregate()->view(), right = y.aggregate()->view();
    for (size_t i = 0; i < left.size() && i < right.size(); ++i)
      add(left[i], right[i], location + ", part " + std::to_string(i));
  }
}

void Comparison::addEndings(int32_t eagerCode, int32_t graphCode, const std::string &location) {
  if (eagerCode == graphCode) {
    ++failed;
    return;
  }
  auto ending = [](int32_t code) {
    char text[16];
    std::snprintf(text, sizeof text, "R%04d", code);
    return code ? "raises " + std::string(text) : std::string("gives a result");
  };
  if (endDifferently++ == 0)
    firstEnding = location + ": eager " + ending(eagerCode) + ", graph " + ending(graphCode);
}

mxrt_status waitForTensors(mxrt_runtime *runtime, const mxrt::host::Value &value,
                           const mxrt_location &location) {
  if (mxrt_tensor *tensor = mxrt::eager::tensorOf(value))
    return mxrt_tensor_wait(runtime, tensor, &location);
  if (mxrt::host::isAggregate(value.kind))
    for (const mxrt::host::Value &part : value.aggregate()->view())
      if (mxrt_status status = waitForTensors(runtime, part, location))
        return status;
  return nullptr;
}

void Comparison::print(std::ostream &out) const {
  out << "compare: " << calls << (calls == 1 ? " call" : " calls") << " of graphs, " << elements
      << " elements, ";
  if (failed)
    out << failed << (failed == 1 ? " call fails" : " calls fail") << " both ways, ";
  if (endDifferently)
    out << endDifferently << (endDifferently == 1 ? " call ends" : " calls end")
        << " differently\n  in " << firstEnding << "\n"
        << (different ? "" : "the other elements: ");
  if (different == 0) {
    out << "all equal\n";
    return;
  }
  char ulps[32], values[96];
  std::snprintf(ulps, sizeof ulps, "%.3g", largestUlps);
  std::snprintf(values, sizeof values, "eager %.9g, graph %.9g", eager, graph);
  out << different << " differ, by at most " << ulps << " ulp\n  in " << where << ": " << values
      << "\n";
}

} // namespace mx::driver
