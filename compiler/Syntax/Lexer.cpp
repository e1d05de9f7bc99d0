// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lexer: tokens, comments, f-strings, and statement ends.
#include "Syntax/Lexer.h"
#include "Support/Limits.h"
#include "Support/Unicode.h"
#include <algorithm>
#include <cctype>

namespace mx {
namespace {

bool isNameStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool isNameChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
public:
  Lexer(const SourceFile &source, Diagnostics &sink)
      : file(source), text(source.text()), diags(sink) {}

  LexedSource run() {
    if (!checkText()) {
      push(Tok::EndOfFile, text.size(), text.size());
      return std::move(out);
    }
    // Stops once no more errors are kept.
    while (pos < text.size() && !stopped && !diags.full())
      lexOne();
    bool trailing = !out.tokens.empty() && tokenInfo(out.tokens.back().kind).continues;
    out.complete = !stopped && !trailing && brackets.empty();
    if (!out.tokens.empty() && out.tokens.back().kind != Tok::Newline)
      push(Tok::Newline, text.size(), text.size());
    push(Tok::EndOfFile, text.size(), text.size());
    return std::move(out);
  }

private:
  const SourceFile &file;
  std::string_view text;
  Diagnostics &diags;
  LexedSource out;
  size_t pos = 0;
  bool stopped = false;
  bool lineHasToken = false;
  int fstringDepth = 0;
  /// Open brackets: ( [ {, and `f` for the braces of an f-string.
  std::vector<char> brackets;

