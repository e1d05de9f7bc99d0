// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bf16 matmuls by the instructions of CPUs that have them. Here plain code emulates the
// instructions; it is compared with what their manual says, written down once more below, bit by
// bit, and with f64. Code for CPUs that have them is compiled and read.
#include "LoweringTestSupport.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace mx::lowering {
namespace {

using Vector = std::vector<BF16>;

// ------------------------------------------------------------------------------- what is right

float flush(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }
float factor(BF16 x) { return flush(static_cast<float>(static_cast<double>(x))); }
/// x * y + z, rounded once: the product of two bf16 is exact in f64, but the sum may need more
/// digits than f64 has, so it is the FMA of f32 that is asked.
float multiplyAdd(float x, float y, float z) { return flush(std::fma(x, y, z)); }

/// TDPBF16PS on steps of 32.
float byAmx(const Vector &x, const Vector &y) {
  float sum = 0;
  for (size_t k0 = 0; k0 < x.size(); k0 += 32) {
    float parts[2] = {};
    for (size_t k = k0; k < std::min(x.size(), k0 + 32); ++k)
      parts[k % 2] = multiplyAdd(factor(x[k]), factor(y[k]), parts[k % 2]);
    sum = flush(sum + flush(parts[0] + parts[1]));
  }
  return sum;
}
/// VDPBF16PS on pairs.
float byAvx512Bf16(const Vector &x, const Vector &y) {
  float sum = 0;
  for (size_t k = 0; k < x.size(); k += 2) {
    if (k + 1 < x.size())
      sum = multiplyAdd(factor(x[k + 1]), factor(y[k + 1]), sum);
    sum = multiplyAdd(factor(x[k]), factor(y[k]), sum);
  }
  return sum;
}

/// Of about 1, with signs and some zeros.
Vector numbers(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Vector out;
  for (size_t i = 0; i < count; ++i)
    out.push_back(BF16(random() % 9 ? normal(random) : 0.0));
  return out;
}

/// One element of a result: its bits, and how far it is from the sum in f64. That is at most a half
/// unit of bf16 for the result, and one of f32 of the sum of magnitudes for each product and sum.
void expectSum(const char *unit, BF16 got, const Vector &x, const Vector &y, float sum,
               const std::string &where) {
  double exact = 0, magnitude = 0;
  for (size_t k = 0; k < x.size(); ++k) {
    double product = static_cast<double>(x[k]) * static_cast<double>(y[k]);
    exact += product;
    magnitude += std::abs(product);
  }
  double bound =
      std::abs(exact) * 0x1p-8 + magnitude * (static_cast<double>(x.size()) + 1) * 0x1p-23;
  ASSERT_LE(std::abs(static_cast<double>(got) - exact), bound) << unit << " " << where;
  ASSERT_TRUE(same(got, BF16(sum)))
      << unit << " " << where << ": " << static_cast<double>(got) << ", not " << sum;
}

struct Unit {
  const char *name;
  float (*sum)(const Vector &, const Vector &);
};
constexpr Unit kUnits[] = {{"emulated-amx", byAmx}, {"emulated-avx512bf16", byAvx512Bf16}};

KernelOptions with(const char *unit) {
  KernelOptions options;
  options.target.bf16 = Bf16Unit::parse(unit).value();
  return options;
}
int64_t i64(size_t v) { return static_cast<int64_t>(v); }

// ------------------------------------------------------------------------------------- kernels

/// Open sizes, as eager code has them: dense operands, and both transposed.
TEST(Bf16Matmul, OfAllSizesAndStrides) {
  struct {
    size_t g, m, n, k;
  } sizes[] = {{1, 1, 1, 1},     {2, 3, 5, 7},     {1, 17, 33, 19},   {1, 4, 300, 8},
               {0, 2, 2, 2},     {1, 0, 3, 2},     {1, 3, 0, 2},      {2, 3, 4, 0},
               {1, 64, 64, 64},  {3, 5, 1, 9},     {1, 1, 257, 3},    {1, 33, 31, 513},
               {1, 32, 32, 512}, {1, 32, 32, 544}, {2, 65, 20, 1030}, {1, 257, 40, 33},
               {1, 31, 289, 96}};
  for (const Unit &unit : kUnits) {
    Kernel dense = compiler().fromKey("matmul bf16:3c,bf16:3c -> bf16:3c", with(unit.name));
    Kernel strided = compiler().fromKey("matmul bf16:3s,bf16:3s -> bf16:3c", with(unit.name));
    ASSERT_TRUE(dense && strided);
    for (auto [g, m, n, k] : sizes) {
      Vector x = numbers(g * m * k, 1), y = numbers(g * k * n, 2), got(g * m * n), again(g * m * n);
      ASSERT_EQ(
          dense({address(x), address(y), address(got)}, {i64(g), i64(m), i64(n), i64(k)}).code, 0);
      Vector xt(x.size()), yt(y.size());
      for (size_t b = 0; b < g; ++b)
        for (size_t p = 0; p < k; ++p) {
          for (size_t i = 0; i < m; ++i)
            xt[(b * k + p) * m + i] = x[(b * m + i) * k + p];
          for (size_t j = 0; j < n; ++j)
            yt[(b * n + j) * k + p] = y[(b * k + p) * n + j];
        }
      for (size_t b = 0; b < g; ++b)
        for (size_t i = 0; i < m; ++i)
          for (size_t j = 0; j < n; ++j) {
            Vector row(x.begin() + i64((b * m + i) * k), x.begin() + i64((b * m + i + 1) * k));
            Vector column(yt.begin() + i64((b * n + j) * k), yt.begin() + i64((b * n + j + 1) * k));
            expectSum(unit.name, got[(b * m + i) * n + j], row, column, unit.sum(row, column),
                      std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) +
                          " at " + std::to_string(i) + ", " + std::to_string(j));
            if (HasFatalFailure())
              return;
          }
      ASSERT_EQ(
          strided({address(xt), address(yt), address(again)},
                  {i64(g), i64(m), i64(n), i64(k), i64(k * m), 1, i64(m), i64(n * k), 1, i64(k)})
              .code,
          0);
      for (size_t i = 0; i < got.size(); ++i)
        ASSERT_TRUE(same(got[i], again[i])) << unit.name << " strided";
    }
  }
}

