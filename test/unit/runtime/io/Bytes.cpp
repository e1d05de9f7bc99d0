// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Bytes.h"

#include <cstdio>
#include <zlib.h>

namespace mxrt::test {
namespace {

uint32_t sumOf(const std::string &text) {
  return uint32_t(
      crc32(0, reinterpret_cast<const Bytef *>(text.data()), static_cast<uInt>(text.size())));
}

} // namespace

std::string little(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i)
    out += i < 8 ? static_cast<char>(value >> (8 * i)) : '\0';
  return out;
}
std::string big(uint64_t value, int bytes) {
  std::string out = little(value, bytes);
  return {out.rbegin(), out.rend()};
}

std::string packed(const std::string &text, int bits) {
  z_stream z = {};
  deflateInit2(&z, 9, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&z, text.size()) + 100, 0);
  z.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef *>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

std::string unpacked(const std::string &bytes, int bits) {
  z_stream z = {};
  inflateInit2(&z, bits);
  std::string out(1 << 16, 0);
  z.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = reinterpret_cast<Bytef *>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  inflate(&z, Z_FINISH);
  out.resize(z.total_out);
  inflateEnd(&z);
  return out;
}

std::string zipEntry(const std::string &name, const std::string &raw, const std::string &data,
                     int method, std::string &directory, size_t offset) {
  std::string common = little(20, 2) + little(0, 2) + little(uint64_t(method), 2) + little(0, 4) +
                       little(sumOf(raw), 4) + little(data.size(), 4) + little(raw.size(), 4) +
                       little(name.size(), 2);
  directory += "PK\1\2" + little(20, 2) + common + little(0, 2) + little(0, 2) + little(0, 2) +
               little(0, 2) + little(0, 4) + little(offset, 4) + name;
  return "PK\3\4" + common + little(0, 2) + name + data;
}

std::string zipEnd(const std::string &directory, size_t entries, size_t offset) {
  return directory + "PK\5\6" + little(0, 4) + little(entries, 2) + little(entries, 2) +
         little(directory.size(), 4) + little(offset, 4) + little(0, 2);
}

std::string recordPart(unsigned flag, const std::string &bytes) {
  return little(0xced7230a, 4) + little(flag << 29 | bytes.size(), 4) + bytes +
         std::string((4 - bytes.size() % 4) % 4, 0);
}

std::string pngChunk(const std::string &name, const std::string &data) {
  return big(data.size(), 4) + name + data + big(sumOf(name + data), 4);
}

std::string withChecksum(std::string file) {
  const std::string key = "\"mx.crc32\":\"";
  size_t at = file.find(key);
  if (at == std::string::npos || at + key.size() + 8 > file.size())
    return file;
  at += key.size();
  file.replace(at, 8, "00000000");
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08x", sumOf(file));
  return file.replace(at, 8, digits);
}

} // namespace mxrt::test
