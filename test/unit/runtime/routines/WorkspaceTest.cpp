// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much memory routines need for the time of a call. That it is enough, and that they use no
// other, is checked by each call of the other tests.

#include "RoutineFixture.h"
#include "routines/Lapack.h"

using namespace mxrt;

namespace {

const Routine routines[] = {
#define MXRT_ROUTINE(name, workspace) mxrt_##name,
#include "mxrt/routine.def"
};

int64_t bytesOf(Routine routine, mxrt_dtype type, int64_t a, int64_t b, int64_t c) {
  const int64_t sizes[] = {a, b, c};
  mxrt_workspace layout = workspaceOf(routine, type, sizes);
  EXPECT_LE(layout.pieces, MXRT_WORKSPACE_PIECES);
  return mxrt_workspace_bytes(&layout);
}

TEST(Workspace, BytesOfRoutines) {
  // 32 items of 8 bytes; 1,000 items twice, and 4 digits of 8 bits; 3 digits of 11.
  EXPECT_EQ(bytesOf(mxrt_argsort, MXRT_F32, 1, 32, 1), 256);
  EXPECT_EQ(bytesOf(mxrt_argsort, MXRT_F32, 1, 1000, 1), 2 * 8000 + 4 * 256 * 4);
  EXPECT_EQ(bytesOf(mxrt_argsort, MXRT_F32, 1, 5000, 1), 2 * 40000 + 3 * 2048 * 4);
  EXPECT_EQ(bytesOf(mxrt_argsort, MXRT_U8, 1, 5000, 1), 2 * 40000 + 256 * 4);
  EXPECT_EQ(bytesOf(mxrt_argsort, MXRT_I64, 1, 5000, 1), 2 * 80000 + 6 * 2048 * 4);
  // A million rows need no more than 16.
  EXPECT_EQ(bytesOf(mxrt_argsort, MXRT_F32, 1000000, 64, 1), 16 * (2 * 512 + 4 * 256 * 4));
  EXPECT_EQ(bytesOf(mxrt_solve, MXRT_F64, 1, 16, 4), 16 * 16 * 8 + 16 * 4 * 8 + 16 * 4);
  // What works in the result needs nothing, and neither do sums that are not of halfs.
  for (Routine routine : {mxrt_cholesky, mxrt_solve_lower, mxrt_solve_upper, mxrt_cumsum,
                          mxrt_cumprod, mxrt_recurrence, mxrt_scatter_set, mxrt_scatter_add})
    EXPECT_EQ(bytesOf(routine, MXRT_F32, 8, 100, 100), 0);
  EXPECT_EQ(bytesOf(mxrt_scatter_add, MXRT_BF16, 8, 3, 10), 320);
  for (Routine routine : {mxrt_argsort, mxrt_solve, mxrt_qr, mxrt_svd, mxrt_eigh})
    EXPECT_EQ(bytesOf(routine, MXRT_F32, 0, 8, 8), 0);
}

TEST(Workspace, LargerSizesNeedNoLess) {
  const int64_t counts[] = {0, 1, 2, 31, 32, 33, 48, 49, 64, 100, 4095, 4096, 40000, 1 << 20};
  for (Routine routine : routines)
    for (mxrt_dtype type : {MXRT_U8, MXRT_F16, MXRT_F32, MXRT_F64})
      for (size_t i = 0; i + 1 < std::size(counts); ++i)
        for (int64_t b : counts)
          for (int64_t c : {1, 7, 600}) {
            EXPECT_LE(bytesOf(routine, type, counts[i], b, c),
                      bytesOf(routine, type, counts[i + 1], b, c));
            EXPECT_LE(bytesOf(routine, type, b, counts[i], c),
                      bytesOf(routine, type, b, counts[i + 1], c));
            EXPECT_LE(bytesOf(routine, type, c, b, counts[i]),
                      bytesOf(routine, type, c, b, counts[i + 1]));
          }
}

TEST(Workspace, WhatCannotBeCountedIsTheLargestNumber) {
  for (Routine routine : {mxrt_argsort, mxrt_solve, mxrt_qr, mxrt_svd, mxrt_eigh})
    EXPECT_EQ(bytesOf(routine, MXRT_F64, 5, INT64_MAX / 2, INT64_MAX / 2), INT64_MAX);
}

/// Blocks as large as the library would choose itself, so planning costs no speed.
TEST(Workspace, AtLeastWhatLapackAsksFor) {
  mxrt_context context;
  mxrt_context_init(&context);
  Result<const Lapack<float> *> found = lapackF32(&context);
  if (found.failed())
    GTEST_SKIP() << "no LAPACK here"; // it is optional, and its queries are what is compared
  const Lapack<float> &library = **found;
  using Int = int32_t;
  for (int64_t n : {1, 2, 5, 20, 31, 32, 33, 64, 100, 257})
    for (int64_t m : {n, n + 1, 2 * n, 7 * n}) {
      const int64_t sizes[] = {1, m, n};
      auto room = [&](Routine routine, int part) {
        return double(workspaceOf(routine, MXRT_F32, sizes).parts[part]) / 4;
      };
      Int rows = Int(m), width = Int(n), info = 0, ask = -1, whole[8] = {};
      float a[4] = {}, best = 0;
      library.geqrf(&rows, &width, a, &rows, a, &best, &ask, &info);
      EXPECT_LE(best, room(mxrt_qr, 2)) << m << " by " << n;
      library.orgqr(&rows, &width, &width, a, &rows, a, &best, &ask, &info);
      EXPECT_LE(best, room(mxrt_qr, 2)) << m << " by " << n;
      library.gesdd("S", &width, &rows, a, &width, a, a, &width, a, &width, &best, &ask, whole,
                    &info, 1);
      EXPECT_LE(best, room(mxrt_svd, 1)) << m << " by " << n;
      library.syevd("V", "U", &width, a, &width, a, &best, &ask, whole, &ask, &info, 1, 1);
      EXPECT_LE(best, room(mxrt_eigh, 1)) << n;
      EXPECT_LE(whole[0], room(mxrt_eigh, 2)) << n;
    }
}

} // namespace
