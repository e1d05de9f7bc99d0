// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parameters of code that was built ahead of time.

#include "AllocationSweep.h"
#include "aot/Values.h"
#include "io/Safetensors.h"

#include <filesystem>
#include <unistd.h>

namespace mxrt::test {
namespace {

constexpr int64_t sizes[] = {2, 3};
constexpr mxrt_aot_tensor tensors[] = {{"w", MXRT_F32, 2, sizes}, {"n", MXRT_I64, 0, nullptr}};
constexpr mxrt_aot_type net = {"net", 2, tensors}, other = {"other", 1, tensors + 1};
constexpr mxrt_aot_tensor narrow[] = {{"w", MXRT_F32, 1, sizes}};
constexpr mxrt_aot_type wrong = {"net", 1, narrow};

Status loadParameters(Stage &stage) {
  std::string path =
      (std::filesystem::temp_directory_path() / ("mx-sweep-aot-" + std::to_string(getpid())))
          .string();
  const mxrt_allocator *alloc = stage.memory.get();
  int64_t number = 7;
  float values[6] = {1, 2, 3, 4, 5, 6};
  Vec<io::SafeEntry> entries(alloc);
  // One name with the parameter's in front, one without.
  if (!entries.push({"net.w", MXRT_F32, 2, sizes, values, 24}) ||
      !entries.push({"n", MXRT_I64, 0, nullptr, &number, 8}))
    return outOfMemory(alloc);
  MXRT_CHECK(io::writeSafetensors(alloc, path.c_str(), entries));
  io::FileInput input(alloc, path.c_str());
  MXRT_CHECK(input.open());
  std::filesystem::remove(path);
  mxrt_aot_value *value = nullptr;
  MXRT_CHECK(aot::loadValue(net, input, value));
  size_t bytes = 0;
  auto *w = static_cast<float *>(mxrt_aot_data(value, "w", &bytes));
  stage.saw("bytes", static_cast<int64_t>(bytes));
  stage.saw("last of w", static_cast<int64_t>(w[5]));
  stage.saw("n", *static_cast<int64_t *>(mxrt_aot_data(value, "n", nullptr)));
  stage.check(mxrt_aot_data(value, "m", nullptr) == nullptr, "there is no m");
  stage.check(reinterpret_cast<uintptr_t>(w) % MXRT_ALIGNMENT == 0, "tensors are aligned");
  mxrt_aot_free(value);
  Status refused = aot::loadValue(wrong, input, value);
  if (refused.code() != MXRT_CHECKPOINT)
    return refused;
  stage.check(value == nullptr, "nothing is made of a file that does not fit");
  MXRT_CHECK(aot::makeValue(alloc, other, value));
  stage.saw("zero", *static_cast<int64_t *>(mxrt_aot_data(value, "n", nullptr)));
  mxrt_aot_free(value);
  return success();
}

const SweepProgram programs[] = {
    {"parameters", loadParameters, "the error of a file that does not fit"}};

INSTANTIATE_TEST_SUITE_P(Aot, AllocationSweep, ::testing::ValuesIn(programs), nameOfProgram);

} // namespace
} // namespace mxrt::test
