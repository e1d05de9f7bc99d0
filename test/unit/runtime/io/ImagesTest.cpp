// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pictures that the libraries wrote are read back; cut and damaged ones are
// refused; the middle of a picture is taken at another size.

#include "io/Resample.h"

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
  return io::decodeImage(input, 0, view, size, 1, rgb.data());
}

/// The middle of a picture at another size.
std::vector<float> fit(const std::vector<unsigned char> &rgb, io::ImageSize from, int64_t height,
                       int64_t width) {
  std::vector<float> out(size_t(3 * height * width), -1);
  Status status = io::ByteResampler(alloc).run(rgb.data(), from, io::middleOf(from, height, width),
                                               height, width, out.data());
  EXPECT_TRUE(status.ok());
  return out;
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
      std::string message = status.message();
      EXPECT_NE(message.find("file: byte "), std::string::npos) << message;
      EXPECT_NE(message.find("\nrule: "), std::string::npos) << message;
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
  for (float value : fit(rgb, {4, 2}, 2, 2))
    EXPECT_EQ(value, 1.0f);
  // One pixel at any size is itself.
  std::vector<float> large = fit({255, 0, 51}, {1, 1}, 5, 3);
  EXPECT_EQ(large[7], 1.0f);
  EXPECT_EQ(large[15 + 7], 0.0f);
  EXPECT_FLOAT_EQ(large[30 + 7], 0.2f);
}

TEST(Images, SmallPicturesOfLargeOnesAreMeans) {
  // Stripes of one pixel become grey, also where the sizes do not divide each other.
  std::vector<unsigned char> stripes;
  for (int y = 0; y < 30; ++y)
    for (int x = 0; x < 30; ++x)
      stripes.insert(stripes.end(), 3, x % 2 ? 255 : 0);
  for (int64_t size : {3, 5, 7})
    for (float value : fit(stripes, {30, 30}, size, size))
      EXPECT_NEAR(value, 0.5f, 0.06f) << size;
  // Twice the size: between two pixels there are their means with weights 1/4 and 3/4.
  float row[] = {0, 1}, wide[4];
  ASSERT_TRUE(io::resamplePlanes(alloc, row, 1, {2, 1}, {0, 0, 2, 1}, 1, 4, wide).ok());
  EXPECT_EQ(wide[0], 0.0f);
  EXPECT_FLOAT_EQ(wide[1], 0.25f);
  EXPECT_FLOAT_EQ(wide[2], 0.75f);
  EXPECT_EQ(wide[3], 1.0f);
  // The same size is the same picture; a part is that part.
  float square[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, same[9], part[4];
  ASSERT_TRUE(io::resamplePlanes(alloc, square, 1, {3, 3}, {0, 0, 3, 3}, 3, 3, same).ok());
  for (int i = 0; i < 9; ++i)
    EXPECT_EQ(same[i], square[i]);
  ASSERT_TRUE(io::resamplePlanes(alloc, square, 1, {3, 3}, {1, 1, 2, 2}, 2, 2, part).ok());
  EXPECT_EQ(part[0], 5.0f);
  EXPECT_EQ(part[3], 9.0f);
}

TEST(Images, AreDecodedSmaller) {
  std::string bytes = jpegOf(100, 60);
  io::MemoryInput input(alloc, "file", bytes.data(), bytes.size());
  io::ImageSize size;
  ASSERT_TRUE(io::readImageSize(input, 0, bytes, size).ok());
  EXPECT_EQ(io::shrinkOf(bytes, size, 60, 100), 1);
  EXPECT_EQ(io::shrinkOf(bytes, size, 31, 20), 1);
  EXPECT_EQ(io::shrinkOf(bytes, size, 30, 50), 2);
  EXPECT_EQ(io::shrinkOf(bytes, size, 1, 1), 8);
  EXPECT_EQ(io::shrinkOf(pngOf(100, 60), size, 1, 1), 1);
  for (int64_t shrink : {2, 4, 8}) {
    io::ImageSize small = io::shrunk(size, shrink);
    EXPECT_EQ(small.width, (100 + shrink - 1) / shrink);
    std::vector<unsigned char> rgb(size_t(3 * small.width * small.height));
    Status status = io::decodeImage(input, 0, bytes, size, shrink, rgb.data());
    ASSERT_TRUE(status.ok()) << status.message();
    // Red still grows to the right.
    EXPECT_NEAR(rgb[0], 2 * shrink / 2, 14);
    EXPECT_GT(rgb[size_t(3 * (small.width - 1))], 200);
  }
}

TEST(Images, AreEncoded) {
  Vec<char> bytes(alloc);
  std::vector<unsigned char> rgb = pixels(23, 11), back;
  ASSERT_TRUE(io::encodeJpeg(rgb.data(), {23, 11}, 95, bytes).ok());
  io::ImageSize size;
  ASSERT_TRUE(decode(std::string(bytes.data(), bytes.size()), size, back).ok());
  ASSERT_EQ(back.size(), rgb.size());
  for (size_t i = 0; i < rgb.size(); ++i)
    EXPECT_NEAR(back[i], rgb[i], 24) << i;
  size_t large = bytes.size();
  bytes.clear();
  ASSERT_TRUE(io::encodeJpeg(rgb.data(), {23, 11}, 20, bytes).ok());
  EXPECT_LT(bytes.size(), large);
  Status status = io::encodeJpeg(rgb.data(), {70000, 1}, 90, bytes);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), MXRT_INVALID_ARGUMENT);
}

} // namespace
} // namespace mxrt::test
