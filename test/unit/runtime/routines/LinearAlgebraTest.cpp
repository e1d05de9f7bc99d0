// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What factors must be is checked by multiplying them again.

#include "RoutineFixture.h"

#include <cmath>

using namespace mxrt;

namespace {

/// [rows, columns] in row-major order.
template <typename T> struct Matrix {
  int64_t rows, columns;
  std::vector<T> v;
  Matrix(int64_t rows, int64_t columns) : rows(rows), columns(columns), v(size_t(rows * columns)) {}
  Matrix(int64_t rows, int64_t columns, const T *from) : Matrix(rows, columns) {
    std::copy(from, from + v.size(), v.begin());
  }
  T &at(int64_t r, int64_t c) { return v[size_t(r * columns + c)]; }
  T at(int64_t r, int64_t c) const { return v[size_t(r * columns + c)]; }
  static Matrix random(int64_t rows, int64_t columns) {
    Matrix out(rows, columns);
    std::mt19937 random(uint32_t(rows * 31 + columns));
    std::normal_distribution<double> normal;
    for (T &x : out.v)
      x = T(normal(random));
    return out;
  }
  Matrix transposed() const {
    Matrix out(columns, rows);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        out.at(c, r) = at(r, c);
    return out;
  }
  Matrix operator*(const Matrix &other) const {
    Matrix out(rows, other.columns);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < other.columns; ++c) {
        double sum = 0;
        for (int64_t k = 0; k < columns; ++k)
          sum += double(at(r, k)) * double(other.at(k, c));
        out.at(r, c) = T(sum);
      }
    return out;
  }
  double distance(const Matrix &other) const {
    double most = 0;
    for (size_t i = 0; i < v.size(); ++i)
      most = std::max(most, std::fabs(double(v[i]) - double(other.v[i])));
    return most;
  }
  static Matrix unit(int64_t n) {
    Matrix out(n, n);
    for (int64_t i = 0; i < n; ++i)
      out.at(i, i) = 1;
    return out;
  }
};

