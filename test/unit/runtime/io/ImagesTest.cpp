// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pictures that the libraries wrote are read back; cut and damaged ones are
// refused; the middle of a picture is taken at another size.

#include "io/Images.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <jpeglib.h>
#include <png.h>
#include <string>
#include <vector>

namespace mxrt::test {
namespace {

const mxrt_allocator *alloc = mxrt_system_allocator();

/// Red grows to the right, green downwards.
std::vector<unsigned char> pixels(int width, int height) {
  std::vector<unsigned char> rgb;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int value : {x * 255 / width, y * 255 / height, 128})
        rgb.push_back(static_cast<unsigned char>(value));
  return rgb;
}

std::string pngOf(int width, int height) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = unsigned(width);
  image.height = unsigned(height);
  image.format = PNG_FORMAT_RGB;
  std::vector<unsigned char> rgb = pixels(width, height);
  png_alloc_size_t bytes = 0;
  png_image_write_to_memory(&image, nullptr, &bytes, 0, rgb.data(), 0, nullptr);
  std::string out(bytes, 0);
  png_image_write_to_memory(&image, out.data(), &bytes, 0, rgb.data(), 0, nullptr);
  out.resize(bytes);
  return out;
}

std::string jpegOf(int width, int height) {
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char *memory = nullptr;
  unsigned long bytes = 0;
  jpeg_mem_dest(&info, &memory, &bytes);
  info.image_width = unsigned(width);
  info.image_height = unsigned(height);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 95, TRUE);
  jpeg_start_compress(&info, TRUE);
  std::vector<unsigned char> rgb = pixels(width, height);
  while (info.next_scanline < info.image_height) {
    unsigned char *row = rgb.data() + info.next_scanline * unsigned(width) * 3;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string out(reinterpret_cast<char *>(memory), bytes);
  free(memory);
  return out;
}

Status decode(const std::string &bytes, io::ImageSize &size, std::vector<unsigned char> &rgb) {
  std::vector<char> copy(bytes.begin(), bytes.end());
  io::MemoryInput input(alloc, "file", copy.data(), copy.size());
  std::string_view view(copy.data(), copy.size());
  MXRT_CHECK(io::readImageSize(input, 0, view, size));
  rgb.resize(size_t(3 * size.width * size.height));
  return io::decodeImage(input, 0, view, size, rgb.data());
}

TEST(Images, ComeBack) {
  for (bool png : {true, false}) {
    io::ImageSize size;
    std::vector<unsigned char> rgb, expected = pixels(19, 7);
    Status status = decode(png ? pngOf(19, 7) : jpegOf(19, 7), size, rgb);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(size.width, 19);
    EXPECT_EQ(size.height, 7);
    ASSERT_EQ(rgb.size(), expected.size());
    for (size_t i = 0; i < rgb.size(); ++i)
      EXPECT_NEAR(rgb[i], expected[i], png ? 0 : 24) << i;
  }
}

TEST(Images, CutAtEveryByteIsRefused) {
  for (bool png : {true, false}) {
    std::string whole = png ? pngOf(9, 5) : jpegOf(9, 5);
    // The end marks (IEND, EOI) say nothing of the pixels: a reader may be done before.
    size_t needed = whole.size() - (png ? 16 : 2);
    for (size_t length = 0; length < needed; ++length) {
      io::ImageSize size;
      std::vector<unsigned char> rgb;
      Status status = decode(whole.substr(0, length), size, rgb);
      ASSERT_FALSE(status.ok()) << (png ? "png " : "jpeg ") << length << " of " << whole.size();
      EXPECT_EQ(status.code(), MXRT_FILE_FORMAT);
    }
  }
}

TEST(Images, TurnedBitsAreReadOrRefused) {
  for (bool png : {true, false}) {
    std::string whole = png ? pngOf(9, 5) : jpegOf(9, 5);
    for (size_t bit = 0; bit < whole.size() * 8; bit += 3) {
      std::string turned = whole;
      turned[bit / 8] = static_cast<char>(turned[bit / 8] ^ (1 << (bit % 8)));
      io::ImageSize size;
      std::vector<unsigned char> rgb;
      Status status = decode(turned, size, rgb);
      if (!status.ok()) {
        EXPECT_EQ(status.code(), MXRT_FILE_FORMAT) << status.message();
      }
    }
  }
}

TEST(Images, OthersAreRefused) {
  io::ImageSize size;
  std::vector<unsigned char> rgb;
  EXPECT_EQ(std::string(decode("GIF89a", size, rgb).message()),
            "file: byte 0: this is neither a JPEG nor a PNG\nrule: picture");
  EXPECT_FALSE(decode("", size, rgb).ok());
}

TEST(Images, TheMiddleIsTaken) {
  // 4 x 2: the middle square of a picture that is black, white, white, black.
  std::vector<unsigned char> rgb;
  for (int y = 0; y < 2; ++y)
    for (int x = 0; x < 4; ++x)
      rgb.insert(rgb.end(), 3, x == 1 || x == 2 ? 255 : 0);
  std::vector<float> out(3 * 2 * 2);
  io::fitImage(rgb.data(), {4, 2}, 2, 2, out.data());
  for (float value : out)
    EXPECT_EQ(value, 1.0f);
  // One pixel at any size is itself.
  unsigned char one[] = {255, 0, 51};
  std::vector<float> large(3 * 5 * 3);
  io::fitImage(one, {1, 1}, 5, 3, large.data());
  EXPECT_EQ(large[7], 1.0f);
  EXPECT_EQ(large[15 + 7], 0.0f);
  EXPECT_FLOAT_EQ(large[30 + 7], 0.2f);
}

} // namespace
} // namespace mxrt::test
