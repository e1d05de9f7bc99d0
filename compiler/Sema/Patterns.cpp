// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Patterns of einsum ("b i k, k j -> b i j") and rearrange ("b t (h k) -> b h t k"), parsed and
// checked at compile time: each name has one size, and the output uses names of the input.
#include "Sema/Internals.h"
#include <algorithm>
#include <cctype>

namespace mx::sema {
using namespace ast;

namespace {
/// One side of a pattern: groups of names. A group of several names is written in parentheses.
using Side = std::vector<std::vector<std::string>>;

struct Pattern2 {
  std::vector<Side> inputs;
  Side output;
  std::string error;
};

bool parseSide(std::string_view text, Side &side, std::string &error) {
  bool open = false;
  for (size_t i = 0; i < text.size();) {
    char c = text[i];
    if (c == ' ') {
      ++i;
    } else if (c == '(') {
      if (open) {
        error = "parentheses in a pattern do not nest";
        return false;
      }
      open = true;
      side.emplace_back();
      ++i;
    } else if (c == ')') {
      if (!open) {
        error = "`)` without `(`";
        return false;
      }
      open = false;
      ++i;
    } else if (std::isalpha(static_cast<unsigned char>(c)) || c == '_') {
      size_t j = i;
      while (j < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[j])) || text[j] == '_'))
        ++j;
      std::string name(text.substr(i, j - i));
      if (open)
        side.back().push_back(name);
      else
        side.push_back({name});
      i = j;
    } else if (c == '1' && !open) {
      side.push_back({});
      ++i;
    } else {
      error = std::string("`") + c + "` has no meaning in a pattern";
      return false;
    }
  }
  if (open)
    error = "`(` is not closed";
  return error.empty();
}

Pattern2 parsePattern(std::string_view text) {
  Pattern2 p;
  size_t arrow = text.find("->");
  if (arrow == std::string_view::npos) {
    p.error = "a pattern has an arrow: \"a b -> b a\"";
    return p;
  }
  std::string_view in = text.substr(0, arrow);
  while (p.error.empty()) {
    size_t comma = in.find(',');
    p.inputs.emplace_back();
    parseSide(in.substr(0, comma), p.inputs.back(), p.error);
    if (comma == std::string_view::npos)
      break;
    in.remove_prefix(comma + 1);
  }
  if (p.error.empty())
    parseSide(text.substr(arrow + 2), p.output, p.error);
  return p;
}

/// "ij,jk->ik" with blanks between the names: "i j, j k -> i k".
std::string withBlanks(std::string_view pattern) {
  std::string out;
  for (char c : pattern) {
    bool letter = std::isalnum(static_cast<unsigned char>(c)),
         after = !out.empty() && std::isalnum(static_cast<unsigned char>(out.back()));
    if (c == ' ')
      continue;
    if ((letter && (after || out.ends_with(',') || out.ends_with('>'))) || c == '-')
      out += ' ';
    out += c;
  }
  return out;
}
} // namespace