template <typename T> class LinearAlgebra : public ::testing::Test {
public:
  static constexpr double limit = sizeof(T) == 4 ? 2e-3 : 1e-9;
  Machine machine{2};
  int call(Routine routine, int64_t batch, int64_t m, int64_t n, const T *a, const T *b, T *out) {
    const int64_t sizes[] = {batch, m, n};
    const void *inputs[] = {a, b};
    return codeOf(::call(routine, machine.context, typeOf<T>(), sizes, inputs, out));
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LinearAlgebra, Types);

TYPED_TEST(LinearAlgebra, Cholesky) {
  using M = Matrix<TypeParam>;
  for (int64_t n : {1, 2, 7, 40}) {
    M x = M::random(n, n + 2), a = x * x.transposed(), l(n, n);
    M read = a;
    for (int64_t r = 0; r < n; ++r)
      for (int64_t c = r + 1; c < n; ++c)
        read.at(r, c) = TypeParam(NAN); // not read
    ASSERT_EQ(this->call(mxrt_cholesky, 1, n, n, read.v.data(), nullptr, l.v.data()), 0);
    EXPECT_LE((l * l.transposed()).distance(a), this->limit * double(n));
    for (int64_t r = 0; r < n; ++r)
      for (int64_t c = r + 1; c < n; ++c)
        EXPECT_EQ(l.at(r, c), 0);
  }
  M bad = M::unit(3), out(3, 3);
  bad.at(1, 1) = 0;
  EXPECT_EQ(this->call(mxrt_cholesky, 1, 3, 3, bad.v.data(), nullptr, out.v.data()), MXRT_SINGULAR);
  bad.at(1, 1) = TypeParam(NAN);
  EXPECT_EQ(this->call(mxrt_cholesky, 1, 3, 3, bad.v.data(), nullptr, out.v.data()), MXRT_SINGULAR);
}

TYPED_TEST(LinearAlgebra, Solve) {
  using M = Matrix<TypeParam>;
  for (int64_t n : {1, 2, 9, 33})
    for (int64_t k : {1, 3, 40}) {
      M a = M::random(n, n), x = M::random(n, k), b = a * x, got(n, k);
      ASSERT_EQ(this->call(mxrt_solve, 1, n, k, a.v.data(), b.v.data(), got.v.data()), 0);
      EXPECT_LE((a * got).distance(b), this->limit * double(n));
      for (bool lower : {true, false}) {
        M half = a;
        for (int64_t r = 0; r < n; ++r) {
          half.at(r, r) += TypeParam(2 * n);
          for (int64_t c = 0; c < n; ++c)
            if (lower ? c > r : c < r)
              half.at(r, c) = 0;
        }
        M right = half * x, read = half;
        for (int64_t r = 0; r < n; ++r)
          for (int64_t c = 0; c < n; ++c)
            if (lower ? c > r : c < r)
              read.at(r, c) = TypeParam(NAN); // not read
        ASSERT_EQ(this->call(lower ? mxrt_solve_lower : mxrt_solve_upper, 1, n, k, read.v.data(),
                             right.v.data(), got.v.data()),
                  0);
        EXPECT_LE(got.distance(x), this->limit * double(n));
      }
    }
  M singular(2, 2), b(2, 1), out(2, 1);
  singular.v = {1, 2, 2, 4};
  EXPECT_EQ(this->call(mxrt_solve, 1, 2, 1, singular.v.data(), b.v.data(), out.v.data()),
            MXRT_SINGULAR);
  singular.v = {1, 2, 2, 0};
  EXPECT_EQ(this->call(mxrt_solve_lower, 1, 2, 1, singular.v.data(), b.v.data(), out.v.data()),
            MXRT_SINGULAR);
}

TYPED_TEST(LinearAlgebra, FactorsOfBatches) {
  using M = Matrix<TypeParam>;
  using T = TypeParam;
  for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {5, 5}, {9, 4}, {60, 33}}) {
    constexpr int64_t batch = 3;
    std::vector<T> all;
    for (int64_t i = 0; i < batch; ++i) {
      M x = M::random(m + i, n);
      all.insert(all.end(), x.v.begin(), x.v.begin() + m * n);
    }
    int64_t qrSize = m * n + n * n, svdSize = qrSize + n;
    std::vector<T> qr(size_t(batch * qrSize)), svd(size_t(batch * svdSize));
    ASSERT_EQ(this->call(mxrt_qr, batch, m, n, all.data(), nullptr, qr.data()), 0);
    ASSERT_EQ(this->call(mxrt_svd, batch, m, n, all.data(), nullptr, svd.data()), 0);
    double limit = this->limit * double(m);
    for (int64_t i = 0; i < batch; ++i) {
      M x(m, n, all.data() + i * m * n);
      const T *from = qr.data() + i * qrSize;
      M q(m, n, from), r(n, n, from + m * n);
      EXPECT_LE((q * r).distance(x), limit);
      EXPECT_LE((q.transposed() * q).distance(M::unit(n)), limit);
      for (int64_t row = 0; row < n; ++row)
        for (int64_t c = 0; c < row; ++c)
          EXPECT_EQ(r.at(row, c), 0);
      from = svd.data() + i * svdSize;
      M u(m, n, from), v(n, n, from + m * n + n), s(n, n);
      for (int64_t k = 0; k < n; ++k) {
        s.at(k, k) = from[m * n + k];
        EXPECT_GE(s.at(k, k), k + 1 < n ? from[m * n + k + 1] : T(0));
      }
      EXPECT_LE((u * s * v).distance(x), limit);
      EXPECT_LE((u.transposed() * u).distance(M::unit(n)), limit);
      EXPECT_LE((v * v.transposed()).distance(M::unit(n)), limit);
    }
    if (m != n)
      continue;
    std::vector<T> eigh(size_t(batch * (n + n * n)));
    ASSERT_EQ(this->call(mxrt_eigh, batch, n, n, all.data(), nullptr, eigh.data()), 0);
    for (int64_t i = 0; i < batch; ++i) {
      M x(n, n, all.data() + i * n * n), w(n, n);
      const T *from = eigh.data() + i * (n + n * n);
      M v(n, n, from + n);
      for (int64_t r = 0; r < n; ++r)
        for (int64_t c = r + 1; c < n; ++c)
          x.at(r, c) = x.at(c, r); // the lower half is what is read
      for (int64_t k = 0; k < n; ++k) {
        w.at(k, k) = from[k];
        EXPECT_LE(from[k], k + 1 < n ? from[k + 1] : from[k]);
      }
      EXPECT_LE((v * w * v.transposed()).distance(x), limit);
    }
  }
}

TYPED_TEST(LinearAlgebra, NothingAndNotFinite) {
  std::vector<TypeParam> out(30), bad(4, TypeParam(NAN));
  for (Routine routine :
       {mxrt_cholesky, mxrt_solve, mxrt_solve_lower, mxrt_qr, mxrt_svd, mxrt_eigh}) {
    EXPECT_EQ(this->call(routine, 0, 3, 3, nullptr, nullptr, nullptr), 0);
    EXPECT_EQ(this->call(routine, 2, 0, 0, nullptr, nullptr, nullptr), 0);
  }
  EXPECT_EQ(this->call(mxrt_svd, 1, 2, 2, bad.data(), nullptr, out.data()), MXRT_SINGULAR);
  EXPECT_EQ(this->call(mxrt_eigh, 1, 2, 2, bad.data(), nullptr, out.data()), MXRT_SINGULAR);
  const int64_t sizes[] = {1, 1, 1};
  const void *inputs[] = {bad.data(), bad.data()};
  EXPECT_EQ(codeOf(::call(mxrt_solve, this->machine.context, MXRT_F16, sizes, inputs, out.data())),
            MXRT_DTYPE);
}

} // namespace
