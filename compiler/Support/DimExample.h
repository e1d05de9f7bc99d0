// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counterexample search: finds sizes that satisfy the facts and violate a claim, for the message
// that says why the claim does not hold. They should be easy to follow, so small distinct numbers
// come first: 2, 3, 4.
#pragma once
#include "Support/DimSolver.h"

namespace mx {

class ExampleSearch {
public:
  /// `eliminated` maps symbols to expressions of other symbols. They are computed, not guessed.
  ExampleSearch(const DimContext &dims, const std::vector<DimCondition> &facts,
                const DimContext::Substitution &eliminated, const DimCondition &claim);

  /// Tries `width` new values for each symbol, and the values of the other symbols, until `trials`
  /// are used up.
  bool search(size_t width, int trials);
  /// Tries random values, for claims that fail only far from the start of the search.
  bool searchAnywhere(int trials);
  /// The values found for the symbols of the claim.
  std::vector<std::pair<AtomId, int64_t>> example() const;

private:
  struct Term {
    int64_t coefficient;
    std::vector<size_t> slots;
  };
  using Polynomial = std::vector<Term>;
  struct Step {
    enum Kind : uint8_t { Guess, Compute, Divide, Fact, Claim } kind;
    size_t slot = 0; ///< Guess, Compute, Divide: the destination of the value
    bool nonNegative = false;
    bool hidden = false; ///< Guess: not in the claim, so the value is not shown
    Relation relation = Relation::Equal;
    Polynomial left, right;
  };

  const DimContext &dims;
  bool possible = true; ///< false: too large to search
  std::vector<Step> steps;
  std::vector<AtomId> claimed;     ///< symbols of the claim, in order of creation
  std::map<AtomId, size_t> slotOf; ///< of symbols and floor divisions
  std::vector<int64_t> values;     ///< by slot
  std::vector<int64_t> candidates; ///< best first
  std::vector<int64_t> guessed;    ///< values of the guesses so far
  uint64_t randomState = 0;

  Polynomial polynomial(Dim d) const;
  bool evaluate(const Polynomial &p, int64_t &value) const;
  bool run(const Step &step);
  /// Runs the steps from `at`; true if all facts hold and the claim does not.
  bool descend(size_t at, size_t width, int &trials);
  int64_t nextRandom(size_t below);
};

} // namespace mx
