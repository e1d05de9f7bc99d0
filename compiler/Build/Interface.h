// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C interface of the exported graphs of a program: functions and the types of their arguments.
// Plain data, from which code, header and Python module are all generated.
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

/// One tensor of a composite value.
struct Leaf {
  std::string path; ///< `fc1.w`
  ElementType element = ElementType::F32;
  std::vector<int64_t> sizes;
  int64_t bytes() const;
};

/// A composite parameter, such as a model, is one opaque struct in C.
struct ValueType {
  std::string name;      ///< in C, without the prefix
  std::string parameter; ///< prefix of names in files
  std::vector<Leaf> leaves;
  mlir::Type type;
  /// Its tensors in the order of the leaves, if they are embedded in the artefact.
  std::optional<std::vector<std::string>> embedded;
  int64_t bytes() const;
};

struct Argument {
  enum Kind : uint8_t { Tensor, Number, Value } kind = Tensor;
  std::string name; ///< in C
  ElementType element = ElementType::F32;
  std::vector<std::string> sizes; ///< numbers, or expressions over sizes of the call
  size_t type = 0;                ///< of a Value: index in Interface::types
  bool isMut = false;
  size_t leaves = 1;
};

/// A size passed by the caller: any up to a bound, or one of several values.
struct SizeArgument {
  std::string size; ///< its name in the graph
  std::string name; ///< in C
  bool isOpen = false;
  int64_t bound = 0;
  std::vector<int64_t> values;
  int64_t largest() const;
};

/// A parameter of the C function: the size, argument or result that it stands for.
struct Parameter {
  enum Kind : uint8_t { Size, Argument, Result, Workspace } kind;
  size_t index = 0;
};

struct Function {
  std::string name; ///< in C, without the prefix
  Export source;
  std::vector<Argument> arguments, results;
  std::vector<SizeArgument> sizes;
  /// Sizes with one value, which callers do not pass.
  std::vector<std::pair<std::string, int64_t>> fixed;
  std::vector<Parameter> parameters;
  int64_t workspace = 0; ///< bytes, at the largest sizes

  size_t inputCount() const;
  /// Every combination of the sizes with several values, together with the fixed ones.
  std::vector<std::vector<std::pair<std::string, int64_t>>> variants() const;
};

struct Interface {
  std::string prefix; ///< of all names
  std::vector<Function> functions;
  std::vector<ValueType> types;
};

/// Values of sizes by name, in the order given.
using Shapes = std::vector<std::pair<std::string, std::vector<int64_t>>>;

/// Max number of variants of a graph: each is code.
inline constexpr size_t kMaxVariants = 64;

/// Nothing after an error, which has been reported: a size without a value, or a parameter that C
/// cannot express.
std::optional<Interface> describe(const std::string &prefix, const std::vector<Export> &exports,
                                  const Shapes &shapes, Diagnostics &diags);

/// Reads the tensors of every value from a safetensors file. False after an error.
bool embedParameters(Interface &interface, const std::string &path, Diagnostics &diags);

/// A valid C identifier.
std::string cName(llvm::StringRef name);

} // namespace mx::build
