// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts about sizes at one point of a program, and their consequences. A query has three answers:
// proved, refuted (with a counterexample), unknown.
#pragma once
#include "Support/Dim.h"

namespace mx {

enum class Verdict : uint8_t { Proved, Refuted, Unknown };

struct Answer {
  Verdict verdict = Verdict::Unknown;
  /// Refuted: sizes for which it does not hold; empty if it never holds.
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

/// Direct consequences of the facts. Computed once for all queries until the facts change.
struct DimKnowledge {
  /// `equation` is 0. A rewrite rule: its leading term may be replaced by the others.
  struct Rule {
    DimTerm lead; ///< with a positive coefficient
    Dim equation;
  };
  /// Symbols that equations express in other symbols, which are not keys of this map.
  DimContext::Substitution eliminated;
  std::vector<Rule> rules;
  std::vector<Dim> notNegative;
  std::vector<Dim> notZero;

  static DimKnowledge of(const std::vector<DimCondition> &facts, DimContext &dims);
  Dim simplify(Dim d, DimContext &dims) const;
  /// d divided by the gcd of all coefficients but the constant, which is rounded down. The sign
  /// condition stays the same: g*x + c >= 0 if and only if x + c // g >= 0.
  static Dim tightened(Dim d, DimContext &dims);
};

class DimFacts {
public:
  explicit DimFacts(DimContext &dims) : context(&dims) {}

  /// A fact with a null size proves nothing. It suppresses counterexamples, since it might exclude
  /// all of them.
  void assume(const DimCondition &fact);
  Answer ask(const DimCondition &question) const;
  Answer equal(Dim a, Dim b) const { return ask({Relation::Equal, a, b, {}}); }
  Answer lessEqual(Dim a, Dim b) const { return ask({Relation::LessEqual, a, b, {}}); }
  /// The normal form under the assumed equations.
  Dim simplify(Dim d) const;
  DimContext &dims() const { return *context; }
  /// The number of facts, and truncation to the first `count`.
  size_t size() const { return facts.size(); }
  void truncate(size_t count);
  const std::vector<DimCondition> &all() const { return facts; }

private:
  DimContext *context;
  std::vector<DimCondition> facts;
  mutable std::shared_ptr<const DimKnowledge> knowledge; ///< null: facts changed since

  const DimKnowledge &known() const;
};

} // namespace mx