/// A matmul of known sizes, as graphs have them: x of [A, M, K] or its transpose, y of [K, N] or
/// its transpose, for all of A; or of A matrices. The sums are turned into f32, and get a row added
/// and negative ones cut off, as in a dense layer of a function with @amp.
std::string layer(size_t a, size_t m, size_t n, size_t k, bool swapX, bool swapY, bool many) {
  auto type = [](const char *element, std::vector<size_t> sizes) {
    std::string text = std::string("!mx.tensor<") + element + "[";
    for (size_t i = 0; i < sizes.size(); ++i)
      text += (i ? ", " : "") + std::to_string(sizes[i]);
    return text + "]>";
  };
  std::string X = swapX ? type("bf16", {a, k, m}) : type("bf16", {a, m, k}),
              left = type("bf16", {a, m, k}), B = type("f32", {n}), S = type("bf16", {a, m, n}),
              R = type("f32", {a, m, n});
  auto matrix = [&](size_t p, size_t q) {
    return many ? type("bf16", {a, p, q}) : type("bf16", {p, q});
  };
  std::string Y = swapY ? matrix(n, k) : matrix(k, n), right = matrix(k, n);
  std::string body = "^bb0(%x0: " + X + ", %y0: " + Y + ", %b: " + B + "):\n";
  std::string x = "%x0", y = "%y0";
  if (swapX) {
    body += "%x1 = mx.transpose %x0 by [0, 2, 1] : " + X + " -> " + left + "\n";
    x = "%x1";
  }
  if (swapY) {
    body += std::string("%y1 = mx.transpose %y0 by [") + (many ? "0, 2, 1" : "1, 0") + "] : " + Y +
            " -> " + right + "\n";
    y = "%y1";
  }
  body += "%p = mx.matmul " + x + ", " + y + " : (" + left + ", " + right + ") -> " + S +
          "\n%w = mx.cast %p : (" + S + ") -> " + R + "\n%s = mx.add %w, %b : (" + R + ", " + B +
          ") -> " + R +
          "\n%o = mx.constant 0.0 : f32 -> !mx.tensor<f32[]>\n%r = mx.maximum %s, %o : (" + R +
          ", !mx.tensor<f32[]>) -> " + R + "\nmx.yield %r : " + R + "\n";
  std::string arguments = X + ", " + Y + ", " + B;
  return "mx.func @k(%x: " + X + ", %y: " + Y + ", %z: " + B + ") -> " + R +
         " attributes {sizes = []} {\n%k = mx.kernel(%x, %y, %z) attributes {sizes = []} : (" +
         arguments + ") -> " + R + " {\n" + body + "}\nmx.return %k : " + R + "\n}";
}

