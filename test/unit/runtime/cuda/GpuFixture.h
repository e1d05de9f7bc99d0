// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A runtime whose GPUs are the emulator's, and shorthands: tensors with the elements of a vector,
// launches of PTX as calls.

#ifndef MX_TEST_UNIT_RUNTIME_CUDA_GPUFIXTURE_H
#define MX_TEST_UNIT_RUNTIME_CUDA_GPUFIXTURE_H

#include "../memory/MemoryFixture.h"
#include "Emulator.h"
#include "abi/DeviceWork.h"
#include "device/cuda/Driver.h"
#include "mxrt/call.h"
#include "mxrt/launch.h"

constexpr mxrt_device gpu0 = {MXRT_CUDA, 0};
constexpr mxrt_device gpu1 = {MXRT_CUDA, 1};

/// Owns an error; prints it in failed expectations.
inline std::string textOf(mxrt_status status) {
  if (!status)
    return "";
  std::string text(mxrt_status_format(status, nullptr, 0) + 1, 0);
  mxrt_status_format(status, text.data(), text.size());
  text.pop_back();
  mxrt_status_release(status);
  return text;
}
#define MX_OK(EXPRESSION) ASSERT_EQ(textOf(EXPRESSION), "") << mxemu::cuda().mxemuLastFinding()

class GpuTest : public MemoryTest {
protected:
  void SetUp() override { restart(0); }
  void TearDown() override;
  /// A new machine with this schedule, and a new runtime on it.
  void restart(uint64_t seed);
  /// Called by restart: options that differ.
  virtual void setOptions(mxrt_options &) {}
  void closeRuntime();

  template <typename T>
  Ref tensorOf(const std::vector<T> &values, mxrt_dtype type, const Shape &shape) {
    Ref made = make(type, shape);
    std::memcpy(mxrt_tensor_data(made.get()), values.data(), values.size() * sizeof(T));
    return made;
  }
  Ref floats(const std::vector<float> &values) {
    return tensorOf(values, MXRT_F32, {int64_t(values.size())});
  }
  /// Issued; null and a failure of the test after an error.
  Ref moved(const Ref &tensor, mxrt_device device, mxrt_location location = here) {
    mxrt_tensor *out = nullptr;
    EXPECT_EQ(textOf(mxrt_tensor_move(runtime, tensor.get(), &device, &location, &out)), "");
    return Ref(out);
  }
  mxrt_status wait(const Ref &tensor, mxrt_location location = {"wait.mx", 40, 1}) {
    return mxrt_tensor_wait(runtime, tensor.get(), &location);
  }
  mxrt_status waitAll() {
    mxrt_engine *engine = nullptr;
    if (mxrt_status failure = mxrt_runtime_engine(runtime, nullptr, &engine))
      return failure;
    return mxrt_engine_wait_all(engine, {"all.mx", 50, 1});
  }
  /// The elements, copied to the host if need be; empty after an error, which is a failure.
  template <typename T> std::vector<T> elements(const Ref &tensor) {
    if (!tensor)
      return {};
    auto seen = mxrt::hostTensor(runtime, tensor.get(), here);
    if (seen.failed()) {
      ADD_FAILURE() << textOf(seen.takeStatus().release()) << mxemu::cuda().mxemuLastFinding();
      return {};
    }
    EXPECT_TRUE(mxrt_tensor_is_dense(seen->get()));
    auto *data = static_cast<const T *>(mxrt_tensor_data(seen->get()));
    return std::vector<T>(data, data + mxrt_tensor_elements(seen->get()));
  }

  /// A kernel with tensors, then numbers, as its arguments.
  struct Kernel {
    const char *module, *entry;
    uint32_t grid[3] = {1, 1, 1}, block[3] = {32, 1, 1}, shared = 0;
    std::vector<uint32_t> numbers = {};
  };
  mxrt_status launch(const Kernel &kernel, const std::vector<const Ref *> &reads,
                     const std::vector<const Ref *> &writes, mxrt_device device = gpu0,
                     mxrt_location location = here);
  /// y += a * x
  mxrt_status saxpy(const Ref &x, const Ref &y, float a, mxrt_device device = gpu0,
                    mxrt_location location = here);

  static const std::string &kernels(); // test/cuda/Inputs/kernels.ptx
  static mxrt::cuda::Driver &driver();
};

/// While it is closed, the host cannot wait for a GPU: no event is reached.
class Gate {
public:
  explicit Gate(mxrt::cuda::Driver &driver);
  ~Gate();
  void open();

private:
  mxrt::cuda::Driver &driver;
};

#endif // MX_TEST_UNIT_RUNTIME_CUDA_GPUFIXTURE_H
