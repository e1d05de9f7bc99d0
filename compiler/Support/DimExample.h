// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Looks for sizes that satisfy facts and break a claim, to show in a message why the claim does
// not hold. They should be easy to follow, so small different numbers come first: 2, 3, 4.
#pragma once
#include "Support/DimSolver.h"

namespace mx {

class ExampleSearch {
public:
  /// `eliminated` gives symbols that follow from others by the facts; they are not guessed.
  ExampleSearch(const DimContext &dims, const std::vector<DimCondition> &facts,
                const DimContext::Substitution &eliminated, const DimCondition &claim);

  /// Tries `width` new values for each symbol, and those of the others, until `trials` are used up.
  bool search(size_t width, int trials);
  /// Tries random values, for claims that only break far from where the search begins.
  bool searchAnywhere(int trials);
  /// What was found for the symbols of the claim.
  std::vector<std::pair<AtomId, int64_t>> example() const;

private:
  struct Term {
    int64_t coefficient;
    std::vector<size_t> slots;
  };
  using Polynomial = std::vector<Term>;
  struct Step {
    enum Kind : uint8_t { Guess, Compute, Divide, Fact, Claim } kind;
    size_t slot = 0; ///< Guess, Compute, Divide: where the value goes
    bool nonNegative = false;
    bool hidden = false; ///< Guess: not in the claim, so nobody reads the value
    Relation relation = Relation::Equal;
    Polynomial left, right;
  };

  const DimContext &dims;
  bool possible = true; ///< false: too large to search
  std::vector<Step> steps;
  std::vector<AtomId> claimed;     ///< symbols of the claim, in the order they were made
  std::map<AtomId, size_t> slotOf; ///< of symbols and floor divisions
  std::vector<int64_t> values;     ///< by slot
  std::vector<int64_t> candidates; ///< best first
  std::vector<int64_t> guessed;    ///< values of the guesses so far
  uint64_t randomState = 0;

  Polynomial polynomial(Dim d) const;
  bool evaluate(const Polynomial &p, int64_t &value) const;
  bool run(const Step &step);
  /// Runs the steps from `at`; true if all hold and the claim does not.
  bool descend(size_t at, size_t width, int &trials);
  int64_t nextRandom(size_t below);
};

} // namespace mx
