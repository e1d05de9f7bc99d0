// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Selection of OpenBLAS's kernels, by the environment variable that it reads when it is loaded:
// it takes CPUs that are newer than itself for a very old one. Debian's OpenBLAS knows "Zen" too,
// whose matmuls are a few percent slower on a Zen 3 than those of "Haswell".

#ifndef MXRT_ROUTINES_OPENBLAS_H
#define MXRT_ROUTINES_OPENBLAS_H

namespace mxrt {

constexpr const char *openBlasVariable = "OPENBLAS_CORETYPE";

inline const char *openBlasCoreType() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
    return "SkylakeX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return "Haswell";
  return "Nehalem";
#else
  return "ARMV8";
#endif
}

} // namespace mxrt

#endif // MXRT_ROUTINES_OPENBLAS_H
