// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generators of the TextMate grammar, the tree-sitter grammar and the token tables.
#include "Syntax/EditorGrammar.h"
#include "Support/Diagnostic.h"
#include "Syntax/Token.h"
#include <algorithm>
#include <functional>

namespace mx {
namespace {

/// Syntax highlighting class of a keyword. A keyword without an entry is a declaration keyword, the
/// most common class.
enum class Use { Declaration, Control, Operator, Constant, Modifier };

Use useOf(Tok kind) {
  switch (kind) {
  case Tok::KwIf:
  case Tok::KwElse:
  case Tok::KwFor:
  case Tok::KwIn:
  case Tok::KwWhile:
  case Tok::KwReturn:
  case Tok::KwBreak:
  case Tok::KwContinue:
  case Tok::KwTry:
  case Tok::KwCatch:
  case Tok::KwRaise:
  case Tok::KwAssert:
  case Tok::KwImport:
  case Tok::KwFrom:
  case Tok::KwAs:
    return Use::Control;
  case Tok::KwAnd:
  case Tok::KwOr:
  case Tok::KwNot:
    return Use::Operator;
  case Tok::KwTrue:
  case Tok::KwFalse:
    return Use::Constant;
  case Tok::KwGraph:
  case Tok::KwGrad:
  case Tok::KwExport:
  case Tok::KwExtern:
  case Tok::KwMut:
  case Tok::KwStatic:
  case Tok::KwOn:
  case Tok::KwWhere:
    return Use::Modifier;
  default:
    return Use::Declaration;
  }
}

constexpr std::string_view kTypeNames = "bool|i8|i32|i64|u8|f16|bf16|f32|f64|str";

bool isBracketOrMark(std::string_view spelling) {
  return std::string_view("()[]{},;:?.").find(spelling) != std::string_view::npos;
}

std::string joined(const std::vector<std::string_view> &words) {
  std::string out;
  for (std::string_view word : words)
    out += (out.empty() ? "" : "|") + std::string(word);
  return out;
}

std::string keywords(Use use) {
  std::vector<std::string_view> words;
  for (const TokenInfo &info : allTokens())
    if (info.keyword && useOf(info.kind) == use)
      words.push_back(info.spelling);
  return joined(words);
}

/// The operators as a regular expression, longest first.
std::string operators() {
  std::vector<std::string_view> found;
  for (const TokenInfo &info : allTokens())
    if (info.fixed && !info.keyword && !isBracketOrMark(info.spelling))
      found.push_back(info.spelling);
  std::sort(found.begin(), found.end(), [](std::string_view a, std::string_view b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  std::string out;
  for (std::string_view spelling : found) {
    out += out.empty() ? "" : "|";
    for (char c : spelling)
      out += std::string_view(".+*/|?^$()[]{}\\-").find(c) != std::string_view::npos
                 ? std::string("\\") + c
                 : std::string(1, c);
  }
  return out;
}

std::string match(const std::string &name, const std::string &regex) {
  return "{ \"name\": " + jsonString(name) + ", \"match\": " + jsonString(regex) + " }";
}
std::string include(const std::string &name) { return "{ \"include\": " + jsonString(name) + " }"; }
/// A pattern for words that are not member names: after `.` every word is a name.
std::string word(const std::string &words) { return "(?<!\\.)\\b(" + words + ")\\b"; }

std::string rule(const std::string &name, const std::vector<std::string> &patterns) {
  std::string out = "    " + jsonString(name) + ": {\n      \"patterns\": [\n";
  for (size_t i = 0; i < patterns.size(); ++i)
    out += "        " + patterns[i] + (i + 1 < patterns.size() ? ",\n" : "\n");
  return out + "      ]\n    }";
}

std::string range(const std::string &name, const std::string &begin, const std::string &end,
                  const std::vector<std::string> &patterns) {
  std::string out = "{ \"name\": " + jsonString(name) + ", \"begin\": " + jsonString(begin) +
                    ", \"end\": " + jsonString(end) + ", \"patterns\": [ ";
  for (size_t i = 0; i < patterns.size(); ++i)
    out += (i ? ", " : "") + patterns[i];
  return out + " ] }";
}

const char *const kEscape = "\\\\(?:[ntr0\\\\\"'{}]|x[0-7][0-9A-Fa-f]|u\\{[0-9A-Fa-f]{1,6}\\})";

} // namespace

std::string vscodeGrammar() {
  std::vector<std::string> rules = {
      rule("comments", {match("comment.line.documentation.mx", "##.*$"),
                        match("comment.line.number-sign.mx", "#.*$")}),
      // A string ends at the end of its line, so a missing quote affects the colours of one line
      // and not of the file.
      rule("strings",
           {range("string.interpolated.mx", "f\"", "\"|$",
                  {match("constant.character.escape.mx", std::string(kEscape) + "|\\{\\{|\\}\\}"),
                   "{ \"name\": \"meta.interpolation.mx\", \"begin\": \"\\\\{\", \"end\": "
                   "\"\\\\}|(?=\\\"|$)\", "
                   "\"beginCaptures\": { \"0\": { \"name\": "
                   "\"punctuation.section.embedded.begin.mx\" } }, "
                   "\"endCaptures\": { \"0\": { \"name\": \"punctuation.section.embedded.end.mx\" "
                   "} }, "
                   "\"patterns\": [ " +
                       match("constant.other.placeholder.mx", ":[^}\"]*(?=\\})") + ", " +
                       include("#expressions") + " ] }"}),
            range("string.quoted.double.mx", "\"", "\"|$",
                  {match("constant.character.escape.mx", kEscape),
                   match("invalid.illegal.escape.mx", "\\\\.")})}),
      rule("numbers",
           {match("constant.numeric.hex.mx", "\\b0[xX][0-9A-Fa-f_]+\\b"),
            match("constant.numeric.float.mx", "\\b[0-9][0-9_]*(?:\\.[0-9][0-9_]*(?:[eE][+-]?[0-9]["
                                               "0-9_]*)?|[eE][+-]?[0-9][0-9_]*)"),
            match("constant.numeric.integer.mx", "\\b[0-9][0-9_]*\\b")}),
      rule("keywords", {match("keyword.control.mx", word(keywords(Use::Control))),
                        match("keyword.operator.word.mx", word(keywords(Use::Operator))),
                        match("constant.language.mx", word(keywords(Use::Constant))),
                        match("storage.modifier.mx", word(keywords(Use::Modifier))),
                        match("storage.type.mx", word(keywords(Use::Declaration)))}),
      // Contextual keywords: keywords only before a name or, for `new`, in an index.
      rule("contextual",
           {match("storage.modifier.contextual.mx",
                  word(joined(contextualWords())) + "(?=\\s+[A-Za-z_0-9\"(]|\\s*[,\\]])")}),
      rule("types", {match("support.type.mx", word(std::string(kTypeNames))),
                     match("entity.name.type.mx", "\\b[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*\\b")}),
      rule("functions",
           {"{ \"match\": " + jsonString("\\b(fn)\\s+([A-Za-z_][A-Za-z0-9_]*)") +
                ", \"captures\": { \"1\": { \"name\": \"storage.type.mx\" }, \"2\": { \"name\": "
                "\"entity.name.function.mx\" } } }",
            match("entity.name.function.decorator.mx", "^\\s*@[A-Za-z_][A-Za-z0-9_]*"),
            match("variable.parameter.mx", "\\b[A-Za-z_][A-Za-z0-9_]*(?==(?!=)\\S)"),
            match("entity.name.function.call.mx", "\\b[A-Za-z_][A-Za-z0-9_]*(?=\\()")}),
      rule("operators", {match("keyword.operator.mx", operators())}),
      rule("expressions",
           {include("#strings"), include("#numbers"), include("#functions"), include("#keywords"),
            include("#contextual"), include("#types"), include("#operators")}),
  };
  std::string out =
      "{\n"
      "  \"$schema\": \"https://raw.githubusercontent.com/martinring/tmlanguage/master/"
      "tmlanguage.json\",\n"
      "  \"name\": \"mx\",\n"
      "  \"scopeName\": \"source.mx\",\n"
      "  \"fileTypes\": [ \"mx\" ],\n"
      "  \"patterns\": [ " +
      include("#comments") + ", " + include("#expressions") + " ],\n  \"repository\": {\n";
  for (size_t i = 0; i < rules.size(); ++i)
    out += rules[i] + (i + 1 < rules.size() ? ",\n" : "\n");
  return out + "  }\n}\n";
}

std::string treeSitterGrammar() {
  auto list = [](const std::function<bool(const TokenInfo &)> &wanted) {
    std::string out;
    for (const TokenInfo &info : allTokens())
      if (wanted(info))
        out += (out.empty() ? "" : ", ") + jsonString(info.spelling);
    return out;
  };
  std::string words = list([](const TokenInfo &info) { return info.keyword; });
  std::string marks = list([](const TokenInfo &info) {
    return info.fixed && !info.keyword &&
           std::string_view("()[]{}").find(info.spelling) == std::string_view::npos;
  });
  return R"js(// Made by `mxc grammar --tree-sitter` from the token table. Do not edit.
module.exports = grammar({
  name: "mx",
  extras: $ => [/\s/, $.comment],
  word: $ => $.name,
  rules: {
    source: $ => repeat($._part),
    _part: $ => choice($.keyword, $.name, $.number, $.string, $.fstring, $.operator, $.round, $.square, $.block),
    round: $ => seq("(", repeat($._part), ")"),
    square: $ => seq("[", repeat($._part), "]"),
    block: $ => seq("{", repeat($._part), "}"),
    keyword: $ => choice()js" +
         words + R"js(),
    operator: $ => choice()js" +
         marks + R"js(),
    name: $ => /[A-Za-z_][A-Za-z0-9_]*/,
    number: $ => /0[xX][0-9A-Fa-f_]+|[0-9][0-9_]*(\.[0-9][0-9_]*)?([eE][+-]?[0-9]+)?/,
    string: $ => /"([^"\\\n]|\\.)*"/,
    fstring: $ => seq('f"', repeat(choice($.text, $.interpolation)), token.immediate('"')),
    text: $ => token.immediate(prec(1, /([^"\\{}\n]|\\.|\{\{|\}\})+/)),
    interpolation: $ => seq(token.immediate("{"), repeat($._part), "}"),
    comment: $ => /#[^\n]*/,
  },
});
)js";
}

std::string tokenTableMarkdown() {
  std::string out = "| operator or mark | a line that ends in it continues |\n|---|---|\n";
  for (const TokenInfo &info : allTokens())
    if (info.fixed && !info.keyword) {
      std::string spelling;
      for (char c : info.spelling) // a vertical bar would end the table cell
        spelling += c == '|' ? "\\|" : std::string(1, c);
      out += "| `" + spelling + "` | " + (info.continues ? "yes" : "no") + " |\n";
    }
  out +=
      "\n| reserved word | starts a statement | a line that ends in it continues |\n|---|---|---|\n";
  for (const TokenInfo &info : allTokens())
    if (info.keyword)
      out += "| `" + std::string(info.spelling) + "` | " + (info.startsStmt ? "yes" : "no") +
             " | " + (info.continues ? "yes" : "no") + " |\n";
  out += "\nWords that are reserved only in some contexts:";
  for (std::string_view word : contextualWords())
    out += " `" + std::string(word) + "`";
  return out + "\n";
}

} // namespace mx
