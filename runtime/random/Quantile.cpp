// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Portable natural logarithm and normal quantile (AS 241).

#include "random/Quantile.h"

// Compiled with -ffp-contract=off: a fused multiply-add on one machine and not on another would
// give different bits.

namespace mxrt {

double portableLog(double x) {
  uint64_t bits;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  // x = 2^exponent * m with m in [sqrt(1/2), sqrt(2)).
  int64_t exponent = static_cast<int64_t>(bits >> 52) - 1022;
  bits = (bits & 0x000FFFFFFFFFFFFFull) | 0x3FE0000000000000ull;
  double m;
  __builtin_memcpy(&m, &bits, sizeof(m));
  if (m < 0.70710678118654752440) {
    m = m * 2;
    exponent -= 1;
  }
  // ln m = 2 atanh(s) with s = (m - 1) / (m + 1), |s| < 0.1716; written as
  // f - (f*f/2 - s * (f*f/2 + R)) to avoid cancellation near 1 (the form fdlibm uses).
  double f = m - 1;
  double s = f / (2 + f);
  double z = s * s;
  double r = 1.479819860511658591e-01;
  r = r * z + 1.531383769920937332e-01;
  r = r * z + 1.818357216161805012e-01;
  r = r * z + 2.222219843214978396e-01;
  r = r * z + 2.857142874366239149e-01;
  r = r * z + 3.999999999940941908e-01;
  r = r * z + 6.666666666666735130e-01;
  r = r * z;
  double half = 0.5 * f * f;
  double e = static_cast<double>(exponent);
  constexpr double ln2High = 6.93147180369123816490e-01;
  constexpr double ln2Low = 1.90821492927058770002e-10;
  return e * ln2High - ((half - (s * (half + r) + e * ln2Low)) - f);
}

namespace {
/// Polynomial with the constant term first.
template <int n> double polynomial(const double (&c)[n], double x) {
  double sum = c[n - 1];
  for (int i = n - 2; i >= 0; --i)
    sum = sum * x + c[i];
  return sum;
}

constexpr double a[] = {3.3871328727963666080e0,  1.3314166789178437745e2,
                        1.9715909503065514427e3,  1.3731693765509461125e4,
                        4.5921953931549871457e4,  6.7265770927008700853e4,
                        3.3430575583588128105e4,  2.5090809287301226727e3};
constexpr double b[] = {1.0,                      4.2313330701600911252e1,
                        6.8718700749205790830e2,  5.3941960214247511077e3,
                        2.1213794301586595867e4,  3.9307895800092710610e4,
                        2.8729085735721942674e4,  5.2264952788528545610e3};
constexpr double c[] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                        5.76949722146069140550e0,  3.64784832476320460504e0,
                        1.27045825245236838258e0,  2.41780725177450611770e-1,
                        2.27238449892691845833e-2, 7.74545014278341407640e-4};
constexpr double d[] = {1.0,                       2.05319162663775882187e0,
                        1.67638483018380384940e0,  6.89767334985100004550e-1,
                        1.48103976427480074590e-1, 1.51986665636164571966e-2,
                        5.47593808499534494600e-4, 1.05075007164441684324e-9};
constexpr double e[] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                        1.78482653991729133580e0,  2.96560571828504891230e-1,
                        2.65321895265761230930e-2, 1.24266094738807843860e-3,
                        2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr double f[] = {1.0,                       5.99832206555887937690e-1,
                        1.36929880922735805310e-1, 1.48753612908506148525e-2,
                        7.86869131145613259100e-4, 1.84631831751005468180e-5,
                        1.42151175831644588870e-7, 2.04426310338993978564e-15};
} // namespace

double normalQuantile(double p) {
  double q = p - 0.5;
  double distance = q < 0 ? -q : q;
  if (distance <= 0.425) {
    double r = 0.180625 - q * q;
    return q * polynomial(a, r) / polynomial(b, r);
  }
  double r = __builtin_sqrt(-portableLog(q < 0 ? p : 1 - p));
  double x = r <= 5 ? polynomial(c, r - 1.6) / polynomial(d, r - 1.6)
                    : polynomial(e, r - 5) / polynomial(f, r - 5);
  return q < 0 ? -x : x;
}

} // namespace mxrt
