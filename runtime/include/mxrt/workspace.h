// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Workspace sizes: the scratch memory that a routine of mxrt/routine.h needs during a call. One
// function per routine returns the size: the compiler plans with it, eager code allocates with
// it, and the routine locates its parts with it.
//
// A workspace is split into pieces, one for each chunk of work that may run at the same time,
// and a piece into parts. The number of pieces depends on the sizes, never on the number of
// threads; it is at most 16, so that many rows do not multiply the memory. Larger sizes never
// need less, so the workspace for the upper bounds of open sizes suffices for all below.

#ifndef MXRT_WORKSPACE_H
#define MXRT_WORKSPACE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Bytes of each part of a piece. Parts begin at multiples of 64 (MXRT_ALIGNMENT).
typedef struct mxrt_workspace {
  int64_t pieces;
  int64_t parts[3];
} mxrt_workspace;

/// Maximum number of pieces: more threads do not speed up one routine.
#define MXRT_WORKSPACE_PIECES 16

/// Saturating arithmetic: results past 63 bits become INT64_MAX.
static inline int64_t mxrt_workspace_times(int64_t x, int64_t y) {
  int64_t out;
  return __builtin_mul_overflow(x, y, &out) ? INT64_MAX : out;
}
static inline int64_t mxrt_workspace_plus(int64_t x, int64_t y) {
  int64_t out;
  return __builtin_add_overflow(x, y, &out) ? INT64_MAX : out;
}

/// Grain: the number of units that makes a chunk worth a thread, at `work` elements a unit.
static inline int64_t mxrt_workspace_grain(int64_t work) {
  const int64_t chunk = 1 << 15;
  return work >= chunk ? 1 : chunk / (work > 0 ? work : 1);
}

/// A workspace without parts, for `count` units of `work` elements each.
static inline mxrt_workspace mxrt_workspace_for(int64_t count, int64_t work) {
  mxrt_workspace out = {0, {0, 0, 0}};
  int64_t grain = mxrt_workspace_grain(work);
  int64_t pieces = count / grain + (count % grain != 0);
  out.pieces = pieces < MXRT_WORKSPACE_PIECES ? pieces : MXRT_WORKSPACE_PIECES;
  return out;
}

/// Byte offset of part `index` in a piece.
static inline int64_t mxrt_workspace_offset(const mxrt_workspace *workspace,
                                            int index) {
  int64_t out = 0;
  for (int i = 0; i < index; ++i)
    out = mxrt_workspace_plus(
        out, mxrt_workspace_plus(workspace->parts[i], 63) / 64 * 64);
  return out;
}
/// Bytes of one piece.
static inline int64_t
mxrt_workspace_piece_bytes(const mxrt_workspace *workspace) {
  return mxrt_workspace_offset(workspace, 3);
}
/// Bytes of all pieces; INT64_MAX on overflow.
static inline int64_t mxrt_workspace_bytes(const mxrt_workspace *workspace) {
  return mxrt_workspace_times(workspace->pieces,
                              mxrt_workspace_piece_bytes(workspace));
}

// Below, `element` is the size in bytes of an element of the inputs, and `sizes` are those of
// the routine's call.

/// For routines that split their work themselves and need no workspace.
static inline mxrt_workspace mxrt_no_workspace(int64_t element,
                                               const int64_t *sizes) {
  (void)element;
  (void)sizes;
  return mxrt_workspace_for(0, 0);
}

/// Rows with fewer elements use insertion sort; rows with 4,096 and more use radix sort with
/// digits of 11 bits, if an element has at least 32 bits.
#define MXRT_SORT_FEW 48
#define MXRT_SORT_MANY 4096
/// Items (key and index), a second buffer of the same size, and the digit histograms.
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

/// Top-k of long rows does not sort them: it keeps at most mxrt_argsort_candidates() candidates
/// at a time.
static inline int64_t mxrt_argsort_candidates(const int64_t *sizes) {
  int64_t candidates = mxrt_workspace_times(sizes[3], 8);
  candidates = candidates < 512 ? 512 : candidates;
  return sizes[1] < candidates ? sizes[1] : candidates;
}
static inline mxrt_workspace mxrt_argsort_top_workspace(int64_t element,
                                                        const int64_t *sizes) {
  int64_t sorted[3] = {sizes[0], mxrt_argsort_candidates(sizes), sizes[2]};
  mxrt_workspace out = mxrt_argsort_workspace(element, sorted);
  out.pieces =
      mxrt_workspace_for(mxrt_workspace_times(sizes[0], sizes[2]), sizes[1])
          .pieces;
  return out;
}