TEST(Bf16Matmul, OfKnownSizesWithOpsAfter) {
  struct {
    size_t a, m, n, k;
    bool swapX, swapY, many;
  } cases[] = {{1, 1, 1, 1, false, false, false},    {2, 16, 32, 32, true, false, false},
               {1, 40, 50, 600, false, true, false}, {3, 64, 96, 64, true, true, false},
               {1, 70, 33, 512, false, false, true}, {3, 33, 65, 100, true, false, true},
               {2, 40, 50, 600, false, true, true},  {2, 32, 64, 31, true, true, true},
               {3, 64, 96, 64, false, false, false}, {2, 3, 0, 5, false, false, false},
               {2, 3, 5, 0, false, false, false}};
  for (const Unit &unit : kUnits)
    for (auto [a, m, n, k, swapX, swapY, many] : cases) {
      Kernel kernel = compiler().fromText(layer(a, m, n, k, swapX, swapY, many), with(unit.name));
      ASSERT_TRUE(kernel);
      size_t matrices = many ? a : 1;
      Vector x = numbers(a * m * k, 1), y = numbers(matrices * k * n, 2);
      std::vector<float> b(n), got(a * m * n);
      for (size_t j = 0; j < n; ++j)
        b[j] = static_cast<float>(j % 7) - 3;
      ASSERT_EQ(kernel({address(x), address(y), address(b), address(got)}, {}).code, 0);
      for (size_t g = 0; g < a; ++g)
        for (size_t i = 0; i < m; ++i)
          for (size_t j = 0; j < n; ++j) {
            Vector row, column;
            for (size_t p = 0; p < k; ++p) {
              row.push_back(x[swapX ? (g * k + p) * m + i : (g * m + i) * k + p]);
              size_t h = many ? g : 0;
              column.push_back(y[swapY ? (h * n + j) * k + p : (h * k + p) * n + j]);
            }
            float sum = static_cast<float>(
                static_cast<double>(BF16(static_cast<double>(unit.sum(row, column)))));
            ASSERT_EQ(got[(g * m + i) * n + j], std::max(sum + b[j], 0.0f))
                << unit.name << " " << a << "x" << m << "x" << n << "x" << k
                << (swapX ? " left" : "") << (swapY ? " right" : "");
          }
    }
}

TEST(Bf16Matmul, OfVectors) {
  auto text = [](const std::string &x, const std::string &y, const std::string &r) {
    std::string X = "!mx.tensor<bf16" + x + ">", Y = "!mx.tensor<bf16" + y + ">",
                R = "!mx.tensor<bf16" + r + ">";
    return "mx.func @k(%x: " + X + ", %y: " + Y + ") -> " + R +
           " attributes {sizes = [\"M\", \"K\"]} { %k = mx.kernel(%x, %y) attributes {sizes = "
           "[\"M\", \"K\"]} : (" +
           X + ", " + Y + ") -> " + R + " {\n^bb0(%a: " + X + ", %b: " + Y +
           "):\n %0 = mx.matmul %a, %b : (" + X + ", " + Y + ") -> " + R + "\n mx.yield %0 : " + R +
           "\n}\n mx.return %k : " + R + "\n}";
  };
  const size_t M = 45, K = 70;
  Vector x = numbers(M * K, 1), v = numbers(K, 2), w = numbers(M, 3);
  for (const Unit &unit : kUnits) {
    Vector got(K);
    Kernel matrixVector = compiler().fromText(text("[M, K]", "[K]", "[M]"), with(unit.name));
    ASSERT_EQ(matrixVector({address(x), address(v), address(got)}, {M, K}).code, 0);
    for (size_t i = 0; i < M; ++i) {
      Vector row(x.begin() + i64(i * K), x.begin() + i64(i * K + K));
      expectSum(unit.name, got[i], row, v, unit.sum(row, v), "matrix by vector");
    }
    Kernel vectorMatrix = compiler().fromText(text("[M]", "[M, K]", "[K]"), with(unit.name));
    ASSERT_EQ(vectorMatrix({address(w), address(x), address(got)}, {M, K}).code, 0);
    for (size_t j = 0; j < K; ++j) {
      Vector column;
      for (size_t i = 0; i < M; ++i)
        column.push_back(x[i * K + j]);
      expectSum(unit.name, got[j], w, column, unit.sum(w, column), "vector by matrix");
    }
    Kernel dot = compiler().fromText(text("[K]", "[K]", "[]"), with(unit.name));
    ASSERT_EQ(dot({address(v), address(v), address(got)}, {M, K}).code, 0);
    expectSum(unit.name, got[0], v, v, unit.sum(v, v), "vectors");
  }
}

