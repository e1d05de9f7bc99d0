// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generator of the header for C and C++.
#include "Build/Write.h"
#include "Support/ElementFacts.h"
#include "llvm/ADT/StringExtras.h"

namespace mx::build {
namespace {

std::string upper(llvm::StringRef text) {
  std::string out;
  for (char c : text)
    out += llvm::isAlnum(c) ? llvm::toUpper(c) : '_';
  return out;
}

/// `f32[N, 784]`
std::string shapeOf(const Argument &argument) {
  return std::string(elementInfo(argument.element).name) + "[" + llvm::join(argument.sizes, ", ") +
         "]";
}

std::string declaration(const Interface &interface, const Function &function,
                        const Parameter &parameter) {
  switch (parameter.kind) {
  case Parameter::Size:
    return "int64_t " + function.sizes[parameter.index].name;
  case Parameter::Workspace:
    return "void *workspace";
  case Parameter::Result: {
    const Argument &result = function.results[parameter.index];
    return std::string(elementFacts(result.element).inC) + " *" + result.name;
  }
  case Parameter::Argument:
    break;
  }
  const Argument &argument = function.arguments[parameter.index];
  std::string isConst = argument.isMut ? "" : "const ";
  if (argument.kind == Argument::Value)
    return isConst + interface.prefix + "_" + interface.types[argument.type].name + " *" +
           argument.name;
  if (argument.kind == Argument::Number && !argument.isMut)
    return std::string(elementFacts(argument.element).inC) + " " + argument.name;
  return isConst + elementFacts(argument.element).inC + " *" + argument.name;
}

void addType(const Interface &interface, const ValueType &type, std::string &out) {
  std::string name = interface.prefix + "_" + type.name;
  out += "/* `" + type.parameter + "`: " + grouped(static_cast<int64_t>(type.leaves.size())) +
         (type.leaves.size() == 1 ? " tensor, " : " tensors, ") + grouped(type.bytes()) +
         " bytes. Threads may share one that nobody changes. */\n"
         "typedef struct " +
         name + " " + name +
         ";\n"
         "/* From a safetensors file, or the bytes of one: names as in `save(path, " +
         type.parameter +
         ")`. */\n"
         "int " +
         name + "_load(" + name +
         " **out, const char *path);\n"
         "int " +
         name + "_load_memory(" + name +
         " **out, const void *bytes, size_t size);\n"
         "/* Zeros, to be filled in by name: */\n"
         "int " +
         name + "_new(" + name +
         " **out);\n"
         "void *" +
         name + "_data(const " + name +
         " *value, const char *name, size_t *bytes);\n"
         "void " +
         name + "_free(" + name + " *value);\n";
  for (const Leaf &leaf : type.leaves) {
    out += "/*   \"" + leaf.path + "\" " + std::string(elementInfo(leaf.element).name) + "[";
    for (size_t i = 0; i < leaf.sizes.size(); ++i)
      out += (i ? ", " : "") + std::to_string(leaf.sizes[i]);
    out += "] */\n";
  }
  out += "\n";
}

void addFunction(const Interface &interface, const Function &function, std::string &out) {
  std::string macro = upper(interface.prefix) + "_" + upper(function.name) + "_";
  // The text may contain the end of a comment.
  std::string header = function.source.header;
  for (size_t at = 0; (at = header.find("*/", at)) != std::string::npos;)
    header.replace(at, 2, "* /");
  out += "/* " + header + "\n";
  auto describe = [&](const Argument &argument) {
    if (argument.kind == Argument::Tensor)
      out += " *   " + argument.name + ": " + shapeOf(argument) + "\n";
  };
  for (const Argument &argument : function.arguments)
    describe(argument);
  for (const Argument &result : function.results)
    describe(result);
  for (const auto &[name, value] : function.fixed)
    out += " *   " + name + " = " + std::to_string(value) + "\n";
  for (const SizeArgument &size : function.sizes)
    if (!size.isOpen) {
      out += " *   " + size.name + " is one of";
      for (size_t i = 0; i < size.values.size(); ++i)
        out += (i ? ", " : " ") + std::to_string(size.values[i]);
      out += "\n";
    }
  for (const Argument &argument : function.arguments)
    if (argument.isMut)
      out += " *   " + argument.name + " is changed; after an error its value is undefined\n";
  out += " */\n";
  for (const SizeArgument &size : function.sizes)
    out += "#define " + macro + "MAX_" + upper(size.name) + " " + std::to_string(size.largest()) +
           "\n";
  std::string at;
  for (const SizeArgument &size : function.sizes)
    at += (at.empty() ? " for " : ", ") + size.name + " = " + std::to_string(size.largest());
  out += "#define " + macro + "WORKSPACE " + std::to_string(function.workspace) + "u /* bytes" +
         at + (function.workspace ? "" : ": NULL will do") + " */\n";
  out += prototypeOf(interface, function) + ";\n\n";
}

} // namespace

std::string grouped(int64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<int64_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<size_t>(at), ",");
  return digits;
}

std::string prototypeOf(const Interface &interface, const Function &function) {
  std::string out = "int " + interface.prefix + "_" + function.name + "(";
  for (size_t i = 0; i < function.parameters.size(); ++i)
    out += (i ? ", " : "") + declaration(interface, function, function.parameters[i]);
  return out + ")";
}

std::string writeHeader(const Interface &interface, const std::string &fileName) {
  std::string guard = upper(fileName);
  std::string out =
      "/* " + fileName +
      " - generated by mxc.\n"
      " *\n"
      " * Tensors are dense, in row-major order. Functions give 0, or the number of an\n"
      " * error (201 is R0201) whose text " +
      interface.prefix +
      "_error() has. They are re-entrant:\n"
      " * a call uses its arguments and its workspace, which two calls at a time must\n"
      " * not share. What a call writes overlaps nothing else that it is given. f16 and\n"
      " * bf16 are handed over as their bits.\n"
      " */\n"
      "#ifndef " +
      guard + "\n#define " + guard +
      "\n\n"
      "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n\n"
      "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  for (const ValueType &type : interface.types)
    if (!type.embedded)
      addType(interface, type, out);
  for (const Function &function : interface.functions)
    addFunction(interface, function, out);
  out += "/* The text of the last error of this thread; \"\" if there was none. */\n"
         "const char *" +
         interface.prefix +
         "_error(void);\n\n"
         "#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  return out;
}

} // namespace mx::build
