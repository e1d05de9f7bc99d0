// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ptx/Syntax.h"

#include <algorithm>
#include <iterator>

namespace mxemu {

Ty typeFromName(std::string_view name) {
  static const std::pair<std::string_view, Ty> table[] = {
      {"pred", Ty::Pred}, {"b8", Ty::B8},   {"b16", Ty::B16},       {"b32", Ty::B32},
      {"b64", Ty::B64},   {"u8", Ty::U8},   {"u16", Ty::U16},       {"u32", Ty::U32},
      {"u64", Ty::U64},   {"s8", Ty::S8},   {"s16", Ty::S16},       {"s32", Ty::S32},
      {"s64", Ty::S64},   {"f16", Ty::F16}, {"bf16", Ty::BF16},     {"f16x2", Ty::F16x2},
      {"f32", Ty::F32},   {"f64", Ty::F64}, {"bf16x2", Ty::BF16x2}, {"tf32", Ty::TF32},
  };
  for (auto &[text, type] : table)
    if (text == name)
      return type;
  return Ty::None;
}

namespace {

class Parser {
public:
  explicit Parser(std::string_view text) : tokens(tokenize(text)) {}

  ModuleText run() {
    bool versioned = false;
    while (peek().kind != Token::End) {
      if (peek().kind != Token::Dotted)
        fail("expected a directive, not '" + text() + "'");
      if (isDotted(".version")) {
        versioned = true;
        skipLine();
      } else if (isDotted(".target") || isDotted(".address_size") || isDotted(".file") ||
                 isDotted(".loc") || isDotted(".pragma") || isDotted(".alias")) {
        skipLine();
      } else if (isDotted(".section")) {
        while (peek().kind != Token::End && !isSymbol("{"))
          next();
        skipBraces();
      } else {
        parseTopLevel();
      }
    }
    if (!versioned)
      throw PtxError(1, "no .version directive: this is not PTX");
    return std::move(module);
  }

private:
  std::vector<Token> tokens;
  size_t at = 0;
  ModuleText module;

  const Token &peek(size_t ahead = 0) const {
    return tokens[std::min(at + ahead, tokens.size() - 1)];
  }
  const Token &next() { return tokens[at + 1 < tokens.size() ? at++ : at]; }
  std::string text() const { return std::string(peek().text); }
  [[noreturn]] void fail(const std::string &message) const { throw PtxError(peek().line, message); }
  bool isSymbol(std::string_view symbol) const {
    return peek().kind == Token::Symbol && peek().text == symbol;
  }
  bool isDotted(std::string_view word) const {
    return peek().kind == Token::Dotted && peek().text == word;
  }
  bool accept(std::string_view what) {
    bool found =
        (peek().kind == Token::Symbol || peek().kind == Token::Dotted) && peek().text == what;
    if (found)
      next();
    return found;
  }
  void expect(std::string_view symbol) {
    if (!accept(symbol))
      fail("expected '" + std::string(symbol) + "', not '" + text() + "'");
  }
  std::string word() {
    if (peek().kind != Token::Word)
      fail("expected a name, not '" + text() + "'");
    return std::string(next().text);
  }
  uint64_t integer() {
    if (peek().kind != Token::Number)
      fail("expected a number, not '" + text() + "'");
    Literal literal = parseLiteral(next());
    if (literal.kind != Literal::Integer)
      fail("expected an integer");
    return literal.bits;
  }
  /// To the end of the line, for directives without a semicolon.
  void skipLine() {
    for (unsigned line = peek().line; peek().line == line && peek().kind != Token::End;)
      next();
  }
  void skipBraces() {
    expect("{");
    for (int depth = 1; depth;) {
      if (peek().kind == Token::End)
        fail("'{' without '}'");
      depth += isSymbol("{") ? 1 : isSymbol("}") ? -1 : 0;
      next();
    }
  }

  void parseTopLevel() {
    bool external = false;
    for (;;) {
      if (accept(".extern"))
        external = true;
      else if (!accept(".visible") && !accept(".weak") && !accept(".common"))
        break;
    }
    if (isDotted(".entry") || isDotted(".func"))
      return parseFunction();
    Declaration variable = parseDeclaration();
    variable.external = external;
    if (variable.space == Space::Reg || variable.space == Space::Local ||
        variable.space == Space::Param)
      fail("this variable belongs into a function");
    expect(";");
    module.variables.push_back(std::move(variable));
  }

