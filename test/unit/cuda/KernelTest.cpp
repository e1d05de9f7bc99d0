// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole kernels, in three schedules each, against plain C++.
#include "Emulator.h"
#include "Matmul.h"

#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>

namespace mxemu {

class Kernels : public Gpu {
protected:
  static std::vector<float> randomFloats(size_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> values(n);
    for (auto &value : values)
      value = uniform(random);
    return values;
  }
};

TEST_F(Kernels, Saxpy) {
  for (uint64_t seed : {0, 1, 7})
    for (unsigned n : {1u, 31u, 32u, 1000u, 4096u}) {
      restart(seed);
      auto function = find(load(readInput("kernels.ptx")), "saxpy");
      auto x = randomFloats(n, 1), y = randomFloats(n, 2);
      CUdeviceptr dx = upload(x), dy = upload(y);
      ASSERT_EQ(launch(function, Shape((n + 127) / 128, 128), dx, dy, 2.5f, n), 0) << cuda().mxemuLastFinding();
      auto got = download<float>(dy, n);
      for (unsigned i = 0; i < n; ++i)
        ASSERT_EQ(got[i], std::fma(2.5f, x[i], y[i]));
    }
}

TEST_F(Kernels, SoftmaxOfARowPerWarp) {
  for (uint64_t seed : {0, 1, 7}) {
    restart(seed);
    unsigned rows = 37;
    auto x = randomFloats(rows * 128, 3);
    x[5] = -INFINITY;
    x[128] = 80;
    CUdeviceptr dx = upload(x), dy = allocate(x.size() * 4);
    ASSERT_EQ(launch(find(load(readInput("kernels.ptx")), "softmax"), Shape((rows + 3) / 4, 128), dx, dy, rows), 0)
        << cuda().mxemuLastFinding();
    auto got = download<float>(dy, x.size());
    for (unsigned r = 0; r < rows; ++r) {
      double most = -INFINITY, sum = 0;
      for (int i = 0; i < 128; ++i)
        most = std::max(most, double(x[r * 128 + i]));
      for (int i = 0; i < 128; ++i)
        sum += std::exp(x[r * 128 + i] - most);
      for (int i = 0; i < 128; ++i) {
        double want = std::exp(x[r * 128 + i] - most) / sum;
        ASSERT_TRUE(std::fabs(got[r * 128 + i] - want) <= 1e-5 * want + 1e-30) << r << " " << i;
      }
    }
  }
}

TEST_F(Kernels, ReductionInSharedMemoryWithACall) {
  for (uint64_t seed : {0, 1, 7}) {
    restart(seed);
    unsigned n = 3000;
    std::vector<float> x(n);
    std::iota(x.begin(), x.end(), 0.0f); // sums of integers are exact in any order
    CUdeviceptr dx = upload(x), out = upload(std::vector<float>{0});
    ASSERT_EQ(launch(find(load(readInput("kernels.ptx")), "reduce"), Shape((n + 255) / 256, 256), dx, out, n), 0)
        << cuda().mxemuLastFinding();
    EXPECT_EQ(download<float>(out, 1)[0], 2.0f * (n * (n - 1) / 2));
  }
}

TEST_F(Kernels, Transpose) {
  for (uint64_t seed : {0, 1, 7}) {
    restart(seed);
    unsigned n = 96;
    auto x = randomFloats(n * n, 5);
    CUdeviceptr dx = upload(x), dy = allocate(x.size() * 4);
    ASSERT_EQ(launch(find(load(readInput("kernels.ptx")), "transpose"), Shape(3, 3, 32, 8, 32 * 33 * 4), dx, dy, n), 0)
        << cuda().mxemuLastFinding();
    auto got = download<float>(dy, x.size());
    for (unsigned i = 0; i < n; ++i)
      for (unsigned j = 0; j < n; ++j)
        ASSERT_EQ(got[j * n + i], x[i * n + j]);
  }
}

TEST_F(Kernels, HistogramWithAtomics) {
  for (uint64_t seed : {0, 1, 7}) {
    restart(seed);
    std::mt19937 random(9);
    std::vector<uint8_t> x(10007);
    std::vector<uint32_t> want(256);
    for (auto &value : x)
      ++want[value = uint8_t(random() % 97 * 3)];
    CUdeviceptr dx = upload(x), bins = upload(std::vector<uint32_t>(256));
    ASSERT_EQ(launch(find(load(readInput("kernels.ptx")), "histogram"), Shape(5, 256), dx, bins, unsigned(x.size())), 0)
        << cuda().mxemuLastFinding();
    EXPECT_EQ(download<uint32_t>(bins, 256), want);
  }
}

TEST_F(Kernels, ConstantsLocalMemoryBranchTablesAndGlobals) {
  CUmodule module = load(readInput("kernels.ptx"));
  CUdeviceptr out = allocate(64 * 4);
  ASSERT_EQ(launch(find(module, "spaces"), Shape(1, 64), out), 0) << cuda().mxemuLastFinding();
  auto got = download<float>(out, 64);
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(got[i], float(i % 4 + 1) + i + 10 * (i % 4 + 1));
  CUdeviceptr counter = 0;
  size_t bytes = 0;
  CU_OK(cuModuleGetGlobal_v2(&counter, &bytes, module, "counter"));
  ASSERT_EQ(bytes, 4u);
  EXPECT_EQ(download<uint32_t>(counter, 1)[0], 64u);
}

TEST_F(Kernels, FencesAndAtomicsOrderBlocks) {
  for (uint64_t seed : {0, 1, 2, 3, 4}) {
    restart(seed);
    unsigned blocks = 17, want = 0;
    for (unsigned i = 0; i < blocks; ++i)
      want += i * i + 1;
    CUdeviceptr partial = allocate(blocks * 4), ticket = upload(std::vector<uint32_t>{0}), out = allocate(4);
    ASSERT_EQ(launch(find(load(readInput("kernels.ptx")), "last_block"), Shape(blocks, 32), partial, ticket, out), 0)
        << cuda().mxemuLastFinding();
    EXPECT_EQ(download<uint32_t>(out, 1)[0], want);
  }
}

TEST_F(Kernels, MatmulIsOneChainOfFmasAnElement) {
  for (uint64_t seed : {0, 1, 7}) {
    restart(seed);
    unsigned m = 128, n = 256, k = 40;
    auto a = randomFloats(m * k, 11), b = randomFloats(k * n, 12);
    CUdeviceptr da = upload(a), db = upload(b), dc = allocate(m * n * 4);
    auto function = find(load(moduleText(matmulEntry("matmul"))), "matmul");
    ASSERT_EQ(launch(function, Shape(n / 128, m / 128, 256, 1, 0), da, db, dc, n, k), 0) << cuda().mxemuLastFinding();
    auto got = download<float>(dc, m * n);
    for (unsigned i = 0; i < m; ++i)
      for (unsigned j = 0; j < n; ++j) {
        float sum = 0;
        for (unsigned t = 0; t < k; ++t)
          sum = std::fma(a[i * k + t], b[t * n + j], sum);
        ASSERT_EQ(got[i * n + j], sum) << i << " " << j;
      }
  }
}

/// Tensor cores: one warp multiplies 16 x 16 by 16 x 8 from shared memory through ldmatrix.
TEST_F(Kernels, LdmatrixAndMma) {
  for (bool brain : {false, true}) {
    restart(0);
    std::string type = brain ? "bf16" : "f16";
    std::string text = moduleText(".visible .entry mm(.param .u64 a, .param .u64 b, .param .u64 c) {\n"
                                  "  .reg .b32 %r<20>; .reg .b64 %rd<12>; .reg .f32 %f<5>;\n"
                                  "  .shared .align 16 .b8 tile[768];\n"
                                  "  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c];\n"
                                  "  mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 4; mov.u32 %r3, tile; add.u32 %r4, %r3, %r2;\n"
                                  "  mul.wide.u32 %rd4, %r1, 16; add.s64 %rd5, %rd1, %rd4;\n"
                                  "  ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%rd5]; st.shared.v4.b32 [%r4], {%r5, %r6, %r7, %r8};\n"
                                  "  mul.wide.u32 %rd6, %r1, 8; add.s64 %rd7, %rd2, %rd6; shl.b32 %r9, %r1, 3; add.u32 %r9, %r9, %r3;\n"
                                  "  ld.global.v2.b32 {%r5, %r6}, [%rd7]; st.shared.v2.b32 [%r9+512], {%r5, %r6};\n"
                                  "  bar.warp.sync -1;\n"
                                  // rows 0-15 of A at columns 0 and 8
                                  "  and.b32 %r10, %r1, 15; shr.u32 %r11, %r1, 4; shl.b32 %r10, %r10, 5; shl.b32 %r11, %r11, 4;\n"
                                  "  add.u32 %r10, %r10, %r11; add.u32 %r10, %r10, %r3;\n"
                                  "  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r12, %r13, %r14, %r15}, [%r10];\n"
                                  "  and.b32 %r10, %r1, 15; shl.b32 %r10, %r10, 4; add.u32 %r10, %r10, %r3;\n"
                                  "  ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r16, %r17}, [%r10+512];\n"
                                  "  mov.f32 %f1, 0f3F800000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;\n"
                                  "  mma.sync.aligned.m16n8k16.row.col.f32." + type + "." + type + ".f32 {%f1, %f2, %f3, %f4}, "
                                  "{%r12, %r13, %r14, %r15}, {%r16, %r17}, {%f1, %f2, %f3, %f4};\n"
                                  "  shr.u32 %r5, %r1, 2; and.b32 %r6, %r1, 3; shl.b32 %r5, %r5, 5; shl.b32 %r6, %r6, 3; add.u32 %r5, %r5, %r6;\n"
                                  "  cvt.u64.u32 %rd8, %r5; add.s64 %rd9, %rd3, %rd8;\n"
                                  "  st.global.v2.f32 [%rd9], {%f1, %f2}; st.global.v2.f32 [%rd9+256], {%f3, %f4}; ret;\n}\n");
    // Small integers are exact in both types.
    std::vector<uint16_t> a(256), b(128);
    auto encode = [&](int v) {
      float f = float(v);
      uint32_t bits;
      std::memcpy(&bits, &f, 4);
      _Float16 h = _Float16(f);
      uint16_t half;
      std::memcpy(&half, &h, 2);
      return brain ? uint16_t(bits >> 16) : half;
    };
    auto valueA = [](int i, int j) { return (i * 5 + j * 3) % 13 - 6; };
    auto valueB = [](int i, int j) { return (i * 7 + j * 2) % 11 - 5; };
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 16; ++j) {
        a[size_t(i * 16 + j)] = encode(valueA(i, j));
        if (j < 8)
          b[size_t(i * 8 + j)] = encode(valueB(i, j));
      }
    CUdeviceptr da = upload(a), db = upload(b), dc = allocate(512);
    ASSERT_EQ(launch(find(load(text), "mm"), Shape(1, 32), da, db, dc), 0) << cuda().mxemuLastFinding();
    auto got = download<float>(dc, 128);
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 8; ++j) {
        int want = 1;
        for (int t = 0; t < 16; ++t)
          want += valueA(i, t) * valueB(t, j);
        EXPECT_EQ(got[size_t(i * 8 + j)], float(want)) << i << " " << j;
      }
  }
}

