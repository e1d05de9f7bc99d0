// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that move elements, and the errors of indices out of range.
#include "LoweringTestSupport.h"
#include <functional>

namespace mx::lowering {
namespace {

/// A kernel of one op: `ins` are the types of %a0, %a1, …; `op` is its text without the types.
Kernel one(const std::vector<std::string> &ins, const std::string &op, const std::string &out,
           const std::string &sizes = "\"N\"", bool functional = true) {
  auto tensor = [](const std::string &t) { return "!mx.tensor<" + t + ">"; };
  std::string outer, inner, names, types;
  for (size_t i = 0; i < ins.size(); ++i) {
    std::string comma = i ? ", " : "", n = std::to_string(i);
    outer += comma + "%x" + n + ": " + tensor(ins[i]);
    inner += comma + "%a" + n + ": " + tensor(ins[i]);
    names += comma + "%x" + n;
    types += comma + tensor(ins[i]);
  }
  std::string signature =
      functional ? "(" + types + ") -> " + tensor(out) : tensor(ins[0]) + " -> " + tensor(out);
  return compiler().fromText(
      "mx.func @k(" + outer + ") -> " + tensor(out) + " attributes {sizes = [" + sizes +
      "]} {\n  %k = mx.kernel(" + names + ") attributes {sizes = [" + sizes + "]} : (" + types +
      ") -> " + tensor(out) + " {\n  ^bb0(" + inner + "):\n    %r = " + op + " : " + signature +
      "\n    mx.yield %r : " + tensor(out) + "\n  }\n  mx.return %k : " + tensor(out) + "\n}");
}

std::vector<int32_t> count(size_t n) {
  std::vector<int32_t> out;
  for (size_t i = 0; i < n; ++i)
    out.push_back(static_cast<int32_t>(i));
  return out;
}

TEST(Movement, ReshapeTransposeBroadcast) {
  std::vector<int32_t> x = count(24), got(24);
  Kernel reshape = one({"i32[N, 4]"}, "mx.reshape %a0", "i32[2, 2*N]", "\"N\"", false);
  ASSERT_EQ(reshape({address(x), address(got)}, {6}).code, 0);
  EXPECT_EQ(got, x);
  Kernel transpose =
      one({"i32[2, N, 4]"}, "mx.transpose %a0 by [2, 0, 1]", "i32[4, 2, N]", "\"N\"", false);
  ASSERT_EQ(transpose({address(x), address(got)}, {3}).code, 0);
  for (int a = 0; a < 4; ++a)
    for (int b = 0; b < 2; ++b)
      for (int c = 0; c < 3; ++c)
        EXPECT_EQ(got[static_cast<size_t>((a * 2 + b) * 3 + c)], (b * 3 + c) * 4 + a);
  Kernel broadcast = one({"i32[N, 1]"}, "mx.broadcast %a0", "i32[2, N, 4]", "\"N\"", false);
  ASSERT_EQ(broadcast({address(x), address(got)}, {3}).code, 0);
  for (int i = 0; i < 24; ++i)
    EXPECT_EQ(got[static_cast<size_t>(i)], i / 4 % 3);
  Kernel to = one({"i32[N]"}, "mx.to %a0", "i32[N] on \"cpu:1\"", "\"N\"", false);
  ASSERT_EQ(to({address(x), address(got)}, {24}).code, 0);
  EXPECT_EQ(got, x);
}

TEST(Movement, ReshapeOfStridedAndComputed) {
  Kernel kernel = compiler().fromText(R"(
mx.func @k(%x: !mx.tensor<i32[M, N]>) -> !mx.tensor<i32[M*N]> attributes {sizes = ["M", "N"]} {
  %k = mx.kernel(%x) attributes {sizes = ["M", "N"], strided = array<i1: true>} : (!mx.tensor<i32[M, N]>) -> !mx.tensor<i32[M*N]> {
  ^bb0(%a: !mx.tensor<i32[M, N]>):
    %n = mx.neg %a : (!mx.tensor<i32[M, N]>) -> !mx.tensor<i32[M, N]>
    %r = mx.reshape %n : !mx.tensor<i32[M, N]> -> !mx.tensor<i32[M*N]>
    mx.yield %r : !mx.tensor<i32[M*N]>
  }
  mx.return %k : !mx.tensor<i32[M*N]>
})");
  std::vector<int32_t> x = count(12), got(12);
  ASSERT_EQ(kernel({address(x), address(got)}, {3, 4, 1, 3}).code, 0);
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(got[static_cast<size_t>(i)], -((i % 4) * 3 + i / 4));
}

TEST(Movement, FullIotaConstant) {
  std::vector<int32_t> got(6), seven{7};
  Kernel full = one({"i32[]"}, "mx.full %a0", "i32[N, 2]", "\"N\"", false);
  ASSERT_EQ(full({address(seven), address(got)}, {3}).code, 0);
  EXPECT_EQ(got, std::vector<int32_t>(6, 7));
  std::vector<BF16> halfs(6);
  Kernel iota = compiler().fromKey("iota -> bf16:1c");
  ASSERT_EQ(iota({address(halfs)}, {6}).code, 0);
  EXPECT_EQ(static_cast<double>(halfs[5]), 5);
  auto constant = [](const std::string &value, const std::string &type) {
    return compiler().fromText("mx.func @k() -> !mx.tensor<" + type +
                               "> attributes {sizes = []} { %k = mx.kernel() : () -> !mx.tensor<" +
                               type + "> { %c = mx.constant " + value + " -> !mx.tensor<" + type +
                               ">\n mx.yield %c : !mx.tensor<" + type +
                               ">\n }\n mx.return %k : !mx.tensor<" + type + ">\n}");
  };
  ASSERT_EQ(
      constant("dense<[[1, 2, 3], [4, 5, -6]]> : tensor<2x3xi32>", "i32[2, 3]")({address(got)}, {})
          .code,
      0);
  EXPECT_EQ(got, (std::vector<int32_t>{1, 2, 3, 4, 5, -6}));
  std::vector<uint8_t> bytes(3);
  ASSERT_EQ(
      constant("dense<[true, false, true]> : tensor<3xi1>", "bool[3]")({address(bytes)}, {}).code,
      0);
  EXPECT_EQ(bytes, (std::vector<uint8_t>{1, 0, 1}));
  ASSERT_EQ(constant("dense<[1, 200, 255]> : tensor<3xui8>", "u8[3]")({address(bytes)}, {}).code,
            0);
  EXPECT_EQ(bytes, (std::vector<uint8_t>{1, 200, 255}));
  std::vector<F16> f16(2);
  ASSERT_EQ(constant("dense<[1.5, -2.0]> : tensor<2xf16>", "f16[2]")({address(f16)}, {}).code, 0);
  EXPECT_EQ(static_cast<double>(f16[1]), -2);
  ASSERT_EQ(constant("dense<3> : tensor<6xi32>", "i32[6]")({address(got)}, {}).code, 0);
  EXPECT_EQ(got, std::vector<int32_t>(6, 3));
}

TEST(Movement, SliceIndices) {
  Kernel slice =
      one({"i32[N, 3]", "i64[] on host"}, "mx.slice %a0 [\"i\", \":\"] at (%a1)", "i32[3]");
  std::vector<int32_t> x = count(12), got(3);
  auto at = [&](int64_t i) { return slice({address(x), &i, address(got)}, {4}); };
  EXPECT_EQ(at(1).code, 0);
  EXPECT_EQ(got, (std::vector<int32_t>{3, 4, 5}));
  EXPECT_EQ(at(-1).code, 0);
  EXPECT_EQ(got, (std::vector<int32_t>{9, 10, 11}));
  EXPECT_EQ(at(-4).code, 0);
  EXPECT_EQ(at(4).code, 204);
  EXPECT_EQ(at(4).message, "index 4 is out of range for axis 0 of size 4");
  EXPECT_EQ(at(-5).message, "index -5 is out of range for axis 0 of size 4");
  EXPECT_EQ(at(INT64_MIN).message,
            "index -9223372036854775808 is out of range for axis 0 of size 4");
  EXPECT_EQ(at(INT64_MAX).code, 204);
}

/// x[from:to:step] as in Python, where nothing is clamped.
TEST(Movement, SliceRanges) {
  Kernel all = one({"i32[N]", "i64[]", "i64[]", "i64[]"},
                   "mx.slice %a0 [\"rfts\"] at (%a1, %a2, %a3)", "i32[M]", "\"N\", \"M\"");
  Kernel step =
      one({"i32[N]", "i64[]"}, "mx.slice %a0 [\"rs\"] at (%a1)", "i32[M]", "\"N\", \"M\"");
  ASSERT_TRUE(all && step);
  for (int64_t n : {0, 1, 5})
    for (int64_t s = -3; s <= 3; ++s) {
      for (int64_t from = -n - 1; from <= n + 1; ++from)
        for (int64_t to = -n - 1; to <= n + 1; ++to) {
          std::vector<int32_t> x = count(static_cast<size_t>(n)), expected, got(8, -1);
          int64_t last = s < 0 ? n - 1 : n;
          bool fits = from >= -n && from <= last && to >= -n && to <= last;
          int64_t f = from < 0 ? from + n : from, t = to < 0 ? to + n : to;
          if (fits && s != 0)
            for (int64_t i = f; s > 0 ? i < t : i > t; i += s)
              expected.push_back(static_cast<int32_t>(i));
          int64_t fr = from, en = to, st = s;
          auto m = static_cast<int64_t>(expected.size());
          Outcome outcome = all({address(x), &fr, &en, &st, address(got)}, {n, m});
          EXPECT_EQ(outcome.code, s != 0 && fits ? 0 : 204)
              << n << ": " << from << ":" << to << ":" << s << " " << outcome.message;
          if (outcome.code == 0) {
            got.resize(expected.size());
            EXPECT_EQ(got, expected) << from << ":" << to << ":" << s;
            EXPECT_EQ(all({address(x), &fr, &en, &st, address(got)}, {n, m + 1}).code, 201);
          }
        }
      if (s == 0)
        continue;
      std::vector<int32_t> x = count(static_cast<size_t>(n)), expected, got(8);
      for (int64_t i = s > 0 ? 0 : n - 1; i >= 0 && i < n; i += s)
        expected.push_back(static_cast<int32_t>(i));
      int64_t st = s;
      ASSERT_EQ(
          step({address(x), &st, address(got)}, {n, static_cast<int64_t>(expected.size())}).code,
          0);
      got.resize(expected.size());
      EXPECT_EQ(got, expected);
    }
}

TEST(Movement, SliceWithNewAxes) {
  Kernel kernel = one({"i32[2, N]", "i32[]", "i64[]"},
                      "mx.slice %a0 [\"n\", \"rf\", \"n\", \"i\"] at (%a1, %a2)", "i32[1, 1, 1]");
  std::vector<int32_t> x = count(6), got(1), from{1};
  int64_t at = -2;
  ASSERT_EQ(kernel({address(x), address(from), &at, address(got)}, {3}).code, 0);
  EXPECT_EQ(got[0], 4);
}

TEST(Movement, Update) {
  Kernel row = one({"i32[N, 3]", "i32[3]", "i64[]"}, "mx.update %a0, %a1 [\"i\", \":\"] at (%a2)",
                   "i32[N, 3]");
  std::vector<int32_t> x = count(9), v{-1, -2, -3}, got(9);
  int64_t at = -1;
  ASSERT_EQ(row({address(x), address(v), &at, address(got)}, {3}).code, 0);
  EXPECT_EQ(got, (std::vector<int32_t>{0, 1, 2, 3, 4, 5, -1, -2, -3}));
  at = 3;
  EXPECT_EQ(row({address(x), address(v), &at, address(got)}, {3}).message,
            "index 3 is out of range for axis 0 of size 3");
  Kernel range = one({"i32[N, 3]", "i32[]", "i64[]", "i64[]"},
                     "mx.update %a0, %a1 [\":\", \"rfs\"] at (%a2, %a3)", "i32[N, 3]");
  int64_t from = 2, step = -2;
  ASSERT_EQ(range({address(x), address(v), &from, &step, address(got)}, {3}).code, 0);
  EXPECT_EQ(got, (std::vector<int32_t>{-1, 1, -1, -1, 4, -1, -1, 7, -1}));
  Kernel part = one({"i32[N]", "i32[M]", "i64[]"}, "mx.update %a0, %a1 [\"rt\"] at (%a2)", "i32[N]",
                    "\"N\", \"M\"");
  int64_t to = 3;
  EXPECT_EQ(part({address(x), address(v), &to, address(got)}, {9, 3}).code, 0);
  EXPECT_EQ(got, (std::vector<int32_t>{-1, -2, -3, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(part({address(x), address(v), &to, address(got)}, {9, 2}).message,
            "a value of size 2 does not fit a part of size 3");
}

TEST(Movement, Concat) {
  Kernel kernel = one({"i32[2, N]", "i32[2, M]", "i32[2, 1]"}, "mx.concat %a0, %a1, %a2 along 1",
                      "i32[2, N + M + 1]", "\"N\", \"M\"");
  std::vector<int32_t> x = count(4), y = count(6), z{-1, -2}, got(12);
  ASSERT_EQ(kernel({address(x), address(y), address(z), address(got)}, {2, 3}).code, 0);
  EXPECT_EQ(got, (std::vector<int32_t>{0, 1, 0, 1, 2, -1, 2, 3, 3, 4, 5, -2}));
  ASSERT_EQ(kernel({address(x), address(y), address(z), address(got)}, {0, 0}).code, 0);
  EXPECT_EQ(got[1], -2);
}

TEST(Movement, Take) {
  Kernel kernel = compiler().fromKey("take f32:3s,i32:1c -> f32:3c");
  std::vector<float> x(24), got(2 * 5 * 3);
  for (size_t i = 0; i < 24; ++i)
    x[i] = static_cast<float>(i);
  std::vector<int32_t> index{0, 3, -1, 1, -4};
  auto run = [&] {
    // The sizes, the axis that errors speak of, the strides.
    return kernel({address(x), address(index), address(got)}, {2, 4, 3, 5, 6, 12, 3, 1});
  };
  ASSERT_EQ(run().code, 0);
  for (size_t a = 0; a < 2; ++a)
    for (size_t i = 0; i < 5; ++i)
      for (size_t b = 0; b < 3; ++b)
        EXPECT_EQ(got[(a * 5 + i) * 3 + b],
                  static_cast<float>(a * 12 + static_cast<size_t>((index[i] + 4) % 4) * 3 + b));
  index = {0, 7, -9, 0, 0};
  EXPECT_EQ(run().code, 204);
  EXPECT_EQ(run().message, "index 7 is out of range for axis 6 of size 4");
  // Two axes of indices, in the middle of ops.
  Kernel matrix = compiler().fromText(R"(
mx.func @k(%x: !mx.tensor<f32[N, 2]>, %i: !mx.tensor<i64[2, 2]>) -> !mx.tensor<f32[2, 2, 2]> attributes {sizes = ["N"]} {
  %k = mx.kernel(%x, %i) attributes {sizes = ["N"]} : (!mx.tensor<f32[N, 2]>, !mx.tensor<i64[2, 2]>) -> !mx.tensor<f32[2, 2, 2]> {
  ^bb0(%a: !mx.tensor<f32[N, 2]>, %b: !mx.tensor<i64[2, 2]>):
    %m = mx.neg %b : (!mx.tensor<i64[2, 2]>) -> !mx.tensor<i64[2, 2]>
    %t = mx.take %a, %m along 0 : (!mx.tensor<f32[N, 2]>, !mx.tensor<i64[2, 2]>) -> !mx.tensor<f32[2, 2, 2]>
    %r = mx.add %t, %t : (!mx.tensor<f32[2, 2, 2]>, !mx.tensor<f32[2, 2, 2]>) -> !mx.tensor<f32[2, 2, 2]>
    mx.yield %r : !mx.tensor<f32[2, 2, 2]>
  }
  mx.return %k : !mx.tensor<f32[2, 2, 2]>
})");
  std::vector<int64_t> indices{0, -1, 1, 2};
  std::vector<float> out(8);
  ASSERT_EQ(matrix({address(x), address(indices), address(out)}, {3}).code, 0);
  EXPECT_EQ(out, (std::vector<float>{0, 2, 4, 6, 8, 10, 4, 6}));
}

} // namespace
} // namespace mx::lowering
