// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work on whole tensors that is more than a loop over their elements: orders,
// running sums, rows put in places, linear algebra. Compiled code and eager
// code call the same functions, so both get the same bits; the bits do not
// depend on the number of threads either.
//
// All have one form. `type` is that of the elements, `sizes` are three numbers
// whose meaning is said below, `inputs` the addresses of dense tensors in
// row-major order, `out` that of the dense result, which overlaps no input.
// `work` has as many bytes, aligned to MXRT_ALIGNMENT, as mxrt/workspace.h says
// for the routine, and overlaps nothing; it may be NULL where that is 0. A call
// allocates nothing but the text of an error. (Linear algebra: the library of
// the system has memory of its own.)

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

// Sizes are [before, n, after]: the work is done along n.

/// Places (i32) that sort, the smallest first; equal elements stay in order,
/// -0 equals 0, NaN is the largest. `_down`: the largest first. Every type.
MXRT_ROUTINE(mxrt_argsort);
MXRT_ROUTINE(mxrt_argsort_down);
/// Running sums and products, one step after the other; floats of 16 bits are
/// added up in f32, integers wrap. All but bool.
MXRT_ROUTINE(mxrt_cumsum);
MXRT_ROUTINE(mxrt_cumprod);
/// y[i] = a[i] * y[i - 1] + b[i], with 0 before the first. Inputs a, b. Floats.
MXRT_ROUTINE(mxrt_recurrence);

// Sizes are [rows, count, width]; inputs x [rows, width], index i64 [count], y
// [count, width]. Row index[k] of x and row k of y become one, in the order of
// k. Negative numbers count from the end; others outside of x are R0204.

/// Sums; floats of 16 bits are added up in f32. All but bool.
MXRT_ROUTINE(mxrt_scatter_add);
/// The last one. Every type.
MXRT_ROUTINE(mxrt_scatter_set);
/// The largest, NaN if one is. All but bool.
MXRT_ROUTINE(mxrt_scatter_max);

// Linear algebra, f32 and f64: sizes are [batch, m, n]. R0008 if the library
// of the system that computes it is missing; it is opened at the first call.

/// The lower factor of [n, n], of which only the lower half is read. R0306 if
/// it is not positive definite.
MXRT_ROUTINE(mxrt_cholesky);
/// a [m, m] and b [m, n] to x with a @ x == b. R0306 if a is singular.
MXRT_ROUTINE(mxrt_solve);
/// The same for a triangular a, of which only one half is read.
MXRT_ROUTINE(mxrt_solve_lower);
MXRT_ROUTINE(mxrt_solve_upper);
/// [m, n], n <= m, to q [m, n] and then r [n, n], each batch.
MXRT_ROUTINE(mxrt_qr);
/// [m, n], n <= m, to u [m, n], s [n] from large to small, and v [n, n], each
/// batch; x == (u * s) @ v. R0306 if an element is not finite.
MXRT_ROUTINE(mxrt_svd);
/// [n, n], of which only the lower half is read, to values [n] from small to
/// large and vectors [n, n] in columns, each batch. R0306 if not finite.
MXRT_ROUTINE(mxrt_eigh);

#undef MXRT_ROUTINE

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MXRT_ROUTINE_H