/// Fragments of the other shapes, placed by the tables of the ISA and read back from D.
TEST_F(Kernels, MmaOfTf32AndF64) {
  std::string text = moduleText(
      ".visible .entry t(.param .u64 a, .param .u64 b, .param .u64 c) {\n"
      "  .reg .b32 %r<12>; .reg .b64 %rd<8>; .reg .f32 %f<5>;\n"
      "  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c]; mov.u32 %r1, %tid.x;\n"
      "  mul.wide.u32 %rd4, %r1, 16; add.s64 %rd1, %rd1, %rd4; ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd1];\n"
      "  add.s64 %rd3, %rd3, %rd4; mul.wide.u32 %rd5, %r1, 8; add.s64 %rd2, %rd2, %rd5; ld.global.v2.b32 {%r6, %r7}, [%rd2];\n"
      "  mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;\n"
      "  mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1, %f2, %f3, %f4}, {%r2, %r3, %r4, %r5}, {%r6, %r7}, {%f1, %f2, %f3, %f4};\n"
      "  st.global.v4.f32 [%rd3], {%f1, %f2, %f3, %f4}; ret;\n}\n"
      ".visible .entry d(.param .u64 a, .param .u64 b, .param .u64 c) {\n"
      "  .reg .b32 %r<3>; .reg .b64 %rd<8>; .reg .f64 %g<5>;\n"
      "  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c]; mov.u32 %r1, %tid.x;\n"
      "  mul.wide.u32 %rd4, %r1, 8; add.s64 %rd1, %rd1, %rd4; add.s64 %rd2, %rd2, %rd4; ld.global.f64 %g1, [%rd1]; ld.global.f64 %g2, [%rd2];\n"
      "  mov.f64 %g3, 0d0000000000000000; mov.f64 %g4, %g3; mul.wide.u32 %rd5, %r1, 16; add.s64 %rd3, %rd3, %rd5;\n"
      "  mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%g3, %g4}, {%g1}, {%g2}, {%g3, %g4};\n"
      "  st.global.v2.f64 [%rd3], {%g3, %g4}; ret;\n}\n");
  auto A = [](int i, int j) { return float((i * 3 + j * 5) % 17 - 8); };
  auto B = [](int i, int j) { return float((i * 2 + j * 7) % 13 - 6); };
  CUmodule module = load(text);
  std::vector<float> a(128), b(64);
  for (int l = 0; l < 32; ++l) {
    int g = l / 4, t = l % 4;
    a[size_t(l * 4)] = A(g, t), a[size_t(l * 4 + 1)] = A(g + 8, t), a[size_t(l * 4 + 2)] = A(g, t + 4), a[size_t(l * 4 + 3)] = A(g + 8, t + 4);
    b[size_t(l * 2)] = B(t, g), b[size_t(l * 2 + 1)] = B(t + 4, g);
  }
  CUdeviceptr da = upload(a), db = upload(b), dc = allocate(512);
  ASSERT_EQ(launch(find(module, "t"), Shape(1, 32), da, db, dc), 0) << cuda().mxemuLastFinding();
  auto got = download<float>(dc, 128);
  for (int l = 0; l < 32; ++l)
    for (int e = 0; e < 4; ++e) {
      int row = l / 4 + (e > 1 ? 8 : 0), column = l % 4 * 2 + (e & 1);
      float want = 0;
      for (int k = 0; k < 8; ++k)
        want += A(row, k) * B(k, column);
      EXPECT_EQ(got[size_t(l * 4 + e)], want);
    }
  std::vector<double> ad(32), bd(32);
  for (int l = 0; l < 32; ++l)
    ad[size_t(l)] = A(l / 4, l % 4) / 3.0, bd[size_t(l)] = B(l % 4, l / 4);
  CUdeviceptr dad = upload(ad), dbd = upload(bd), dcd = allocate(512);
  ASSERT_EQ(launch(find(module, "d"), Shape(1, 32), dad, dbd, dcd), 0) << cuda().mxemuLastFinding();
  auto gotD = download<double>(dcd, 64);
  for (int l = 0; l < 32; ++l)
    for (int e = 0; e < 2; ++e) {
      double want = 0;
      for (int k = 0; k < 4; ++k)
        want = std::fma(A(l / 4, k) / 3.0, double(B(k, l % 4 * 2 + e)), want);
      EXPECT_EQ(gotD[size_t(l * 2 + e)], want);
    }
}

