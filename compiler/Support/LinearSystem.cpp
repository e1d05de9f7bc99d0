// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dual simplex method in exact integer arithmetic, with Bland's rule.
#include "Support/LinearSystem.h"
#include "Support/CheckedMath.h"
#include <numeric>
#include <optional>

namespace mx {
namespace {

/// scale * basic == bound - sum of coefficients[j] * nonbasic[j], in integers.
struct TableauRow {
  std::vector<int64_t> coefficients;
  int64_t bound;
  int64_t scale; ///< > 0
  size_t basic;  ///< a column of the system, or columns + i for the slack of row i
};

/// a*b - c*d
std::optional<int64_t> crossProduct(int64_t a, int64_t b, int64_t c, int64_t d) {
  __int128 value = static_cast<__int128>(a) * b - static_cast<__int128>(c) * d;
  if (value > INT64_MAX || value <= INT64_MIN)
    return std::nullopt;
  return static_cast<int64_t>(value);
}

/// Adds the multiple of `pivot` to `row` that eliminates the variable of column `entering`.
bool eliminate(TableauRow &row, const TableauRow &pivot, size_t entering) {
  int64_t factor = row.coefficients[entering];
  auto bound = crossProduct(row.bound, pivot.scale, factor, pivot.bound);
  auto scale = checkedMul(row.scale, pivot.scale);
  if (!bound || !scale)
    return false;
  row.bound = *bound;
  row.scale = *scale;
  int64_t shared = std::gcd(row.scale, row.bound);
  for (size_t j = 0; j < row.coefficients.size(); ++j) {
    // In the pivot row, this column belongs to the leaving variable.
    int64_t own = j == entering ? 0 : row.coefficients[j];
    auto value = crossProduct(own, pivot.scale, factor, pivot.coefficients[j]);
    if (!value)
      return false;
    row.coefficients[j] = *value;
    shared = std::gcd(shared, *value);
  }
  if (shared > 1) {
    row.bound /= shared;
    row.scale /= shared;
    for (int64_t &c : row.coefficients)
      c /= shared;
  }
  return true;
}

bool satisfies(const std::vector<TableauRow> &tableau, const std::vector<LinearRow> &rows,
               size_t columns) {
  // The solution as fractions with a common denominator.
  int64_t denominator = 1;
  for (const TableauRow &row : tableau)
    if (row.basic < columns) {
      auto common = checkedMul(denominator / std::gcd(denominator, row.scale), row.scale);
      if (!common)
        return false;
      denominator = *common;
    }
  std::vector<int64_t> numerators(columns, 0);
  for (const TableauRow &row : tableau)
    if (row.basic < columns) {
      auto value = checkedMul(row.bound, denominator / row.scale);
      if (!value || *value < 0)
        return false;
      numerators[row.basic] = *value;
    }
  for (const LinearRow &row : rows) {
    __int128 sum = 0;
    for (size_t j = 0; j < columns; ++j)
      if (__builtin_add_overflow(sum, static_cast<__int128>(row.coefficients[j]) * numerators[j],
                                 &sum))
        return false;
    if (sum > static_cast<__int128>(row.bound) * denominator)
      return false;
  }
  return true;
}

} // namespace

bool hasSolution(const std::vector<LinearRow> &rows, size_t columns, int &pivots) {
  std::vector<TableauRow> tableau;
  for (size_t i = 0; i < rows.size(); ++i)
    tableau.push_back({rows[i].coefficients, rows[i].bound, 1, columns + i});
  std::vector<size_t> nonbasic(columns);
  std::iota(nonbasic.begin(), nonbasic.end(), size_t{0});
  // Nonbasic variables are 0. While a basic variable is negative, it leaves the basis, and a
  // variable that increases it enters. Choosing the first of each (Bland's rule) prevents cycling.
  while (true) {
    TableauRow *leaving = nullptr;
    for (TableauRow &row : tableau)
      if (row.bound < 0 && (!leaving || row.basic < leaving->basic))
        leaving = &row;
    if (!leaving)
      return satisfies(tableau, rows, columns);
    std::optional<size_t> entering;
    for (size_t j = 0; j < columns; ++j)
      if (leaving->coefficients[j] < 0 && (!entering || nonbasic[j] < nonbasic[*entering]))
        entering = j;
    if (!entering || --pivots < 0)
      return false;
    // Solves the row for the entering variable, whose coefficient is negative.
    int64_t scale = leaving->scale;
    for (int64_t &c : leaving->coefficients) {
      if (c == INT64_MIN)
        return false;
      c = -c;
    }
    if (leaving->bound == INT64_MIN)
      return false;
    leaving->bound = -leaving->bound;
    leaving->scale = leaving->coefficients[*entering];
    leaving->coefficients[*entering] = -scale;
    std::swap(leaving->basic, nonbasic[*entering]);
    for (TableauRow &row : tableau)
      if (&row != leaving && row.coefficients[*entering] != 0 &&
          !eliminate(row, *leaving, *entering))
        return false;
  }
}

} // namespace mx
