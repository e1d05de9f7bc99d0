// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `option(name, default)`: parses a command-line value as a literal of the default's type.
#include "Sema/Internals.h"
#include "Support/ElementFacts.h"
#include "Support/Suggest.h"
#include <cerrno>
#include <charconv>
#include <cmath>
#include <limits>

namespace mx::sema {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// Moves digits, with single underscores between them, from the front of `text` to `out`.
bool takeDigits(std::string_view &text, std::string &out, bool hex = false) {
  auto isOne = [&](char c) {
    return isDigit(c) || (hex && std::isxdigit(static_cast<unsigned char>(c)));
  };
  size_t count = 0;
  while (!text.empty()) {
    if (text[0] == '_' && count && text.size() > 1 && isOne(text[1]))
      text.remove_prefix(1);
    if (!isOne(text[0]))
      break;
    out += text[0];
    text.remove_prefix(1);
    ++count;
  }
  return count != 0;
}

/// A number in source syntax, with an optional sign.
struct NumberText {
  std::string digits; ///< as strtod and strtoll read it
  bool isWhole = true, isHex = false;
};

std::optional<NumberText> readNumber(std::string_view text) {
  NumberText number;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    number.digits = text[0];
    text.remove_prefix(1);
  }
  if (text.size() > 2 && text[0] == '0' && (text[1] | 32) == 'x') {
    text.remove_prefix(2);
    number.isHex = true;
    number.digits += "0x";
    if (!takeDigits(text, number.digits, /*hex=*/true) || !text.empty())
      return std::nullopt;
    return number;
  }
  if (!takeDigits(text, number.digits))
    return std::nullopt;
  if (!text.empty() && text[0] == '.') {
    number.isWhole = false;
    number.digits += '.';
    text.remove_prefix(1);
    if (!takeDigits(text, number.digits))
      return std::nullopt;
  }
  if (!text.empty() && (text[0] | 32) == 'e') {
    number.isWhole = false;
    number.digits += 'e';
    text.remove_prefix(1);
    if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
      number.digits += text[0];
      text.remove_prefix(1);
    }
    if (!takeDigits(text, number.digits))
      return std::nullopt;
  }
  if (!text.empty())
    return std::nullopt;
  return number;
}

/// Smallest magnitude that rounds to infinity in the type: the largest finite value plus half an
/// ulp.
double overflowOf(ElementType type) {
  int exponent = type == ElementType::F16 ? 16 : type == ElementType::F64 ? 1024 : 128;
  return std::ldexp(1.0, exponent) - std::ldexp(1.0, exponent - elementFacts(type).digits - 1);
}

std::optional<int64_t> readWhole(const std::string &text, ElementType type, bool &isNumber) {
  auto number = readNumber(text);
  isNumber = number && number->isWhole;
  if (!isNumber)
    return std::nullopt;
  errno = 0;
  long long value = std::strtoll(number->digits.c_str(), nullptr, number->isHex ? 16 : 10);
  if (errno == ERANGE || value < elementFacts(type).min() || value > elementFacts(type).max())
    return std::nullopt;
  return value;
}

std::optional<double> readReal(const std::string &text, ElementType type, bool &isNumber) {
  isNumber = true;
  std::string_view word = text;
  bool isNegative = word.substr(0, 1) == "-";
  if (isNegative || word.substr(0, 1) == "+")
    word.remove_prefix(1);
  if (word == "inf")
    return isNegative ? -HUGE_VAL : HUGE_VAL;
  if (word == "nan")
    return std::nan("");
  auto number = readNumber(text);
  isNumber = number.has_value();
  if (!isNumber)
    return std::nullopt;
  double value = std::strtod(number->digits.c_str(), nullptr);
  if (!(std::fabs(value) < overflowOf(type)))
    return std::nullopt;
  return value;
}

/// A default in command-line syntax; as it is written if its value is not known.
std::string shownDefault(const Value &v, const std::string &written, const std::string &type) {
  if (v.constant == Value::StringConstant)
    return std::string(v.text);
  if (v.constant == Value::BoolConstant)
    return v.flag ? "true" : "false";
  if (readNumber(written))
    return written;
  if (v.dim && v.dim.constant())
    return std::to_string(*v.dim.constant());
  if (v.constant == Value::FloatConstant) {
    char text[32];
    return std::string(text, std::to_chars(text, std::end(text), v.number).ptr);
  }
  bool isConverted = written.starts_with(type + "(") && written.ends_with(")");
  std::string inner =
      isConverted ? written.substr(type.size() + 1, written.size() - type.size() - 2) : "";
  return readNumber(inner) ? inner : written;
}

} // namespace