  char at(size_t i) const { return i < text.size() ? text[i] : '\0'; }
  Span span(size_t begin, size_t end) const {
    return {file.id(), static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
  }
  void push(Tok kind, size_t begin, size_t end) {
    out.tokens.push_back({kind, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
    lineHasToken = kind != Tok::Newline;
    if (out.tokens.size() > limits::kMaxTokens && !stopped) {
      diags.report(Code::E0002, span(begin, end), "the file has too many tokens")
          .caret("the limit is " + std::to_string(limits::kMaxTokens));
      stopped = true;
    }
  }

  /// Checks size, UTF-8, NUL and bidirectional control characters.
  bool checkText() {
    if (text.size() > limits::kMaxSourceBytes) {
      diags.report(Code::E0002, span(0, 0), "the file is too large")
          .note("it has more than " + std::to_string(limits::kMaxSourceBytes >> 20) +
                " MiB, the limit for one source file");
      return false;
    }
    for (size_t i = 0; i < text.size();) {
      unsigned char byte = static_cast<unsigned char>(text[i]);
      if (byte >= 0x20 && byte < 0x7F) {
        ++i;
        continue;
      }
      CodePoint c = decodeUtf8(text, i);
      if (c.bytes == 0) {
        diags.report(Code::E0001, span(i, i + 1), "the file is not UTF-8")
            .caret("the byte at offset " + std::to_string(i) + " belongs to no character");
        return false;
      }
      if (c.value == 0) {
        diags.report(Code::E0003, span(i, i + 1), "a NUL character is not allowed in a program")
            .note("it is at byte " + std::to_string(i) + "; is this a binary file?");
        return false;
      }
      if (isBidiControl(c.value)) {
        diags
            .report(Code::E0003, span(i, i + c.bytes),
                    "a character that changes the direction of text is not allowed")
            .caret("such text looks different from what is compiled")
            .help("write it in a string as an escape: `\\u{" + hex(c.value) + "}`");
        return false;
      }
      i += c.bytes;
    }
    return true;
  }

  static std::string hex(uint32_t value) {
    char buffer[16];
    std::snprintf(buffer, sizeof buffer, "%x", value);
    return buffer;
  }

  bool newlineCounts() const {
    if (!brackets.empty() && brackets.back() != '{')
      return false;
    return lineHasToken && !tokenInfo(out.tokens.back().kind).continues;
  }

  void lexOne() {
    char c = text[pos];
    if (c == ' ' || c == '\t' || c == '\r') {
      ++pos;
    } else if (c == '\n') {
      if (newlineCounts())
        push(Tok::Newline, pos, pos + 1);
      ++pos;
    } else if (c == '#') {
      lexComment();
    } else if (c == 'f' && at(pos + 1) == '"') {
      lexFString();
    } else if (isNameStart(c)) {
      lexWord();
    } else if (c == '.' && isDigit(at(pos + 1)) && !followsOperand()) {
      size_t begin = pos++;
      while (isDigit(at(pos)))
        ++pos;
      std::string digits(text.substr(begin, pos - begin));
      diags.report(Code::E0103, span(begin, pos), "a number needs a digit before the point")
          .caret("write `0" + clip(digits) + "`");
      push(Tok::Float, begin, pos);
    } else if (isDigit(c)) {
      lexNumber();
    } else if (c == '"') {
      lexString();
    } else {
      lexPunctuation();
    }
  }

  /// Whether the last token can be the operand of a `.`, as in `x.0`.
  bool followsOperand() const {
    if (out.tokens.empty())
      return false;
    Tok last = out.tokens.back().kind;
    return last == Tok::Name || last == Tok::RParen || last == Tok::RBracket ||
           last == Tok::RBrace || last == Tok::Int || last == Tok::Float || last == Tok::String ||
           last == Tok::Dot;
  }

  void lexComment() {
    size_t begin = pos;
    while (pos < text.size() && text[pos] != '\n')
      ++pos;
    size_t end = pos;
    while (end > begin && (text[end - 1] == '\r' || text[end - 1] == ' ' || text[end - 1] == '\t'))
      --end;
    size_t lineStart = begin;
    while (lineStart > 0 && (text[lineStart - 1] == ' ' || text[lineStart - 1] == '\t'))
      --lineStart;
    bool ownLine = lineStart == 0 || text[lineStart - 1] == '\n';
    out.comments.push_back(
        {static_cast<uint32_t>(begin), static_cast<uint32_t>(end), at(begin + 1) == '#', ownLine});
  }

  void lexWord() {
    size_t begin = pos;
    while (isNameChar(at(pos)))
      ++pos;
    std::string_view word = text.substr(begin, pos - begin);
    Tok kind = keywordKind(word);
    bool afterDot = !out.tokens.empty() && out.tokens.back().kind == Tok::Dot;
    if (afterDot)
      kind = Tok::Name;
    if (tokenInfo(kind).startsStmt)
      recoverLostBracket(begin);
    push(kind, begin, pos);
  }

  /// Statement keywords such as `let` never occur inside ( or [. If one starts a line there, a
  /// closing bracket is missing above: the statement ends here, so that one mistake gives one
  /// error.
  void recoverLostBracket(size_t begin) {
    if (brackets.empty() || brackets.back() == '{' || brackets.back() == 'f')
      return;
    size_t i = begin;
    while (i > 0 && (text[i - 1] == ' ' || text[i - 1] == '\t'))
      --i;
    if (i != 0 && text[i - 1] != '\n')
      return;
    while (!brackets.empty() && brackets.back() != '{')
      brackets.pop_back();
    push(Tok::Newline, begin, begin);
  }

  void lexNumber() {
    size_t begin = pos;
    bool isFloat = false, bad = false;
    if (text[pos] == '0' && (at(pos + 1) == 'x' || at(pos + 1) == 'X')) {
      pos += 2;
      size_t digits = 0;
      for (; std::isxdigit(static_cast<unsigned char>(at(pos))) || at(pos) == '_'; ++pos)
        digits += at(pos) != '_';
      bad = digits == 0;
    } else {
      auto digits = [&] {
        while (isDigit(at(pos)) || (at(pos) == '_' && isDigit(at(pos + 1))))
          ++pos;
      };
      digits();
      if (at(pos) == '.' && isDigit(at(pos + 1))) {
        isFloat = true;
        ++pos;
        digits();
      }
      if (at(pos) == 'e' || at(pos) == 'E') {
        size_t exponent = pos + 1;
        if (at(exponent) == '+' || at(exponent) == '-')
          ++exponent;
        if (isDigit(at(exponent))) {
          isFloat = true;
          pos = exponent;
          digits();
        }
      }
    }
    size_t end = pos;
    // `1.` and `12px`: explains the syntax of numbers instead of guessing.
    if (at(pos) == '.' && !isNameStart(at(pos + 1)) && at(pos + 1) != '.') {
      ++pos;
      diags.report(Code::E0103, span(begin, pos), "a number needs a digit after the point")
          .caret("write `" + std::string(text.substr(begin, end - begin)) + ".0`");
      isFloat = true;
    } else if (isNameChar(at(pos)) || bad) {
      while (isNameChar(at(pos)))
        ++pos;
      std::string word(text.substr(begin, pos - begin));
      diags.report(Code::E0103, span(begin, pos), "`" + clip(word) + "` is not a number")
          .help("numbers look like `1_000`, `0xff`, `1.0`, `1e-3`; an element type is written as a "
                "conversion: `f16(1.5)`");
      end = pos;
    } else if (!isFloat && !fitsInt64(text.substr(begin, end - begin))) {
      diags.report(Code::E0106, span(begin, end), "this integer does not fit 64 bits")
          .caret("the largest is 9223372036854775807");
    }
    push(isFloat ? Tok::Float : Tok::Int, begin, pos);
  }

  static std::string clip(const std::string &word) {
    return word.size() <= 32 ? word : word.substr(0, 29) + "...";
  }

  static bool fitsInt64(std::string_view digits) {
    uint64_t base = 10, value = 0;
    if (digits.size() > 1 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) {
      base = 16;
      digits.remove_prefix(2);
    }
    for (char c : digits) {
      if (c == '_')
        continue;
      uint64_t digit = isDigit(c) ? c - '0' : (std::tolower(c) - 'a' + 10);
      if (value > (static_cast<uint64_t>(INT64_MAX) - digit) / base)
        return false;
      value = value * base + digit;
    }
    return true;
  }

  /// Checks one escape at `i` (a backslash) and returns the offset after it.
  size_t checkEscape(size_t i) {
    char c = at(i + 1);
    if (c != '\0' && std::string_view("ntr0\\\"'{}").find(c) != std::string_view::npos)
      return i + 2;
    if (c == 'x' && std::isxdigit(static_cast<unsigned char>(at(i + 2))) &&
        std::isxdigit(static_cast<unsigned char>(at(i + 3))) && at(i + 2) < '8')
      return i + 4;
    if (c == 'u' && at(i + 2) == '{') {
      size_t j = i + 3;
      uint32_t value = 0;
      while (std::isxdigit(static_cast<unsigned char>(at(j))) && j < i + 9) {
        char d = at(j++);
        value = value * 16 + (isDigit(d) ? d - '0' : std::tolower(d) - 'a' + 10);
      }
      if (j > i + 3 && at(j) == '}' && value <= 0x10FFFF && !(value >= 0xD800 && value <= 0xDFFF))
        return j + 1;
    }
    size_t end = std::min(i + 2, text.size());
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
      ++end;
    if (c == '\n')
      end = i + 1;
    diags.report(Code::E0105, span(i, end), "unknown escape in a string")
        .help("known are \\n \\t \\r \\0 \\\\ \\\" \\{ \\} \\x41 \\u{1F600}");
    return end;
  }

  void unterminated(size_t begin, size_t end) {
    pos = end;
    if (stopped) // the end was not searched
      return;
    diags.report(Code::E0102, span(begin, begin + 1), "this string has no end")
        .caret("`\"` opens here and is not closed on this line")
        .help("close it with `\"`; for a line break inside write `\\n`");
  }

  void lexString() {
    size_t begin = pos, i = pos + 1;
    while (i < text.size() && text[i] != '"' && text[i] != '\n')
      i = text[i] == '\\' ? checkEscape(i) : i + 1;
    if (i >= text.size() || text[i] != '"') {
      unterminated(begin, std::min(i, text.size()));
      push(Tok::String, begin, pos);
      return;
    }
    pos = i + 1;
    push(Tok::String, begin, pos);
  }

  void lexFString() {
    size_t begin = pos;
    if (++fstringDepth > 8) {
      diags.report(Code::E0104, span(begin, begin + 2), "strings are nested too deep")
          .caret("the limit is 8");
      stopped = true;
      return;
    }
    push(Tok::FStringBegin, pos, pos + 2);
    pos += 2;
    bool closed = lexFStringBody(begin);
    if (closed)
      push(Tok::FStringEnd, pos - 1, pos);
    else
      push(Tok::FStringEnd, pos, pos);
    --fstringDepth;
  }

  /// Text and `{…}` parts up to the closing quote. False if the line ends first.
  bool lexFStringBody(size_t begin) {
    size_t textStart = pos;
    auto flush = [&](size_t end) {
      if (end > textStart)
        push(Tok::FStringText, textStart, end);
    };
    while (pos < text.size() && text[pos] != '\n' && !stopped) {
      char c = text[pos];
      if (c == '"') {
        flush(pos);
        ++pos;
        return true;
      }
      if (c == '\\') {
        pos = checkEscape(pos);
      } else if ((c == '{' && at(pos + 1) == '{') || (c == '}' && at(pos + 1) == '}')) {
        pos += 2;
      } else if (c == '}') {
        diags.report(Code::E0105, span(pos, pos + 1), "`}` without `{` in a string")
            .help("write `}}` for a brace in the text");
        ++pos;
      } else if (c == '{') {
        flush(pos);
        if (!lexInterpolation())
          return false;
        textStart = pos;
      } else {
        ++pos;
      }
    }
    flush(pos);
    unterminated(begin, pos);
    return false;
  }

  void unclosedBrace(size_t open) {
    diags.report(Code::E0105, span(open, open + 1), "this `{` in a string is not closed")
        .help("close it with `}`; write `{{` for a brace in the text");
  }

  bool closesOnLine(size_t quote) const {
    size_t i = quote + 1;
    while (i < text.size() && text[i] != '"' && text[i] != '\n')
      i += text[i] == '\\' ? 2 : 1;
    return i < text.size() && text[i] == '"';
  }

  bool lexInterpolation() {
    size_t open = pos, depth = brackets.size();
    push(Tok::FStringOpen, pos, pos + 1);
    brackets.push_back('f');
    ++pos;
    while (pos < text.size() && text[pos] != '\n' && !stopped) {
      bool innermost = brackets.size() == depth + 1;
      if (innermost && text[pos] == ':') {
        size_t begin = pos++;
        while (pos < text.size() && text[pos] != '}' && text[pos] != '"' && text[pos] != '\n')
          ++pos;
        push(Tok::FStringFormat, begin + 1, pos);
        continue;
      }
      if (innermost && text[pos] == '}') {
        brackets.pop_back();
        push(Tok::FStringClose, pos, pos + 1);
        ++pos;
        return true;
      }
      if (text[pos] == '#')
        break;                                      // a comment would include the end of the string
      if (text[pos] == '"' && !closesOnLine(pos)) { // the closing quote itself: `f"{x"`
        brackets.resize(depth);
        unclosedBrace(open);
        push(Tok::FStringClose, pos, pos);
        return true;
      }
      lexOne();
      if (brackets.size() <= depth)
        return true; // closed by a stray bracket; reported by the parser
    }
    brackets.resize(depth);
    if (stopped)
      return false;
    unclosedBrace(open);
    while (pos < text.size() && text[pos] != '\n')
      ++pos;
    push(Tok::FStringClose, pos, pos);
    return false;
  }

  void lexPunctuation() {
    static constexpr struct {
      std::string_view spelling;
      Tok kind;
    } table[] = {
        // Longest first, so that the first match is the longest.
        {"...", Tok::Ellipsis},  {"..", Tok::DotDot},     {"->", Tok::Arrow},
        {"+=", Tok::PlusEqual},  {"-=", Tok::MinusEqual}, {"*=", Tok::StarEqual},
        {"/=", Tok::SlashEqual}, {"|>", Tok::Pipe},       {"==", Tok::EqualEqual},
        {"!=", Tok::NotEqual},   {"<=", Tok::LessEqual},  {">=", Tok::GreaterEqual},
        {"//", Tok::SlashSlash}, {"**", Tok::StarStar},   {"(", Tok::LParen},
        {")", Tok::RParen},      {"[", Tok::LBracket},    {"]", Tok::RBracket},
        {"{", Tok::LBrace},      {"}", Tok::RBrace},      {",", Tok::Comma},
        {";", Tok::Semicolon},   {":", Tok::Colon},       {"?", Tok::Question},
        {".", Tok::Dot},         {"=", Tok::Equal},       {"<", Tok::Less},
        {">", Tok::Greater},     {"+", Tok::Plus},        {"-", Tok::Minus},
        {"*", Tok::Star},        {"/", Tok::Slash},       {"%", Tok::Percent},
        {"@", Tok::At},
    };
    for (const auto &entry : table)
      if (text.substr(pos, entry.spelling.size()) == entry.spelling) {
        trackBracket(entry.kind);
        push(entry.kind, pos, pos + entry.spelling.size());
        pos += entry.spelling.size();
        return;
      }
    strangeCharacter();
  }

  void trackBracket(Tok kind) {
    auto close = [&](char open) {
      // An `f` is a barrier: a bracket inside a string cannot close one outside.
      for (size_t i = brackets.size(); i > 0 && brackets[i - 1] != 'f'; --i)
        if (brackets[i - 1] == open) {
          brackets.resize(i - 1);
          return;
        }
    };
    switch (kind) {
    case Tok::LParen:
      brackets.push_back('(');
      break;
    case Tok::LBracket:
      brackets.push_back('[');
      break;
    case Tok::LBrace:
      brackets.push_back('{');
      break;
    case Tok::RParen:
      close('(');
      break;
    case Tok::RBracket:
      close('[');
      break;
    case Tok::RBrace:
      close('{');
      break;
    default:
      break;
    }
  }

  void strangeCharacter() {
    CodePoint c = decodeUtf8(text, pos);
    Span where = span(pos, pos + c.bytes);
    std::string shown(text.substr(pos, c.bytes));
    auto two = text.substr(pos, 2);
    if (c.value == '\'') {
      diags.report(Code::E0003, where, "strings are written in double quotes").caret("write `\"`");
      size_t end = pos + 1;
      while (end < text.size() && text[end] != '\'' && text[end] != '\n')
        ++end;
      size_t stop = end < text.size() && text[end] == '\'' ? end + 1 : end;
      push(Tok::String, pos, stop);
      pos = stop;
      return;
    }
    if (two == "&&" || two == "||") {
      bool conjunction = two == "&&";
      diags.report(Code::E0003, span(pos, pos + 2),
                   std::string("`") + std::string(two) + "` is written `" +
                       (conjunction ? "and" : "or") + "`");
      push(conjunction ? Tok::KwAnd : Tok::KwOr, pos, pos + 2);
      pos += 2;
      return;
    }
    if (c.value == '!') {
      diags.report(Code::E0003, where, "`!` is written `not`");
      push(Tok::KwNot, pos, pos + 1);
      ++pos;
      return;
    }
    Diagnostic &d = diags.report(Code::E0003, where,
                                 "the character `" + printable(shown) + "` has no meaning here");
    if (c.value == '&' || c.value == '|' || c.value == '^' || c.value == '~')
      d.help("bitwise operations are functions: `bit_and(a, b)`, `bit_or(a, b)`, `bit_xor(a, b)`, "
             "`bit_not(a)`");
    else if (c.value == '$' || c.value == '`')
      d.help("values go into a string as `f\"{x}\"`");
    else if (c.value == '\\')
      d.help("a statement continues after an operator, a `,` or inside brackets; no `\\` is needed");
    else if (c.value >= 0x80)
      d.help("names use the letters a-z, A-Z, digits and `_`; other characters belong in strings "
             "and comments");
    pos += c.bytes;
  }

  static std::string printable(const std::string &shown) {
    return shown.size() == 1 && static_cast<unsigned char>(shown[0]) < 0x20
               ? "\\x" + hex(static_cast<unsigned char>(shown[0]))
               : shown;
  }
};

} // namespace

LexedSource lex(const SourceFile &file, Diagnostics &diagnostics) {
  return Lexer(file, diagnostics).run();
}

std::string unescape(std::string_view body) {
  std::string out;
  for (size_t i = 0; i < body.size(); ++i) {
    char c = body[i];
    if (c != '\\' || i + 1 >= body.size()) {
      out += c;
      continue;
    }
    switch (char e = body[++i]) {
    case 'n':
      out += '\n';
      break;
    case 't':
      out += '\t';
      break;
    case 'r':
      out += '\r';
      break;
    case '0':
      out += '\0';
      break;
    case 'x':
      if (i + 2 < body.size()) {
        out +=
            static_cast<char>(std::strtol(std::string(body.substr(i + 1, 2)).c_str(), nullptr, 16));
        i += 2;
      }
      break;
    case 'u': {
      size_t close = body.find('}', i);
      if (close != std::string_view::npos) {
        appendUtf8(out, static_cast<uint32_t>(std::strtoul(
                            std::string(body.substr(i + 2, close - i - 2)).c_str(), nullptr, 16)));
        i = close;
      }
      break;
    }
    default:
      out += e;
    }
  }
  return out;
}

} // namespace mx
