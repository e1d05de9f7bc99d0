// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Assembler: text to module file, in one pass; names of functions and labels are resolved at the
// end, so they may be used before they are declared.

#include "host/text/Assembler.h"
#include "host/text/AssemblyLexer.h"
#include "host/text/ModuleBuilder.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>

namespace mxrt::host {

namespace {

using T = AssemblyToken::Type;

class Assembler {
public:
  Assembler(std::string_view text, std::string &message)
      : lexer(text), message(message) {
    advance();
  }

  bool run(std::vector<uint8_t> &bytes) {
    while (token.type != T::End && !failed) {
      if (token.type == T::Newline)
        advance();
      else
        item();
    }
    for (const auto &use : functionUses)
      if (!failed)
        bindFunction(use);
    if (failed)
      return false;
    bytes = module.finish();
    return true;
  }

private:
  //===-- Tokens --------------------------------------------------------===//

  void advance() {
    token = lexer.next();
    if (token.type == T::Bad)
      fail("unexpected character or unfinished string");
  }
  bool fail(const std::string &what) { return failAt(token, what); }
  bool failAt(const AssemblyToken &at, const std::string &what) {
    if (!failed)
      message = std::to_string(at.line) + ':' + std::to_string(at.column) +
                ": " + what;
    failed = true;
    return false;
  }
  bool isPunct(char c) const {
    return token.type == T::Punct && token.text[0] == c;
  }
  bool take(char c) {
    if (!isPunct(c))
      return false;
    advance();
    return true;
  }
  bool expect(char c) {
    return take(c) || fail(std::string("'") + c + "' is missing");
  }
  bool takeWord(std::string_view word) {
    if (token.type != T::Word || token.text != word)
      return false;
    advance();
    return true;
  }
  bool endOfLine() {
    if (token.type == T::End || isPunct('}'))
      return true;
    if (token.type != T::Newline)
      return fail("the end of the line was expected");
    advance();
    return true;
  }

  bool name(std::string &out) {
    if (token.type != T::Word && token.type != T::String)
      return fail("a name is missing");
    out = token.text;
    advance();
    return true;
  }
  bool number(int64_t &out, int64_t low, int64_t high) {
    const std::string &text = token.text;
    auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), out);
    if (token.type != T::Number || error != std::errc() ||
        end != text.data() + text.size() || out < low || out > high)
      return fail("a number from " + std::to_string(low) + " to " +
                  std::to_string(high) + " was expected");
    advance();
    return true;
  }
  bool kind(Kind &out) {
    Kind found = token.type == T::Word ? kindFromName(token.text) : Kind::Unset;
    if (found == Kind::Unset)
      return fail("a kind was expected");
    out = found;
    advance();
    return true;
  }

  //===-- Items ---------------------------------------------------------===//

  bool item() {
    if (takeWord("type"))
      return typeItem();
    if (takeWord("native"))
      return importItem(ImportKind::Native);
    if (takeWord("tensor"))
      return importItem(ImportKind::TensorOp);
    if (takeWord("graph"))
      return importItem(ImportKind::Graph);
    if (takeWord("global")) {
      GlobalDecl global;
      if (!name(global.name) || !expect(':') || !kind(global.kind))
        return false;
      module.globals.push_back(global);
      return endOfLine();
    }
    if (takeWord("entry")) {
      if (take('@'))
        return small(module.entry, 0, UINT16_MAX) && endOfLine();
      functionUses.push_back({token, noEntry, 0});
      advance();
      return endOfLine();
    }
    if (takeWord("func"))
      return functionItem();
    return fail("type, native, tensor, graph, global, entry or func expected");
  }

  bool typeItem() {
    TypeDecl type;
    if (!name(type.name) || !expect('('))
      return false;
    while (!isPunct(')')) {
      type.fields.emplace_back();
      if (!name(type.fields.back()) || (!isPunct(')') && !expect(',')))
        return false;
    }
    advance();
    module.types.push_back(type);
    return endOfLine();
  }

  bool signature(std::vector<ParamData> &params, bool *variadic,
                 Kind &result) {
    if (!expect('('))
      return false;
    while (!isPunct(')')) {
      if (variadic && token.type == T::Word && token.text == "...") {
        *variadic = true;
        advance();
        break;
      }
      ParamData param{Kind::Any, takeWord("mut")};
      if (!kind(param.kind) || (!isPunct(')') && !expect(',')))
        return false;
      params.push_back(param);
    }
    if (!expect(')'))
      return false;
    result = Kind::Unit;
    return takeWord("->") ? kind(result) : true;
  }

  bool importItem(ImportKind sort) {
    ImportDecl import;
    import.sort = sort;
    if (!name(import.name) ||
        !signature(import.params, &import.variadic, import.result))
      return false;
    module.imports.push_back(import);
    return endOfLine();
  }

