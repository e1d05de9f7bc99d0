// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Proves that sizes are non-negative. Monomials are treated as independent variables. A goal is
// proved if it is a non-negative linear combination of expressions known to be >= 0, plus a
// constant above -1 (sizes are integers). Known are the facts, the bounds of the remainder of each
// floor division, and some of these multiplied with each other.
#pragma once
#include "Support/DimSolver.h"

namespace mx {

class DimProver {
public:
  /// `about` is any size that contains the symbols and divisions of later goals.
  DimProver(DimContext &dims, const DimKnowledge &knowledge, Dim about);
  bool isNonNegative(Dim goal) { return prove(goal, kMaxDepth); }

private:
  static constexpr int kMaxDepth = 2;

  DimContext &dims;
  const DimKnowledge &knowledge;
  std::vector<Dim> known;               ///< all >= 0
  std::vector<AtomId> nonNegativeAtoms; ///< by the facts; not those that always are
  std::vector<AtomId> divided;          ///< floor divisions with a positive divisor
  int pivots;                           ///< remaining pivots for all goals together

  bool isNonNegativeAtom(AtomId a) const;
  bool isNonNegativeMonomial(const std::vector<AtomId> &atoms) const;
  void know(Dim d);
  void knowUnchanged(Dim d);
  void knowProductsFor(Dim goal, std::vector<Dim> &columns) const;
  /// The goal without the division, which must occur once with coefficient 1 or -1: a // b + c >= 0
  /// if and only if a + c*b >= 0.
  Dim withoutDivision(Dim goal, AtomId division) const;
  /// The goal in terms of a quotient with an exact division: with B == 4*(B // 4), 4*(B // 4) for
  /// B. The goal may then be a multiple of a number and can be tightened.
  Dim inQuotients(Dim goal) const;
  bool proveLinearly(Dim goal);
  bool prove(Dim goal, int depth);
};

} // namespace mx