/// Denormal numbers are zeros, on both ends; infinities and NaN are what they are elsewhere, and
/// stay in their row and column.
TEST(Bf16Matmul, OfExtremeNumbers) {
  const double tiny = 0x1p-130, least = 0x1p-126,
               infinity = std::numeric_limits<double>::infinity(),
               nan = std::numeric_limits<double>::quiet_NaN();
  for (const Unit &unit : kUnits) {
    Kernel kernel = compiler().fromKey("matmul bf16:3c,bf16:3c -> bf16:3c", with(unit.name));
    auto matmul = [&](std::vector<double> x, std::vector<double> y) {
      Vector left(x.begin(), x.end()), right(y.begin(), y.end()), got(1);
      EXPECT_EQ(
          kernel({address(left), address(right), address(got)}, {1, 1, 1, i64(x.size())}).code, 0);
      EXPECT_TRUE(same(got[0], BF16(unit.sum(left, right)))) << unit.name;
      return static_cast<double>(got[0]);
    };
    EXPECT_EQ(matmul({tiny}, {0x1p100}), 0);
    EXPECT_EQ(matmul({least}, {0.5}), 0);
    EXPECT_EQ(matmul({least}, {1}), least);
    EXPECT_EQ(matmul({tiny, 1, 2}, {1, 3, 4}), 11);
    EXPECT_EQ(matmul({0x1p127}, {4}), infinity);
    EXPECT_EQ(matmul({1, infinity}, {1, 2}), infinity);
    EXPECT_TRUE(std::isnan(matmul({1, infinity}, {1, 0})));
    EXPECT_TRUE(std::isnan(matmul({nan}, {1})));
    // Zeros that fill up a tile meet zeros only.
    const size_t M = 3, N = 5, K = 7;
    Vector x = numbers(M * K, 1), y = numbers(K * N, 2), got(M * N);
    x[1 * K + 6] = BF16(nan);
    y[6 * N + 4] = BF16(infinity);
    ASSERT_EQ(kernel({address(x), address(y), address(got)}, {1, M, N, K}).code, 0);
    for (size_t i = 0; i < M; ++i)
      for (size_t j = 0; j < N; ++j)
        EXPECT_EQ(std::isfinite(static_cast<double>(got[i * N + j])), i != 1 && j != 4);
  }
}

/// Where the system refuses tiles the matmul is computed as on a CPU without them.
TEST(Bf16Matmul, IsWidenedWhereTilesAreRefused) {
  const size_t M = 50, N = 70, K = 600;
  Vector x = numbers(M * K, 1), y = numbers(K * N, 2);
  // A denormal number, which tiles take for 0.
  std::fill_n(x.begin(), K, BF16(0));
  x[0] = BF16(0x1p-130);
  y[0] = BF16(0x1p100);
  auto run = [&](const char *unit) {
    Vector got(M * N);
    Kernel kernel = compiler().fromKey("matmul bf16:3c,bf16:3c -> bf16:3c", with(unit));
    EXPECT_EQ(kernel({address(x), address(y), address(got)}, {1, M, N, K}).code, 0);
    EXPECT_EQ(compiler().code.find("mxrt_may_use_state") != std::string::npos,
              std::string(unit).find("amx") != std::string::npos);
    return got;
  };
  Vector widened = run("none"), refused = run("refused-amx"), tiles = run("emulated-amx");
  for (size_t i = 0; i < widened.size(); ++i)
    ASSERT_TRUE(same(widened[i], refused[i]));
  EXPECT_EQ(static_cast<double>(refused[0]), 0x1p-30);
  EXPECT_EQ(static_cast<double>(tiles[0]), 0);
}

