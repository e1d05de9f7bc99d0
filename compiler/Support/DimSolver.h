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

/// What follows from facts directly; made once for all questions until the facts change.
struct DimKnowledge {
  /// `equation` is 0. Its leading term may be replaced by the others.
  struct Rule {
    DimTerm lead; ///< with a positive coefficient
    Dim equation;
  };
  /// Symbols that equations give in terms of others, which are not in this map.
  DimContext::Substitution eliminated;
  std::vector<Rule> rules;
  std::vector<Dim> notNegative;
  std::vector<Dim> notZero;

  static DimKnowledge of(const std::vector<DimCondition> &facts, DimContext &dims);
  Dim simplify(Dim d, DimContext &dims) const;
  /// d without a number that divides all but its constant, which is rounded down: the size that
  /// is not negative exactly if d is not, since g*x + c >= 0 exactly if x + c // g >= 0.
  static Dim tightened(Dim d, DimContext &dims);
};

class DimFacts {
public:
  explicit DimFacts(DimContext &dims) : context(&dims) {}

  /// A fact with a null size proves nothing, but with it no counterexample is given: it might say
  /// that there is none.
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
  DimContext *context;
  std::vector<DimCondition> facts;
  mutable std::shared_ptr<const DimKnowledge> knowledge; ///< null: not made since facts changed

  const DimKnowledge &known() const;
};

} // namespace mx