  bool parseSpace(Space &space) {
    static const std::pair<std::string_view, Space> table[] = {
        {".reg", Space::Reg},       {".global", Space::Global}, {".const", Space::Const},
        {".shared", Space::Shared}, {".local", Space::Local},   {".param", Space::Param}};
    for (auto &[name, value] : table)
      if (accept(name)) {
        space = value;
        return true;
      }
    return false;
  }

  /// `.shared .align 16 .b8 name[32] = {…}`, without the end.
  Declaration parseDeclaration() {
    Declaration result;
    result.line = peek().line;
    if (!parseSpace(result.space))
      fail("unknown directive '" + text() + "'");
    while (peek().kind == Token::Dotted) {
      if (accept(".align")) {
        result.alignment = unsigned(integer());
        if (!result.alignment || (result.alignment & (result.alignment - 1)))
          fail(".align must be a power of two");
      } else if (accept(".v2")) {
        result.lanes = 2;
      } else if (accept(".v4")) {
        result.lanes = 4;
      } else if (accept(".ptr")) {
        for (Space ignored; parseSpace(ignored);)
          ;
      } else if (Ty type = typeFromName(peek().text.substr(1)); type != Ty::None) {
        result.type = type;
        next();
      } else {
        fail("unknown directive '" + text() + "' in a declaration");
      }
    }
    if (result.type == Ty::None)
      fail("a declaration without a type");
    result.name = word();
    if (accept("<")) {
      result.count = unsigned(integer());
      if (result.count > 1u << 20)
        fail("too many registers");
      expect(">");
    }
    while (accept("[")) {
      if (accept("]")) {
        result.unsizedArray = true;
        result.elements = 0;
        continue;
      }
      uint64_t extent = integer();
      if (extent && result.elements > (uint64_t(1) << 40) / extent)
        fail("this array is too large");
      result.elements *= extent;
      expect("]");
    }
    if (!result.alignment)
      result.alignment = std::max(1u, result.lanes * bytesOf(result.type));
    if (accept("="))
      parseInitial(result);
    return result;
  }

  void parseInitial(Declaration &variable) {
    if (accept("{")) {
      if (accept("}"))
        return;
      do
        parseInitial(variable);
      while (accept(","));
      return expect("}");
    }
    Declaration::Initial item;
    item.negative = accept("-");
    if (peek().kind == Token::Word) {
      item.symbol = word();
      if (item.symbol == "generic" && accept("(")) {
        item.symbol = word();
        expect(")");
      }
      if (accept("+"))
        item.value.bits = integer();
    } else if (peek().kind == Token::Number) {
      item.value = parseLiteral(next());
    } else {
      fail("expected an initial value");
    }
    variable.initial.push_back(item);
  }

  std::vector<Declaration> parseParameters() {
    std::vector<Declaration> result;
    expect("(");
    if (accept(")"))
      return result;
    do
      result.push_back(parseDeclaration());
    while (accept(","));
    expect(")");
    return result;
  }

  void parseFunction() {
    auto function = std::make_shared<FunctionText>();
    function->entry = next().text == ".entry";
    function->line = peek().line;
    if (!function->entry && isSymbol("("))
      function->results = parseParameters();
    function->name = word();
    if (isSymbol("("))
      function->params = parseParameters();
    while (peek().kind == Token::Dotted) {
      if (isDotted(".maxntid") || isDotted(".reqntid")) {
        next();
        uint64_t threads = integer();
        while (accept(","))
          threads *= integer();
        function->maxThreads = unsigned(std::min<uint64_t>(threads, 1024));
      } else if (accept(".minnctapersm") || accept(".maxnreg") || accept(".maxnctapersm")) {
        integer();
      } else if (isDotted(".pragma")) {
        skipLine();
      } else if (!accept(".noreturn")) {
        fail("unknown directive '" + text() + "' of a function");
      }
    }
    auto &known = module.functions[function->name];
    if (accept(";")) {
      if (!known)
        known = function;
      return;
    }
    if (known && known->defined)
      fail("function '" + function->name + "' is defined twice");
    function->defined = true;
    parseBody(*function);
    known = function;
  }

