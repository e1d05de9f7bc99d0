// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Type checking of lists, comprehensions and f-strings with their format specifications.
#include "Sema/Internals.h"
#include <algorithm>
#include <cctype>

namespace mx::sema {
using namespace ast;

Value Sema::checkList(ListExpr *e, const Type *expected) {
  if (expected && (expected->is(Kind::Shape) || expected->is(Kind::Axes))) {
    Shape shape;
    for (Expr *x : e->elements) {
      if (auto *name = as<Name>(x); name && name->text == "_" && expected->is(Kind::Shape)) {
        shape.push_back({});
        continue;
      }
      const Value *v = check(x);
      if (v->type->isError())
        return errorValue();
      if (v->dim && facts().lessEqual(v->dim, dims.constant(-1)).proved() &&
          expected->is(Kind::Shape)) {
        diags.report(Code::E0310, x->outerSpan, "a size is not negative").caret(dims.print(v->dim));
        return errorValue();
      }
      if (!v->dim && v->type->isScalar() && types.isInt(v->type->elem)) {
        if (context->inGraph) {
          diags.report(Code::E0315, x->outerSpan, "a size in a graph cannot be a value it computes")
              .label(context->graphSpan, "a graph has all sizes before it runs")
              .help("pass it as `static`, or use a `let` made from sizes");
          return errorValue();
        }
        // Eager code waits for the value and continues with the number (S2).
        shape.push_back(axisOf(sizeOfRun(x)));
        continue;
      }
      if (!v->dim) {
        diags.report(Code::E0202, x->outerSpan, "a size is a whole number, this is " + show(*v));
        return errorValue();
      }
      shape.push_back(axisOf(v->dim));
    }
    if (shape.size() > static_cast<size_t>(limits::kMaxRank)) {
      diags.report(Code::E0314, e->span, "a tensor has at most 16 dimensions");
      return errorValue();
    }
    return hostValue(types.shape(std::move(shape)));
  }
  if (e->elements.empty()) {
    if (expected && expected->isTensor() && !expected->shape.empty())
      return valueOf(types.tensor(expected->elem, {axisOf(dims.constant(0))}));
    diags.report(Code::E0213, e->span, "the type of an empty list is not known")
        .help("write `zeros([0])`, or say what it is: `let x: f32[0] = []`");
    return errorValue();
  }
  if (e->elements.size() > static_cast<size_t>(limits::kMaxLiteralElements)) {
    diags
        .report(Code::E0002, e->span.start(),
                "a list has at most " + std::to_string(limits::kMaxLiteralElements) + " elements")
        .help("read it from a file: `data.bin(path)`, or `restore(path, mut x)`");
    return errorValue();
  }
  const Type *wantElement = expected && expected->is(Kind::Array) ? expected->element : nullptr;
  const Type *rowExpected = nullptr;
  if (expected && expected->isTensor() && !expected->shape.empty() && !expected->shape[0].isPack())
    rowExpected =
        types.tensor(expected->elem, Shape(expected->shape.begin() + 1, expected->shape.end()));
  std::vector<const Value *> values;
  bool tensors = true, host = true, anyFloat = false, anyFixed = false;
  Elem elem;
  for (Expr *x : e->elements) {
    const Value *v = check(x, wantElement ? wantElement : rowExpected);
    if (v->type->isError())
      return errorValue();
    if (v->type->is(Kind::Nothing)) {
      diags.report(Code::E0222, x->outerSpan, "this has no value");
      return errorValue();
    }
    if (wantElement && !require(*v, wantElement, x->outerSpan, "the element"))
      return errorValue();
    values.push_back(v);
    tensors &= v->type->isTensor();
    host &= v->host;
    if (!v->type->isTensor())
      continue;
    bool adapts = v->adapts();
    anyFloat |= v->literal == Value::FloatLiteral;
    bool afterNumbers = !anyFixed && values.size() > 1 && types.isBool(v->type->elem);
    if (afterNumbers) {
      diags
          .report(Code::E0201, x->outerSpan,
                  "a list has one element type: a bool is among numbers")
          .caret(show(*v))
          .help("convert it: `f32(" + textOf(x) + ")`");
      return errorValue();
    }
    if (!adapts) {
      if (anyFixed && !(elem == v->type->elem)) {
        diags
            .report(Code::E0201, x->outerSpan,
                    "a list has one element type: " + types.print(elem) + " and " +
                        types.print(v->type->elem) + " differ")
            .caret(show(*v))
            .help("convert it: `" + types.print(elem) + "(" + textOf(x) + ")`");
        return errorValue();
      }
      anyFixed = true;
      elem = v->type->elem;
    }
  }
  if (!tensors || wantElement) {
    for (size_t i = 1; i < values.size(); ++i)
      if (!equalTypes(values[0]->type, values[i]->type)) {
        diags
            .report(Code::E0202, e->elements[i]->outerSpan,
                    "the elements of an array have one type: " + show(*values[0]) + " and " +
                        show(*values[i]) + " differ")
            .label(e->elements[0]->outerSpan, show(*values[0]));
        return errorValue();
      }
    Value v = valueOf(types.array(wantElement ? wantElement : values[0]->type,
                                  dims.constant(static_cast<int64_t>(values.size()))));
    v.host = host;
    return v;
  }
  if (!anyFixed) {
    bool adopt = expected && expected->isTensor() && !(anyFloat && types.isInt(expected->elem));
    elem = adopt ? expected->elem : anyFloat ? Elem(ElementType::F32) : Elem(ElementType::I64);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (!literalFits(*values[i], elem, e->elements[i]->outerSpan))
      return errorValue();
    ShapeResult same = sameShape(values[0]->type->shape, values[i]->type->shape, facts());
    if (!same.ok()) {
      Diagnostic &d = diags.report(Code::E0308, e->elements[i]->outerSpan,
                                   "the rows of a list differ in shape");
      d.label(e->elements[0]->outerSpan,
              values[0]->type->shape.empty() ? "one value" : types.print(values[0]->type->shape));
      d.caret(values[i]->type->shape.empty() ? "one value" : types.print(values[i]->type->shape));
      return errorValue();
    }
    addConditions(same.conditions, e->elements[i]->span);
  }
  Shape shape = values[0]->type->shape;
  shape.insert(shape.begin(), axisOf(dims.constant(static_cast<int64_t>(values.size()))));
  if (shape.size() > static_cast<size_t>(limits::kMaxRank)) {
    diags.report(Code::E0314, e->span, "a tensor has at most 16 dimensions");
    return errorValue();
  }
  Value v = valueOf(types.tensor(elem, std::move(shape), context->device));
  v.literal =
      !anyFixed && host ? (anyFloat ? Value::FloatLiteral : Value::IntLiteral) : Value::NotLiteral;
  return v;
}

/// Whether no size of a comprehension depends on one of its indices; false after a report.
bool Sema::rowsAgree(const Comprehension *e, const Value &row, const Shape &lead) {
  auto check = [&](const Axis &axis, Span at, const std::string &what) {
    std::vector<AtomId> atoms;
    if (!axis.isPack() && axis.dim)
      dims.symbols(axis.dim, atoms);
    for (const Comprehension::Clause &c : e->clauses) {
      Symbol *symbol = c.pattern->symbol;
      auto index = symbol && symbol->value.dim ? dims.asSymbol(symbol->value.dim) : std::nullopt;
      if (!index || std::find(atoms.begin(), atoms.end(), *index) == atoms.end())
        continue;
      std::string name(symbol->name);
      diags
          .report(Code::E0318, at, "the rows of a comprehension differ in size: " + what)
          .label(c.range->outerSpan, "the size " + dims.print(axis.dim) + " changes with `" + name + "`")
          .help("make one value of each row, such as its `sum()`, or use a `for` loop");
      return false;
    }
    return true;
  };
  for (size_t i = 0; i < lead.size(); ++i)
    if (!check(lead[i], e->clauses[i].range->outerSpan,
               dims.print(lead[i].dim) + " rows for one index"))
      return false;
  if (row.type->isTensor())
    for (const Axis &axis : row.type->shape)
      if (!check(axis, e->element->outerSpan, "one is " + show(row.type)))
        return false;
  return true;
}

Value Sema::checkComprehension(Comprehension *e, const Type *expected) {
  Scope *outer = context->scope;
  size_t factCount = facts().size();
  context->scope = newScope(outer);
  Shape lead;
  bool bad = false;
  for (const Comprehension::Clause &c : e->clauses) {
    const Value *range = check(c.range);
    Value element;
    const Type *type = iterationType(*range, c.range, nullptr, element);
    bindPattern(c.pattern, type, element.type ? &element : nullptr, BindKind::Let, nullptr, {});
    if (type->isError()) {
      bad = true;
      continue;
    }
    Dim length;
    if (range->type->is(Kind::Array)) {
      length = range->type->count;
    } else if (auto *r = as<ast::Range>(c.range)) {
      Dim from = r->from->checked->dim, to = r->to->checked->dim;
      length = from && to ? dims.sub(to, from) : Dim();
      // Eager code waits for the bounds, as it does for sizes (S2).
      bool isNumber = r->from->checked->type->isScalar() && r->to->checked->type->isScalar();
      if (!length && !context->inGraph && isNumber)
        length = newRunSize({"len(" + textOf(r) + ")", SymbolRole::HostInt, true, r->span});
    }
    if (!length) {
      Diagnostic &d = diags.report(Code::E0315, c.range->outerSpan,
                                   "a comprehension needs a size here that is known beforehand");
      if (context->inGraph)
        d.label(context->graphSpan, "a graph has all sizes before it runs")
            .help("let it end at a size or a `static` number");
      bad = true;
      continue;
    }
    lead.push_back(axisOf(length));
  }
  const Value *v = check(e->element);
  if (!bad && !v->type->isError())
    bad = !rowsAgree(e, *v, lead);
  context->scope = outer;
  facts().truncate(factCount);
  if (bad || v->type->isError())
    return errorValue();
  if (!v->type->isTensor()) {
    if (lead.size() == 1)
      return valueOf(types.array(v->type, lead[0].dim));
    diags.report(Code::E0202, e->element->outerSpan,
                 "a comprehension over several ranges makes a tensor; this is " + show(*v));
    return errorValue();
  }
  Elem elem = v->type->elem;
  if (v->literal != Value::NotLiteral && expected && expected->isTensor()) {
    elem = expected->elem;
    if (!literalFits(*v, elem, e->element->outerSpan))
      return errorValue();
  }
  lead.insert(lead.end(), v->type->shape.begin(), v->type->shape.end());
  if (lead.size() > static_cast<size_t>(limits::kMaxRank)) {
    diags.report(Code::E0314, e->span, "a tensor has at most 16 dimensions");
    return errorValue();
  }
  return valueOf(types.tensor(elem, std::move(lead), v->type->device));
}

Value Sema::checkFString(FString *e) {
  for (const FString::Part &part : e->parts) {
    if (!part.expr)
      continue;
    const Value *v = check(part.expr);
    if (v->type->isError())
      continue;
    if (v->type->is(Kind::Nothing) || v->type->is(Kind::Fn) || v->type->is(Kind::TypeName) ||
        v->type->is(Kind::Module)) {
      diags.report(Code::E0202, part.expr->outerSpan, show(*v) + " cannot be shown as text");
      continue;
    }
    if (v->type->isTensor())
      noteWait(*v);
    checkFormat(part, *v);
  }
  return hostValue(types.str());
}

/// [[fill]align][sign][0][width][,][.precision][type]
void Sema::checkFormat(const FString::Part &part, const Value &value) {
  std::string_view f = part.format;
  if (f.empty())
    return;
  size_t i = 0;
  auto isAlign = [&](size_t k) {
    return k < f.size() && (f[k] == '<' || f[k] == '>' || f[k] == '^');
  };
  // The fill is one code point, which may take several bytes.
  size_t fill = 1;
  while (fill < f.size() && (static_cast<unsigned char>(f[fill]) & 0xC0) == 0x80)
    ++fill;
  if (isAlign(fill) && fill < f.size())
    i = fill + 1;
  else if (isAlign(0))
    i = 1;
  if (i < f.size() && (f[i] == '+' || f[i] == '-' || f[i] == ' '))
    ++i;
  if (i < f.size() && f[i] == '0')
    ++i;
  auto number = [&] {
    size_t start = i;
    while (i < f.size() && std::isdigit(static_cast<unsigned char>(f[i])))
      ++i;
    return i - start <= 4;
  };
  bool sane = number();
  if (i < f.size() && f[i] == ',')
    ++i;
  bool precision = false;
  if (i < f.size() && f[i] == '.') {
    ++i;
    size_t start = i;
    sane &= number();
    precision = true;
    sane &= i > start;
  }
  char kind = i < f.size() ? f[i++] : '\0';
  bool known = kind == '\0' || std::string_view("dfeEgGsxob%").find(kind) != std::string_view::npos;
  if (i != f.size() || !known || !sane) {
    diags.report(Code::E0220, part.formatSpan, "`" + std::string(f) + "` is not a format")
        .help("a format is [fill][<^>][+][0][width][,][.precision][d f e g x s %], for example "
              "`8.3f`");
    return;
  }
  bool isInt = value.type->isTensor() && types.isInt(value.type->elem);
  bool isFloat = value.type->isTensor() && types.isFloat(value.type->elem);
  bool wantsFloat =
      kind == 'f' || kind == 'e' || kind == 'E' || kind == 'g' || kind == 'G' || kind == '%';
  bool wantsInt = kind == 'd' || kind == 'x' || kind == 'o' || kind == 'b';
  bool wrong = (wantsInt && !isInt) || (wantsFloat && !isFloat && !isInt) ||
               (kind == 's' && !value.type->is(Kind::Str)) || (precision && isInt && !wantsFloat);
  if (wrong)
    diags
        .report(Code::E0220, part.formatSpan,
                "the format `" + std::string(f) + "` does not fit " + show(value))
        .label(part.expr->outerSpan, show(value))
        .help(isInt     ? "whole numbers take `d` or `x`, or a width alone"
              : isFloat ? "floats take `f`, `e` or `g`"
                        : "strings take a width alone");
}

} // namespace mx::sema