Value Sema::checkEinsum(std::vector<Arg> &args, Expr *callee, Expr *whole) {
  if (args.empty() || args[0].value->constant != Value::StringConstant) {
    diags
        .report(Code::E0313, args.empty() ? whole->span : args[0].span,
                "`einsum` starts with a literal pattern")
        .help("for example `einsum(\"b i k, k j -> b i j\", x, w)`");
    return errorValue();
  }
  Span at = args[0].span;
  Pattern2 p = parsePattern(args[0].value->text);
  if (!p.error.empty()) {
    diags.report(Code::E0313, at, "the pattern is wrong: " + p.error);
    return errorValue();
  }
  if (p.inputs.size() != args.size() - 1) {
    diags.report(Code::E0313, at,
                 "the pattern names " + std::to_string(p.inputs.size()) +
                     (p.inputs.size() == 1 ? " tensor, " : " tensors, ") +
                     std::to_string(args.size() - 1) +
                     (args.size() == 2 ? " is given" : " are given"));
    return errorValue();
  }
  std::map<std::string, std::pair<Dim, size_t>> sizes;
  Elem elem;
  for (size_t k = 0; k < p.inputs.size(); ++k) {
    const Value *v = args[k + 1].value;
    if (!v->type->isTensor() || hasPack(v->type->shape)) {
      diags.report(Code::E0202, args[k + 1].span,
                   "`einsum` takes tensors of known rank, this is " + show(*v));
      return errorValue();
    }
    elem = k == 0 ? v->type->elem
                  : commonElem("einsum", *args[1].value, *v, args[1].expr, args[k + 1].expr,
                               args[k + 1].span);
    if (!elem.valid())
      return errorValue();
    if (p.inputs[k].size() != v->type->shape.size()) {
      size_t named = p.inputs[k].size(), rank = v->type->shape.size();
      Diagnostic &d = diags.report(Code::E0313, at,
                                   "the pattern names " + std::to_string(named) +
                                       (named == 1 ? " dimension" : " dimensions") + " of tensor " +
                                       std::to_string(k + 1) + ", it has " + std::to_string(rank));
      d.label(args[k + 1].expr->outerSpan, show(*v));
      if (named == 1 && p.inputs[k][0].size() == 1 && p.inputs[k][0][0].size() == rank)
        d.help("names are separated by blanks: `\"" + withBlanks(args[0].value->text) + "\"`");
      return errorValue();
    }
    for (size_t i = 0; i < p.inputs[k].size(); ++i) {
      if (p.inputs[k][i].size() != 1) {
        diags.report(Code::E0313, at, "`einsum` patterns have no groups")
            .help("use `rearrange` first");
        return errorValue();
      }
      auto [it, fresh] = sizes.emplace(p.inputs[k][i][0], std::pair(v->type->shape[i].dim, k));
      if (fresh)
        continue;
      Answer answer = facts().equal(it->second.first, v->type->shape[i].dim);
      if (answer.refuted()) {
        diags
            .report(Code::E0303, args[k + 1].expr->outerSpan,
                    "`" + it->first + "` has two sizes: " + dims.print(it->second.first) + " and " +
                        dims.print(v->type->shape[i].dim))
            .label(args[it->second.second + 1].expr->outerSpan,
                   show(*args[it->second.second + 1].value))
            .caret(show(*v));
        return errorValue();
      }
      if (!answer.proved())
        addConditions({{Relation::Equal, it->second.first, v->type->shape[i].dim, {}}}, at);
    }
  }
  Shape shape;
  std::vector<std::string> used;
  for (const auto &group : p.output) {
    if (group.size() != 1 || !sizes.count(group[0])) {
      diags.report(Code::E0313, at,
                   group.empty() ? "the output has a name for each dimension"
                                 : "`" + group[0] + "` of the output is not in any input");
      return errorValue();
    }
    if (std::find(used.begin(), used.end(), group[0]) != used.end()) {
      diags.report(Code::E0313, at, "`" + group[0] + "` appears twice in the output");
      return errorValue();
    }
    used.push_back(group[0]);
    shape.push_back(axisOf(sizes[group[0]].first));
  }
  (void)callee;
  return valueOf(types.tensor(elem, std::move(shape),
                              args.size() > 1 ? args[1].value->type->device : nullptr));
}

