// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recursive-descent parser of types.
#include "Syntax/ParserImpl.h"

namespace mx {
using namespace ast;

namespace {
TypeExpr *typeNode(Arena &arena, TypeKind kind, Span span) {
  auto *node = arena.make<TypeExpr>();
  node->kind = kind;
  node->span = span;
  return node;
}
} // namespace

TypeExpr *Parser::parseType() {
  Nested nested(*this);
  Span start = here();
  if (fatal)
    return typeNode(arena, TypeKind::Error, start);
  if (at(Tok::Name))
    return parseNamedType();
  if (accept(Tok::LParen)) {
    std::vector<TypeExpr *> elements;
    int height = 0;
    while (!at(Tok::RParen) && !at(Tok::EndOfFile) && !panic && !fatal) {
      elements.push_back(parseType());
      height = std::max(height, heightOf(elements.back()));
      if (!accept(Tok::Comma))
        break;
    }
    expectClose(Tok::RParen, start);
    if (elements.size() == 1)
      return elements[0];
    TypeExpr *node = typeNode(arena, TypeKind::Tuple, since(start));
    node->elements = arena.list(elements);
    return setHeight(node, height + 1);
  }
  if (accept(Tok::LBracket)) {
    TypeExpr *node = typeNode(arena, TypeKind::Array, start);
    node->element = parseType();
    if (at(Tok::RBracket)) {
      if (Diagnostic *d = expected("`;`"))
        d->note("an array type has a length: `[T; n]`");
    } else {
      expect(Tok::Semicolon);
    }
    node->count = panic ? errorExpr() : parseExpr();
    expectClose(Tok::RBracket, start);
    node->span = since(start);
    return grown(node, {heightOf(node->element), heightOf(node->count)});
  }
  if (accept(Tok::KwFn)) {
    TypeExpr *node = typeNode(arena, TypeKind::Fn, start);
    Span open = here();
    std::vector<TypeExpr *> params;
    int height = 0;
    if (expect(Tok::LParen)) {
      while (!at(Tok::RParen) && !at(Tok::EndOfFile) && !panic && !fatal) {
        params.push_back(parseType());
        height = std::max(height, heightOf(params.back()));
        if (!accept(Tok::Comma))
          break;
      }
      expectClose(Tok::RParen, open);
    }
    node->elements = arena.list(params);
    if (expect(Tok::Arrow))
      node->element = parseType();
    node->span = since(start);
    return setHeight(node, std::max(height, heightOf(node->element)) + 1);
  }
  if (Diagnostic *d = expected("a type"))
    if (at(Tok::Question))
      d->help("`?` is a size: `i32[?]`");
  return typeNode(arena, TypeKind::Error, start);
}

TypeExpr *Parser::parseNamedType() {
  Span start = here();
  TypeExpr *node = typeNode(arena, TypeKind::Named, start);
  std::vector<Identifier> path;
  path.push_back(identifier("a type"));
  while (at(Tok::Dot) && !panic) {
    take();
    path.push_back(identifier("a name after `.`"));
  }
  node->path = arena.list(path);
  int height = 0;
  if (at(Tok::LBracket)) {
    Span open = spanOf(take());
    node->hasDims = true;
    std::vector<TypeDim> dims;
    while (!at(Tok::RBracket) && !at(Tok::EndOfFile) && !panic && !fatal) {
      dims.push_back(parseTypeDim());
      if (!accept(Tok::Comma))
        break;
    }
    expectClose(Tok::RBracket, open);
    node->dims = arena.list(dims);
    height = heightOfDims(dims);
  }
  if (at(Tok::LParen)) {
    node->hasArgs = true;
    Span argsSpan;
    node->args = parseArgs(argsSpan);
    height = std::max(height, heightOf(node->args));
  }
  node->span = since(start);
  return setHeight(node, height + 1);
}

TypeDim Parser::parseTypeDim() {
  TypeDim dim;
  Span start = here();
  if (accept(Tok::Ellipsis)) {
    dim.kind = TypeDim::Pack;
    dim.name = identifier("a name after `...`");
  } else if (accept(Tok::Question)) {
    dim.kind = TypeDim::Unknown;
  } else if (atWord("dyn") && at(Tok::Name, 1)) {
    take();
    dim.kind = TypeDim::Dyn;
    dim.name = identifier("a name after `dyn`");
    if (accept(Tok::LessEqual))
      dim.bound = parseSum();
  } else {
    dim.size = parseSum();
  }
  dim.span = since(start);
  return dim;
}

int Parser::heightOfDims(const std::vector<TypeDim> &dims) const {
  int height = 0;
  for (const TypeDim &dim : dims)
    height = std::max({height, heightOf(dim.size), heightOf(dim.bound)});
  return height;
}

} // namespace mx
