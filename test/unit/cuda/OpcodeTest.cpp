// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every instruction of OpcodeCases.h on more than 1,000 operands against its reference.
#include "Emulator.h"
#include "OpcodeCases.h"

#include <cmath>
#include <random>
#include <sstream>

namespace mxemu {

static std::vector<std::string> typesOf(const OpcodeCase &opcode) {
  std::istringstream words(opcode.types);
  std::vector<std::string> result;
  for (std::string word; words >> word;)
    result.push_back(word);
  return result;
}
static unsigned bytesOfType(const std::string &type) {
  if (type == "f16" || type == "bf16" || type == "u8" || type == "s8")
    return 2; // bytes travel in 16 bits
  if (type.size() > 3 && type.substr(type.size() - 2) == "x2")
    return 4;
  return unsigned(std::stoi(type.substr(1))) / 8;
}
static std::string registerType(const std::string &type) {
  unsigned bytes = bytesOfType(type);
  if (type == "f32" || type == "f64")
    return type;
  return "b" + std::to_string(8 * bytes);
}

std::string entryText(const OpcodeCase &opcode, size_t index) {
  auto types = typesOf(opcode);
  std::string name = "op" + std::to_string(index), text = ".visible .entry " + name + "(";
  const char *registers[] = {"d", "a", "b", "c"};
  for (size_t i = 0; i < 4; ++i)
    text += (i ? ", " : "") + std::string(".param .u64 ") + name + "_" + registers[i];
  text += ")\n{\n  .reg .pred %p, %q;\n  .reg .b32 %i;\n  .reg .b64 %at, %base;\n";
  for (size_t i = 0; i < types.size(); ++i)
    text += "  .reg ." + registerType(types[i]) + " %" + registers[i] + ";\n";
  text += "  { .reg .b32 %x, %y; mov.u32 %x, %ctaid.x; mov.u32 %y, %tid.x; mad.lo.u32 %i, %x, 128, "
          "%y; }\n";
  for (size_t i = 1; i < types.size(); ++i) {
    std::string bytes = std::to_string(bytesOfType(types[i]));
    text += "  ld.param.u64 %base, [" + name + "_" + registers[i] + "];\n  mul.wide.u32 %at, %i, " +
            bytes + ";\n  add.s64 %at, %at, %base;\n  ld.global." + registerType(types[i]) + " %" +
            registers[i] + ", [%at];\n";
  }
  text += "  " + opcode.code + "\n";
  text += "  ld.param.u64 %base, [" + name + "_d];\n  mul.wide.u32 %at, %i, " +
          std::to_string(bytesOfType(types[0])) + ";\n  add.s64 %at, %at, %base;\n  st.global." +
          registerType(types[0]) + " [%at], %d;\n  ret;\n}\n";
  return text;
}

/// Values of a type: all special ones, then random ones of all magnitudes.
static std::vector<uint64_t> interesting(const std::string &type) {
  if (type == "f32")
    return {0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000,
            0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001, 0x7f7fffff, 0xff7fffff,
            0x7f800000, 0xff800000, 0x7fc00000, 0x7fffffff, 0xffc00001, 0x4f000000,
            0xcf000000, 0x5f000000, 0x3f000000, 0x3fc00000, 0x40200000, 0x33800000,
            0x477fe000, 0x477ff000, 0x33000000, 0x4b000001, 0x4b7fffff};
  if (type == "f64")
    return {0,
            1ull << 63,
            1,
            0x800fffffffffffff,
            0x0010000000000000,
            0x3ff0000000000000,
            0xbff0000000000000,
            0x3fefffffffffffff,
            0x3ff0000000000001,
            0x7fefffffffffffff,
            0x7ff0000000000000,
            0xfff0000000000000,
            0x7ff8000000000000,
            0x41e0000000000000,
            0xc1e0000000000000,
            0x43e0000000000000,
            0xc3e0000000000000,
            0x43f0000000000000,
            0x47efffffe0000000,
            0x47effffff0000000,
            0x3fe0000000000000,
            0x3ff8000000000000,
            0x4004000000000000,
            0x36a0000000000000,
            0x3690000000000000,
            0x380fffffffffffff};
  if (type == "f16" || type == "f16x2")
    return {0,      0x8000, 1,      0x8001, 0x3ff,  0x400,  0x3c00, 0xbc00, 0x3bff,
            0x3c01, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x7fff, 0x3800, 0x3e00};
  if (type == "bf16" || type == "bf16x2")
    return {0,      0x8000, 1,      0x8001, 0x7f,   0x80,   0x3f80, 0xbf80, 0x3f7f,
            0x3f81, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0x7fff, 0x3f00, 0x3fc0};
  return {0,
          1,
          2,
          3,
          31,
          32,
          33,
          63,
          64,
          65,
          0x7f,
          0x80,
          0xff,
          0x100,
          0x7fff,
          0x8000,
          0xffff,
          0x10000,
          0x7fffffff,
          0x80000000,
          0xffffffff,
          0x100000000,
          0x7fffffffffffffff,
          0x8000000000000000,
          0xffffffffffffffff,
          0xaaaaaaaaaaaaaaaa,
          0x5555555555555555};
}

constexpr size_t count = 1536;

static std::vector<uint64_t> operands(const std::string &type, size_t position,
                                      std::mt19937_64 &random) {
  auto special = interesting(type);
  std::vector<uint64_t> values(count);
  for (size_t i = 0; i < count; ++i) {
    // The first thousand are pairs of special values, with a third one that runs along.
    if (i < special.size() * special.size() && i < 1000)
      values[i] = special[position == 0   ? i / special.size()
                          : position == 1 ? i % special.size()
                                          : (i * 7 + i / 13) % special.size()];
    else if (random() % 4 == 0)
      values[i] = special[random() % special.size()];
    else
      values[i] = random() >> (random() % 3 == 0 ? random() % 60 : 0);
    if (type == "f32" && i >= 1000 &&
        random() % 2) { // close exponents, so that sums cancel and round
      values[i] = (values[i] & 0x807fffff) | ((120 + random() % 16) << 23);
    }
    if (type == "f64" && i >= 1000 && random() % 2)
      values[i] = (values[i] & 0x800fffffffffffff) | ((1016 + random() % 16) << 52);
    if ((type == "bf16" || type == "bf16x2") && i >= 500) // exponents whose sums 64 bits can hold
      values[i] = (values[i] & 0x807f) | ((100 + random() % 40) << 7) | (values[i] & 0x807f) << 16 |
                  uint64_t(100 + random() % 40) << 23;
  }
  return values;
}

static bool isNan(const std::string &type, uint64_t bits) {
  if (type == "f32")
    return (bits & 0x7fffffff) > 0x7f800000;
  if (type == "f64")
    return (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
  if (type == "f16")
    return (bits & 0x7fff) > 0x7c00;
  return type == "bf16" && (bits & 0x7fff) > 0x7f80;
}

class Opcodes : public Gpu {
protected:
  void check(const std::vector<OpcodeCase> &cases) {
    std::string text;
    for (size_t i = 0; i < cases.size(); ++i)
      text += entryText(cases[i], i);
    CUmodule module = load(moduleText(text));
    ASSERT_TRUE(module);
    for (size_t i = 0; i < cases.size(); ++i)
      checkOne(cases[i], find(module, ("op" + std::to_string(i)).c_str()));
  }

  void checkOne(const OpcodeCase &opcode, CUfunction function) {
    std::mt19937_64 random(std::hash<std::string>()(opcode.types));
    auto types = typesOf(opcode);
    std::vector<std::vector<uint64_t>> values(3, std::vector<uint64_t>(count));
    CUdeviceptr addresses[4] = {};
    for (size_t p = 0; p + 1 < types.size(); ++p) {
      unsigned bytes = bytesOfType(types[p + 1]);
      values[p] = operands(types[p + 1], p, random);
      std::vector<char> packed(count * bytes);
      for (size_t i = 0; i < count; ++i)
        std::memcpy(&packed[i * bytes], &values[p][i], bytes);
      addresses[p + 1] = upload(packed);
    }
    unsigned bytes = bytesOfType(types[0]);
    addresses[0] = allocate(count * bytes);
    ASSERT_EQ(launch(function, Shape(count / 128, 128), addresses[0], addresses[1], addresses[2],
                     addresses[3]),
              0)
        << opcode.name << ": " << cuda().mxemuLastFinding();
    auto results = download<char>(addresses[0], count * bytes);
    int shown = 0;
    for (size_t i = 0; i < count && shown < 3; ++i) {
      uint64_t got = 0, want = opcode.expected(values[0][i], values[1][i], values[2][i]);
      std::memcpy(&got, &results[i * bytes], bytes);
      uint64_t mask = bytes == 8 ? ~uint64_t(0) : (uint64_t(1) << (8 * bytes)) - 1;
      bool same = got == (want & mask) || (isNan(types[0], got) && isNan(types[0], want));
      // 1,024 pairs have NaNs; those of a pair of halves are compared half by half
      if (!same && (types[0] == "f16x2" || types[0] == "bf16x2")) {
        std::string halfType = types[0].substr(0, types[0].size() - 2);
        auto halves = [&](int s) {
          uint64_t g = got >> s & 0xffff, w = want >> s & 0xffff;
          return g == w || (isNan(halfType, g) && isNan(halfType, w));
        };
        same = halves(0) && halves(16);
      }
      if (!same && (opcode.tolerance || opcode.absolute)) {
        float g, w;
        std::memcpy(&g, &got, 4);
        uint32_t word = uint32_t(want);
        std::memcpy(&w, &word, 4);
        same = std::fabs(double(g) - double(w)) <=
               std::max(opcode.absolute, opcode.tolerance * std::fabs(double(w)));
      }
      if (!same) {
        ++shown;
        ADD_FAILURE() << opcode.name << " of " << std::hex << values[0][i] << ", " << values[1][i]
                      << ", " << values[2][i] << ": got " << got << ", expected " << (want & mask);
      }
    }
    for (auto address : addresses)
      cuda().cuMemFree_v2(address);
  }
};

TEST_F(Opcodes, Integers) { check(integerCases()); }
TEST_F(Opcodes, Floats) { check(floatCases()); }
TEST_F(Opcodes, Conversions) { check(convertCases()); }

} // namespace mxemu
