// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix factorisations and linear solves by LAPACK. LAPACK matrices are column-major, so it sees
// a row-major matrix as its transpose; where that does not suffice, the matrix is transposed.

#include "routines/Lapack.h"
#include "routines/Routines.h"

#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstring>

using namespace mxrt;

namespace {

using Int = int32_t;

template <typename T> Result<const Lapack<T> *> lapack(const mxrt_context *context) {
  if constexpr (sizeof(T) == 4)
    return lapackF32(context);
  else
    return lapackF64(context);
}

template <typename T> void transpose(const T *from, T *to, int64_t rows, int64_t columns) {
  constexpr int64_t block = 32;
  for (int64_t r0 = 0; r0 < rows; r0 += block)
    for (int64_t c0 = 0; c0 < columns; c0 += block)
      for (int64_t r = r0; r < rows && r < r0 + block; ++r)
        for (int64_t c = c0; c < columns && c < c0 + block; ++c)
          to[c * rows + r] = from[r * columns + c];
}

template <typename T> bool allFinite(const T *x, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (!std::isfinite(x[i]))
      return false;
  return true;
}

/// The state of one routine call; each function handles one matrix of the batch.
template <typename T> struct Work {
  const mxrt_context *context;
  const Lapack<T> &library;
  const Piece &room;
  int64_t m, n;
  const char *name;
  int64_t number = 0; // index of the matrix in the batch
  bool isBatch = false;

  __attribute__((format(printf, 2, 3))) mxrt_status fail(const char *format, ...) const {
    char text[200], which[40] = "";
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    if (isBatch)
      snprintf(which, sizeof(which), " number %lld", static_cast<long long>(number));
    return error(context->allocator, MXRT_SINGULAR, context->location, "%s: matrix%s %s", name,
                 static_cast<const char *>(which), static_cast<const char *>(text))
        .release();
  }

  mxrt_status cholesky(const T *a, T *out) const {
    memcpy(out, a, size_t(n * n) * sizeof(T));
    Int size = Int(n), info = 0;
    // A row-major lower triangle is LAPACK's upper triangle.
    library.potrf("U", &size, out, &size, &info, 1);
    // Not every library detects NaN.
    for (Int i = 0; info == 0 && i < size; ++i)
      info = out[int64_t(i) * n + i] > 0 ? 0 : i + 1;
    if (info != 0)
      return fail("is not positive definite: its leading %d by %d part is not", info, info);
    for (int64_t r = 0; r < n; ++r)
      for (int64_t c = r + 1; c < n; ++c)
        out[r * n + c] = 0;
    return nullptr;
  }

  mxrt_status solve(const T *a, const T *b, T *out) const {
    T *factors = room.part<T>(0), *columns = room.part<T>(1);
    Int *pivots = room.part<Int>(2);
    memcpy(factors, a, size_t(m * m) * sizeof(T));
    transpose(b, columns, m, n);
    Int size = Int(m), count = Int(n), info = 0;
    library.getrf(&size, &size, factors, &size, pivots, &info);
    if (info > 0)
      return fail("is singular");
    library.getrs("T", &size, &count, factors, &size, pivots, columns, &size, &info, 1);
    transpose(columns, out, n, m);
    return nullptr;
  }

  mxrt_status solveHalf(const T *a, const T *b, T *out, bool lower) const {
    for (int64_t i = 0; i < m; ++i)
      if (a[i * m + i] == 0)
        return fail("is singular: element %lld of its diagonal is 0", static_cast<long long>(i));
    memcpy(out, b, size_t(m * n) * sizeof(T));
    // As LAPACK sees it: x.T @ a.T == b.T.
    Int rows = Int(n), size = Int(m);
    const T one = 1;
    library.trsm("R", lower ? "U" : "L", "N", "N", &rows, &size, &one, a, &size, out, &rows, 1, 1,
                 1, 1);
    return nullptr;
  }

  mxrt_status qr(const T *a, T *q, T *r) const {
    T *columns = room.part<T>(0), *tau = room.part<T>(1), *work = room.part<T>(2);
    transpose(a, columns, m, n);
    Int rows = Int(m), width = Int(n), info = 0, length = Int(room.count<T>(2));
    library.geqrf(&rows, &width, columns, &rows, tau, work, &length, &info);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        r[i * n + j] = j < i ? T(0) : columns[j * m + i];
    library.orgqr(&rows, &width, &width, columns, &rows, tau, work, &length, &info);
    transpose(columns, q, n, m);
    return nullptr;
  }

  /// LAPACK sees x.T, so its right singular vectors are our left ones.
  mxrt_status svd(const T *a, T *u, T *s, T *v) const {
    if (!allFinite(a, m * n))
      return fail("has an element that is not finite");
    T *copy = room.part<T>(0);
    memcpy(copy, a, size_t(m * n) * sizeof(T));
    Int rows = Int(n), width = Int(m), info = 0, length = Int(room.count<T>(1));
    library.gesdd("S", &rows, &width, copy, &rows, s, v, &rows, u, &rows, room.part<T>(1), &length,
                  room.part<Int>(2), &info, 1);
    return info == 0 ? nullptr : fail("has no singular values that the iteration could find");
  }

  mxrt_status eigh(const T *a, T *values, T *vectors) const {
    T *copy = room.part<T>(0);
    memcpy(copy, a, size_t(n * n) * sizeof(T));
    for (int64_t r = 0; r < n; ++r)
      if (!allFinite(a + r * n, r + 1))
        return fail("has an element that is not finite");
    Int size = Int(n), info = 0, length = Int(room.count<T>(1));
    Int wholeLength = Int(room.count<Int>(2));
    library.syevd("V", "U", &size, copy, &size, values, room.part<T>(1), &length, room.part<Int>(2),
                  &wholeLength, &info, 1, 1);
    if (info != 0)
      return fail("has no eigenvalues that the iteration could find");
    transpose(copy, vectors, n, n);
    return nullptr;
  }
};

/// LAPACK's integers are i32.
bool isCountable(int64_t m, int64_t n, const mxrt_workspace &layout, int64_t element) {
  int64_t all;
  bool fits =
      checkedMul(m, n, all) && all <= INT32_MAX && m <= INT32_MAX / 16 && n <= INT32_MAX / 16;
  for (int64_t bytes : layout.parts)
    fits = fits && bytes / element <= INT32_MAX;
  return fits;
}

/// Calls body(work, index of the matrix) for the batch, in parallel.
template <typename T, typename Body>
mxrt_status overBatch(const mxrt_context *context, const char *name, const int64_t *sizes,
                      const mxrt_workspace &layout, void *room, const Body &body) {
  int64_t batch = sizes[0], m = sizes[1], n = sizes[2];
  if (batch == 0 || m == 0 || n == 0)
    return nullptr;
  if (!isCountable(m, n, layout, sizeof(T)))
    return error(context->allocator, MXRT_SHAPE, context->location, "%s: %lld by %lld is too large",
                 name, static_cast<long long>(m), static_cast<long long>(n))
        .release();
  Result<const Lapack<T> *> library = lapack<T>(context);
  if (library.failed())
    return library.takeStatus().release();
  const Lapack<T> &functions = **library;
  return inPieces(
      context, layout, room, batch,
      [&](int64_t begin, int64_t end, const Piece &piece, const mxrt_context *here) -> mxrt_status {
        Work<T> work = {here, functions, piece, m, n, name, 0, batch > 1};
        for (int64_t i = begin; i < end; ++i) {
          work.number = i;
          if (mxrt_status bad = mxrt_poll(here))
            return bad;
          if (mxrt_status bad = body(work, i))
            return bad;
        }
        return nullptr;
      });
}

} // namespace

