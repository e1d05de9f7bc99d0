// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The LAPACK functions that the runtime calls, loaded from the system's OpenBLAS on first use.
// Names and parameters are LAPACK's: matrices are column-major, every number is passed by
// pointer, and string lengths come last.

#ifndef MXRT_ROUTINES_LAPACK_H
#define MXRT_ROUTINES_LAPACK_H

#include "base/Status.h"
#include "mxrt/parallel.h"

#include <cstddef>
#include <cstdint>

namespace mxrt {

template <typename T> struct Lapack {
  using Int = int32_t;
  using Text = const char *;
  using Number = const Int *;
  void (*potrf)(Text half, Number n, T *a, Number lda, Int *info, size_t);
  void (*getrf)(Number m, Number n, T *a, Number lda, Int *pivots, Int *info);
  void (*getrs)(Text transposed, Number n, Number columns, const T *a, Number lda,
                const Int *pivots, T *b, Number ldb, Int *info, size_t);
  void (*trsm)(Text side, Text half, Text transposed, Text diagonal, Number m, Number n,
               const T *factor, const T *a, Number lda, T *b, Number ldb, size_t, size_t, size_t,
               size_t);
  void (*geqrf)(Number m, Number n, T *a, Number lda, T *tau, T *work, Number room, Int *info);
  void (*orgqr)(Number m, Number n, Number k, T *a, Number lda, const T *tau, T *work, Number room,
                Int *info);
  void (*gesdd)(Text job, Number m, Number n, T *a, Number lda, T *s, T *u, Number ldu, T *vt,
                Number ldvt, T *work, Number room, Int *whole, Int *info, size_t);
  void (*syevd)(Text job, Text half, Number n, T *a, Number lda, T *values, T *work, Number room,
                Int *whole, Number wholeRoom, Int *info, size_t, size_t);
};

/// R0008 if the library is missing. The pointer is valid for the rest of the process.
Result<const Lapack<float> *> lapackF32(const mxrt_context *context);
Result<const Lapack<double> *> lapackF64(const mxrt_context *context);

} // namespace mxrt

#endif // MXRT_ROUTINES_LAPACK_H