Value Sema::optionValue(std::vector<Arg> &args, Expr *whole) {
  static constexpr std::string_view kNames[] = {"name", "default"};
  for (size_t i = 0; i < 2; ++i)
    if (!args[i].name.empty() && args[i].name != kNames[i]) {
      diags
          .report(Code::E0207, args[i].nameSpan,
                  "`option` has no parameter `" + std::string(args[i].name) + "` here")
          .note("its parameters are name, default");
      return errorValue();
    }
  if (args[0].value->constant != Value::StringConstant) {
    diags.report(Code::E0216, args[0].span, "the name of an option is a literal string");
    return errorValue();
  }
  Value v = *args[1].value;
  v.root = nullptr;
  v.isLvalue = false;
  bool isText = v.type->is(Kind::Str);
  if (!isText && !(v.type->isScalar() && v.host && !v.type->elem.isVariable())) {
    diags.report(Code::E0202, args[1].span,
                 "an option is a number, a bool or a string, this is " + show(v));
    return errorValue();
  }
  std::string name(args[0].value->text), type = types.print(v.type);
  OptionInfo info{name, type, textOf(args[1].expr), whole->span, ""};
  info.shown = shownDefault(v, info.initial, type);
  bool isNew = true;
  for (const OptionInfo &known : declaredOptions)
    isNew &= known.span.file != whole->span.file || known.span.begin != whole->span.begin;
  if (isNew)
    declaredOptions.push_back(info);
  auto given = options.options.find(name);
  if (given == options.options.end())
    return v;
  const std::string &text = given->second;
  if (isText) {
    v.constant = Value::StringConstant;
    v.text = arena.copy(text);
    return v;
  }
  ElementType element = v.type->elem.type();
  bool isInt = types.isInt(v.type->elem), isBool = element == ElementType::Bool, isNumber = false;
  if (isBool) {
    if (text == "true" || text == "false") {
      v.constant = Value::BoolConstant;
      v.flag = text == "true";
      return v;
    }
  } else if (isInt) {
    if (auto number = readWhole(text, element, isNumber)) {
      if (element == ElementType::I64)
        v.dim = dims.constant(*number);
      else
        givenNumbers[whole] = *number;
      return v;
    }
  } else if (auto number = readReal(text, element, isNumber)) {
    v.constant = Value::FloatConstant;
    v.number = *number;
    return v;
  }
  ++wrongOptions;
  std::string kind = isBool ? "true or false" : isInt ? "a whole number" : "a number";
  std::string shown = text.empty() ? "an empty value" : "`" + text + "`";
  Diagnostic &d =
      diags.report(Code::E0808, whole->span,
                   isNumber ? shown + " does not fit option `" + name + "`, which is " + type
                            : "option `" + name + "` is " + kind + ", " + shown + " is not");
  d.caret(type + ", " + info.initial + " if it is not given");
  d.note("the command line has `" + name + "=" + text + "`");
  if (isNumber && isInt) {
    const ElementFacts &info = elementFacts(element);
    d.note("the numbers of " + type + " are " + std::to_string(info.min()) + " to " +
           std::to_string(info.max()));
  }
  d.help("write " + (isBool ? "`" + name + "=true` or `" + name + "=false`"
                            : "`" + name + "=" + (isInt ? "3" : "0.5") + "`, for example"));
  return v;
}

bool reportUnknownOptions(const std::map<std::string, std::string> &given,
                          const std::vector<OptionInfo> &declared, Diagnostics &diags) {
  std::vector<std::string> known, shown;
  for (const OptionInfo &each : declared) {
    known.push_back(each.name);
    if (std::string one = each.name + "=" + each.shown;
        std::find(shown.begin(), shown.end(), one) == shown.end())
      shown.push_back(one);
  }
  std::string list;
  for (const std::string &one : shown)
    list += (list.empty() ? "" : ", ") + one;
  std::vector<std::pair<std::string, std::string>> unknown;
  for (const auto &each : given)
    if (std::find(known.begin(), known.end(), each.first) == known.end())
      unknown.push_back(each);
  if (unknown.empty())
    return false;
  std::string names;
  for (const auto &[name, text] : unknown)
    names += (names.empty() ? " `" : &name == &unknown.back().first ? " or `" : ", `") + name + "`";
  Diagnostic &d = diags.report(Code::E0809, {}, "the program has no option" + names);
  for (const auto &[name, text] : unknown)
    d.note("the command line has `" + name + "=" + text + "`");
  d.note(list.empty() ? "the program has no options at all" : "its options are " + list);
  for (const auto &[name, text] : unknown)
    if (std::string near = nearest(name, known); !near.empty())
      d.help("write `" + near + "=" + text + "`");
    else if (list.empty())
      d.help("leave it out, or declare `option(\"" + name + "\", …)`");
    else
      d.help("leave `" + name + "=" + text + "` out");
  return true;
}

} // namespace mx::sema
