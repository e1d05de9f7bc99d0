// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Library routines on whole tensors that are more than an elementwise loop: sorting, prefix
// scans, scatter, linear algebra. Compiled code and eager code call the same functions, so both
// get the same bits; the bits do not depend on the number of threads either.
//
// All have one signature. `type` is the element type, `sizes` are three or four numbers whose
// meaning is given below, `inputs` the addresses of dense tensors in row-major order, `out`
// that of the dense result, which overlaps no input. `work` is the workspace: as many bytes as
// mxrt/workspace.h gives for the routine, aligned to MXRT_ALIGNMENT, overlapping nothing; it
// may be NULL where that is 0. A call allocates nothing but the text of an error. (Linear
// algebra: the system's library allocates memory of its own.)

#ifndef MXRT_ROUTINE_H
#define MXRT_ROUTINE_H

#include "mxrt/parallel.h"
#include "mxrt/status.h"
#include "mxrt/types.h"
#include "mxrt/workspace.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MXRT_ROUTINE(name)                                                     \
  MXRT_EXPORT mxrt_status name(const mxrt_context *context, mxrt_dtype type,   \
                               const int64_t *sizes,                           \
                               const void *const *inputs, void *out,           \
                               void *work)

// Sizes are [before, n, after]: the routine works along n.

/// Indices (i32) that sort in ascending order. The sort is stable, -0 equals 0, NaN is the
/// largest. Every type.
MXRT_ROUTINE(mxrt_argsort);
/// Top-k: the indices of the largest elements in descending order; the first of equal elements.
/// k is sizes[3], at most n.
MXRT_ROUTINE(mxrt_argsort_top);
/// Prefix sums (cumsum) and running multiplication (cumprod), sequentially; f32 accumulates in
/// f64, 16-bit floats in f32, integers wrap. All types but bool.
MXRT_ROUTINE(mxrt_cumsum);
MXRT_ROUTINE(mxrt_cumprod);
/// y[i] = a[i] * y[i - 1] + b[i], with 0 before the first. Inputs a, b. Floats.
MXRT_ROUTINE(mxrt_recurrence);

// Sizes are [rows, count, width]; inputs x [rows, width], index i64 [count], y [count, width].
// Row k of y is combined into row index[k] of x, in the order of k. Negative indices count from
// the end; indices out of range are R0204.

/// Combines by sum; 16-bit floats accumulate in f32. All types but bool.
MXRT_ROUTINE(mxrt_scatter_add);
/// The last row wins. Every type.
MXRT_ROUTINE(mxrt_scatter_set);
/// Combines by maximum; NaN if either is NaN. All types but bool.
MXRT_ROUTINE(mxrt_scatter_max);

// Linear algebra, f32 and f64: sizes are [batch, m, n]. R0008 if the system's LAPACK library is
// missing; it is opened at the first call.

/// Cholesky factorisation: the lower factor of [n, n], of which only the lower triangle is
/// read. R0306 if the matrix is not positive definite.
MXRT_ROUTINE(mxrt_cholesky);
/// Solves a @ x == b for x, with a [m, m] and b [m, n]. R0306 if a is singular.
MXRT_ROUTINE(mxrt_solve);
/// The same for a triangular a, of which only one triangle is read.
MXRT_ROUTINE(mxrt_solve_lower);
MXRT_ROUTINE(mxrt_solve_upper);
/// QR factorisation of [m, n], n <= m: q [m, n] and then r [n, n], per batch.
MXRT_ROUTINE(mxrt_qr);
/// SVD of [m, n], n <= m: u [m, n], s [n] in descending order, and v [n, n], per batch;
/// x == (u * s) @ v. R0306 if an element is not finite.
MXRT_ROUTINE(mxrt_svd);
/// Symmetric eigendecomposition of [n, n], of which only the lower triangle is read: values [n]
/// in ascending order and vectors [n, n] in columns, per batch. R0306 if not finite.
MXRT_ROUTINE(mxrt_eigh);

#undef MXRT_ROUTINE

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MXRT_ROUTINE_H
