// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax tree of PTX: declarations and statements, before names are resolved.
#pragma once

#include "exec/Types.h"
#include "ptx/Lexer.h"

#include <map>
#include <memory>

namespace mxemu {

enum class Space : uint8_t { Reg, Global, Const, Shared, Local, Param, Generic };

/// A declared variable or parameter.
struct Declaration {
  Space space = Space::Reg;
  Ty type = Ty::None;
  std::string name;
  unsigned line = 0;
  unsigned count = 0;    // %r<count>: that many registers; 0 for one
  unsigned lanes = 1;    // .v2, .v4
  uint64_t elements = 1; // of an array
  bool unsizedArray = false;
  bool external = false;
  unsigned alignment = 0;
  struct Initial {
    Literal value;
    std::string symbol; // its address instead
    bool negative = false;
  };
  std::vector<Initial> initial;
  uint64_t bytes() const { return elements * lanes * bytesOf(type); }
};

/// An operand as written.
struct Argument {
  enum Kind : uint8_t { Name, Immediate, Address, Vector, Pair, List } kind = Name;
  std::string name;            // Name; base of Address (empty: an absolute address)
  Literal value;               // Immediate
  bool negative = false;       // Immediate
  bool inverted = false;       // !p
  int64_t offset = 0;          // Address
  std::vector<Argument> parts; // Vector {a,b}; Pair p|q; List (a,b)
};

struct Statement {
  enum Kind : uint8_t { Instruction, Label, Declare, Open, Close, Targets } kind = Instruction;
  unsigned line = 0;
  std::string guard; // predicate's name, empty for none
  bool guardInverted = false;
  std::string opcode;
  std::vector<std::string> modifiers;
  std::vector<Argument> operands;
  std::vector<std::string> names; // Label; label and its targets
  Declaration declaration;
};

struct FunctionText {
  std::string name;
  bool entry = false;
  bool defined = false;
  unsigned line = 0;
  std::vector<Declaration> results, params;
  std::vector<Statement> body;
  unsigned maxThreads = 0; // .maxntid, .reqntid
};

struct ModuleText {
  std::vector<Declaration> variables;
  std::map<std::string, std::shared_ptr<FunctionText>> functions;
};

ModuleText parse(std::string_view text);

/// `.f32` without the dot; Ty::None when it is not a type.
Ty typeFromName(std::string_view name);

} // namespace mxemu
