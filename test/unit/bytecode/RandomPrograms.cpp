// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs by chance: branches, loops, tries, cells, calls with mut arguments, updates of shared
// and unshared tensors. Loops are short, and no program runs for long.
#include "RandomPrograms.h"
#include <algorithm>
#include <array>
#include <random>
#include <vector>

namespace mx::bytecode {
namespace {

enum Sort { Int, Bool, Tensor, Pair, IntCell, TensorCell, sortCount };
const char *const typeNames[] = {"!i64", "!bool", "!t", "!p", "!mx.cell<!i64>", "!mx.cell<!t>"};

struct Callee {
  std::string name;
  std::vector<Sort> parameters;
  std::vector<bool> isMut;
  std::vector<Sort> results; // those of mut parameters first
};

class Maker {
public:
  explicit Maker(uint64_t seed) : random(seed) {}

  std::string program() {
    text = "!p = !mx.aggregate<\"\" [] (!mx.tensor<f32[4]>, !mx.tensor<i64[] on host>)>\n";
    for (unsigned i = 0, count = 1 + below(3); i <= count; ++i)
      function(i, i == count);
    return std::move(text);
  }

private:
  using Scope = std::array<std::vector<std::string>, sortCount>;
  std::mt19937_64 random;
  std::string text;
  std::vector<Callee> callees;
  Scope scope;
  unsigned names = 0, depth = 0, budget = 0;

  unsigned below(unsigned n) { return unsigned(random() % n); }
  std::string fresh() { return "%v" + std::to_string(names++); }
  Sort plainSort() { return Sort(below(4)); }
  void line(const std::string &what) { text += std::string(2 + 2 * depth, ' ') + what + "\n"; }
  static std::string joined(const std::vector<std::string> &items) {
    std::string out;
    for (const std::string &item : items)
      out += (out.empty() ? "" : ", ") + item;
    return out;
  }
  static std::string types(const std::vector<Sort> &sorts) {
    std::vector<std::string> out;
    for (Sort sort : sorts)
      out.push_back(typeNames[sort]);
    return joined(out);
  }

  /// A value that there is, or a new one. Late ones are more likely.
  std::string value(Sort sort) {
    std::vector<std::string> &known = scope[sort];
    if (!known.empty() && below(8)) {
      size_t back = std::min<size_t>(below(6), below(unsigned(known.size())));
      return known[known.size() - 1 - std::min(back, known.size() - 1)];
    }
    return make(sort);
  }
  std::string define(Sort sort, const std::string &op) {
    std::string name = fresh();
    line(name + " = " + op);
    scope[sort].push_back(name);
    return name;
  }
  std::string constant() {
    return define(Int, "mx.constant " + std::to_string(int(below(9)) - 2) + " : i64 -> !i64");
  }
  std::string make(Sort sort) {
    switch (sort) {
    case Int:
      return constant();
    case Bool:
      return define(Bool,
                    std::string("mx.constant ") + (below(2) ? "true" : "false") + " -> !bool");
    case Tensor: {
      std::string number = fresh();
      line(number + " = mx.constant " + std::to_string(below(9)) + ".0 : f32 -> !f32");
      return define(Tensor, "mx.full " + number + " : !f32 -> !t");
    }
    case Pair: {
      std::string t = value(Tensor), n = value(Int);
      return define(Pair, "mx.make(" + t + ", " + n + ") : (!t, !i64) -> !p");
    }
    case IntCell:
    case TensorCell: {
      Sort element = sort == IntCell ? Int : Tensor;
      std::string initial = value(element);
      return define(sort,
                    "mx.cell " + initial + " : (" + typeNames[element] + ") -> " + typeNames[sort]);
    }
    default:
      return "";
    }
  }

  std::vector<std::string> valuesOf(const std::vector<Sort> &sorts) {
    std::vector<std::string> out;
    for (Sort sort : sorts)
      out.push_back(value(sort));
    return out;
  }
  std::vector<Sort> someSorts(unsigned max) {
    std::vector<Sort> out(below(max + 1));
    for (Sort &sort : out)
      sort = plainSort();
    return out;
  }
  /// `%a, %b = ` for results of these sorts, which are known from `publish` on.
  std::string results(const std::vector<Sort> &sorts, std::vector<std::string> &made) {
    for (size_t i = 0; i < sorts.size(); ++i)
      made.push_back(fresh());
    return made.empty() ? "" : joined(made) + " = ";
  }
  void publish(const std::vector<Sort> &sorts, const std::vector<std::string> &made) {
    for (size_t i = 0; i < sorts.size(); ++i)
      scope[sorts[i]].push_back(made[i]);
  }