/// shfl with clamps, vote, match, redux and bar.red, one result a lane each.
TEST_F(Kernels, WarpInstructions) {
  struct {
    const char *code;
    uint32_t (*want)(uint32_t);
  } const cases[] = {
      {"shfl.sync.up.b32 %d, %x, 3, 0, -1;", [](uint32_t l) { return (l >= 3 ? l - 3 : l) * 3; }},
      {"shfl.sync.down.b32 %d, %x, 2, 31, -1;", [](uint32_t l) { return (l + 2 <= 31 ? l + 2 : l) * 3; }},
      {"shfl.sync.down.b32 %d, %x, 2, 0x181f, -1;", [](uint32_t l) { return ((l & 7) + 2 <= 7 ? l + 2 : l) * 3; }},
      {"shfl.sync.bfly.b32 %d, %x, 5, 31, -1;", [](uint32_t l) { return (l ^ 5) * 3; }},
      {"shfl.sync.idx.b32 %d, %x, 6, 0x181f, -1;", [](uint32_t l) { return ((l & 24) | 6) * 3; }},
      {"shfl.sync.down.b32 %d|%p, %x, 4, 31, -1; selp.u32 %d, 1, 0, %p;", [](uint32_t l) { return uint32_t(l + 4 <= 31); }},
      {"setp.lt.u32 %p, %l, 5; vote.sync.ballot.b32 %d, %p, -1;", [](uint32_t) { return 31u; }},
      {"setp.lt.u32 %p, %l, 50; vote.sync.all.pred %q, %p, -1; selp.u32 %d, 1, 0, %q;", [](uint32_t) { return 1u; }},
      {"setp.eq.u32 %p, %l, 9; vote.sync.any.pred %q, !%p, -1; selp.u32 %d, 1, 0, %q;", [](uint32_t) { return 1u; }},
      {"shr.u32 %y, %l, 3; match.any.sync.b32 %d, %y, -1;", [](uint32_t l) { return 255u << (l & 24); }},
      {"match.all.sync.b32 %d|%p, %l, -1;", [](uint32_t) { return 0u; }},
      {"redux.sync.add.u32 %d, %x, -1;", [](uint32_t) { return 3u * 496; }},
      {"redux.sync.min.s32 %d, %x, -1;", [](uint32_t) { return 0u; }},
      {"redux.sync.xor.b32 %d, %l, -1;", [](uint32_t) { return 0u; }},
      {"setp.lt.u32 %p, %l, 7; bar.red.popc.u32 %d, 0, %p;", [](uint32_t) { return 14u; }},
      {"setp.lt.u32 %p, %l, 7; bar.red.or.pred %q, 0, %p; selp.u32 %d, 1, 0, %q;", [](uint32_t) { return 1u; }},
      // a mask of half the lanes, in divergent code
      {"mov.u32 %d, 77; setp.lt.u32 %p, %l, 16; @%p bra $low; shfl.sync.idx.b32 %d, %x, 20, 31, 0xffff0000; bra $end; $low: shfl.sync.idx.b32 %d, %x, 2, 31, 0xffff; $end:",
       [](uint32_t l) { return l < 16 ? 6u : 60u; }},
      {"setp.lt.u32 %p, %l, 16; mov.u32 %d, 0; @%p activemask.b32 %d;", [](uint32_t l) { return l < 16 ? 0xffffu : 0u; }},
      {"mov.u32 %d, %lanemask_le;", [](uint32_t l) { return l == 31 ? ~0u : (2u << l) - 1; }},
  };
  for (uint64_t seed : {0, 3})
    for (auto &c : cases) {
      restart(seed);
      CUdeviceptr out = allocate(64 * 4);
      std::string text = moduleText(".visible .entry k(.param .u64 out) { .reg .pred %p, %q; .reg .b32 %d, %x, %y, %l, %t; .reg .b64 %a, %b;\n"
                                    "mov.u32 %l, %laneid; mov.u32 %t, %tid.x; mul.lo.u32 %x, %l, 3;\n" + std::string(c.code) +
                                    "\nld.param.u64 %a, [out]; mul.wide.u32 %b, %t, 4; add.s64 %a, %a, %b; st.global.u32 [%a], %d; ret; }\n");
      ASSERT_EQ(launch(find(load(text), "k"), Shape(1, 64), out), 0) << c.code << ": " << cuda().mxemuLastFinding();
      auto got = download<uint32_t>(out, 64);
      for (uint32_t i = 0; i < 64; ++i)
        ASSERT_EQ(got[i], c.want(i & 31)) << c.code << " lane " << i;
    }
}

