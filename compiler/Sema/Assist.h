// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queries of the REPL and of editors: code completion, and documentation of a name. Nothing is
// executed, no name changes, and errors in incomplete text are not reported.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace mx::sema {

class CheckedProgram;

struct Suggestion {
  std::string text; ///< a keyword argument ends in `=`
  std::string type; ///< or another category: `model`, `module`; may be empty
};

struct Completion {
  size_t begin = 0; ///< start of the word that they would replace
  std::vector<Suggestion> list;
};

/// Completions at the end of `text`, the part of an input before the cursor.
Completion complete(CheckedProgram &program, std::string_view text);

/// One meaning of a name.
struct Meaning {
  std::string title; ///< `fn relu(x: T[...S]) -> T[...S]`
  std::string doc;
  std::string location;  ///< `std/nn.mx:12`; empty for builtins
  std::string source; ///< its text; empty for builtins
};

/// All meanings of `name`, `nn.Dense` or `net.fc1`; empty if the name is unknown.
std::vector<Meaning> meaningsOf(CheckedProgram &program, std::string_view name);
/// Similar names if `name` is unknown; else empty.
std::string nearestName(CheckedProgram &program, std::string_view name);

} // namespace mx::sema
