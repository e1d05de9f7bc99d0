// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parser of symbolic sizes, by recursive descent.
#include "dialects/mx/SizeTable.h"
#include "llvm/ADT/StringExtras.h"

namespace mx::ir {

Dim SizeTable::named(llvm::StringRef name) {
  auto [found, isNew] = names.try_emplace(name.str(), 0);
  if (isNew)
    found->second = dims.newSymbol({name.str(), SymbolRole::Generic, true, {}});
  return dims.symbol(found->second);
}

namespace {

/// sum = term { (+|-) term };  term = factor { (*|//|%) factor };  factor = [-] atom
class Reader {
public:
  Reader(SizeTable &table, llvm::StringRef text) : table(table), rest(text) {}

  std::optional<Dim> all() {
    Dim d = sum();
    skip();
    if (!d || !rest.empty())
      return std::nullopt;
    return d;
  }

private:
  static constexpr int kDeepest = 200;
  SizeTable &table;
  llvm::StringRef rest;
  int depth = 0;

  void skip() { rest = rest.ltrim(' '); }
  bool eat(llvm::StringRef what) {
    skip();
    return rest.consume_front(what);
  }
  Dim sum() {
    Dim left = term();
    while (left) {
      if (eat("+"))
        left = both(left, term(), &DimContext::add);
      else if (eat("-"))
        left = both(left, term(), &DimContext::sub);
      else
        return left;
    }
    return {};
  }
  Dim term() {
    Dim left = factor();
    while (left) {
      if (eat("*"))
        left = both(left, factor(), &DimContext::mul);
      else if (eat("//"))
        left = both(left, factor(), &DimContext::floorDiv);
      else if (eat("%"))
        left = both(left, factor(), &DimContext::mod);
      else
        return left;
    }
    return {};
  }
  Dim both(Dim a, Dim b, Dim (DimContext::*op)(Dim, Dim)) {
    return a && b ? (table.dims.*op)(a, b) : Dim();
  }
  Dim factor() {
    if (++depth > kDeepest)
      return {};
    Dim d = atom();
    --depth;
    return d;
  }
  Dim atom() {
    if (eat("-")) {
      Dim d = factor();
      return d ? table.dims.negate(d) : Dim();
    }
    if (eat("(")) {
      Dim d = sum();
      return eat(")") ? d : Dim();
    }
    skip();
    if (!rest.empty() && llvm::isDigit(rest[0])) {
      int64_t value = 0;
      if (rest.consumeInteger(10, value))
        return {};
      return table.dims.constant(value);
    }
    size_t length = 0;
    while (length < rest.size() && (llvm::isAlnum(rest[length]) || rest[length] == '_' ||
                                    rest[length] == '.' || rest[length] == '$'))
      ++length;
    if (length == 0)
      return {};
    llvm::StringRef name = rest.take_front(length);
    rest = rest.drop_front(length);
    return table.named(name);
  }
};

} // namespace

std::optional<Dim> SizeTable::parse(llvm::StringRef text) { return Reader(*this, text).all(); }

} // namespace mx::ir