  void parseBody(FunctionText &function) {
    expect("{");
    for (int depth = 1;;) {
      unsigned line = peek().line;
      auto plain = [&](Statement::Kind kind) {
        Statement statement;
        statement.kind = kind;
        statement.line = line;
        function.body.push_back(std::move(statement));
      };
      if (peek().kind == Token::End)
        fail("'{' without '}'");
      if (accept("{")) {
        ++depth;
        plain(Statement::Open);
      } else if (accept("}")) {
        if (!--depth)
          return;
        plain(Statement::Close);
      } else if (accept(";")) {
      } else if (isDotted(".loc") || isDotted(".file") || isDotted(".pragma")) {
        skipLine();
      } else if (peek().kind == Token::Dotted) {
        plain(Statement::Declare);
        // One directive may declare several names: `.reg .f32 a, b;`
        Declaration declaration = parseDeclaration();
        function.body.back().declaration = declaration;
        while (accept(",")) {
          plain(Statement::Declare);
          declaration.name = word();
          declaration.count = 0;
          if (accept("<")) {
            declaration.count = unsigned(integer());
            expect(">");
          }
          function.body.back().declaration = declaration;
        }
        expect(";");
      } else if (peek().kind == Token::Word && peek(1).kind == Token::Symbol &&
                 peek(1).text == ":") {
        plain(Statement::Label);
        function.body.back().names.push_back(word());
        next();
        if (accept(".branchtargets")) {
          function.body.back().kind = Statement::Targets;
          do
            function.body.back().names.push_back(word());
          while (accept(","));
          expect(";");
        } else if (isDotted(".callprototype") || isDotted(".calltargets")) {
          fail("indirect calls are not supported");
        }
      } else {
        function.body.push_back(parseInstruction());
      }
    }
  }

  Statement parseInstruction() {
    Statement result;
    result.line = peek().line;
    if (accept("@")) {
      result.guardInverted = accept("!");
      result.guard = word();
    }
    result.opcode = word();
    while (peek().kind == Token::Dotted)
      result.modifiers.push_back(std::string(next().text.substr(1)));
    if (!isSymbol(";"))
      do
        result.operands.push_back(parseOperand());
      while (accept(","));
    expect(";");
    return result;
  }

  Argument parseOperand() {
    Argument result;
    if (isSymbol("{") || isSymbol("(")) {
      bool list = isSymbol("(");
      next();
      result.kind = list ? Argument::List : Argument::Vector;
      if (!(list ? accept(")") : accept("}"))) {
        do
          result.parts.push_back(parseOperand());
        while (accept(","));
        expect(list ? ")" : "}");
      }
      return result;
    }
    if (accept("["))
      return parseAddress();
    result.inverted = accept("!");
    result.negative = accept("-");
    if (peek().kind == Token::Number) {
      result.kind = Argument::Immediate;
      result.value = parseLiteral(next());
      return result;
    }
    result.name = word();
    // %tid.x is one name
    if (peek().kind == Token::Dotted && peek().glued)
      result.name += next().text;
    if (result.negative)
      fail("a register cannot be negated here");
    if (accept("+"))
      result.offset = int64_t(integer());
    if (accept("|")) {
      Argument pair;
      pair.kind = Argument::Pair;
      pair.parts.push_back(std::move(result));
      pair.parts.push_back(parseOperand());
      return pair;
    }
    return result;
  }

  Argument parseAddress() {
    Argument result;
    result.kind = Argument::Address;
    if (peek().kind == Token::Word)
      result.name = word();
    else
      result.offset = int64_t(integer());
    while (isSymbol("+") || isSymbol("-")) {
      bool minus = next().text == "-";
      minus ^= accept("-");
      int64_t offset = int64_t(integer());
      result.offset += minus ? -offset : offset;
    }
    expect("]");
    return result;
  }
};

} // namespace

ModuleText parse(std::string_view text) { return Parser(text).run(); }

} // namespace mxemu
