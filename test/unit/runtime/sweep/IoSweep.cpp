// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every file format read, and a checkpoint written and read back.

#include "../io/Formats.h"
#include "AllocationSweep.h"
#include "io/Records.h"

#include <filesystem>
#include <unistd.h>

namespace mxrt::test {
namespace {

Status readFormats(Stage &stage) {
  for (size_t i = 0; i < formatCount; ++i) {
    std::string golden = formats[i].golden(), summary;
    io::MemoryInput input(stage.memory.get(), "file", golden.data(), golden.size());
    MXRT_CHECK(formats[i].read(input, summary));
    stage.saw(summary);
  }
  return success();
}

Status writeCheckpoint(Stage &stage) {
  std::string path =
      (std::filesystem::temp_directory_path() / ("mx-sweep-" + std::to_string(getpid()) + ".ckpt"))
          .string();
  const mxrt_allocator *alloc = stage.memory.get();
  int64_t sizes[] = {2, 3}, number = 7;
  float values[6] = {1, 2, 3, 4, 5, 6};
  Vec<io::SafeEntry> entries(alloc);
  if (!entries.push({"net.w", MXRT_F32, 2, sizes, values, 24}) ||
      !entries.push({"n", MXRT_I64, 0, nullptr, &number, 8}))
    return outOfMemory(alloc);
  MXRT_CHECK(io::writeSafetensors(alloc, path.c_str(), entries));
  io::FileInput input(alloc, path.c_str());
  MXRT_CHECK(input.open());
  std::string summary;
  MXRT_CHECK(readSafetensors(input, summary));
  stage.saw(summary);
  std::filesystem::remove(path);
  return success();
}

Status writeRecords(Stage &stage) {
  const mxrt_allocator *alloc = stage.memory.get();
  Vec<char> file(alloc);
  for (std::string_view payload : {"", "abc", "\x0a\x23\xd7\xce\x0a\x23\xd7\xce", "12345678"})
    MXRT_CHECK(io::appendRecord(file, payload));
  io::MemoryInput input(alloc, "file", file.data(), file.size());
  std::string summary;
  MXRT_CHECK(readRecords(input, summary));
  stage.saw(summary);
  return success();
}

/// A record that is not a picture is an error, which needs no memory.
constexpr const char *noPicture = "the error of a record that is not a picture";

const SweepProgram programs[] = {{"formats", readFormats, noPicture},
                                 {"checkpoint", writeCheckpoint},
                                 {"records", writeRecords, noPicture}};

INSTANTIATE_TEST_SUITE_P(Io, AllocationSweep, ::testing::ValuesIn(programs), nameOfProgram);

} // namespace
} // namespace mxrt::test