TEST_F(Kernels, AtomicOperations) {
  struct {
    const char *op;
    uint64_t start;
    uint64_t want;
    unsigned bytes;
  } const cases[] = {
      // 64 threads with %t = 0 … 63
      {"atom.global.min.s32 %o, [%a], %t;", 40, 0, 4},
      {"atom.global.max.u32 %o, [%a], %t;", 5, 63, 4},
      {"atom.global.or.b32 %o, [%a], %t;", 0, 63, 4},
      {"atom.global.and.b32 %o, [%a], %t;", 63, 0, 4},
      {"atom.global.xor.b32 %o, [%a], %t;", 7, 7, 4},
      {"atom.global.inc.u32 %o, [%a], 9;", 0, 4, 4},
      {"atom.global.add.u64 %w, [%a], 0x100000001;", 5, 64 * 0x100000001ull + 5, 8},
      {"red.global.add.f64 [%a], 0d3FF0000000000000;", 0, 0x4050000000000000, 8},
      {"red.global.add.noftz.f16x2 [%a], 0x3c003800;", 0, 0x54005000, 4},
      {"atom.global.cas.b32 %o, [%a], 3, 8;", 3, 8, 4},
  };
  for (uint64_t seed : {0, 1, 5})
    for (auto &c : cases) {
      restart(seed);
      CUdeviceptr out = upload(std::vector<uint64_t>{c.start});
      std::string text = moduleText(".visible .entry k(.param .u64 out) { .reg .b32 %t, %o; .reg .b64 %a, %w; mov.u32 %t, %tid.x;\n"
                                    "ld.param.u64 %a, [out]; " + std::string(c.op) + " ret; }\n");
      ASSERT_EQ(launch(find(load(text), "k"), Shape(1, 64), out), 0) << c.op << ": " << cuda().mxemuLastFinding();
      uint64_t got = download<uint64_t>(out, 1)[0];
      EXPECT_EQ(c.bytes == 8 ? got : got & 0xffffffff, c.want) << c.op;
    }
}

