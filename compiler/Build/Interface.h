// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What other programs see of the graphs that a program exports: functions of C and the types of
// their arguments. Plain data, from which code, header and Python module are written alike.
#pragma once
#include "Support/Diagnostic.h"
#include "Support/ElementType.h"
#include "dialects/mx/Mx.h"
#include <map>
#include <optional>

namespace mx::build {

/// A graph to build.
struct Export {
  std::string name;   ///< as written
  std::string header; ///< with parameters and result, as written
  ir::GraphOp graph;  ///< ready for the pipeline
  Span span;
};

/// One tensor of a value with parts.
struct Leaf {
  std::string path; ///< `fc1.w`
  ElementType element = ElementType::F32;
  std::vector<int64_t> sizes;
  int64_t bytes() const;
};

/// A parameter with parts, such as a model, is one opaque struct in C.
struct ValueType {
  std::string name;      ///< in C, without the prefix
  std::string parameter; ///< names in files begin with it
  std::vector<Leaf> leaves;
  mlir::Type type;
  /// Its tensors in the order of the leaves, if they are part of the artefact.
  std::optional<std::vector<std::string>> embedded;
  int64_t bytes() const;
};

struct Argument {
  enum Kind : uint8_t { Tensor, Number, Value } kind = Tensor;
  std::string name; ///< in C
  ElementType element = ElementType::F32;
  std::vector<std::string> sizes; ///< numbers, or text over sizes of the call
  size_t type = 0;                ///< of a Value: in Interface::types
  bool isMut = false;
  size_t leaves = 1;
};

/// A size that the caller says: any up to a bound, or one of several values.
struct SizeArgument {
  std::string size; ///< its name in the graph
  std::string name; ///< in C
  bool isOpen = false;
  int64_t bound = 0;
  std::vector<int64_t> values;
  int64_t largest() const;
};

/// A parameter of the C function: which size, argument or result it is.
struct Parameter {
  enum Kind : uint8_t { Size, Argument, Result, Workspace } kind;
  size_t index = 0;
};

struct Function {
  std::string name; ///< in C, without the prefix
  Export source;
  std::vector<Argument> arguments, results;
  std::vector<SizeArgument> sizes;
  /// Sizes with one value, which callers need not say.
  std::vector<std::pair<std::string, int64_t>> fixed;
  std::vector<Parameter> parameters;
  int64_t workspace = 0; ///< bytes for the largest sizes

  size_t inputCount() const;
  /// Every choice of the sizes that have several values, with those that have one.
  std::vector<std::vector<std::pair<std::string, int64_t>>> variants() const;
};

struct Interface {
  std::string prefix; ///< of all names
  std::vector<Function> functions;
  std::vector<ValueType> types;
};

/// Values of sizes by name, in the order given.
using Shapes = std::vector<std::pair<std::string, std::vector<int64_t>>>;

/// The most variants that one graph may have: each is code.
inline constexpr size_t kMostVariants = 64;

/// Nothing after an error, which is reported: a size without a value, a parameter that C cannot
/// have.
std::optional<Interface> describe(const std::string &prefix, const std::vector<Export> &exports,
                                  const Shapes &shapes, Diagnostics &diags);

/// Takes the tensors of every value from a safetensors file. False after an error.
bool embedParameters(Interface &interface, const std::string &path, Diagnostics &diags);

/// The C type of an element.
const char *cType(ElementType element);

/// A word that C takes as a name.
std::string cName(llvm::StringRef name);

} // namespace mx::build
