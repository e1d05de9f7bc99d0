// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The checker takes one input at a time against a persistent environment: a file, a line of the
// REPL, a buffer of an editor. Nothing is run. Imports are read lazily: signatures first, bodies on
// use.
#pragma once
#include "Sema/Info.h"
#include "Support/Diagnostic.h"
#include <memory>

namespace mx::sema {

struct CheckOptions {
  /// The folder of the standard library.
  std::string stdlib;
  /// Values for `option(name, default)`.
  std::map<std::string, std::string> options;
};

class Checker {
public:
  Checker(SourceManager &sources, Diagnostics &diagnostics, CheckOptions options);
  ~Checker();
  Checker(const Checker &) = delete;
  Checker &operator=(const Checker &) = delete;

  /// Checks a file as the program itself: every body, every statement. The tree's slots are filled.
  const ModuleInfo *checkProgram(const SourceFile &file);

  /// Checks one input of a session. Names it defines stay; on an error no name changes.
  /// `complete` is false if more lines could finish the input (then nothing was checked).
  bool checkInput(const SourceFile &file, bool &complete);

  /// Checks the text of one call against the names of a program and these values. Null if it is
  /// wrong, which was reported.
  const ast::Call *checkCall(const ModuleInfo &module, const SourceFile &file,
                             const std::vector<OutsideValue> &values);
  /// The function or type that `callee` names: `f`, `nn.relu`, `Net[784, 10]`.
  OutsideCallee findCallee(const ModuleInfo &module, std::string_view callee);

  /// The checked tree of a module, one line an expression with its type: `--emit=typed`.
  std::string describe(const ModuleInfo &module) const;

  /// The names a session knows, with their types.
  std::vector<std::pair<std::string, std::string>> names() const;

  /// For the stages after this one.
  class Sema &sema() {
    return *impl;
  }
  const ModuleInfo *sessionModule() const;

private:
  std::unique_ptr<class Sema> impl;
};

} // namespace mx::sema
