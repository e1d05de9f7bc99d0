// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shows that sizes are not negative. Monomials are taken for independent unknowns; the goal is
// proved if it is a sum of things known to be >= 0, each taken a non-negative number of times, plus
// a constant above -1 (sizes are whole). Known are the facts, the bounds of each floor division's
// remainder, and some products of these.
#pragma once
#include "Support/DimSolver.h"

namespace mx {

class DimProver {
public:
  /// `about` is any size whose symbols and divisions later goals are about.
  DimProver(DimContext &dims, const DimKnowledge &knowledge, Dim about);
  bool isNonNegative(Dim goal) { return prove(goal, kMaxDepth); }

private:
  static constexpr int kMaxDepth = 2;

  DimContext &dims;
  const DimKnowledge &knowledge;
  std::vector<Dim> known;               ///< all >= 0
  std::vector<AtomId> nonNegativeAtoms; ///< by the facts; those that are so anyway are not here
  std::vector<AtomId> divided;          ///< floor divisions whose divisor is positive
  int pivots;                           ///< that are left for all goals together

  bool isNonNegativeAtom(AtomId a) const;
  bool isNonNegativeMonomial(const std::vector<AtomId> &atoms) const;
  void know(Dim d);
  void knowUnchanged(Dim d);
  void knowProductsFor(Dim goal, std::vector<Dim> &columns) const;
  /// The goal without the division, which must be its only use and taken once: a // b + c >= 0
  /// exactly if a + c*b >= 0.
  Dim withoutDivision(Dim goal, AtomId division) const;
  /// The goal in terms of a quotient where that divides exactly: with B == 4*(B // 4), 4*(B // 4)
  /// for B. Then it may turn out to be a multiple of a number, and can be tightened.
  Dim inQuotients(Dim goal) const;
  bool proveLinearly(Dim goal);
  bool prove(Dim goal, int depth);
};

} // namespace mx
