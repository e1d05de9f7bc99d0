// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes that are known only at run time: computed numbers, loop indices, `?`. Eager code supports
// them everywhere. The memory of a graph is planned before it runs, so a graph supports only sizes
// that are constants by then: the index of a loop with constant bounds, since such a loop is
// unrolled.
#include "Sema/Internals.h"

namespace mx::sema {
using namespace ast;

/// A size that is not a constant when a graph is compiled, unless it comes from outside of the
/// graph.
Dim Sema::newRunSize(DimSymbol info) {
  AtomId id = dims.newSymbol(std::move(info));
  runSizeGraphs[id] = context->inGraph ? context->graphSpan : Span();
  return dims.symbol(id);
}

/// A sum, difference or multiplication of immutable numbers as a size expression, if each number
/// has been used as a size before.
Dim Sema::knownOfRun(const Expr *e) {
  if (e->checked && e->checked->dim)
    return e->checked->dim;
  if (auto *name = as<Name>(e)) {
    auto found = runSizes.find(name->symbol);
    return found == runSizes.end() ? Dim() : found->second;
  }
  auto *binary = as<Binary>(e);
  if (!binary || (binary->op != Tok::Plus && binary->op != Tok::Minus && binary->op != Tok::Star))
    return {};
  Dim left = knownOfRun(binary->left), right = left ? knownOfRun(binary->right) : Dim();
  if (!right)
    return {};
  return binary->op == Tok::Plus    ? dims.add(left, right)
         : binary->op == Tok::Minus ? dims.sub(left, right)
                                    : dims.mul(left, right);
}

/// An integer that is known only at run time, as a size. Each use binds a fresh name. Uses of the
/// same immutable variable are equal.
Dim Sema::sizeOfRun(const Expr *e, bool isNatural) {
  Dim size = newRunSize({textOf(e), SymbolRole::HostInt, isNatural, e->span});
  if (Dim known = knownOfRun(e)) {
    facts().assume({Relation::Equal, size, known, e->span});
    return size;
  }
  auto *name = as<Name>(e);
  Symbol *symbol = name ? name->symbol : nullptr;
  if (symbol && symbol->kind == SymbolKind::Variable && symbol->bind != BindKind::Var)
    runSizes.emplace(symbol, size);
  return size;
}

/// Whether a size is a constant once a graph is specialised: sizes of its arguments that are not
/// `dyn`, and indices of loops with such bounds.
bool Sema::isNumberInGraph(Dim size) {
  if (!size)
    return false;
  std::vector<AtomId> atoms;
  dims.symbols(size, atoms);
  for (AtomId atom : atoms) {
    if (runSizeGraphs.count(atom) || dims.symbolInfo(atom).role == SymbolRole::Unknown)
      return false;
    if (context->function)
      for (const DimCondition &bound : dynBounds[context->function])
        if (bound.left == dims.symbol(atom))
          return false;
  }
  return true;
}

/// Records a value with such a size for the enclosing function. A graph does not support it.
void Sema::noteRunSizes(const Type *type, const Expr *e) {
  std::vector<AtomId> atoms;
  for (const Axis &axis : type->shape)
    if (!axis.isPack() && axis.dim && !axis.dim.constant())
      dims.symbols(axis.dim, atoms);
  for (AtomId atom : atoms) {
    auto made = runSizeGraphs.find(atom);
    SymbolRole role = dims.symbolInfo(atom).role;
    if (made == runSizeGraphs.end() && role != SymbolRole::Unknown)
      continue;
    if (context->inGraph) {
      bool isInside = made != runSizeGraphs.end() && made->second.begin == context->graphSpan.begin &&
                      made->second.file == context->graphSpan.file && made->second.valid();
      if (isInside)
        reportRunSize(type, atom, e);
      if (isInside)
        return;
      continue;
    }
    if (context->function && !context->function->runSize) {
      context->function->runSize = type;
      context->function->runSizeSpan = e->span;
      context->function->runSizeName = dims.symbolInfo(atom).name;
    }
    return;
  }
}

void Sema::reportRunSize(const Type *type, AtomId atom, const Expr *e) {
  const DimSymbol &symbol = dims.symbolInfo(atom);
  bool isIndex = symbol.role == SymbolRole::LoopIndex;
  Diagnostic &d = diags.report(Code::E0317, e->span,
                               "a graph cannot have the size of " + show(type) +
                                   ": only its run knows `" + symbol.name + "`");
  d.label(context->graphSpan, "a graph has all sizes before it runs");
  if (isIndex)
    d.label(symbol.span, "the ends of this loop are known when it runs")
        .help("let the loop end at a size or a `static` number: `for " + symbol.name + " in 0..N`");
  else
    d.label(symbol.span, "computed here").help("make it known: `static " + symbol.name + ": i64`");
  d.help("or take pieces of one size: `x[i : i + M]` has M");
  d.help("or leave `graph` out: eager code may have such sizes");
}

/// Records a call of a function with such a size.
void Sema::noteRunSizesOf(const FunctionInfo &f, Span span) {
  if (!f.runSize || f.isGraph())
    return;
  if (!context->inGraph) {
    if (context->function && !context->function->runSize) {
      context->function->runSize = f.runSize;
      context->function->runSizeSpan = f.runSizeSpan;
      context->function->runSizeName = f.runSizeName;
    }
    return;
  }
  bool ofData = f.runSizeName == "?";
  Diagnostic &d =
      diags.report(ofData ? Code::E0402 : Code::E0317, span,
                   "a graph cannot call `" + f.name + "`: " +
                       (ofData ? "a size in it depends on data"
                               : "only its run knows the size `" + f.runSizeName + "` in it"));
  d.label(context->graphSpan, "a graph has all sizes before it runs");
  d.note(show(f.runSize) + " at " + sources.location(f.runSizeSpan));
  d.help("call it outside of the graph, or leave `graph` out: eager code may have such sizes");
}

} // namespace mx::sema