TEST(Bf16Matmul, IsOfBf16Alone) {
  for (const char *type : {"f16", "f32", "i8"}) {
    std::string t = type;
    ASSERT_TRUE(compiler().fromKey("matmul " + t + ":3c," + t + ":3c -> " + t + ":3c",
                                   with("emulated-amx")));
    EXPECT_EQ(compiler().code.find(".bf16gemm"), std::string::npos) << type;
  }
}

// ---------------------------------------------------------------------------------------- code

/// The assembly of a kernel for a CPU that this machine need not be.
std::string assemblyOf(const std::string &text, const char *unit, const char *cpu) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, compiler().context.get());
  KernelOptions options = with(unit);
  options.target.vectorBits = 512;
  auto lowered = module ? lowerKernel(kernelOf(*module), "k", options) : nullptr;
  EXPECT_TRUE(lowered);
  if (!lowered)
    return "";
  llvm::LLVMContext context;
  target::CompileOptions compile;
  compile.lineTables = compile.wantObject = false;
  compile.wantAssembly = true;
  auto made = target::translateInto(context, *lowered, compile);
  EXPECT_TRUE(made) << made.message();
  if (!made)
    return "";
  for (llvm::Function &function : **made)
    if (!function.isDeclaration()) {
      function.addFnAttr("target-cpu", cpu);
      function.addFnAttr("prefer-vector-width", "512");
    }
  auto compiled =
      target::compileToObject(made.take(), *target::TargetCpu::parse("generic"), compile);
  EXPECT_TRUE(compiled) << compiled.message();
  return compiled ? compiled->assembly : "";
}
size_t count(const std::string &text, const std::string &word) {
  size_t found = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++found;
  return found;
}
/// The lines of the function that end with its name, and of the loop in it that has `word`: from
/// the label before its first use to the jump after its last.
std::string functionOf(const std::string &assembly, const std::string &name) {
  size_t begin = assembly.find("\n" + name + ":"), end = assembly.find(".Lfunc_end", begin);
  return begin == std::string::npos ? "" : assembly.substr(begin, end - begin);
}
std::string loopOf(const std::string &function, const std::string &word) {
  size_t begin = function.rfind("\n.LBB", function.find(word));
  return function.substr(begin, function.find("\n\tj", function.rfind(word)) - begin);
}

TEST(Bf16GemmCode, HasTilesInRegisters) {
  std::string code = functionOf(
      assemblyOf(layer(1, 128, 128, 512, false, false, false), "amx", "sapphirerapids"),
      "k.bf16gemm32");
  ASSERT_FALSE(code.empty());
  EXPECT_EQ(count(code, "ldtilecfg"), 1u);
  EXPECT_EQ(count(code, "tilerelease"), 1u);
  EXPECT_EQ(count(code, "tilezero"), 4u);
  EXPECT_EQ(count(code, "tdpbf16ps"), 4u);
  EXPECT_EQ(count(code, "tilestored"), 4u); // sums; were a tile spilled, there would be more
  std::string loop = loopOf(code, "tdpbf16ps");
  EXPECT_EQ(count(loop, "tdpbf16ps"), 4u);
  EXPECT_EQ(count(loop, "tileloadd"), 4u);
  for (const char *other : {"tilestored", "tilezero", "ldtilecfg", "call"})
    EXPECT_EQ(count(loop, other), 0u) << loop;
  std::string low =
      functionOf(assemblyOf(layer(1, 9, 128, 512, false, false, false), "amx", "sapphirerapids"),
                 "k.bf16gemm16");
  EXPECT_EQ(count(low, "tdpbf16ps"), 2u);
}

TEST(Bf16GemmCode, HasVectorsInRegisters) {
  std::string code = functionOf(
      assemblyOf(layer(1, 128, 128, 512, false, false, false), "avx512bf16", "znver4"), "k.bf16gemm32");
  ASSERT_FALSE(code.empty());
  EXPECT_EQ(count(code, "vdpbf16ps"), 16u);
  EXPECT_EQ(count(loopOf(code, "vdpbf16ps"), "call"), 0u);
  EXPECT_EQ(count(code, "64-byte Spill"), 0u);
  EXPECT_EQ(count(code, "tdpbf16ps"), 0u);
}

} // namespace
} // namespace mx::lowering
