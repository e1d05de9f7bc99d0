// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory that a routine of mxrt/routine.h needs for the time of a call. One
// function for each routine says how much: the compiler plans with it, eager
// code allocates with it, and the routine finds its parts with it.
//
// A workspace is cut into pieces, one for each chunk of the work that may run
// at the same time, and a piece into parts. How many pieces there are follows
// from the sizes, never from the number of threads; no more than 16, so that
// many rows do not need many times the memory. Larger sizes never need less, so
// what is enough for the bounds of open sizes is enough for all below.

#ifndef MXRT_WORKSPACE_H
#define MXRT_WORKSPACE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Bytes of each part of a piece. Parts begin at multiples of 64,
/// MXRT_ALIGNMENT.
typedef struct mxrt_workspace {
  int64_t pieces;
  int64_t parts[3];
} mxrt_workspace;

/// Pieces of a workspace, at most: threads beyond that do not help one routine.
#define MXRT_WORKSPACE_PIECES 16

/// Numbers past 63 bits stay at the largest one.
static inline int64_t mxrt_workspace_times(int64_t x, int64_t y) {
  int64_t out;
  return __builtin_mul_overflow(x, y, &out) ? INT64_MAX : out;
}
static inline int64_t mxrt_workspace_plus(int64_t x, int64_t y) {
  int64_t out;
  return __builtin_add_overflow(x, y, &out) ? INT64_MAX : out;
}

/// So many units that a chunk is worth a thread, at `work` elements a unit.
static inline int64_t mxrt_workspace_grain(int64_t work) {
  const int64_t chunk = 1 << 15;
  return work >= chunk ? 1 : chunk / (work > 0 ? work : 1);
}

/// A workspace without parts for `count` units of `work` elements each.
static inline mxrt_workspace mxrt_workspace_for(int64_t count, int64_t work) {
  mxrt_workspace out = {0, {0, 0, 0}};
  int64_t grain = mxrt_workspace_grain(work);
  int64_t pieces = count / grain + (count % grain != 0);
  out.pieces = pieces < MXRT_WORKSPACE_PIECES ? pieces : MXRT_WORKSPACE_PIECES;
  return out;
}

/// Where part `index` of a piece begins.
static inline int64_t mxrt_workspace_offset(const mxrt_workspace *workspace,
                                            int index) {
  int64_t out = 0;
  for (int i = 0; i < index; ++i)
    out = mxrt_workspace_plus(
        out, mxrt_workspace_plus(workspace->parts[i], 63) / 64 * 64);
  return out;
}
/// Of one piece.
static inline int64_t
mxrt_workspace_piece_bytes(const mxrt_workspace *workspace) {
  return mxrt_workspace_offset(workspace, 3);
}
/// Of all; INT64_MAX if it is too much to count.
static inline int64_t mxrt_workspace_bytes(const mxrt_workspace *workspace) {
  return mxrt_workspace_times(workspace->pieces,
                              mxrt_workspace_piece_bytes(workspace));
}

// In what follows `element` is the bytes of an element of the inputs, `sizes`
// are those of the routine's call.

/// Routines that cut their work themselves, and need nothing.
static inline mxrt_workspace mxrt_no_workspace(int64_t element,
                                               const int64_t *sizes) {
  (void)element;
  (void)sizes;
  return mxrt_workspace_for(0, 0);
}

/// Rows with fewer elements are sorted by insertion, with 4,096 and more by
/// digits of 11 bits, if an element has as many as 32.
#define MXRT_SORT_FEW 48
#define MXRT_SORT_MANY 4096
/// Items (key and place), as many again, and how often each digit occurs.
static inline mxrt_workspace mxrt_argsort_workspace(int64_t element,
                                                    const int64_t *sizes) {
  int64_t n = sizes[1], item = element == 8 ? 16 : 8;
  mxrt_workspace out =
      mxrt_workspace_for(mxrt_workspace_times(sizes[0], sizes[2]), n);
  out.parts[0] = mxrt_workspace_times(n, item);
  if (n <= MXRT_SORT_FEW)
    return out;
  out.parts[1] = out.parts[0];
  int64_t digits = n >= MXRT_SORT_MANY && element >= 4
                       ? (element * 8 + 10) / 11 * 2048
                       : element * 256;
  out.parts[2] = digits * 4;
  return out;
}

