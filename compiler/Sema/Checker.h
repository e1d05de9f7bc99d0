// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Type checker with a persistent environment. It checks one input at a time: a file, an input of
// the REPL, or a buffer of an editor. Nothing is executed. Imports are loaded lazily: signatures
// first, bodies on use.
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
  /// A value whose name no `option` of the program has is not an error: another program may use it.
  bool sharesOptions = false;
};

/// A call of `option(name, default)`.
struct OptionInfo {
  std::string name, type;
  std::string initial; ///< the default, as it is written
  Span span;
  std::string shown; ///< the default, as a command line gives it
};

/// Reports values that match no option of a program. True if there is any.
bool reportUnknownOptions(const std::map<std::string, std::string> &given,
                          const std::vector<OptionInfo> &declared, Diagnostics &diagnostics);

/// A name of a session and the symbol it referred to at that time.
using SessionName = std::pair<std::string_view, Symbol *>;

/// A snapshot of the names of a session, for `rewind`.
struct NamesMark {
  std::unordered_map<std::string_view, Symbol *> names;
  size_t facts = 0;
};

/// Summary of the last checked input.
struct InputSummary {
  struct Definition {
    std::string name, type;
  };
  std::vector<Definition> definitions; ///< functions, models and types, in order
  std::string type;                    ///< type of the last expression; empty if it has no value
  bool isExpression = false;           ///< the input is a single expression
  bool isMuted = false;                ///< ends in `;`
  uint8_t effects = 0;                 ///< side effects of running it: Effect
  bool waits = false;                  ///< host code reads a tensor's value
};

class Checker {
public:
  Checker(SourceManager &sources, Diagnostics &diagnostics, CheckOptions options);
  ~Checker();
  Checker(const Checker &) = delete;
  Checker &operator=(const Checker &) = delete;

  /// Checks a file as the main program: every body and every statement. Fills the slots of the
  /// tree.
  const ModuleInfo *checkProgram(const SourceFile &file);

  /// The options of the checked program, in the order in which they were found.
  const std::vector<OptionInfo> &options() const;
  /// A value of the command line does not fit its option, or has no option of its name.
  bool hasWrongOptions() const;

  /// Checks one input of a session. Names that it defines persist. On an error, no name changes.
  /// `complete` is false if more lines could finish the input (then nothing was checked), unless
  /// `isWhole` says that no more lines follow.
  bool checkInput(const SourceFile &file, bool &complete, bool isWhole = false);
  InputSummary summary() const;
  /// Binds `_` to the value of the last expression of that input.
  void keepResult();
  NamesMark mark() const;
  /// Undoes definitions. Marks must be rewound in reverse order.
  void rewind(const NamesMark &mark);

  /// Rebuilds the checker with the names of the session and of the marks, and frees everything that
  /// no name depends on. `moved` maps old symbols to new ones. Returns false and changes nothing if
  /// the same names cannot be reproduced.
  bool renew(const std::vector<NamesMark *> &marks, std::map<const Symbol *, Symbol *> &moved);

  /// Type-checks the text of one call against the names of a program and these values. Null after a
  /// report if the call has an error.
  const ast::Call *checkCall(const ModuleInfo &module, const SourceFile &file,
                             const std::vector<OutsideValue> &values);
  /// The function or type that `callee` names: `f`, `nn.relu`, `Net[784, 10]`.
  OutsideCallee findCallee(const ModuleInfo &module, std::string_view callee);

  /// The checked tree of a module, one line per expression with its type: `--emit=typed`.
  std::string describe(const ModuleInfo &module) const;

  /// The names a session knows, with their types.
  std::vector<std::pair<std::string, std::string>> names() const;

  /// Access for the later stages.
  class CheckedProgram &sema();
  const ModuleInfo *sessionModule() const;

private:
  std::unique_ptr<class Sema> impl;
};

} // namespace mx::sema
