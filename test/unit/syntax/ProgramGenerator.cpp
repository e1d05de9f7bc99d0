// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ProgramGenerator.h"
#include <iterator>
#include <random>

namespace mx {
namespace {

class Generator {
public:
  explicit Generator(uint32_t seed) : random(seed) {}

  std::string program() {
    for (int i = upTo(6); i >= 0; --i)
      item();
    return out;
  }

private:
  std::minstd_rand random;
  std::string out;
  int depth = 0;
  int brackets = 0; ///< ( and [ open since the last {: line breaks are free inside

  int upTo(int n) { return static_cast<int>(random() % static_cast<unsigned>(n + 1)); }
  bool chance(int percent) { return upTo(99) < percent; }
  template <size_t N> void oneOf(const char *const (&words)[N]) { put(words[upTo(N - 1)]); }

  /// White space that changes nothing: none where words need not be kept apart, spaces, or a line
  /// break with or without a comment where one is legal.
  void gap(bool mayBreak) {
    if (mayBreak && chance(6))
      out += chance(30) ? " # c\n" : chance(20) ? "\n# own\n\n" : "\n";
    else
      out += std::string(1 + (chance(10) ? upTo(3) : 0), ' ');
  }
  void put(const std::string &word) {
    gap(brackets > 0);
    out += word;
  }
  /// Behind these tokens a line goes on, inside brackets or not.
  void putOpen(const std::string &word) {
    put(word);
    gap(true);
  }
  void open(const char *bracket) {
    put(bracket);
    ++brackets;
  }
  void close(const char *bracket) {
    put(bracket);
    --brackets;
  }
  void end() {
    if (chance(20))
      out += " ;";
    else if (chance(15))
      out += "  # behind";
    out += chance(10) ? "\n\n\n" : "\n";
    if (chance(8))
      out += chance(50) ? "  ## doc\n" : "# own\n\n";
  }

  void name() { oneOf(names); }
  static constexpr const char *names[] = {"a", "b",     "x",     "net", "long_name_of_a_value",
                                          "T", "state", "limit", "new_"};

  void block() {
    int outer = brackets;
    brackets = 0;
    ++depth;
    putOpen("{");
    bool oneLine = chance(40);
    if (oneLine) {
      stmt();
    } else {
      out += "\n";
      for (int i = upTo(2); i >= 0; --i) {
        stmt();
        end();
      }
    }
    --depth;
    gap(false);
    out += "}";
    brackets = outer;
  }

  void expr() {
    if (++depth > 7) {
      --depth;
      return leaf();
    }
    switch (upTo(15)) {
    case 0:
    case 1:
    case 2: {
      static constexpr const char *ops[] = {"+", "-",  "*",   "/",  "//", "%",
                                            "@", "**", "and", "or", "|>"};
      operand();
      putOpen(ops[upTo(std::size(ops) - 1)]);
      operand();
      break;
    }
    case 3:
      operand();
      put("==");
      operand();
      break;
    case 4:
      put("-");
      operand();
      break;
    case 5:
      operand();
      out += ".";
      out += "field";
      break;
    case 6:
      name();
      arguments();
      break;
    case 7:
      name();
      open("[");
      for (int i = upTo(2); i >= 0; --i) {
        index();
        if (i)
          put(",");
      }
      close("]");
      break;
    case 8:
      elements("(", ")");
      break;
    case 9:
      elements("[", "]");
      break;
    case 10:
      open("[");
      expr();
      put("for");
      name();
      put("in");
      expr();
      close("]");
      break;
    case 11:
      put("if");
      expr();
      block();
      if (chance(50)) {
        put("else");
        block();
      }
      break;
    case 12:
      put(chance(50) ? "graph" : "on d0");
      block();
      break;
    case 13:
      put("fn(x)");
      block();
      break;
    default:
      leaf();
    }
    --depth;
  }
  /// In parentheses, so that precedence and comparisons never matter.
  void operand() {
    if (chance(60))
      return leaf();
    open("(");
    expr();
    close(")");
  }
  void leaf() {
    static constexpr const char *leaves[] = {
        "1", "0xff", "1_000", "2.5e-3", "\"text\"", "f\"{x :.2f} {a+b}\"", "true"};
    if (chance(50))
      name();
    else
      oneOf(leaves);
  }
  void arguments() {
    open("(");
    for (int i = upTo(3); i > 0; --i) {
      if (chance(20))
        put("key =");
      if (chance(10))
        put("mut");
      expr();
      if (i > 1 || chance(10))
        put(",");
    }
    close(")");
  }
  void elements(const char *left, const char *right) {
    open(left);
    expr();
    for (int i = upTo(2) + 1; i > 0; --i) {
      put(",");
      expr();
    }
    close(right);
  }
  void index() {
    switch (upTo(5)) {
    case 0:
      return put("...");
    case 1:
      return put("new");
    case 2:
      put("a*b");
      put(":");
      return put("a * b+c");
    case 3:
      return put(":");
    default:
      return expr();
    }
  }