/// Sums of 16 bit floats, in f32. They lie as the result does, so that chunks
/// need no pieces.
static inline mxrt_workspace mxrt_scatter_workspace(int64_t element,
                                                    const int64_t *sizes) {
  mxrt_workspace out = {1, {0, 0, 0}};
  if (element == 2)
    out.parts[0] =
        mxrt_workspace_times(mxrt_workspace_times(sizes[0], sizes[2]), 4);
  return out;
}

// Linear algebra: what LAPACK's documentation asks for at least, and what
// blocks of MXRT_LAPACK_BLOCK columns take where that is more. The library is
// not asked: a plan is made without it, and is the same for every library. One
// that knows larger blocks works in these.
#define MXRT_LAPACK_BLOCK 32

/// For matrices [m, n] of a batch; without parts where work is done in the
/// result.
static inline mxrt_workspace mxrt_matrix_workspace(int64_t element,
                                                   const int64_t *sizes) {
  (void)element;
  int64_t work = mxrt_workspace_times(mxrt_workspace_times(sizes[1], sizes[1]),
                                      sizes[2]);
  return mxrt_workspace_for(work > 0 ? sizes[0] : 0, work);
}

/// The factors, the right sides by columns, the pivots (i32).
static inline mxrt_workspace mxrt_solve_workspace(int64_t element,
                                                  const int64_t *sizes) {
  int64_t m = sizes[1], n = sizes[2];
  mxrt_workspace out = mxrt_matrix_workspace(element, sizes);
  out.parts[0] = mxrt_workspace_times(mxrt_workspace_times(m, m), element);
  out.parts[1] = mxrt_workspace_times(mxrt_workspace_times(m, n), element);
  out.parts[2] = mxrt_workspace_times(m, 4);
  return out;
}

/// The matrix by columns, the factors of its reflections, room for geqrf and
/// orgqr: a block of n numbers for each column of it.
static inline mxrt_workspace mxrt_qr_workspace(int64_t element,
                                               const int64_t *sizes) {
  int64_t m = sizes[1], n = sizes[2];
  mxrt_workspace out = mxrt_matrix_workspace(element, sizes);
  out.parts[0] = mxrt_workspace_times(mxrt_workspace_times(m, n), element);
  out.parts[1] = mxrt_workspace_times(n, element);
  out.parts[2] = mxrt_workspace_times(n, MXRT_LAPACK_BLOCK * element);
  return out;
}

/// A copy, room for gesdd, and its 8 n whole numbers. The room is 4 n^2 + 7 n
/// at least; reducing to two diagonals takes a block of m + n; and multiplying
/// by more than a block of reflections 65 * 64 numbers besides.
static inline mxrt_workspace mxrt_svd_workspace(int64_t element,
                                                const int64_t *sizes) {
  int64_t m = sizes[1], n = sizes[2];
  mxrt_workspace out = mxrt_matrix_workspace(element, sizes);
  int64_t square = mxrt_workspace_times(n, n);
  int64_t room = mxrt_workspace_plus(
      mxrt_workspace_plus(mxrt_workspace_times(square, 4),
                          mxrt_workspace_times(n, 7 + MXRT_LAPACK_BLOCK)),
      mxrt_workspace_plus(mxrt_workspace_times(m, MXRT_LAPACK_BLOCK),
                          n > MXRT_LAPACK_BLOCK ? 65 * 64 : 0));
  out.parts[0] = mxrt_workspace_times(mxrt_workspace_times(m, n), element);
  out.parts[1] = mxrt_workspace_times(room, element);
  out.parts[2] = mxrt_workspace_times(n, 8 * 4);
  return out;
}

/// A copy, room for syevd (1 + 6 n + 2 n^2, or a block of n and 2 n), and its
/// 3 + 5 n whole numbers.
static inline mxrt_workspace mxrt_eigh_workspace(int64_t element,
                                                 const int64_t *sizes) {
  int64_t n = sizes[2], square = mxrt_workspace_times(n, n);
  mxrt_workspace out = mxrt_matrix_workspace(element, sizes);
  int64_t least =
      mxrt_workspace_plus(mxrt_workspace_times(square, 2),
                          mxrt_workspace_plus(mxrt_workspace_times(n, 6), 1));
  int64_t block = mxrt_workspace_times(n, 2 + MXRT_LAPACK_BLOCK);
  out.parts[0] = mxrt_workspace_times(square, element);
  out.parts[1] = mxrt_workspace_times(least > block ? least : block, element);
  out.parts[2] = mxrt_workspace_plus(mxrt_workspace_times(n, 5 * 4), 3 * 4);
  return out;
}

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MXRT_WORKSPACE_H