/// Sums of 16-bit floats, accumulated in f32. They have the layout of the result, so chunks
/// need no pieces.
static inline mxrt_workspace mxrt_scatter_workspace(int64_t element,
                                                    const int64_t *sizes) {
  mxrt_workspace out = {1, {0, 0, 0}};
  if (element == 2)
    out.parts[0] =
        mxrt_workspace_times(mxrt_workspace_times(sizes[0], sizes[2]), 4);
  return out;
}

// Linear algebra: the minimum of LAPACK's documentation, or the size for blocks of
// MXRT_LAPACK_BLOCK columns where that is larger. The library is not queried: a plan is made
// without it, and is the same for every library. A library that prefers larger blocks uses
// these.
#define MXRT_LAPACK_BLOCK 32

/// For a batch of [m, n] matrices; without parts for routines that work in the result.
static inline mxrt_workspace mxrt_matrix_workspace(int64_t element,
                                                   const int64_t *sizes) {
  (void)element;
  int64_t work = mxrt_workspace_times(mxrt_workspace_times(sizes[1], sizes[1]),
                                      sizes[2]);
  return mxrt_workspace_for(work > 0 ? sizes[0] : 0, work);
}

/// The factors, the right-hand sides (column-major), the pivots (i32).
static inline mxrt_workspace mxrt_solve_workspace(int64_t element,
                                                  const int64_t *sizes) {
  int64_t m = sizes[1], n = sizes[2];
  mxrt_workspace out = mxrt_matrix_workspace(element, sizes);
  out.parts[0] = mxrt_workspace_times(mxrt_workspace_times(m, m), element);
  out.parts[1] = mxrt_workspace_times(mxrt_workspace_times(m, n), element);
  out.parts[2] = mxrt_workspace_times(m, 4);
  return out;
}

/// The matrix (column-major), the scalar factors of its Householder reflections, and the work
/// array of geqrf and orgqr: n numbers for each column of a block.
static inline mxrt_workspace mxrt_qr_workspace(int64_t element,
                                               const int64_t *sizes) {
  int64_t m = sizes[1], n = sizes[2];
  mxrt_workspace out = mxrt_matrix_workspace(element, sizes);
  out.parts[0] = mxrt_workspace_times(mxrt_workspace_times(m, n), element);
  out.parts[1] = mxrt_workspace_times(n, element);
  out.parts[2] = mxrt_workspace_times(n, MXRT_LAPACK_BLOCK * element);
  return out;
}

/// A copy, the work array of gesdd, and its 8 n integers. The work array has at least
/// 4 n^2 + 7 n numbers; bidiagonalisation takes a block of m + n; applying more than one block
/// of reflections takes another 65 * 64 numbers.
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

/// A copy, the work array of syevd (1 + 6 n + 2 n^2, or a block of n and 2 n), and its 3 + 5 n
/// integers.
static inline mxrt_workspace mxrt_eigh_workspace(int64_t element,
                                                 const int64_t *sizes) {
  int64_t n = sizes[2], square = mxrt_workspace_times(n, n);
  mxrt_workspace out = mxrt_matrix_workspace(element, sizes);
  int64_t minimum =
      mxrt_workspace_plus(mxrt_workspace_times(square, 2),
                          mxrt_workspace_plus(mxrt_workspace_times(n, 6), 1));
  int64_t block = mxrt_workspace_times(n, 2 + MXRT_LAPACK_BLOCK);
  out.parts[0] = mxrt_workspace_times(square, element);
  out.parts[1] = mxrt_workspace_times(minimum > block ? minimum : block, element);
  out.parts[2] = mxrt_workspace_plus(mxrt_workspace_times(n, 5 * 4), 3 * 4);
  return out;
}

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MXRT_WORKSPACE_H
