// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known about sizes at one place of a program, and what follows from it. A question has
// three answers: proved, refuted (with sizes that show it), unknown.
#pragma once
#include "Support/Dim.h"

namespace mx {

enum class Verdict : uint8_t { Proved, Refuted, Unknown };

struct Answer {
  Verdict verdict = Verdict::Unknown;
  /// Refuted: sizes for which it does not hold; empty if it holds for none.
  std::vector<std::pair<AtomId, int64_t>> example;
  bool proved() const { return verdict == Verdict::Proved; }
  bool refuted() const { return verdict == Verdict::Refuted; }
};

enum class Relation : uint8_t { Equal, NotEqual, LessEqual };

/// `left relation right`
struct DimCondition {
  Relation relation = Relation::Equal;
  Dim left, right;
  Span span;
};

class DimFacts {
public:
  explicit DimFacts(DimContext &dims) : context(&dims) {}

  void assume(const DimCondition &fact);
  Answer ask(const DimCondition &question) const;
  Answer equal(Dim a, Dim b) const { return ask({Relation::Equal, a, b, {}}); }
  Answer lessEqual(Dim a, Dim b) const { return ask({Relation::LessEqual, a, b, {}}); }
  /// The normal form under the assumed equations.
  Dim simplify(Dim d) const;
  DimContext &dims() const { return *context; }
  /// The number of facts, and forgetting those assumed after there were `count`.
  size_t size() const { return facts.size(); }
  void truncate(size_t count);
  const std::vector<DimCondition> &all() const { return facts; }

private:
  /// `monomial` may be replaced by `replacement`.
  struct Rule {
    std::vector<AtomId> monomial;
    Dim replacement;
    bool deep; ///< also inside floor divisions
    size_t fact;
  };
  DimContext *context;
  std::vector<DimCondition> facts;
  std::vector<Rule> rules;

  void addRule(Dim zero, size_t fact);
  bool nonNegative(Dim d, int depth) const;
  Answer findCounterexample(const DimCondition &question) const;
  bool holds(const DimCondition &c, const std::map<AtomId, int64_t> &values, bool &known) const;
};

} // namespace mx
