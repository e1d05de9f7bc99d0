// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that we write: read back, aligned, with a checksum over every byte; and
// what the folder holds when writing fails.

#include "base/Files.h"
#include "io/Safetensors.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mxrt::test {
namespace {

namespace fs = std::filesystem;

class CheckpointFile : public ::testing::Test {
protected:
  CheckpointFile() : folder(fs::temp_directory_path() / ("mx-io-" + std::to_string(getpid()))) {
    fs::create_directories(folder);
    path = folder / "file.ckpt";
  }
  ~CheckpointFile() override { fs::remove_all(folder); }

  Status write(float first) {
    values[0] = first;
    Vec<io::SafeEntry> entries(alloc);
    EXPECT_TRUE(entries.push({"odd", MXRT_U8, 1, &three, "abc", 3}));
    EXPECT_TRUE(entries.push({"net.w", MXRT_F32, 1, &sixteen, values, 64}));
    EXPECT_TRUE(entries.push({"a \"quoted\" n\xc3\xa4me", MXRT_I64, 0, nullptr, &number, 8}));
    return io::writeSafetensors(alloc, path.c_str(), entries);
  }
  Status read(float &first) {
    io::FileInput input(alloc, path.c_str());
    MXRT_CHECK(input.open());
    io::SafetensorsIndex index(input);
    MXRT_CHECK(index.read());
    MXRT_CHECK(index.verify());
    for (const io::SafeTensor &tensor : index.tensors)
      if (tensor.bytes % 64 == 0) {
        EXPECT_EQ(tensor.begin % 64, 0) << tensor.name;
      } else {
        EXPECT_EQ(tensor.begin % mxrt_dtype_size(tensor.type), 0) << tensor.name;
      }
    const io::SafeTensor *found = index.find("net.w");
    EXPECT_NE(found, nullptr);
    float back[16];
    MXRT_CHECK(index.readTensor(*found, back));
    first = back[0];
    found = index.find("a \"quoted\" n\xc3\xa4me");
    EXPECT_NE(found, nullptr);
    int64_t n = 0;
    MXRT_CHECK(index.readTensor(*found, &n));
    EXPECT_EQ(n, number);
    return success();
  }

  const mxrt_allocator *alloc = mxrt_system_allocator();
  fs::path folder;
  std::string path;
  int64_t three = 3, sixteen = 16, number = -5;
  float values[16] = {};
};

TEST_F(CheckpointFile, IsReadBack) {
  float first = 0;
  ASSERT_TRUE(write(1.5f).ok());
  Status status = read(first);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(first, 1.5f);
  EXPECT_FALSE(fs::exists(path + ".tmp"));
}

TEST_F(CheckpointFile, EveryTurnedBitIsFound) {
  ASSERT_TRUE(write(1.5f).ok());
  std::ifstream in(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string turned = bytes;
    turned[bit / 8] = static_cast<char>(turned[bit / 8] ^ (1 << (bit % 8)));
    io::MemoryInput input(alloc, "file", turned.data(), turned.size());
    io::SafetensorsIndex index(input);
    Status status = index.read();
    if (status.ok())
      status = index.verify();
    // Digits of the key itself may stop being the key; then there is no checksum to compare.
    bool inKey = turned.find("mx.crc32") == std::string::npos;
    EXPECT_TRUE(!status.ok() || inKey) << "bit " << bit;
  }
}

TEST_F(CheckpointFile, AFullDiskKeepsTheOldFile) {
  ASSERT_TRUE(write(1.0f).ok());
  // What is written in place of the new file cannot take a byte.
  fs::create_symlink("/dev/full", path + ".tmp");
  Status status = write(2.0f);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), MXRT_FILE_ACCESS);
  float first = 0;
  ASSERT_TRUE(read(first).ok());
  EXPECT_EQ(first, 1.0f);
}

TEST_F(CheckpointFile, TwoWritersDoNotMix) {
  ASSERT_TRUE(write(1.0f).ok());
  int other = open((path + ".tmp").c_str(), O_WRONLY | O_CREAT, 0666);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  Status status = write(2.0f);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(std::string(status.message()).find("another process is writing it"), std::string::npos);
  close(other);
  // What a writer that died has left is used again.
  ASSERT_TRUE(write(3.0f).ok());
  float first = 0;
  ASSERT_TRUE(read(first).ok());
  EXPECT_EQ(first, 3.0f);
}

TEST_F(CheckpointFile, OnlyRegularFilesAreRead) {
  std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0666), 0);
  for (const std::string &odd : {pipe, folder.string(), std::string("/dev/zero")}) {
    io::FileInput input(alloc, odd.c_str());
    Status status = input.open();
    ASSERT_FALSE(status.ok()) << odd;
    EXPECT_NE(std::string(status.message()).find("it is not a regular file"), std::string::npos);
  }
  io::FileInput missing(alloc, "/no/such/file");
  EXPECT_EQ(std::string(missing.open().message()),
            "cannot read `/no/such/file`: No such file or directory");
}

} // namespace
} // namespace mxrt::test