  bool functionItem() {
    fn = &module.functions.emplace_back();
    labels.clear();
    labelUses.clear();
    tries.clear();
    if (!name(fn->name) || !signature(fn->params, nullptr, fn->result))
      return false;
    for (const ParamData &param : fn->params)
      fn->registers.push_back(param.kind);
    if (takeWord("in")) {
      if (token.type != T::String)
        return fail("a file name in quotes was expected");
      fn->file = token.text;
      advance();
    }
    if (!expect('{'))
      return false;
    while (!isPunct('}')) {
      if (token.type == T::Newline)
        advance();
      else if (token.type == T::End)
        return fail("'}' is missing");
      else if (!line())
        return false;
    }
    advance();
    return bindLabels() && endOfLine();
  }

  bool line() {
    AssemblyToken first = token;
    if (first.type != T::Word)
      return fail("an instruction was expected");
    advance();
    if (take(':')) {
      if (!labels.emplace(first.text, uint32_t(fn->code.size())).second)
        return failAt(first, "label " + first.text + " stands twice");
      return true;
    }
    if (first.text == "reg") {
      do {
        Kind declared;
        if (!kind(declared))
          return false;
        fn->registers.push_back(declared);
      } while (take(','));
      return endOfLine();
    }
    if (first.text == "line") {
      int64_t line = 0, column = 0;
      if (!number(line, 0, INT32_MAX) || !expect(':') ||
          !number(column, 0, INT32_MAX))
        return false;
      fn->location(uint32_t(line), uint32_t(column), takeWord("stmt"));
      return endOfLine();
    }
    if (first.text == "try")
      return tryLine();
    unsigned op = opcodeFromMnemonic(first.text);
    if (op == opcodeCount)
      return failAt(first, "there is no instruction " + first.text);
    return instruction(Opcode(op));
  }

  bool tryLine() {
    Try row;
    for (AssemblyToken &label : row.labels) {
      label = token;
      if (token.type != T::Word)
        return fail("a label was expected");
      advance();
      if (!expect(','))
        return false;
    }
    if (!registerOperand(row.error, true))
      return false;
    tries.push_back(row);
    return endOfLine();
  }

  //===-- Operands ------------------------------------------------------===//

  bool instruction(Opcode op) {
    const OpcodeInfo &info = opcodeInfo(op);
    uint16_t operands[3] = {0, 0, 0};
    uint32_t at = uint32_t(fn->code.size());
    bool first = true;
    for (unsigned i = 0; i < 3; ++i) {
      if (info.roles[i] == Role::None || info.roles[i] == Role::Wide)
        continue;
      if (!first && !expect(','))
        return false;
      first = false;
      uint32_t value = 0;
      if (!operand(info.roles[i], at, value))
        return false;
      operands[i] = uint16_t(value);
      if (i < 2 && info.roles[i + 1] == Role::Wide)
        operands[i + 1] = uint16_t(value >> 16);
    }
    fn->emit(op, operands[0], operands[1], operands[2]);
    return endOfLine();
  }

  bool registerOperand(uint16_t &out, bool mayBeNone) {
    if (mayBeNone && takeWord("_")) {
      out = noRegister;
      return true;
    }
    unsigned value = 0;
    const std::string &text = token.text;
    if (token.type != T::Word || text.size() < 2 || text[0] != 'r')
      return fail("a register was expected");
    auto [end, error] =
        std::from_chars(text.data() + 1, text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() ||
        value >= noRegister)
      return fail("a register was expected");
    out = uint16_t(value);
    advance();
    return true;
  }

  bool small(uint32_t &out, int64_t low, int64_t high) {
    int64_t value = 0;
    if (!number(value, low, high))
      return false;
    out = uint32_t(value);
    return true;
  }

  bool operand(Role role, uint32_t at, uint32_t &out) {
    if (isRegister(role)) {
      uint16_t reg = 0;
      if (!registerOperand(reg, role == Role::OptOut))
        return false;
      out = reg;
      return true;
    }
    switch (role) {
    case Role::Imm16:
      return small(out, INT16_MIN, INT16_MAX);
    case Role::Imm32:
      return small(out, INT32_MIN, INT32_MAX);
    case Role::Flag:
      if (takeWord("true")) {
        out = 1;
        return true;
      }
      return takeWord("false") || small(out, 0, UINT16_MAX);
    case Role::DTypeCode:
      for (uint32_t i = 0; i < MXRT_DTYPE_COUNT; ++i)
        if (takeWord(mxrt_dtype_name(mxrt_dtype(i)))) {
          out = i;
          return true;
        }
      return small(out, 0, UINT16_MAX);
    case Role::ErrCode:
      return errorCode(out);
    case Role::Jump16:
    case Role::Jump32:
      if (token.type != T::Word)
        return fail("a label was expected");
      labelUses.push_back({token, at});
      advance();
      return true;
    case Role::Const16:
    case Role::Const32:
      return constant(out);
    case Role::List:
      return list(out);
    case Role::Func:
      if (take('@'))
        return small(out, 0, UINT16_MAX);
      functionUses.push_back(
          {token, uint32_t(module.functions.size() - 1), at});
      advance();
      return true;
    case Role::Type:
      return row(module.types, out);
    case Role::Global:
      return row(module.globals, out);
    case Role::Native:
    case Role::TensorOp:
    case Role::Graph:
      return row(module.imports, out);
    default:
      return small(out, 0, UINT16_MAX);
    }
  }

