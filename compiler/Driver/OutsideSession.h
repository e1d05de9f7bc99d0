// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The session of the embedding API: programs whose names persist, and calls of their definitions
// from outside of the language.
#pragma once
#include "Driver/Session.h"
#include "IRGen/Entry.h"

namespace mx::driver {

/// One argument of a call.
struct OutsideArgument {
  std::string name;                 ///< of the parameter; empty: by position
  const sema::Type *type = nullptr; ///< null: `literal` is its text
  std::string literal;
  bool isMut = false;
};

/// The resolved target of a call. Immutable, and lives as long as the session.
struct OutsideTarget {
  const BoundVariant *graph = nullptr;    ///< this, or
  mxrt::host::Program *program = nullptr; ///< or a function of this program
  std::string symbol;
  std::vector<int64_t> sizes; ///< passed as its first arguments
  struct Input {
    size_t argument = 0; ///< index of the call's argument
    mlir::Type type;
    bool isMut = false;
    const sema::Type *given = nullptr; ///< type of the value passed
  };
  std::vector<Input> inputs;
  mlir::Type resultType;              ///< null: no result
  const sema::Type *result = nullptr; ///< the same, as a type of the checker
  mxrt_location location = {};              ///< location of the callee
};

class OutsideSession : public Session {
public:
  OutsideSession(SessionOptions options, std::ostream &out, std::ostream &err);
  ~OutsideSession();

  /// Checks and compiles a program and runs its top level. Its names persist, for calls from
  /// outside. Null on failure, which has been reported.
  const sema::ModuleInfo *loadProgram(const std::string &name, const std::string &path,
                                      std::string text);
  /// The function or type that a host names; neither if there is none, which has been reported.
  sema::OutsideCallee findCallee(const sema::ModuleInfo &module, const std::string &callee);
  /// Finds or generates the target of a call of such a program's function, graph or constructor.
  /// False if the call is invalid, which has been reported.
  bool resolve(const sema::ModuleInfo &module, const std::string &callee,
               const std::vector<OutsideArgument> &args, OutsideTarget &out);
  /// A variable of such a program, borrowed; unset if there is none.
  mxrt::host::Value variable(const sema::ModuleInfo &module, const std::string &name,
                             const sema::Type *&type) const;

private:
  struct OutsideEntry;
  bool generateOutside(const sema::ModuleInfo &module, const sema::CallInfo &info,
                       std::unique_ptr<OutsideEntry> &out);
  static std::string outsideText(const std::string &callee,
                                 const std::vector<sema::ParamInfo> *params,
                                 const std::vector<OutsideArgument> &args,
                                 std::vector<sema::OutsideValue> &values);
  std::map<std::string, std::unique_ptr<OutsideEntry>> byKey;
};

} // namespace mx::driver