extern "C" {

/// Defines one function of the header: BODY handles matrix `i`, with T the element type.
#define ROUTINE(NAME, WORKSPACE, BODY)                                                             \
  mxrt_status mxrt_##NAME(const mxrt_context *context, mxrt_dtype type, const int64_t *sizes,      \
                          const void *const *inputs, void *out, void *room) {                      \
    const int64_t m = sizes[1], n = sizes[2];                                                      \
    (void)m;                                                                                       \
    (void)n;                                                                                       \
    auto run = [&]<typename T>(T *to) {                                                            \
      auto *a = static_cast<const T *>(inputs[0]);                                                 \
      return overBatch<T>(context, #NAME, sizes, WORKSPACE(sizeof(T), sizes), room,                \
                          [&](const Work<T> &work, int64_t i) -> mxrt_status { BODY });            \
    };                                                                                             \
    if (type == MXRT_F32)                                                                          \
      return run(static_cast<float *>(out));                                                       \
    if (type == MXRT_F64)                                                                          \
      return run(static_cast<double *>(out));                                                      \
    return wrongType(context, #NAME, type);                                                        \
  }

ROUTINE(cholesky, mxrt_matrix_workspace, { return work.cholesky(a + i * n * n, to + i * n * n); })
ROUTINE(solve, mxrt_solve_workspace, {
  auto *b = static_cast<const T *>(inputs[1]);
  return work.solve(a + i * m * m, b + i * m * n, to + i * m * n);
})
ROUTINE(solve_lower, mxrt_matrix_workspace, {
  auto *b = static_cast<const T *>(inputs[1]);
  return work.solveHalf(a + i * m * m, b + i * m * n, to + i * m * n, /*lower=*/true);
})
ROUTINE(solve_upper, mxrt_matrix_workspace, {
  auto *b = static_cast<const T *>(inputs[1]);
  return work.solveHalf(a + i * m * m, b + i * m * n, to + i * m * n, /*lower=*/false);
})
ROUTINE(qr, mxrt_qr_workspace, {
  T *q = to + i * (m * n + n * n);
  return work.qr(a + i * m * n, q, q + m * n);
})
ROUTINE(svd, mxrt_svd_workspace, {
  T *u = to + i * (m * n + n + n * n);
  return work.svd(a + i * m * n, u, u + m * n, u + m * n + n);
})
ROUTINE(eigh, mxrt_eigh_workspace, {
  T *values = to + i * (n + n * n);
  return work.eigh(a + i * n * n, values, values + n);
})

#undef ROUTINE

} // extern "C"