  bool errorCode(uint32_t &out) {
    const std::string &text = token.text;
    if (token.type != T::Word || text.size() < 2 || text[0] != 'R' ||
        std::from_chars(text.data() + 1, text.data() + text.size(), out).ptr !=
            text.data() + text.size() ||
        out > UINT16_MAX)
      return fail("an error code such as R0303 was expected");
    advance();
    return true;
  }

  bool constant(uint32_t &out) {
    const std::string &text = token.text;
    if (token.type == T::String) {
      out = module.constant(std::string_view(text));
    } else if (token.type == T::Punct && text == "@") {
      advance();
      return small(out, 0, UINT16_MAX);
    } else if (token.type != T::Number) {
      return fail("a constant was expected");
    } else if (text.back() == 'f' || text.back() == 'd') {
      if (!floatConstant(out))
        return fail("this is not a number");
    } else {
      int64_t value = 0;
      if (std::from_chars(text.data(), text.data() + text.size(), value).ptr !=
          text.data() + text.size())
        return fail("a number is i64, or ends in f or d");
      out = module.constant(value);
    }
    advance();
    return true;
  }

  bool floatConstant(uint32_t &out) {
    std::string text = token.text;
    char ending = text.back();
    text.pop_back();
    const char *begin = text.data(), *end = begin + text.size();
    if (text[0] == '#') {
      uint64_t bits = 0;
      if (std::from_chars(begin + 1, end, bits, 16).ptr != end)
        return false;
      out = ending == 'f' ? module.constantF32(std::bit_cast<float>(
                                uint32_t(bits)))
                          : module.constantF64(std::bit_cast<double>(bits));
      return true;
    }
    float single = 0;
    double number = 0;
    if (ending == 'f') {
      if (std::from_chars(begin, end, single).ptr != end)
        return false;
      out = module.constantF32(single);
    } else {
      if (std::from_chars(begin, end, number).ptr != end)
        return false;
      out = module.constantF64(number);
    }
    return true;
  }

  bool list(uint32_t &out) {
    std::vector<uint16_t> entries;
    if (!expect('['))
      return false;
    while (!isPunct(']')) {
      bool isMut = takeWord("mut");
      uint16_t reg = 0;
      if (!registerOperand(reg, false) || (!isPunct(']') && !expect(',')))
        return false;
      if (reg & mutBit)
        return fail("a list has no room for so large a register");
      entries.push_back(uint16_t(reg | (isMut ? mutBit : 0)));
    }
    advance();
    out = fn->list(std::move(entries));
    return true;
  }

  template <typename Rows> bool row(const Rows &rows, uint32_t &out) {
    if (take('@'))
      return small(out, 0, UINT16_MAX);
    for (uint32_t i = 0; i < rows.size(); ++i)
      if (rows[i].name == token.text) {
        out = i;
        advance();
        return true;
      }
    return fail("there is no " + token.text);
  }

  //===-- Forward references --------------------------------------------===//

  struct Use {
    AssemblyToken name;
    uint32_t instruction;
  };
  struct FunctionUse {
    AssemblyToken name;
    uint32_t function; // noEntry: the entry of the module
    uint32_t instruction;
  };
  struct Try {
    AssemblyToken labels[3];
    uint16_t error;
  };

  bool labelAt(const AssemblyToken &name, uint32_t &out) {
    auto found = labels.find(name.text);
    if (found == labels.end())
      return failAt(name, "there is no label " + name.text);
    out = found->second;
    return true;
  }

  bool bindLabels() {
    for (const Use &use : labelUses) {
      uint32_t target = 0;
      if (!labelAt(use.name, target))
        return false;
      if (!fn->patchJump(use.instruction, target))
        return failAt(use.name, "too far for this jump");
    }
    for (const Try &row : tries) {
      HandlerData handler = {0, 0, 0, row.error};
      if (!labelAt(row.labels[0], handler.begin) ||
          !labelAt(row.labels[1], handler.end) ||
          !labelAt(row.labels[2], handler.target))
        return false;
      fn->handlers.push_back(handler);
    }
    return true;
  }

  bool bindFunction(const FunctionUse &use) {
    uint32_t index = 0;
    const std::string &text = use.name.text;
    while (index < module.functions.size() &&
           module.functions[index].name != text)
      ++index;
    if (index == module.functions.size())
      return failAt(use.name, "there is no function " + text);
    if (use.function == noEntry)
      module.entry = index;
    else // `call` and `closure` both have it in b
      module.functions[use.function].code[use.instruction].b = uint16_t(index);
    return true;
  }

  AssemblyLexer lexer;
  AssemblyToken token;
  std::string &message;
  bool failed = false;
  ModuleBuilder module;
  FunctionBuilder *fn = nullptr;
  std::map<std::string, uint32_t> labels;
  std::vector<Use> labelUses;
  std::vector<Try> tries;
  std::vector<FunctionUse> functionUses;
};

} // namespace

bool assemble(std::string_view text, std::vector<uint8_t> &bytes,
              std::string &message) {
  return Assembler(text, message).run(bytes);
}

} // namespace mxrt::host