  /// A block that yields `sorts`, with arguments of `arguments`.
  void block(const std::vector<Sort> &arguments, const std::vector<Sort> &sorts) {
    Scope saved = scope;
    ++depth;
    std::vector<std::string> declared;
    for (Sort sort : arguments) {
      std::string name = fresh();
      declared.push_back(name + ": " + typeNames[sort]);
      scope[sort].push_back(name);
    }
    if (!declared.empty())
      line("^bb0(" + joined(declared) + "):");
    statements(1 + below(4));
    yield(sorts);
    --depth;
    scope = saved;
  }
  void yield(const std::vector<Sort> &sorts) {
    std::vector<std::string> given = valuesOf(sorts);
    line("mx.yield" + (given.empty() ? "" : " " + joined(given) + " : " + types(sorts)));
  }

  void statements(unsigned count) {
    while (count-- && budget) {
      --budget;
      statement();
    }
  }

  void statement() {
    switch (below(depth > 4 ? 14 : 19)) {
    case 0:
    case 1: {
      std::string x = value(Int), y = value(Int);
      const char *ops[] = {"add", "sub", "mul"};
      define(Int,
             std::string("mx.") + ops[below(3)] + " " + x + ", " + y + " : (!i64, !i64) -> !i64");
      break;
    }
    case 2: {
      std::string x = value(Int), y = value(Int);
      define(Bool, std::string("mx.") + (below(2) ? "lt " : "eq ") + x + ", " + y +
                       " : (!i64, !i64) -> !bool");
      break;
    }
    case 3: {
      std::string x = value(Bool), y = value(Bool);
      define(Bool, std::string("mx.") + (below(2) ? "and " : "or ") + x + ", " + y +
                       " : (!bool, !bool) -> !bool");
      break;
    }
    case 4: {
      std::string c = value(Bool), x = value(Int), y = value(Int);
      define(Int, "mx.select " + c + ", " + x + ", " + y + " : (!bool, !i64, !i64) -> !i64");
      break;
    }
    case 5: {
      std::string x = value(Tensor), y = value(Tensor);
      define(Tensor, std::string("mx.") + (below(2) ? "add " : "sub ") + x + ", " + y +
                         " : (!t, !t) -> !t");
      break;
    }
    case 6:
    case 7:
      update();
      break;
    case 8: {
      std::string p = value(Pair);
      below(2) ? define(Tensor, "mx.get " + p + " 0 : !p -> !t")
               : define(Int, "mx.get " + p + " 1 : !p -> !i64");
      break;
    }
    case 9: {
      // Of a pair that is shared or not, with its part or another tensor.
      std::string p = value(Pair), t;
      if (below(2)) {
        t = define(Tensor, "mx.get " + p + " 0 : !p -> !t");
        if (below(2))
          t = update(t);
      } else {
        t = value(Tensor);
      }
      define(Pair, "mx.set " + p + " 0 = " + t + " : (!p, !t) -> !p");
      break;
    }
    case 10: {
      Sort cell = below(2) ? IntCell : TensorCell, element = cell == IntCell ? Int : Tensor;
      std::string c = value(cell);
      define(element, "mx.load " + c + " : (" + typeNames[cell] + ") -> " + typeNames[element]);
      break;
    }
    case 11: {
      Sort cell = below(2) ? IntCell : TensorCell, element = cell == IntCell ? Int : Tensor;
      std::string c = value(cell), v = value(element);
      line("mx.store " + v + " to " + c + " : " + typeNames[element] + ", " + typeNames[cell]);
      break;
    }
    case 12:
      cellUpdate();
      break;
    case 13: {
      std::vector<Sort> sorts = someSorts(2);
      sorts.push_back(plainSort());
      std::vector<std::string> shown = valuesOf(sorts);
      line("mx.print" + (shown.empty() ? "" : " " + joined(shown) + " : " + types(sorts)));
      break;
    }
    default:
      compound();
    }
  }

  std::string update(std::string x = "") {
    if (x.empty())
      x = value(Tensor);
    std::string number = fresh(), at = below(6) ? "" : value(Int);
    line(number + " = mx.constant " + std::to_string(below(9)) + ".0 : f32 -> !f32");
    if (at.empty()) {
      at = fresh();
      line(at + " = mx.constant " + std::to_string(below(4)) + " : i64 -> !i64");
    }
    return define(Tensor, "mx.update " + x + ", " + number + " [\"i\"] at (" + at +
                              ") : (!t, !f32, !i64) -> !t");
  }

