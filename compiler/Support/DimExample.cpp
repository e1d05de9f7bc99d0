// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counterexample search for claims about sizes: backtracking over candidate values, then random
// trials.
#include "Support/DimExample.h"
#include "Support/CheckedMath.h"
#include <algorithm>
#include <set>

namespace mx {
namespace {

constexpr size_t kMaxSymbols = 24;
constexpr size_t kMaxDivisions = 64;
/// Limits the work of one trial.
constexpr size_t kMaxTerms = 512;
constexpr size_t kMaxConstants = 6;

bool overlaps(const std::vector<AtomId> &some, const std::vector<AtomId> &others) {
  return std::any_of(some.begin(), some.end(), [&](AtomId a) {
    return std::find(others.begin(), others.end(), a) != others.end();
  });
}

} // namespace

ExampleSearch::ExampleSearch(const DimContext &context, const std::vector<DimCondition> &facts,
                             const DimContext::Substitution &eliminated, const DimCondition &claim)
    : dims(context) {
  dims.symbols(claim.left, claimed);
  dims.symbols(claim.right, claimed);
  std::sort(claimed.begin(), claimed.end());
  // All facts that restrict these symbols, also transitively, must hold.
  std::vector<AtomId> symbols = claimed;
  std::vector<const DimCondition *> relevant;
  std::vector<std::vector<AtomId>> symbolsOf(facts.size());
  for (size_t i = 0; i < facts.size(); ++i) {
    // A fact that exceeded a limit restricts the sizes in an unknown way.
    possible &= facts[i].left && facts[i].right;
    dims.symbols(facts[i].left, symbolsOf[i]);
    dims.symbols(facts[i].right, symbolsOf[i]);
    // A fact about constants alone: if it does not hold, no example exists.
    if (symbolsOf[i].empty())
      relevant.push_back(&facts[i]);
  }
  for (bool grown = true; grown && possible;) {
    grown = false;
    for (size_t i = 0; i < facts.size(); ++i) {
      if (!overlaps(symbolsOf[i], symbols))
        continue;
      relevant.push_back(&facts[i]);
      for (AtomId a : symbolsOf[i])
        if (std::find(symbols.begin(), symbols.end(), a) == symbols.end())
          symbols.push_back(a);
      symbolsOf[i].clear();
      grown = true;
    }
    possible &= symbols.size() <= kMaxSymbols;
  }
  if (!possible)
    return;
  std::sort(symbols.begin() + static_cast<std::ptrdiff_t>(claimed.size()), symbols.end());

  // Besides small values, the values next to the constants in the program matter.
  candidates = {2, 3, 4, 5, 6, 7, 8, 1, 0, 9, 10, 12, 16, 24, 64};
  auto addCandidate = [&](int64_t value) {
    if (std::find(candidates.begin(), candidates.end(), value) == candidates.end())
      candidates.push_back(value);
  };
  std::set<AtomId> divisions;
  std::set<int64_t> constants;
  size_t terms = 0;
  auto enter = [&](Dim d) {
    dims.collectDivisions(d, divisions);
    terms += d->terms.size();
    for (const DimTerm &t : d->terms)
      if (constants.size() < kMaxConstants)
        constants.insert(t.coefficient < 0 ? -(t.coefficient + 1) : t.coefficient);
  };
  for (const DimCondition *f : relevant) {
    enter(f->left);
    enter(f->right);
  }
  enter(claim.left);
  enter(claim.right);
  std::map<AtomId, Dim> computed;
  for (AtomId a : symbols)
    if (auto it = eliminated.find(a); it != eliminated.end()) {
      std::vector<AtomId> needed;
      dims.symbols(it->second, needed);
      bool closed = std::all_of(needed.begin(), needed.end(), [&](AtomId n) {
        return std::find(symbols.begin(), symbols.end(), n) != symbols.end();
      });
      if (closed) {
        computed.insert(*it);
        enter(it->second);
      }
    }
  for (AtomId a : divisions)
    terms += dims.numerator(a)->terms.size() + dims.denominator(a)->terms.size();
  if (divisions.size() > kMaxDivisions || terms > kMaxTerms) {
    possible = false;
    return;
  }
  for (int64_t c : constants)
    for (int64_t value : {c, c + (c < INT64_MAX), c - 1})
      if (value > 0)
        addCandidate(value);
  for (int64_t value : {-1, -2, -3, -5})
    addCandidate(value);

  // Orders the steps so that each fact is checked as soon as its symbols have values.
  std::vector<bool> done(relevant.size(), false);
  std::map<AtomId, Dim> waiting = computed;
  std::set<AtomId> undivided = divisions;
  bool claimDone = false;
  auto ready = [&](Dim d) {
    for (const DimTerm &t : d->terms)
      for (AtomId a : t.atoms)
        if (!slotOf.count(a))
          return false;
    return true;
  };
  auto slot = [&](AtomId a) { return slotOf.emplace(a, slotOf.size()).first->second; };
  auto settle = [&] {
    for (bool grown = true; grown;) {
      grown = false;
      for (auto it = undivided.begin(); it != undivided.end();) {
        Dim above = dims.numerator(*it), below = dims.denominator(*it);
        if (!ready(above) || !ready(below)) {
          ++it;
          continue;
        }
        Polynomial left = polynomial(above), right = polynomial(below);
        steps.push_back({Step::Divide, slot(*it), false, false, Relation::Equal, left, right});
        it = undivided.erase(it);
        grown = true;
      }
      for (auto it = waiting.begin(); it != waiting.end();) {
        if (!ready(it->second)) {
          ++it;
          continue;
        }
        Polynomial value = polynomial(it->second);
        steps.push_back({Step::Compute,
                         slot(it->first),
                         dims.symbolInfo(it->first).nonNegative,
                         false,
                         Relation::Equal,
                         value,
                         {}});
        it = waiting.erase(it);
        grown = true;
      }
    }
    for (size_t i = 0; i < relevant.size(); ++i) {
      const DimCondition &f = *relevant[i];
      if (done[i] || !ready(f.left) || !ready(f.right))
        continue;
      done[i] = true;
      steps.push_back(
          {Step::Fact, 0, false, false, f.relation, polynomial(f.left), polynomial(f.right)});
    }
    if (!claimDone && ready(claim.left) && ready(claim.right)) {
      claimDone = true;
      steps.push_back({Step::Claim, 0, false, false, claim.relation, polynomial(claim.left),
                       polynomial(claim.right)});
    }
  };
  settle();
  for (AtomId a : symbols)
    if (!computed.count(a)) {
      bool hidden = std::find(claimed.begin(), claimed.end(), a) == claimed.end();
      steps.push_back({Step::Guess, slot(a), dims.symbolInfo(a).nonNegative, hidden, {}, {}, {}});
      settle();
    }
  // All symbols have values now. Only a cycle of eliminated symbols could prevent it, and there is
  // none.
  possible = claimDone && undivided.empty() && waiting.empty();
  values.assign(slotOf.size(), 0);
}

ExampleSearch::Polynomial ExampleSearch::polynomial(Dim d) const {
  Polynomial p;
  for (const DimTerm &t : d->terms) {
    Term term{t.coefficient, {}};
    for (AtomId a : t.atoms)
      term.slots.push_back(slotOf.at(a));
    p.push_back(std::move(term));
  }
  return p;
}

bool ExampleSearch::evaluate(const Polynomial &p, int64_t &value) const {
  value = 0;
  for (const Term &t : p) {
    int64_t product = t.coefficient;
    for (size_t s : t.slots)
      if (__builtin_mul_overflow(product, values[s], &product))
        return false;
    if (__builtin_add_overflow(value, product, &value))
      return false;
  }
  return true;
}

/// False if the sizes are not a counterexample: a fact does not hold, the claim holds, or a value
/// is undefined.
bool ExampleSearch::run(const Step &step) {
  int64_t left, right = 0;
  if (!evaluate(step.left, left) || !evaluate(step.right, right))
    return false;
  switch (step.kind) {
  case Step::Guess:
    return true;
  case Step::Compute:
    values[step.slot] = left;
    return left >= 0 || !step.nonNegative;
  case Step::Divide: {
    auto quotient = checkedFloorDiv(left, right);
    values[step.slot] = quotient.value_or(0);
    return quotient.has_value();
  }
  case Step::Fact:
  case Step::Claim:
    break;
  }
  bool holds = step.relation == Relation::Equal      ? left == right
               : step.relation == Relation::NotEqual ? left != right
                                                     : left <= right;
  return holds == (step.kind == Step::Fact);
}

int64_t ExampleSearch::nextRandom(size_t below) {
  randomState = randomState * 6364136223846793005u + 1442695040888963407u;
  return static_cast<int64_t>((randomState >> 33) % below);
}

bool ExampleSearch::descend(size_t at, size_t width, int &trials) {
  while (at < steps.size() && steps[at].kind != Step::Guess)
    if (!run(steps[at++]))
      return false;
  if (at == steps.size())
    return true;
  const Step &guess = steps[at];
  auto attempt = [&](int64_t value) {
    --trials;
    values[guess.slot] = value;
    guessed.push_back(value);
    bool found = descend(at + 1, width, trials);
    guessed.pop_back();
    return found;
  };
  if (width == 0) {
    int64_t value = candidates[nextRandom(candidates.size())];
    return attempt(guess.nonNegative && value < 0 ? 0 : value);
  }
  auto usedBefore = [&](int64_t value) {
    return std::find(guessed.begin(), guessed.end(), value) != guessed.end();
  };
  if (guess.hidden) {
    // These values satisfy most divisibility conditions and bounds.
    for (int64_t value : {1, 0})
      if (trials > 0 && attempt(value))
        return true;
  }
  size_t tried = 0;
  for (int64_t value : candidates) {
    if (usedBefore(value) || (value < 0 && guess.nonNegative))
      continue;
    if (tried++ == width || trials <= 0)
      break;
    if (attempt(value))
      return true;
  }
  if (width == 1)
    return false;
  std::vector<int64_t> repeated;
  for (int64_t value : guessed)
    if (std::find(repeated.begin(), repeated.end(), value) == repeated.end() &&
        (value >= 0 || !guess.nonNegative))
      repeated.push_back(value);
  for (int64_t value : repeated)
    if (trials > 0 && attempt(value))
      return true;
  return false;
}

bool ExampleSearch::search(size_t width, int trials) {
  return possible && descend(0, width, trials);
}

bool ExampleSearch::searchAnywhere(int trials) {
  if (!possible)
    return false;
  while (trials > 0) {
    --trials;
    if (descend(0, 0, trials))
      return true;
  }
  return false;
}

std::vector<std::pair<AtomId, int64_t>> ExampleSearch::example() const {
  std::vector<std::pair<AtomId, int64_t>> out;
  for (AtomId a : claimed)
    out.push_back({a, values[slotOf.at(a)]});
  return out;
}

} // namespace mx
