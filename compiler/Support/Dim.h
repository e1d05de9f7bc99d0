// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Symbolic sizes. A size is a polynomial with int64 coefficients over atoms. An atom is a symbol
// (`B`) or a floor division (`D // NH`). Polynomials are kept in normal form and interned, so sizes
// that are equal as polynomials have the same pointer. `a % b` is `a - b*(a // b)`.
//
// Division by zero is undefined, so `a // b` implies that b is not 0: a normal form equals the
// written expression wherever no divisor in it is 0. A floor division is normal if
//   - the numerator is reduced modulo the denominator: (q*b + r) // b is q + r // b;
//   - the two have no common factor, and the leading coefficient of the denominator is positive;
//   - the numerator is not itself a division plus integers, where the denominator is known to be
//     positive: (x // y + c) // b is (x + c*y) // (y*b).
//
// The dialects' shape functions use these too, so this file is in Support and independent of
// syntax.
#pragma once
#include "Support/Source.h"
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mx {

using AtomId = uint32_t;

struct DimTerm {
  int64_t coefficient;
  std::vector<AtomId> atoms; ///< sorted, with repetition for powers; empty for the constant term
  bool operator==(const DimTerm &) const = default;
};

struct DimNode {
  std::vector<DimTerm> terms; ///< sorted by atoms; no zero coefficients; empty for 0
  int depth = 0;              ///< nesting depth of its floor divisions
  int leaves = 0;             ///< number of symbols in its text, with repetition
};

/// A monomial order that multiplication preserves: by degree, then by the atoms.
bool smallerMonomial(const std::vector<AtomId> &a, const std::vector<AtomId> &b);
/// Whether the sorted `part` divides the sorted `whole`.
bool dividesMonomial(const std::vector<AtomId> &part, const std::vector<AtomId> &whole);
std::vector<AtomId> quotientMonomial(const std::vector<AtomId> &whole,
                                     const std::vector<AtomId> &part);

/// A handle to an interned size. A null Dim is "no size": it overflowed or exceeded a limit.
class Dim {
public:
  Dim() = default;
  explicit Dim(const DimNode *n) : node(n) {}
  explicit operator bool() const { return node != nullptr; }
  const DimNode *operator->() const { return node; }
  const DimNode &operator*() const { return *node; }
  bool operator==(const Dim &) const = default;
  const DimNode *get() const { return node; }
  std::optional<int64_t> constant() const;
  bool isConstant(int64_t value) const { return constant() == value; }

private:
  const DimNode *node = nullptr;
};

/// The origin of a symbol. It decides what a failed proof means: two generic sizes that may differ
/// are an error at the definition; a run-time value is checked at run time.
enum class SymbolRole : uint8_t {
  Generic,   ///< a size parameter of a signature or model
  Static,    ///< a `static` parameter
  Fresh,     ///< the batch of a loader: rigid, one per iteration
  LoopIndex, ///< the variable of a `for`
  HostInt,   ///< an immutable host integer whose value the checker does not know
  Unknown,   ///< `?`: known only after the op has run
};

struct DimSymbol {
  std::string name;
  SymbolRole role = SymbolRole::Generic;
  bool nonNegative = true;
  Span span; ///< location of its declaration
};

class DimContext {
public:
  DimContext();
  DimContext(const DimContext &) = delete;
  DimContext &operator=(const DimContext &) = delete;

  Dim constant(int64_t value);
  AtomId newSymbol(DimSymbol symbol);
  Dim symbol(AtomId id);
  Dim newSymbolDim(DimSymbol info) { return symbol(newSymbol(std::move(info))); }

  Dim add(Dim a, Dim b);
  Dim sub(Dim a, Dim b);
  Dim mul(Dim a, Dim b);
  Dim negate(Dim a) { return mul(a, constant(-1)); }
  Dim floorDiv(Dim a, Dim b);
  Dim mod(Dim a, Dim b);
  /// `coefficient * atoms` as a size.
  Dim term(int64_t coefficient, const std::vector<AtomId> &atoms);

  bool isSymbol(AtomId id) const { return atoms[id].isSymbol; }
  const DimSymbol &symbolInfo(AtomId id) const { return atoms[id].symbol; }
  Dim numerator(AtomId id) const { return atoms[id].numerator; }
  Dim denominator(AtomId id) const { return atoms[id].denominator; }
  /// The symbol, if the size is a single symbol.
  std::optional<AtomId> asSymbol(Dim d) const;
  bool isNonNegativeAtom(AtomId id) const;
  /// No term can be negative: all coefficients are positive and all atoms non-negative.
  bool isPlainlyNonNegative(Dim d) const;
  /// The term with the largest monomial; null for 0.
  static const DimTerm *leadingTerm(Dim d);

  using Substitution = std::map<AtomId, Dim>;
  Dim substitute(Dim d, const Substitution &by);
  std::optional<int64_t> evaluate(Dim d, const std::map<AtomId, int64_t> &values) const;
  /// Appends the symbols in `d` (also those inside floor divisions), each once.
  void symbols(Dim d, std::vector<AtomId> &out) const;
  /// Adds the floor divisions in `d`, also those inside of others.
  void collectDivisions(Dim d, std::set<AtomId> &out) const;
  std::string print(Dim d) const;
  /// Like print, but parenthesises a sum: `16*(H + 1)`.
  std::string printFactor(Dim d) const;

private:
  struct Atom {
    bool isSymbol = true;
    DimSymbol symbol;
    Dim numerator, denominator;
    bool nonNegative = false;
  };
  std::vector<Atom> atoms;
  std::vector<std::unique_ptr<DimNode>> nodes;
  std::unordered_multimap<size_t, const DimNode *> interned;
  std::map<std::pair<const DimNode *, const DimNode *>, AtomId> divisions;

  struct Division {
    Dim whole, rest;
  };
  Dim intern(std::vector<DimTerm> terms);
  Dim divisionAtom(Dim a, Dim b);
  Division reduceModulo(Dim a, Dim b);
  Dim flattenNested(Dim a, Dim b);
  bool mentionsAny(Dim d, const Substitution &by) const;
  std::string printAtom(AtomId id) const;
};

} // namespace mx
