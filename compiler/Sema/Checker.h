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

/// The names of a session at some time, to come back to.
struct NamesMark {
  std::unordered_map<std::string_view, Symbol *> names;
  size_t facts = 0;
};

/// What the input that was checked last means.
struct InputSummary {
  struct Definition {
    std::string name, type;
  };
  std::vector<Definition> definitions; ///< functions, models and types, in order
  std::string type;                    ///< of its last expression; empty if it has no value
  bool isExpression = false;           ///< and nothing else
  bool isMuted = false;                ///< ends in `;`
  uint8_t effects = 0;                 ///< what running it does besides computing: Effect
  bool waits = false;                  ///< host code looks at a tensor's value
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
  /// `complete` is false if more lines could finish the input (then nothing was checked), unless
  /// `isWhole` says that none will come.
  bool checkInput(const SourceFile &file, bool &complete, bool isWhole = false);
  InputSummary summary() const;
  /// From now on `_` is the value of the last expression of that input.
  void keepResult();
  NamesMark mark() const;
  /// Takes definitions back; marks must be taken back in the opposite order.
  void rewind(const NamesMark &mark);

  /// Starts anew with the names of the session and of the marks, which get their new symbols;
  /// `moved` says which those are. What no name comes from is let go of. False, and nothing has
  /// changed, if the same names cannot be had again.
  bool renew(const std::vector<NamesMark *> &marks, std::map<const Symbol *, Symbol *> &moved);

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