Value Sema::checkRearrange(std::vector<Arg> &args, Expr *callee, Expr *whole) {
  if (args.size() < 2 || args[1].value->constant != Value::StringConstant) {
    diags.report(Code::E0313, whole->span, "`rearrange` takes a tensor and a literal pattern")
        .help("for example `x.rearrange(\"b (h k) -> b h k\", h=4)`");
    return errorValue();
  }
  const Value *v = args[0].value;
  if (!v->type->isTensor() || hasPack(v->type->shape)) {
    diags.report(Code::E0202, args[0].span,
                 "`rearrange` takes a tensor of known rank, this is " + show(*v));
    return errorValue();
  }
  Span at = args[1].span;
  Pattern2 p = parsePattern(args[1].value->text);
  if (p.error.empty() && p.inputs.size() != 1)
    p.error = "`rearrange` has one input";
  if (!p.error.empty()) {
    diags.report(Code::E0313, at, "the pattern is wrong: " + p.error);
    return errorValue();
  }
  const Side &in = p.inputs[0];
  if (in.size() != v->type->shape.size()) {
    diags
        .report(Code::E0313, at,
                "the pattern has " + std::to_string(in.size()) + " dimensions, " + show(*v) +
                    " has " + std::to_string(v->type->shape.size()))
        .label(args[0].expr->outerSpan, show(*v));
    return errorValue();
  }
  std::map<std::string, Dim> sizes;
  std::vector<std::string> inputNames;
  for (const auto &group : in)
    for (const std::string &name : group) {
      if (std::find(inputNames.begin(), inputNames.end(), name) != inputNames.end()) {
        diags.report(Code::E0313, at, "`" + name + "` appears twice on the left");
        return errorValue();
      }
      inputNames.push_back(name);
    }
  for (size_t k = 2; k < args.size(); ++k) {
    std::string name(args[k].name);
    if (name.empty() || std::find(inputNames.begin(), inputNames.end(), name) == inputNames.end()) {
      diags.report(Code::E0313, args[k].span,
                   name.empty() ? "sizes are given by name: `h=4`"
                                : "`" + name + "` does not stand in the pattern");
      return errorValue();
    }
    if (!args[k].value->dim) {
      diags.report(Code::E0216, args[k].span,
                   "a size is expected, this is " + show(*args[k].value));
      return errorValue();
    }
    if (auto size = args[k].value->dim.constant(); size && *size < 1) {
      diags.report(Code::E0310, args[k].span, "a size of the pattern is 1 or more")
          .caret("`" + name + "` would be " + std::to_string(*size));
      return errorValue();
    }
    sizes[name] = args[k].value->dim;
  }
  for (size_t i = 0; i < in.size(); ++i) {
    Dim whole = v->type->shape[i].dim;
    Dim known = dims.constant(1);
    std::string open;
    for (const std::string &name : in[i]) {
      auto it = sizes.find(name);
      if (it != sizes.end()) {
        known = dims.mul(known, it->second);
      } else if (open.empty()) {
        open = name;
      } else {
        diags
            .report(Code::E0313, at,
                    "the sizes of `" + open + "` and `" + name + "` are both not known")
            .help("give one: `" + open + "=…`");
        return errorValue();
      }
    }
    if (!known || known.isConstant(0)) {
      diags.report(Code::E0310, at, "a size of the pattern is 0 or too large");
      return errorValue();
    }
    if (open.empty()) {
      Answer answer = facts().equal(known, whole);
      if (answer.refuted()) {
        diags
            .report(Code::E0308, at,
                    "the pattern gives dimension " + std::to_string(i) + " the size " +
                        dims.print(known) + ", it is " + dims.print(whole))
            .label(args[0].expr->outerSpan, show(*v));
        return errorValue();
      }
      if (!answer.proved())
        addConditions({{Relation::Equal, known, whole, {}}}, at);
      continue;
    }
    Dim part = facts().simplify(dims.floorDiv(whole, known));
    Dim back = part ? dims.mul(part, known) : Dim();
    if (!back)
      return sizeProblem(at);
    Answer exact = facts().equal(back, whole);
    if (exact.refuted()) {
      Diagnostic &d = diags.report(
          Code::E0308, at, dims.print(whole) + " cannot be divided by " + dims.print(known));
      d.label(args[0].expr->outerSpan, show(*v));
      if (!exact.example.empty())
        d.note("it fails for example with " + example(exact))
            .help("add a condition: `where " + dims.print(whole) + " % " + dims.printFactor(known) +
                  " == 0`");
      return errorValue();
    }
    if (!exact.proved())
      addConditions({{Relation::Equal, back, whole, {}}}, at);
    sizes[open] = part;
  }
  Shape shape;
  std::vector<std::string> used;
  for (const auto &group : p.output) {
    Dim size = dims.constant(1);
    for (const std::string &name : group) {
      if (!sizes.count(name) || std::find(used.begin(), used.end(), name) != used.end()) {
        diags.report(Code::E0313, at,
                     sizes.count(name)
                         ? "`" + name + "` appears twice on the right"
                         : "`" + name + "` of the right side does not stand on the left");
        return errorValue();
      }
      used.push_back(name);
      size = dims.mul(size, sizes[name]);
    }
    if (!size)
      return sizeProblem(at);
    shape.push_back(axisOf(facts().simplify(size)));
  }
  for (const std::string &name : inputNames)
    if (std::find(used.begin(), used.end(), name) == used.end()) {
      diags.report(Code::E0313, at, "`" + name + "` is lost on the right")
          .help("reduce it first: `sum(axis=…)`");
      return errorValue();
    }
  (void)callee;
  return valueOf(types.tensor(v->type->elem, std::move(shape), v->type->device));
}

} // namespace mx::sema
