// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Questions of a person at a prompt or in an editor: what may stand here, what is this name.
// Nothing is run, no name changes, and what is wrong with half-written text is not reported.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace mx::sema {

class Sema;

struct Suggestion {
  std::string text; ///< a keyword argument ends in `=`
  std::string type; ///< or what else it is: `model`, `module`; may be empty
};

struct Completion {
  size_t begin = 0; ///< where the word starts that they would replace
  std::vector<Suggestion> list;
};

/// What may stand at the end of `text`, the part of an input before the cursor.
Completion complete(Sema &sema, std::string_view text);

/// One meaning of a name.
struct Meaning {
  std::string title; ///< `fn relu(x: T[...S]) -> T[...S]`
  std::string doc;
  std::string place;  ///< `std/nn.mx:12`; empty for builtins
  std::string source; ///< its text; empty for builtins
};

/// All meanings of `name`, `nn.Dense` or `net.fc1`; none if nothing is called so.
std::vector<Meaning> meaningsOf(Sema &sema, std::string_view name);
/// Names that are near, if there is none of that name; else empty.
std::string nearestName(Sema &sema, std::string_view name);

} // namespace mx::sema