  /// c[i] = v as a front end writes it.
  void cellUpdate() {
    std::string c = value(TensorCell), loaded = fresh();
    line(loaded + " = mx.load " + c + " : (!mx.cell<!t>) -> !t");
    std::string updated = update(loaded);
    line("mx.store " + updated + " to " + c + " : !t, !mx.cell<!t>");
  }

  void compound() {
    std::vector<Sort> sorts = someSorts(3);
    std::vector<std::string> made;
    switch (below(5)) {
    case 0: {
      std::string c = value(Bool);
      line(results(sorts, made) + "mx.if " + c + " : (!bool) -> (" + types(sorts) + ") {");
      block({}, sorts);
      line("} else {");
      block({}, sorts);
      line("}");
      break;
    }
    case 1: {
      std::string from = constant(), to = value(Int), bound = fresh(), three = fresh();
      // At most three iterations.
      line(three + " = mx.constant 3 : i64 -> !i64");
      std::string less = fresh();
      line(less + " = mx.lt " + to + ", " + three + " : (!i64, !i64) -> !bool");
      line(bound + " = mx.select " + less + ", " + to + ", " + three +
           " : (!bool, !i64, !i64) -> !i64");
      std::vector<std::string> given = valuesOf(sorts);
      std::vector<Sort> all{Int};
      all.insert(all.end(), sorts.begin(), sorts.end());
      line(results(sorts, made) + "mx.for " + from + " to " + bound + " carries (" + joined(given) +
           ") : (!i64, " + types(all) + ") -> (" + types(sorts) + ") {");
      block(all, sorts);
      line("}");
      break;
    }
    case 2: {
      // The first carried value counts.
      sorts.insert(sorts.begin(), Int);
      std::vector<std::string> given = valuesOf(sorts);
      std::string limit = fresh();
      line(limit + " = mx.constant " + std::to_string(1 + below(5)) + " : i64 -> !i64");
      line(results(sorts, made) + "mx.while carries (" + joined(given) + ") limit " + limit +
           " : !i64 : (" + types(sorts) + ") -> (" + types(sorts) + ") {");
      block(sorts, {Bool});
      line("} do {");
      block(sorts, sorts);
      line("}");
      break;
    }
    case 3:
      line(results(sorts, made) + "mx.try : () -> (" + types(sorts) + ") {");
      block({}, sorts);
      line("} catch {");
      // The error is not looked at.
      handler(sorts);
      line("}");
      break;
    default:
      if (callees.empty()) {
        std::string c = value(Bool);
        line("mx.assert " + c + " \"by chance\" : !bool");
        return;
      }
      const Callee &callee = callees[below(unsigned(callees.size()))];
      std::vector<std::string> given = valuesOf(callee.parameters);
      sorts = callee.results;
      line(results(sorts, made) + "mx.call @" + callee.name + "(" + joined(given) + ") : (" +
           types(callee.parameters) + ") -> (" + types(sorts) + ")");
    }
    publish(sorts, made);
  }

  void handler(const std::vector<Sort> &sorts) {
    Scope saved = scope;
    ++depth;
    line("^bb0(" + fresh() + ": !mx.error):");
    statements(1 + below(3));
    yield(sorts);
    --depth;
    scope = saved;
  }

  void function(unsigned number, bool isMain) {
    Callee callee;
    callee.name = "f" + std::to_string(number);
    scope = Scope();
    names = 0;
    budget = 60;
    std::vector<std::string> declared;
    std::vector<Sort> plain;
    if (!isMain)
      callee.parameters = someSorts(3);
    for (Sort sort : callee.parameters) {
      bool isMut = below(2);
      callee.isMut.push_back(isMut);
      std::string name = fresh();
      declared.push_back(name + ": " + typeNames[sort] + (isMut ? " {mx.mut}" : ""));
      scope[sort].push_back(name);
      if (isMut)
        callee.results.push_back(sort);
    }
    plain = isMain ? std::vector<Sort>{Int, Tensor, Pair} : someSorts(2);
    callee.results.insert(callee.results.end(), plain.begin(), plain.end());
    text += "mx.func @" + callee.name + "(" + joined(declared) + ") -> (" + types(callee.results) +
            ") {\n";
    statements(6 + below(14));
    std::vector<std::string> given = valuesOf(callee.results);
    line("mx.return" + (given.empty() ? "" : " " + joined(given) + " : " + types(callee.results)));
    text += "}\n";
    callees.push_back(std::move(callee));
  }
};

} // namespace

std::string randomProgram(uint64_t seed) { return Maker(seed).program(); }

} // namespace mx::bytecode
