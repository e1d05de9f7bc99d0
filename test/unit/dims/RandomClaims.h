// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random size expressions, facts and claims, and their values by direct evaluation. The property
// tests take the choices from a seeded generator, the fuzzer from its input.
#pragma once
#include "Support/CheckedMath.h"
#include "Support/DimSolver.h"
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mx::testing {

/// A number from 0 up to, but without, the given one.
using Choose = std::function<uint32_t(uint32_t)>;
/// By index of the symbol.
using Values = std::vector<int64_t>;

struct Expr {
  enum Op : uint8_t { Number, Symbol, Add, Sub, Mul, Div, Mod } op = Number;
  int64_t number = 0; ///< the index of a symbol
  std::shared_ptr<const Expr> left, right;
};
using ExprPtr = std::shared_ptr<const Expr>;

inline ExprPtr number(int64_t n) { return std::make_shared<Expr>(Expr{Expr::Number, n, {}, {}}); }
inline ExprPtr symbol(int64_t n) { return std::make_shared<Expr>(Expr{Expr::Symbol, n, {}, {}}); }
inline ExprPtr binary(Expr::Op op, ExprPtr a, ExprPtr b) {
  return std::make_shared<Expr>(Expr{op, 0, std::move(a), std::move(b)});
}

/// Nothing if a divisor is 0 or a number does not fit.
inline std::optional<int64_t> compute(const Expr &e, const Values &values) {
  if (e.op == Expr::Number)
    return e.number;
  if (e.op == Expr::Symbol)
    return values[static_cast<size_t>(e.number)];
  auto a = compute(*e.left, values), b = compute(*e.right, values);
  if (!a || !b)
    return std::nullopt;
  switch (e.op) {
  case Expr::Add:
    return checkedAdd(*a, *b);
  case Expr::Sub:
    return checkedSub(*a, *b);
  case Expr::Mul:
    return checkedMul(*a, *b);
  case Expr::Div:
    return checkedFloorDiv(*a, *b);
  default:
    return checkedFloorMod(*a, *b);
  }
}

inline Dim toDim(const Expr &e, DimContext &dims, const std::vector<AtomId> &symbols) {
  if (e.op == Expr::Number)
    return dims.constant(e.number);
  if (e.op == Expr::Symbol)
    return dims.symbol(symbols[static_cast<size_t>(e.number)]);
  Dim a = toDim(*e.left, dims, symbols), b = toDim(*e.right, dims, symbols);
  switch (e.op) {
  case Expr::Add:
    return dims.add(a, b);
  case Expr::Sub:
    return dims.sub(a, b);
  case Expr::Mul:
    return dims.mul(a, b);
  case Expr::Div:
    return dims.floorDiv(a, b);
  default:
    return dims.mod(a, b);
  }
}

inline std::string text(const Expr &e) {
  static const char *const kOps[] = {"", "", " + ", " - ", "*", " // ", " % "};
  if (e.op == Expr::Number)
    return std::to_string(e.number);
  if (e.op == Expr::Symbol)
    return std::string(1, static_cast<char>('A' + e.number));
  return "(" + text(*e.left) + kOps[e.op] + text(*e.right) + ")";
}

inline ExprPtr randomExpr(const Choose &choose, uint32_t symbols, int depth) {
  if (depth == 0 || choose(5) == 0)
    return choose(3) == 0 ? number(static_cast<int64_t>(choose(8)) - 2) : symbol(choose(symbols));
  static constexpr Expr::Op kOps[] = {Expr::Add, Expr::Sub, Expr::Add, Expr::Mul,
                                      Expr::Div, Expr::Mod, Expr::Div};
  Expr::Op op = kOps[choose(7)];
  ExprPtr left = randomExpr(choose, symbols, depth - 1);
  return binary(op, left, randomExpr(choose, symbols, depth - 1));
}

struct Claim {
  Relation relation = Relation::Equal;
  ExprPtr left, right;
};

inline std::string text(const Claim &c) {
  const char *sign = c.relation == Relation::Equal      ? " == "
                     : c.relation == Relation::NotEqual ? " != "
                                                        : " <= ";
  return text(*c.left) + sign + text(*c.right);
}

inline std::optional<bool> compute(const Claim &c, const Values &values) {
  auto a = compute(*c.left, values), b = compute(*c.right, values);
  if (!a || !b)
    return std::nullopt;
  return c.relation == Relation::Equal      ? *a == *b
         : c.relation == Relation::NotEqual ? *a != *b
                                            : *a <= *b;
}

inline Claim randomFact(const Choose &choose, uint32_t symbols) {
  ExprPtr a = symbol(choose(symbols)), b = symbol(choose(symbols));
  ExprPtr small = number(static_cast<int64_t>(choose(6)) - 1);
  switch (choose(9)) {
  case 0:
    return {Relation::Equal, binary(Expr::Mod, a, choose(2) ? b : number(2 + choose(3))),
            number(0)};
  case 1:
    return {Relation::LessEqual, a, binary(Expr::Add, b, small)};
  case 2:
    return {Relation::LessEqual, small, a};
  case 3:
    return {Relation::LessEqual, a, small};
  case 4:
    return {Relation::NotEqual, a, choose(2) ? b : small};
  case 5:
    return {Relation::Equal, a, randomExpr(choose, symbols, 1)};
  case 6:
    return {Relation::Equal, randomExpr(choose, symbols, 2), randomExpr(choose, symbols, 1)};
  default:
    return {choose(3) ? Relation::LessEqual : Relation::NotEqual, randomExpr(choose, symbols, 2),
            randomExpr(choose, symbols, 2)};
  }
}

/// Often something that may follow from the facts: random claims alone are nearly always wrong.
inline Claim randomQuestion(const Choose &choose, uint32_t symbols,
                            const std::vector<Claim> &facts) {
  Relation relation = static_cast<Relation>(choose(3));
  if (!facts.empty() && choose(2)) {
    // The sum or a multiple of two facts, a little weaker or stronger.
    const Claim &f = facts[choose(static_cast<uint32_t>(facts.size()))];
    const Claim &g = facts[choose(static_cast<uint32_t>(facts.size()))];
    ExprPtr slack = number(static_cast<int64_t>(choose(4)) - 1);
    Expr::Op op = choose(3) ? Expr::Add : choose(2) ? Expr::Mul : Expr::Div;
    return {choose(3) ? f.relation : relation, binary(op, f.left, g.left),
            binary(Expr::Add, binary(op, f.right, g.right), slack)};
  }
  ExprPtr a = randomExpr(choose, symbols, 3);
  if (choose(3) == 0) {
    // An expression against itself with a part moved through a division.
    ExprPtr b = randomExpr(choose, symbols, 1), c = randomExpr(choose, symbols, 1);
    return {relation, binary(Expr::Div, binary(Expr::Add, binary(Expr::Mul, b, c), a), b),
            binary(Expr::Add, c, binary(Expr::Div, a, b))};
  }
  return {relation, a, randomExpr(choose, symbols, 2)};
}

/// Calls `visit` with every assignment of the given values; stops when it returns false.
inline bool forAllValues(const std::vector<std::vector<int64_t>> &domains,
                         const std::function<bool(const Values &)> &visit) {
  Values values(domains.size());
  std::vector<size_t> digits(domains.size(), 0);
  while (true) {
    for (size_t i = 0; i < domains.size(); ++i)
      values[i] = domains[i][digits[i]];
    if (!visit(values))
      return false;
    size_t i = 0;
    while (i < digits.size() && ++digits[i] == domains[i].size())
      digits[i++] = 0;
    if (i == digits.size())
      return true;
  }
}

struct ClaimCheck {
  Verdict verdict = Verdict::Unknown;
  std::string problem;      ///< empty: the verdict is right as far as computing shows
  bool unconfirmed = false; ///< no values for the other symbols were found to complete an example
};

/// Asks a random question under random facts and computes whether the answer can be right.
inline ClaimCheck checkRandomClaim(const Choose &choose, int64_t largest) {
  uint32_t count = 1 + choose(3);
  DimContext dims;
  std::vector<AtomId> symbols;
  std::vector<std::vector<int64_t>> domains, wide;
  for (uint32_t i = 0; i < count; ++i) {
    DimSymbol info{
        std::string(1, static_cast<char>('A' + i)), SymbolRole::Generic, choose(4) != 0, {}};
    domains.emplace_back();
    wide.emplace_back();
    for (int64_t v = info.nonNegative ? 0 : -largest; v <= largest; ++v)
      domains.back().push_back(v);
    for (int64_t v = info.nonNegative ? 0 : -8; v <= 16; ++v)
      wide.back().push_back(v);
    symbols.push_back(dims.newSymbol(std::move(info)));
  }
  std::vector<Claim> facts;
  DimFacts known(dims);
  for (uint32_t n = choose(4); n > 0; --n) {
    facts.push_back(randomFact(choose, count));
    known.assume({facts.back().relation,
                  toDim(*facts.back().left, dims, symbols),
                  toDim(*facts.back().right, dims, symbols),
                  {}});
  }
  Claim question = randomQuestion(choose, count, facts);
  DimCondition asked{question.relation,
                     toDim(*question.left, dims, symbols),
                     toDim(*question.right, dims, symbols),
                     {}};
  Answer answer = known.ask(asked);

  ClaimCheck result{answer.verdict, {}, false};
  std::string story = text(question) + " under";
  for (const Claim &f : facts)
    story += " [" + text(f) + "]";
  for (AtomId s : symbols)
    if (!dims.symbolInfo(s).nonNegative)
      story += " (" + dims.symbolInfo(s).name + " may be negative)";
  auto show = [&](const Values &values) {
    std::string out = " at";
    for (int64_t v : values)
      out += " " + std::to_string(v);
    return out;
  };
  auto factsHold = [&](const Values &values) {
    for (const Claim &f : facts)
      if (!compute(f, values).value_or(false))
        return false;
    return true;
  };
  if (answer.proved() || (answer.refuted() && answer.example.empty())) {
    forAllValues(domains, [&](const Values &values) {
      auto holds = compute(question, values);
      if (holds && *holds != answer.proved() && factsHold(values))
        result.problem =
            (answer.proved() ? "wrongly proved: " : "wrongly refuted: ") + story + show(values);
      return result.problem.empty();
    });
    return result;
  }
  if (!answer.refuted())
    return result;
  // The solver sees normal forms, in which divisors may have cancelled, so those are computed here.
  std::map<AtomId, int64_t> values;
  for (auto &[atom, value] : answer.example) {
    if (value < 0 && dims.symbolInfo(atom).nonNegative)
      result.problem = "a negative size in the example: " + story;
    values[atom] = value;
    wide[static_cast<size_t>(std::find(symbols.begin(), symbols.end(), atom) - symbols.begin())] = {
        value};
  }
  auto left = dims.evaluate(asked.left, values), right = dims.evaluate(asked.right, values);
  bool holds = left && right &&
               (asked.relation == Relation::Equal      ? *left == *right
                : asked.relation == Relation::NotEqual ? *left != *right
                                                       : *left <= *right);
  if (!left || !right || holds)
    result.problem = "not a counterexample: " + story;
  for (size_t i = 0; i < symbols.size(); ++i) {
    std::vector<AtomId> mentioned;
    for (const DimCondition &f : known.all()) {
      dims.symbols(f.left, mentioned);
      dims.symbols(f.right, mentioned);
    }
    if (std::find(mentioned.begin(), mentioned.end(), symbols[i]) == mentioned.end())
      wide[i] = {wide[i][0]};
  }
  bool complete = false, open = false;
  for (auto &domain : wide)
    open |= domain.size() > 1;
  forAllValues(wide, [&](const Values &v) {
    for (size_t i = 0; i < symbols.size(); ++i)
      values[symbols[i]] = v[i];
    complete = true;
    for (const DimCondition &f : known.all()) {
      auto a = dims.evaluate(f.left, values), b = dims.evaluate(f.right, values);
      complete = a && b &&
                 (f.relation == Relation::Equal      ? *a == *b
                  : f.relation == Relation::NotEqual ? *a != *b
                                                     : *a <= *b);
      if (!complete)
        break;
    }
    return !complete;
  });
  // Facts about other symbols than the claim's may contradict each other without harm.
  if (!complete && open)
    result.unconfirmed = true;
  else if (!complete)
    result.problem = "the example breaks a fact: " + story;
  return result;
}

} // namespace mx::testing
