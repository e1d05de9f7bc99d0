// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime from C++: memory of the host as tensors, views, copy before a
// write, dependent calls, and an error with its location. The C handles are
// wrapped in a few lines; the runtime itself throws nothing.

#include "mxrt/call.h"
#include "mxrt/runtime.h"
#include "mxrt/tensor.h"

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr mxrt_device cpu = {MXRT_CPU, 0};

#define HERE (mxrt_location{"main.cpp", __LINE__, 1})

/// An error becomes an exception on this side of the border.
void check(mxrt_status status) {
  if (!status)
    return;
  std::string text(mxrt_status_format(status, nullptr, 0), '\0');
  mxrt_status_format(status, text.data(), text.size() + 1);
  mxrt_status_release(status);
  throw std::runtime_error(text);
}

using Runtime = std::unique_ptr<mxrt_runtime, decltype(&mxrt_runtime_destroy)>;
using Tensor = std::unique_ptr<mxrt_tensor, decltype(&mxrt_tensor_release)>;

Tensor own(mxrt_tensor *tensor) { return Tensor(tensor, mxrt_tensor_release); }

/// A tensor over a vector, which lives until the last view is gone.
Tensor borrow(mxrt_runtime *runtime, std::vector<float> values,
              std::vector<int64_t> shape) {
  auto *kept = new std::vector<float>(std::move(values));
  mxrt_tensor *tensor = nullptr;
  mxrt_location location = HERE;
  mxrt_status status = mxrt_tensor_borrow(
      runtime, &cpu, MXRT_F32, int32_t(shape.size()), shape.data(), nullptr,
      kept->data(), MXRT_BORROW_WRITABLE,
      [](void *user) { delete static_cast<std::vector<float> *>(user); }, kept,
      &location, &tensor);
  if (status)
    delete kept;
  check(status);
  return own(tensor);
}

/// target[i] += *arguments, for dense tensors; refuses negative amounts.
mxrt_status addKernel(const mxrt_context *context,
                      const mxrt_tensor *const *tensors,
                      const void *arguments) {
  float amount = *static_cast<const float *>(arguments);
  if (amount < 0)
    return mxrt_status_make(context->allocator, MXRT_RAISED, context->location,
                            "cannot add %g", double(amount));
  auto *data = static_cast<float *>(mxrt_tensor_data(tensors[0]));
  for (int64_t i = 0; i < mxrt_tensor_elements(tensors[0]); ++i)
    data[i] += amount;
  return nullptr;
}

/// tensor += amount, as the language means it: nobody else sees the change.
void add(mxrt_runtime *runtime, Tensor &tensor, float amount,
         mxrt_location location) {
  mxrt_tensor *raw = tensor.release();
  mxrt_status status = mxrt_call_prepare_write(runtime, &raw, &location);
  tensor = own(raw);
  check(status);
  mxrt_call call = {};
  call.run = addKernel;
  call.name = "add";
  call.writes = &raw;
  call.write_count = 1;
  call.arguments = &amount;
  call.argument_bytes = sizeof(amount);
  call.device = cpu;
  call.location = location;
  check(mxrt_call_push(runtime, &call));
}

void print(mxrt_runtime *runtime, const char *name, const Tensor &tensor,
           mxrt_location location) {
  check(mxrt_tensor_wait(runtime, tensor.get(), &location));
  char shape[64];
  mxrt_tensor_describe(tensor.get(), shape, sizeof(shape));
  std::printf("%s: %s first %g\n", name, shape,
              double(*static_cast<float *>(mxrt_tensor_data(tensor.get()))));
}

void run(mxrt_runtime *runtime) {
  Tensor a = borrow(runtime, {1, 2, 3, 4, 5, 6}, {2, 3});
  // A row shares the elements of `a` until one of them is written.
  mxrt_tensor *raw = nullptr;
  mxrt_location location = HERE;
  check(mxrt_tensor_select(a.get(), 0, 1, &location, &raw));
  Tensor row = own(raw);
  for (int i = 0; i < 10; ++i)
    add(runtime, row, 10, HERE); // ten dependent calls; the first copies
  add(runtime, a, 0.5f, HERE);
  print(runtime, "a", a, HERE);
  print(runtime, "row", row, HERE);

  add(runtime, row, -1, HERE); // fails when it runs ...
  add(runtime, row, 1, HERE);  // ... and so does what depends on it
  try {
    print(runtime, "row", row, HERE);
  } catch (const std::runtime_error &error) {
    std::printf("%s\n", error.what());
  }
  print(runtime, "a", a, HERE); // the rest is not affected
}

} // namespace

int main() {
  try {
    mxrt_runtime *raw = nullptr;
    check(mxrt_runtime_create(nullptr, &raw));
    Runtime runtime(raw, mxrt_runtime_destroy);
    run(raw);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