  void type() {
    static constexpr const char *types[] = {"f32",
                                            "f32[N,4*H , ...S]",
                                            "(f32,i64)",
                                            "[T ; n+1]",
                                            "fn(f32)->f32",
                                            "nn.Dense[D,2 * D](bias=true)",
                                            "f32[dyn N<=8,?]"};
    oneOf(types);
  }
  void function() {
    if (chance(20))
      out += "@attr(every=2)\n";
    static constexpr const char *starts[] = {"fn", "graph fn", "mut fn", "export graph fn"};
    oneOf(starts);
    put("f");
    open("(");
    for (int i = upTo(2); i > 0; --i) {
      put("p");
      put(":");
      type();
      if (chance(20)) {
        put("=");
        leaf();
      }
      if (i > 1)
        put(",");
    }
    close(")");
    if (chance(50)) {
      putOpen("->");
      type();
    }
    if (chance(20))
      put("where N % 2 == 0");
    block();
  }

  void stmt() {
    switch (depth > 4 ? upTo(2) : upTo(9)) {
    case 0:
      return expr();
    case 1:
      put(chance(50) ? "let" : "var");
      put(chance(30) ? "(a,b)" : "v");
      if (chance(30)) {
        put(":");
        type();
      }
      putOpen("=");
      return expr();
    case 2:
      name();
      putOpen(chance(50) ? "=" : "+=");
      return expr();
    case 3:
      put("for i in 0 .. n - 1");
      return block();
    case 4:
      put("while");
      expr();
      if (chance(50))
        put("limit (n)");
      return block();
    case 5:
      put("try");
      block();
      put("catch e");
      return block();
    case 6:
      put("assert");
      expr();
      if (chance(50)) {
        put(",");
        expr();
      }
      return;
    case 7:
      return function();
    case 8:
      put("return");
      return expr();
    default:
      put("if x == 1");
      return block();
    }
  }

  void item() {
    switch (upTo(4)) {
    case 0: {
      put(chance(50) ? "model M[D]" : "struct S");
      putOpen("{");
      for (int i = upTo(4); i > 0; --i) {
        static constexpr const char *kinds[] = {"param", "state", "sub", ""};
        oneOf(kinds);
        put(chance(50) ? "w" : "long_w");
        put(":");
        type();
        if (chance(50)) {
          putOpen("=");
          expr();
        }
        end();
      }
      if (chance(50)) {
        function();
        out += "\n";
      }
      put("}");
      break;
    }
    case 1:
      put(chance(50) ? "import a . b as c, d" : "from m import x,y");
      break;
    case 2:
      put("type A[N] =");
      type();
      break;
    default:
      stmt();
    }
    end();
  }
};

} // namespace

std::string randomProgram(uint32_t seed) { return Generator(seed * 2654435761u + 1).program(); }

} // namespace mx