/// Prints the interpreter's speed; run with --gtest_also_run_disabled_tests --gtest_filter='*Speed'.
TEST_F(Kernels, DISABLED_Speed) {
  auto show = [&](const char *name, auto run) {
    uint64_t before[2], after[2], best = ~uint64_t(0), instructions = 0;
    for (int i = 0; i < 5; ++i) {
      cuda().mxemuStatistics(&before[0], &before[1]);
      ASSERT_EQ(run(), 0) << name << ": " << cuda().mxemuLastFinding();
      cuda().mxemuStatistics(&after[0], &after[1]);
      best = std::min(best, after[1] - before[1]);
      instructions = after[0] - before[0];
    }
    std::printf("%-10s %8.2f ms, %9llu thread instructions, %5.2f ns each\n", name, double(best) / 1e6, (unsigned long long)instructions,
                double(best) / double(instructions));
  };
  CUmodule module = load(readInput("kernels.ptx"));
  unsigned n = 1 << 18, rows = n / 128, size = 256, side = 512;
  CUdeviceptr x = upload(randomFloats(n, 1)), y = upload(randomFloats(n, 2)), z = upload(randomFloats(n, 3)), bins = upload(std::vector<uint32_t>(256));
  show("saxpy", [&] { return launch(find(module, "saxpy"), Shape(n / 128, 128), x, y, 2.0f, n); });
  show("softmax", [&] { return launch(find(module, "softmax"), Shape(rows / 4, 128), x, y, rows); });
  show("reduce", [&] { return launch(find(module, "reduce"), Shape(n / 256, 256), x, z, n); });
  show("transpose", [&] { return launch(find(module, "transpose"), Shape(side / 32, side / 32, 32, 8, 32 * 33 * 4), x, y, side); });
  show("histogram", [&] { return launch(find(module, "histogram"), Shape(64, 256), x, bins, n); });
  CUfunction matmul = find(load(moduleText(matmulEntry("matmul"))), "matmul");
  show("matmul 256", [&] { return launch(matmul, Shape(2, 2, 256, 1, 0), x, y, z, size, size); });
}

} // namespace mxemu
